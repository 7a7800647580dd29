// The plugin: an op that computes in one pass what two ops compute in two, and the rules by which a
// prepared model calls it in their place.
#include <tenon/plugin.hpp>
#include <tenon/ops.hpp>
#include <tenon/rewrite.hpp>

using namespace tenon;

TENON_PLUGIN(rewrite, "1.0.0")

struct SquaredDifference {
  static constexpr auto schema =
      "examples.squared_difference(Tensor input, Tensor other) -> Tensor";
  static constexpr auto doc = "(input - other) * (input - other).";
  static constexpr auto element = [](auto input, auto other) {
    const auto difference = input - other;
    return difference * difference;
  };
  static std::array<Tensor, 2> backward(ContextOf<SquaredDifference>& c, const Tensor& gradient) {
    const Tensor slope = 2 * (c["input"_arg] - c["other"_arg]) * gradient;
    return {slope, -slope};
  }
  static constexpr auto saves = "input, other";
};
TENON_OP(SquaredDifference)

// The difference is one call, which the product has twice: then both are this one. The second
// rule is for models that square by `pow`.
TENON_REWRITES(differences, R"(
  rewrite.squared_difference: mul(sub(a, b), sub(a, b)) => examples.squared_difference(a, b)
    where is_tensor(a), is_tensor(b), dtype(a) in [f32, f64], dtype(a) == dtype(b)
  rewrite.power: pow(sub(a, b), 2) => examples.squared_difference(a, b)
    where is_tensor(a), is_tensor(b), dtype(a) in [f32, f64], dtype(a) == dtype(b)
    within 1e-6
)")
