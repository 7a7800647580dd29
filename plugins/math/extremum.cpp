// The larger and the smaller of two elements. In maximum and minimum NaN wins and equal elements
// share the gradient; in fmax and fmin numbers win and the gradient is that of the first.
#include <tenon/plugin.hpp>
#include <tenon/ops.hpp>

namespace {

using namespace tenon;

// Equal tensors share the gradient; where a tensor equals a number, the number is the result.
Tensor share_ties(const Argument& a, const Argument& b, const Tensor& g) {
  const bool tensors = a.value().tag == TENON_VALUE_TENSOR && b.value().tag == TENON_VALUE_TENSOR;
  return tensors ? where(eq(a, b), g * 0.5, g) : masked_fill(g, eq(a, b), 0);
}

// As PyTorch has it: where both are equal, or both NaN, the gradient is that of input alone.
template <class Op>
std::array<Tensor, 2> choose(ContextOf<Op>& c, const Tensor& g, const Tensor& first) {
  return needed_gradients(
      c, "input"_arg = [&] { return where(first, g, 0); },
      "other"_arg = [&] { return where(first, 0, g); });
}

struct Maximum {
  static constexpr auto schema =
      "maximum(Tensor|Scalar input, Tensor|Scalar other, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc =
      "The larger of input and other; NaN if either is. Equal elements share the gradient.";
  static constexpr auto accuracy = "exact";
  static constexpr auto element = [](auto input, auto other) {
    return input > other || input != input ? input : other;
  };
  static constexpr auto saves = "input, other";
  static std::array<Tensor, 2> backward(ContextOf<Maximum>& c, const Tensor& g) {
    const Argument a = c["input"_arg], b = c["other"_arg];
    const Tensor shared = share_ties(a, b, g);
    return needed_gradients(
        c, "input"_arg = [&] { return masked_fill(shared, lt(a, b), 0); },
        "other"_arg = [&] { return masked_fill(shared, gt(a, b), 0); });
  }
  static constexpr auto jvp = pointwise;
};

struct Minimum {
  static constexpr auto schema =
      "minimum(Tensor|Scalar input, Tensor|Scalar other, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc =
      "The smaller of input and other; NaN if either is. Equal elements share the gradient.";
  static constexpr auto accuracy = "exact";
  static constexpr auto element = [](auto input, auto other) {
    return input < other || input != input ? input : other;
  };
  static constexpr auto saves = "input, other";
  static std::array<Tensor, 2> backward(ContextOf<Minimum>& c, const Tensor& g) {
    const Argument a = c["input"_arg], b = c["other"_arg];
    const Tensor shared = share_ties(a, b, g);
    return needed_gradients(
        c, "input"_arg = [&] { return masked_fill(shared, gt(a, b), 0); },
        "other"_arg = [&] { return masked_fill(shared, lt(a, b), 0); });
  }
  static constexpr auto jvp = pointwise;
};

struct Fmax {
  static constexpr auto schema =
      "fmax(Tensor|Scalar input, Tensor|Scalar other, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc =
      "The larger of input and other; of a number and NaN the number. Where both are equal the "
      "gradient is that of input.";
  static constexpr auto accuracy = "exact";
  static constexpr auto element = [](auto input, auto other) {
    return input >= other || other != other ? input : other;
  };
  static constexpr auto saves = "input, other";
  static std::array<Tensor, 2> backward(ContextOf<Fmax>& c, const Tensor& g) {
    const Argument a = c["input"_arg], b = c["other"_arg];
    return choose(c, g, logical_or(ge(a, b), ne(b, b)));
  }
  static constexpr auto jvp = pointwise;
};

struct Fmin {
  static constexpr auto schema =
      "fmin(Tensor|Scalar input, Tensor|Scalar other, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc =
      "The smaller of input and other; of a number and NaN the number. Where both are equal the "
      "gradient is that of input.";
  static constexpr auto accuracy = "exact";
  static constexpr auto element = [](auto input, auto other) {
    return input <= other || other != other ? input : other;
  };
  static constexpr auto saves = "input, other";
  static std::array<Tensor, 2> backward(ContextOf<Fmin>& c, const Tensor& g) {
    const Argument a = c["input"_arg], b = c["other"_arg];
    return choose(c, g, logical_or(le(a, b), ne(b, b)));
  }
  static constexpr auto jvp = pointwise;
};

}  // namespace

TENON_OPS(Maximum, Minimum, Fmax, Fmin)
