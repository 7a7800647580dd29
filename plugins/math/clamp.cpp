// clamp: elements cut to a range. The gradient passes where they lie inside of it, bounds included.
#include <tenon/plugin.hpp>

namespace {

using namespace tenon;

struct Clamp {
  static constexpr auto schema =
      "clamp(Tensor input, Scalar? min=None, Scalar? max=None, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 3]}, "min": -0.5},
          {"input": {"shape": [2, 3]}, "max": 0.5},
          {"input": {"shape": [2, 3]}, "min": -0.5, "max": 0.5}])";
  static constexpr auto doc = "Elements below min become min, then those above max become max.";
  static Tensor forward(const Tensor& input, std::optional<Scalar> min, std::optional<Scalar> max,
                        const Tensor& out) {
    if (!min && !max) throw ValueError("clamp(): at least one of 'min' and 'max' must be given");
    if (!min) return minimum(input, *max, out);
    if (!max) return maximum(input, *min, out);
    const Tensor raised = maximum(input, *min, out);
    // With the bounds of different kinds the second step may still widen the dtype.
    return out.defined() ? minimum(raised, *max, out) : minimum(raised, *max);
  }
  static constexpr auto saves = "input";
  static Tensor backward(Context& c, const Tensor& g) {
    const Tensor& x = c.tensor(0);
    if (c.is_none(1)) return where(le(x, c.operand(2)), g, 0);
    if (c.is_none(2)) return where(ge(x, c.operand(1)), g, 0);
    return where(logical_and(ge(x, c.operand(1)), le(x, c.operand(2))), g, 0);
  }
  static constexpr auto jvp = pointwise;
};

}  // namespace

TENON_OP(Clamp)
