// std::tuple as a name: definitions that return one include <tuple>, which takes a tenth of the compile
// time of a small plugin.
#pragma once

#include <type_traits>
#include <utility>

#include "tenon/host.hpp"

#if !defined(__GLIBCXX__)  // its <utility> declares std::tuple
#include <tuple>
#endif

TENON_NAMESPACE_BEGIN
namespace detail {

template <class T>
struct IsTuple : std::false_type {};
template <class... T>
struct IsTuple<std::tuple<T...>> : std::true_type {};

// Calls `body` with all parts, as std::apply does.
template <class Tuple, class Body, size_t... I>
void with_parts(Tuple&& tuple, Body&& body, std::index_sequence<I...>) {
  using std::get;  // and that of std::tuple, which is found by its argument
  body(get<I>(std::forward<Tuple>(tuple))...);
}
template <class Tuple, class Body>
void with_parts(Tuple&& tuple, Body&& body) {
  constexpr size_t size = std::tuple_size<std::remove_reference_t<Tuple>>::value;
  with_parts(std::forward<Tuple>(tuple), std::forward<Body>(body),
             std::make_index_sequence<size>{});
}

}  // namespace detail
TENON_NAMESPACE_END
