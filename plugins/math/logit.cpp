// logit: the inverse of sigmoid.
#include <limits>

#include "dimensions.hpp"

using namespace tenon;
using namespace math;

namespace {

struct Logit {
  static constexpr auto schema =
      "logit(Tensor input, float? eps=None, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 3], "low": 0.1, "high": 0.9}},
          {"input": {"shape": [5], "low": -0.5, "high": 1.5}, "eps": 0.1}])";
  static constexpr auto doc =
      "log(x / (1 - x)) of x from 0 to 1, NaN beyond, accurate near 1/2 too. With eps x is first "
      "cut to eps and 1 - eps. Integers give f32.";
  static constexpr auto accuracy = "f32 1.7, f64 2.3; gradient f32 2.1, f64 2";
  static constexpr auto saves = "input";
  static Tensor forward(const Tensor& input, std::optional<double> eps) {
    const Tensor x = cut(input.to(is_floating(input.dtype()) ? input.dtype() : f32), eps);
    // The difference 2 x - 1 is exact for x from 1/4 to 3/4.
    const Tensor middle = x * 2 - 1;
    return where(le(middle.abs(), 0.5), middle.atanh() * 2, x.log() - (-x).log1p());
  }
  static Tensor backward(ContextOf<Logit>& c, const Tensor& g) {
    const Tensor x = c["input"_arg].to(g.dtype());
    const Tensor slope = g / (x * (1 - x));
    if (const auto eps = c["eps"_arg])
      return where(logical_or(lt(x, *eps), gt(x, 1 - *eps)), 0, slope);
    return where(logical_or(lt(x, 0), gt(x, 1)), std::numeric_limits<double>::quiet_NaN(), slope);
  }
  static constexpr auto jvp = pointwise;

 private:
  static Tensor cut(const Tensor& x, std::optional<double> eps) {
    if (!eps) return x;
    if (!(*eps >= 0 && *eps <= 0.5)) {
      throw ValueError("logit(): eps must be from 0 to 0.5, got " + Scalar(*eps).text());
    }
    return x.clamp(*eps, 1 - *eps);
  }
};

}  // namespace

TENON_OP(Logit)
