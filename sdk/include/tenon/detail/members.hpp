// Which members a definition has: Has_forward<D>::value, and declares_ for flags set to true.
#pragma once

#include <type_traits>

#include "tenon/host.hpp"

TENON_NAMESPACE_BEGIN
namespace detail {

// Inside a check of a definition, which begins with `bool fits = true` and returns it: what does
// not fit is explained once, and nothing is made of it.
#define TENON_REQUIRE(condition, message) \
  static_assert(condition, message);      \
  fits = fits && (condition)

#define TENON_DETECT(name)                \
  template <class D, class = void>        \
  struct Has_##name : std::false_type {}; \
  template <class D>                      \
  struct Has_##name<D, std::void_t<decltype(&D::name)>> : std::true_type {};
TENON_DETECT(element)
TENON_DETECT(forward)
TENON_DETECT(forward_schema)
TENON_DETECT(setup_context)
TENON_DETECT(backward)
TENON_DETECT(vjp)
TENON_DETECT(jvp)
TENON_DETECT(saves)
TENON_DETECT(promotion)
TENON_DETECT(dtypes)
TENON_DETECT(costly)
TENON_DETECT(doc)
TENON_DETECT(not_overridable)
TENON_DETECT(samples)
TENON_DETECT(accuracy)
TENON_DETECT(shape_rule)
TENON_DETECT(multiply_adds)
TENON_DETECT(declines)
TENON_DETECT(parameters)
TENON_DETECT(extra_repr)
TENON_DETECT(tenon_function)
#undef TENON_DETECT

#define TENON_DECLARED(name)                   \
  template <class D, class = void>             \
  struct Declares_##name : std::false_type {}; \
  template <class D>                           \
  struct Declares_##name<D, std::void_t<decltype(&D::name)>> : std::bool_constant<D::name> {};
TENON_DECLARED(composite)
TENON_DECLARED(own_forward_schema)
TENON_DECLARED(once_differentiable)
TENON_DECLARED(twice_differentiable)
TENON_DECLARED(jvp_once_differentiable)
TENON_DECLARED(clear_saved_tensors_on_access)
TENON_DECLARED(zero_gradient)
TENON_DECLARED(may_copy)
TENON_DECLARED(any_dtype)
TENON_DECLARED(reads_elements)
TENON_DECLARED(data_dependent_shape)
#undef TENON_DECLARED

}  // namespace detail
TENON_NAMESPACE_END
