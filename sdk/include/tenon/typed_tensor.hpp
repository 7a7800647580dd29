// Tensors of other types than Tensor: making them, asking for their type, reaching their payload.
//
//   const Tensor d = make<Diagonal>(5, 2.0);
//   if (is<Diagonal>(d)) as<Diagonal>(d).value = 3;
//   ensure_tensor(d)                                 // a plain Tensor
#pragma once

#include <string>
#include <type_traits>
#include <utility>

#include "tenon/detail/type_payload.hpp"

TENON_NAMESPACE_BEGIN

inline std::string type_name(const Tensor& tensor) {  // "Tensor" of plain ones
  return service::types().name(tensor.view_record().type);
}
// A plain Tensor: itself, or what its type's conversion makes; numbers become tensors of rank 0,
// lists of rank 1.
inline Tensor ensure_tensor(const Tensor& tensor) {
  tenon_tensor* result = nullptr;
  detail::check(service::types().to_plain, tensor.handle(), &result);
  return Tensor::take(result);
}
inline Tensor ensure_tensor(const Argument& argument) {  // a number becomes a 0-d tensor
  const tenon_value& value = argument.value();
  switch (value.tag) {
    case TENON_VALUE_TENSOR:
      return ensure_tensor(Tensor::borrow(value.as.tensor));
    case TENON_VALUE_INT_LIST:
      return from_range(value.as.integers, value.as.integers + value.length);
    case TENON_VALUE_FLOAT_LIST:
      return contiguous_as(from_range(value.as.numbers, value.as.numbers + value.length), f32);
    case TENON_VALUE_BOOL:
    case TENON_VALUE_INT:
    case TENON_VALUE_FLOAT: {
      const Scalar number(value);
      const DType dtype = number.is_floating() ? f32 : number.is_bool() ? boolean : i64;
      Tensor result = empty_tensor({}, dtype);
      fill_elements(result, number);
      return result;
    }
    default:
      detail::throw_kind("ensure_tensor(): the value", value,
                         "a tensor, a number or a list of numbers");
  }
}

// Whether the tensor is of the type or of a descendant.
template <class T>
bool is(const Tensor& tensor) {
  const tenon_tensor_view& view = tensor.view_record();
  if ((view.flags & TENON_TENSOR_TYPED) == 0) return false;
  const uint32_t expected = detail::type_id<T>();
  return view.type == expected || service::types().is(view.type, expected) != 0;
}
// Its payload; null when it is of another type. Valid as long as the tensor.
template <class T>
T* try_as(const Tensor& tensor) {
  return tensor.defined() && is<T>(tensor) ? detail::payload_of<T>(tensor.handle()) : nullptr;
}
// Its payload; TypeError when it is of another type.
template <class T>
T& as(const Tensor& tensor) {
  if (T* payload = try_as<T>(tensor)) return *payload;
  detail::throw_message(TENON_ERROR_TYPE,
                        {"expected ", T::name, ", got ",
                         tensor.defined() ? type_name(tensor) : "an undefined tensor"});
}

// A new object of a type unrelated to Tensor, its payload made from `arguments`.
template <class T, class... Arguments>
Tensor make(Arguments&&... arguments) {
  static_assert(std::is_nothrow_move_constructible_v<T>,
                "a payload is moved without throwing: mark its move constructor noexcept");
  T payload{std::forward<Arguments>(arguments)...};
  const auto dtype = static_cast<tenon_dtype>(detail::dtype_of_payload(payload));
  void* memory = nullptr;
  void** const place =
      std::is_empty_v<T> ? nullptr : &memory;  // null: the parent's payload, if any
  tenon_tensor* result = nullptr;
  if constexpr (detail::TypeHas_shape<T>::value) {
    const auto shape = payload.shape();
    detail::check(service::types().create, detail::type_id<T>(), dtype,
                  static_cast<int64_t>(shape.size()), shape.data(), place, &result);
  } else if constexpr (detail::component_count<T>() == 1) {
    const Tensor& component = payload.*(T::components[0].member);
    if (!component.defined())
      detail::throw_message(TENON_ERROR_VALUE, {T::name, " needs its tensor"});
    const auto shape = component.shape();
    detail::check(service::types().create, detail::type_id<T>(), dtype, shape.size(), shape.data(),
                  place, &result);
  } else {
    detail::check(service::types().create, detail::type_id<T>(), dtype, int64_t{0},
                  static_cast<const int64_t*>(nullptr), place, &result);
  }
  if constexpr (!std::is_empty_v<T>) ::new (memory) T(std::move(payload));
  return Tensor::take(result);
}
// One of a child type of Tensor, sharing data and history with `tensor`.
template <class T, class... Arguments>
Tensor wrap(const Tensor& tensor, Arguments&&... arguments) {
  static_assert(std::is_nothrow_move_constructible_v<T>,
                "a payload is moved without throwing: mark its move constructor noexcept");
  T payload{std::forward<Arguments>(arguments)...};
  void* memory = nullptr;
  void** const place =
      std::is_empty_v<T> ? nullptr : &memory;  // null: the parent's payload, if any
  tenon_tensor* result = nullptr;
  detail::check(service::types().wrap, detail::type_id<T>(), tensor.handle(), place, &result);
  if constexpr (!std::is_empty_v<T>) ::new (memory) T(std::move(payload));
  return Tensor::take(result);
}

TENON_NAMESPACE_END
