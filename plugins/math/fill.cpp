// New values for a tensor in place.
#include <tenon/plugin.hpp>

#include "overwritten.hpp"

namespace {

using namespace tenon;

struct Fill_ : Overwritten<Fill_> {
  static constexpr auto schema = "fill_(Tensor(a!) input, Scalar value) -> Tensor(a!)";
  static constexpr auto doc = "Sets every element to value.";
  static constexpr bool any_dtype = true;
  static Tensor forward(const Tensor& input, const Scalar& value) {
    fill_elements(input, value);
    return input;
  }
};

struct Zero_ : Overwritten<Zero_> {
  static constexpr auto schema = "zero_(Tensor(a!) input) -> Tensor(a!)";
  static constexpr auto doc = "Sets every element to 0.";
  static constexpr bool any_dtype = true;
  static Tensor forward(const Tensor& input) {
    fill_elements(input, 0);
    return input;
  }
};

struct Copy_ {
  static constexpr auto schema = "copy_(Tensor(a!) input, Tensor source) -> Tensor(a!)";
  static constexpr auto doc = "Overwrites input with source, broadcast and converted to its dtype.";
  static constexpr bool any_dtype = true;
  static Tensor forward(const Tensor& input, const Tensor& source) {
    copy_elements(input, source);
    return input;
  }
  static constexpr auto saves = "shape(input)";
  static std::array<Tensor, 2> backward(Context&, const Tensor& g) { return {Tensor(), g}; }
  static Tensor jvp(ContextOf<Copy_>& c, const Tensor&, const Tensor& source) {
    if (!is_differentiable(c["input"_arg].dtype())) return {};
    const Tensor tangent = zeros_like(c["input"_arg]);
    return source.defined() ? copy_(tangent, source) : tangent;
  }
};

}  // namespace

TENON_OPS(Fill_, Zero_, Copy_)
