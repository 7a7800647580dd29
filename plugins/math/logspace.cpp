// logspace: powers with evenly spaced exponents.
#include "dimensions.hpp"

using namespace tenon;
using namespace math;

namespace {

struct Logspace {
  static constexpr auto schema =
      "logspace(Scalar start, Scalar end, int steps, float base=10, *, dtype? dtype=None) -> "
      "Tensor";
  static constexpr auto samples =
      R"([{"start": 0, "end": 2, "steps": 5}, {"start": -1.5, "end": 3, "steps": 4, "base": 2, "dtype": "f64"}])";
  static constexpr auto doc =
      "base^x for `steps` exponents x from start to end, both included, computed in f64; f32 "
      "unless "
      "a dtype is given.";
  static Tensor forward(const Scalar& start, const Scalar& end, int64_t steps, double base,
                        DType dtype) {
    if (steps < 0)
      throw ValueError("logspace(): steps must be 0 or more, got " + std::to_string(steps));
    const Tensor exponents = linspace(start, end, steps, f64);
    return pow(base, exponents).to(dtype == DType::none ? f32 : dtype);
  }
};

}  // namespace

TENON_OP(Logspace)
