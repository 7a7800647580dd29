// Values that are made of tensors: tensors, lists, arrays, maps, pairs and tuples of them, inside of
// each other. Transforms take and return any of these.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "tenon/tensor.hpp"

TENON_NAMESPACE_BEGIN
namespace transforms {

// `visit(value, f)` calls f(Tensor&) for each tensor in order. `Replaced<With>` is the type with With
// in the place of Tensor, and `replace<With>(value, f)` makes one with f(const Tensor&) in each place.
// Other types hold no tensors and stay as they are.
template <class T>
struct Structure {
  static constexpr bool tensors = false;  // whether there are any inside
  template <class With>
  using Replaced = T;  // the type with With in their place
  template <class Visit>
  static void visit(T&, Visit&&) {}  // calls f(Tensor&) in order
  template <class With, class Make>
  static T replace(const T& value, Make&&) {  // results of f(const Tensor&) in their place
    return value;
  }
};
template <>
struct Structure<Tensor> {
  static constexpr bool tensors = true;
  template <class With>
  using Replaced = With;
  template <class Visit>
  static void visit(Tensor& tensor, Visit&& visit) {
    visit(tensor);
  }
  template <class With, class Make>
  static With replace(const Tensor& tensor, Make&& make) {
    return make(tensor);
  }
};
template <class T>
struct Structure<std::vector<T>> {
  static constexpr bool tensors = Structure<T>::tensors;
  template <class With>
  using Replaced = std::vector<typename Structure<T>::template Replaced<With>>;
  template <class Visit>
  static void visit(std::vector<T>& list, Visit&& visit) {
    if constexpr (tensors) {
      for (T& element : list) Structure<T>::visit(element, visit);
    }
  }
  template <class With, class Make>
  static Replaced<With> replace(const std::vector<T>& list, Make&& make) {
    if constexpr (tensors) {
      Replaced<With> made;
      for (const T& element : list)
        made.push_back(Structure<T>::template replace<With>(element, make));
      return made;
    } else {
      return list;
    }
  }
};
template <class T, size_t N>
struct Structure<std::array<T, N>> {
  static constexpr bool tensors = Structure<T>::tensors;
  template <class With>
  using Replaced = std::array<typename Structure<T>::template Replaced<With>, N>;
  template <class Visit>
  static void visit(std::array<T, N>& list, Visit&& visit) {
    for (T& element : list) Structure<T>::visit(element, visit);
  }
  template <class With, class Make>
  static Replaced<With> replace(const std::array<T, N>& list, Make&& make) {
    Replaced<With> made{};
    for (size_t i = 0; i < N; ++i) made[i] = Structure<T>::template replace<With>(list[i], make);
    return made;
  }
};
template <class Key, class T>
struct Structure<std::map<Key, T>> {
  static constexpr bool tensors = Structure<T>::tensors;
  template <class With>
  using Replaced = std::map<Key, typename Structure<T>::template Replaced<With>>;
  template <class Visit>
  static void visit(std::map<Key, T>& map, Visit&& visit) {
    for (auto& entry : map) Structure<T>::visit(entry.second, visit);
  }
  template <class With, class Make>
  static Replaced<With> replace(const std::map<Key, T>& map, Make&& make) {
    Replaced<With> made;
    for (const auto& [key, value] : map)
      made.emplace(key, Structure<T>::template replace<With>(value, make));
    return made;
  }
};
template <class... T>
struct Structure<std::tuple<T...>> {
  static constexpr bool tensors = (Structure<T>::tensors || ...);
  template <class With>
  using Replaced = std::tuple<typename Structure<T>::template Replaced<With>...>;
  template <class Visit>
  static void visit(std::tuple<T...>& tuple, Visit&& visit) {
    std::apply([&](T&... each) { (Structure<T>::visit(each, visit), ...); }, tuple);
  }
  template <class With, class Make>
  static Replaced<With> replace(const std::tuple<T...>& tuple, Make&& make) {
    // Braces evaluate in order.
    return std::apply(
        [&](const T&... each) {
          return Replaced<With>{Structure<T>::template replace<With>(each, make)...};
        },
        tuple);
  }
};
template <class A, class B>
struct Structure<std::pair<A, B>> {
  static constexpr bool tensors = Structure<A>::tensors || Structure<B>::tensors;
  template <class With>
  using Replaced = std::pair<typename Structure<A>::template Replaced<With>,
                             typename Structure<B>::template Replaced<With>>;
  template <class Visit>
  static void visit(std::pair<A, B>& pair, Visit&& visit) {
    Structure<A>::visit(pair.first, visit);
    Structure<B>::visit(pair.second, visit);
  }
  template <class With, class Make>
  static Replaced<With> replace(const std::pair<A, B>& pair, Make&& make) {
    return Replaced<With>{Structure<A>::template replace<With>(pair.first, make),
                          Structure<B>::template replace<With>(pair.second, make)};
  }
};

// The tensors of a structure, in order.
template <class T>
std::vector<Tensor> tensors_of(T value) {
  std::vector<Tensor> list;
  Structure<T>::visit(value, [&](const Tensor& tensor) { list.push_back(tensor); });
  return list;
}
// The structure with other tensors, as many and in that order.
template <class T>
T with_tensors(T value, const std::vector<Tensor>& tensors) {
  size_t next = 0;
  Structure<T>::visit(value, [&](Tensor& tensor) { tensor = tensors[next++]; });
  return value;
}

}  // namespace transforms
TENON_NAMESPACE_END
