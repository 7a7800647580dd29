// Bound values as C++ parameters, and C++ results as given values.
#pragma once

#include <array>
#include <optional>
#include <tuple>

#include "tenon/context.hpp"

TENON_NAMESPACE_BEGIN
namespace detail {

template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};
template <class T>
struct IsTuple : std::false_type {};
template <class... T>
struct IsTuple<std::tuple<T...>> : std::true_type {};
template <class T>
struct IsArray : std::false_type {};
template <class T, size_t N>
struct IsArray<std::array<T, N>> : std::true_type {};

// Reads a bound value as a C++ parameter. The host has checked the tag against the schema.
template <class P>
decltype(auto) from_value(const tenon_value& value) {
  using T = std::remove_cv_t<std::remove_reference_t<P>>;
  if constexpr (std::is_same_v<T, Tensor>) {
    return reinterpret_cast<const Tensor&>(value.as.tensor);
  } else if constexpr (std::is_same_v<T, Argument>) {
    return Argument(value);
  } else if constexpr (std::is_same_v<T, Scalar>) {
    return Scalar(value);
  } else if constexpr (std::is_same_v<T, bool>) {
    return value.as.integer != 0;
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(value.as.integer);
  } else if constexpr (std::is_floating_point_v<T>) {
    return Scalar(value).to<T>();
  } else if constexpr (std::is_same_v<T, DType>) {
    return value.tag == TENON_VALUE_NONE ? DType::none : static_cast<DType>(value.as.integer);
  } else if constexpr (std::is_same_v<T, std::string_view>) {
    return std::string_view(value.as.string, value.length);
  } else if constexpr (std::is_same_v<T, std::string>) {
    return std::string(value.as.string, value.length);
  } else if constexpr (std::is_same_v<T, IntList>) {
    return IntList(value.as.integers, value.length);
  } else if constexpr (std::is_same_v<T, FloatList>) {
    return FloatList(value.as.numbers, value.length);
  } else if constexpr (std::is_same_v<T, TensorList>) {
    return TensorList(reinterpret_cast<const Tensor*>(value.as.tensors), value.length);
  } else if constexpr (IsOptional<T>::value) {
    using Inner = typename T::value_type;
    return value.tag == TENON_VALUE_NONE ? T() : T(from_value<Inner>(value));
  } else {
    static_assert(!sizeof(T), "no schema type crosses the boundary as this parameter type");
  }
}

// Whether a C++ parameter can stand for a schema type.
template <class P>
constexpr bool takes(std::string_view type) {
  using T = std::remove_cv_t<std::remove_reference_t<P>>;
  const bool optional = !type.empty() && type.back() == '?';
  const bool list = type.find('[') != std::string_view::npos;
  const bool either = type.find('|') != std::string_view::npos;
  const std::string_view base = type.substr(0, type.find_first_of("([?|"));
  if constexpr (std::is_same_v<T, Argument>)
    return true;
  else if constexpr (IsOptional<T>::value)
    return optional && takes<typename T::value_type>(type.substr(0, type.size() - 1));
  else if constexpr (std::is_same_v<T, Tensor>)
    return base == "Tensor" && !list && !either;
  else if constexpr (std::is_same_v<T, TensorList>)
    return base == "Tensor" && list;
  else if constexpr (std::is_same_v<T, IntList>)
    return base == "int" && list;
  else if constexpr (std::is_same_v<T, FloatList>)
    return base == "float" && list;
  else if constexpr (std::is_same_v<T, DType>)
    return base == "dtype" && !list;
  else if constexpr (std::is_same_v<T, std::string_view> || std::is_same_v<T, std::string>)
    return base == "str" && !list;
  else if constexpr (std::is_same_v<T, bool>)
    return base == "bool" && !list && !optional;
  else if constexpr (std::is_integral_v<T>)
    return base == "int" && !list && !optional;
  else if constexpr (std::is_floating_point_v<T>)
    return (base == "float" || base == "Scalar") && !list && !optional && !either;
  else if constexpr (std::is_same_v<T, Scalar>)
    return (base == "Scalar" || base == "int" || base == "float" || base == "bool") && !list &&
           !optional && !either;
  else
    return false;
}
template <class R>
constexpr int count_results() {
  if constexpr (std::is_void_v<R>)
    return 0;
  else if constexpr (IsTuple<R>::value)
    return static_cast<int>(std::tuple_size_v<R>);
  else
    return 1;
}

// Writes one C++ result into a result slot, giving it away.
template <class R>
void give_result(R&& result, tenon_value* slot) {
  using T = std::remove_cv_t<std::remove_reference_t<R>>;
  *slot = tenon_value{};
  if constexpr (std::is_same_v<T, Tensor>) {
    Tensor tensor = std::forward<R>(result);
    if (tensor.defined()) {
      slot->tag = TENON_VALUE_TENSOR;
      slot->as.tensor = tensor.give();
    }
  } else if constexpr (std::is_same_v<T, std::vector<Tensor>>) {
    const auto count = static_cast<int64_t>(result.size());
    void* memory = host().allocate(count == 0 ? 1 : count * static_cast<int64_t>(sizeof(void*)));
    if (memory == nullptr) throw std::bad_alloc();
    auto** tensors = static_cast<tenon_tensor**>(memory);
    for (int64_t i = 0; i < count; ++i) tensors[i] = Tensor(result[static_cast<size_t>(i)]).give();
    slot->tag = TENON_VALUE_TENSOR_LIST;
    slot->length = static_cast<uint32_t>(count);
    slot->as.tensors = tensors;
  } else if constexpr (std::is_same_v<T, std::string>) {
    check(host().string_create, result.data(), static_cast<int64_t>(result.size()), slot);
  } else if constexpr (std::is_same_v<T, Value>) {
    *slot = result.give();
  } else {
    *slot = Argument(result).value();
  }
}
template <class R>
void give_results(R&& result, tenon_value* slots) {
  if constexpr (IsTuple<std::remove_cv_t<std::remove_reference_t<R>>>::value) {
    std::apply(
        [slots](auto&&... parts) {
          size_t i = 0;
          (give_result(std::forward<decltype(parts)>(parts), slots + i++), ...);
        },
        std::forward<R>(result));
  } else {
    give_result(std::forward<R>(result), slots);
  }
}

}  // namespace detail
TENON_NAMESPACE_END
