// trace: the sum of a matrix's diagonal.
#include <algorithm>

#include "linalg.hpp"

namespace {

using tenon::ContextOf;
using tenon::Tensor;
using namespace tenon::literals;

struct Trace {
  static constexpr auto schema = "trace(Tensor input) -> Tensor";
  static constexpr auto doc = "The sum of the diagonal of a matrix; of integers in i64.";
  static constexpr auto saves = "shape(input)";

  static Tensor forward(const Tensor& input) {
    blas::check_rank("trace", "input", 2, input);
    const int64_t size = std::min(input.shape()[0], input.shape()[1]);
    const int64_t stride = input.strides()[0] + input.strides()[1];
    return tenon::alias_tensor(input, {&size, 1}, {&stride, 1}, 0).sum();
  }
  static Tensor backward(ContextOf<Trace>& c, const Tensor& g) {
    const Tensor& input = c["input"_arg];
    return g * tenon::eye(input.size(0), input.size(1), g.dtype());
  }
  static constexpr auto jvp = tenon::JvpKind::linear;
};

}  // namespace
TENON_OP(Trace)
