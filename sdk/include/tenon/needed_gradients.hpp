// Gradients that a rule builds only for the inputs that need one.
//
//   static std::array<Tensor, 2> backward(ContextOf<Mul>& c, const Tensor& g) {
//     return needed_gradients(c, "input"_arg = [&] { return g * c["other"_arg]; },
//                             "other"_arg = [&] { return g * c["input"_arg]; });
//   }
#pragma once

#include <array>
#include <initializer_list>
#include <utility>

#include "tenon/detail/arguments.hpp"

TENON_NAMESPACE_BEGIN
namespace detail {

template <class Definition, class Named>
struct SlotOf;
template <class Definition, class Build, char... name>
struct SlotOf<Definition, NamedGradient<Build, name...>> {
  using Parameter = ParameterOf<Definition, name...>;
  static_assert(Parameter::known, "the schema has no parameter of this name");
  static_assert(!Parameter::known || may_hold_tensor(Parameter::place.type),
                "only a parameter that takes tensors has a gradient");
  static constexpr int value = Parameter::place.index;
  static_assert(lists_before(Definition::schema, value + 1) == 0,
                "a tensor list takes as many slots as it has tensors: return Gradients");
};

constexpr bool are_distinct(std::initializer_list<int> slots) {
  for (const int* slot = slots.begin(); slot != slots.end(); ++slot) {
    for (const int* other = slots.begin(); other != slot; ++other) {
      if (*other == *slot) return false;
    }
  }
  return true;
}

template <int slot, class Definition>
Tensor gradient_of_slot(const ContextOf<Definition>&) {
  return Tensor();
}
template <int slot, class Definition, class First, class... Rest>
Tensor gradient_of_slot(const ContextOf<Definition>& c, const First& first, const Rest&... rest) {
  if constexpr (SlotOf<Definition, First>::value == slot)
    return c.needs_input_grad(slot) ? Tensor(first.build()) : Tensor();
  else
    return gradient_of_slot<slot>(c, rest...);
}
template <class Definition, int... slots, class... Named>
std::array<Tensor, sizeof...(slots)> gradients_of_slots(const ContextOf<Definition>& c,
                                                        std::integer_sequence<int, slots...>,
                                                        const Named&... named) {
  return {gradient_of_slot<slots>(c, named...)...};
}

}  // namespace detail

// One gradient for each input slot of the schema. The function behind a name is called where this
// run of backward asks for the gradient of that input, in the order of the schema; an input that is
// not named has none. Calling thread only.
template <class Definition, class... Named>
auto needed_gradients(const ContextOf<Definition>& c, const Named&... named) {
  constexpr detail::SchemaCounts schema = detail::count_schema(Definition::schema, false);
  static_assert(!schema.list_operands,
                "a tensor list takes as many slots as it has tensors: return Gradients");
  static_assert(detail::are_distinct({detail::SlotOf<Definition, Named>::value...}),
                "two gradients are named after one input");
  return detail::gradients_of_slots(c, std::make_integer_sequence<int, schema.slots>{}, named...);
}

TENON_NAMESPACE_END
