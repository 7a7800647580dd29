// The payloads of tensor types: their members, their components, their ids at the host.
#pragma once

#include <array>
#include <type_traits>
#include <utility>

#include "tenon/detail/payload_layout.hpp"
#include "tenon/tensor.hpp"

TENON_NAMESPACE_BEGIN
namespace detail {

#define TENON_DETECT(name)                    \
  template <class D, class = void>            \
  struct TypeHas_##name : std::false_type {}; \
  template <class D>                          \
  struct TypeHas_##name<D, std::void_t<decltype(&D::name)>> : std::true_type {};
TENON_DETECT(parent)
TENON_DETECT(doc)
TENON_DETECT(shape)
TENON_DETECT(dtype)
TENON_DETECT(text)
TENON_DETECT(to_tensor)
TENON_DETECT(from_tensor)
TENON_DETECT(merge)
TENON_DETECT(components)
TENON_DETECT(project_gradient)
TENON_DETECT(attributes)
TENON_DETECT(from_attributes)
TENON_DETECT(partial)
TENON_DETECT(never_operand)
TENON_DETECT(decomposes)
TENON_DETECT(own_memory)
#undef TENON_DETECT

template <class T>
constexpr int64_t component_count() {
  if constexpr (TypeHas_components<T>::value)
    return static_cast<int64_t>(std::size(T::components));
  else
    return 0;
}

// A Tensor is its handle and nothing else, so a payload's tensors are reached as handles.
template <class T>
tenon_tensor** component_place(void* payload, int64_t index) {
  static_assert(sizeof(Tensor) == sizeof(tenon_tensor*), "a Tensor is one handle");
  return reinterpret_cast<tenon_tensor**>(
      &(static_cast<T*>(payload)->*(T::components[index].member)));
}
template <class T, size_t... I>
constexpr std::array<const char*, sizeof...(I)> component_names(std::index_sequence<I...>) {
  return {T::components[I].name...};
}
template <class T>
struct ComponentNames {
  static constexpr auto value =
      component_names<T>(std::make_index_sequence<static_cast<size_t>(component_count<T>())>{});
};

// Found by name, with the layout that this binary reads its payloads by.
template <class T>
uint32_t type_id() {
  static const uint32_t id = [] {
    constexpr auto count = static_cast<size_t>(component_count<T>());
    tenon_payload_layout layout{};
    layout.size = sizeof(layout);
    layout.user = binary_id();
    int64_t offsets[count + 1] = {};
    if constexpr (!std::is_empty_v<T>) {
      layout.fingerprint = payload_fingerprint<T>();
      layout.payload_size = sizeof(T);
      layout.payload_alignment = alignof(T);
      layout.component_count = static_cast<int64_t>(count);
      alignas(T) unsigned char memory[sizeof(T)];
      for (size_t i = 0; i < count; ++i) {
        if constexpr (count > 0)
          offsets[i] = reinterpret_cast<unsigned char*>(
                           component_place<T>(memory, static_cast<int64_t>(i))) -
                       memory;
      }
      if constexpr (count > 0) layout.components = ComponentNames<T>::value.data();
      layout.component_offsets = offsets;
    }
    uint32_t found = 0;
    check(service::types().find_layout, T::name, &layout, &found);
    return found;
  }();
  return id;
}

template <class T>
T* payload_of(const tenon_tensor* tensor) {
  if constexpr (std::is_empty_v<T>) {
    static T nothing{};
    return &nothing;
  } else {
    return static_cast<T*>(service::types().payload(tensor));
  }
}

// The dtype that the type declares as a constant, a function or a member of the payload; else that
// to which its components are promoted, f32 where there are none.
template <class T>
DType dtype_of_payload(const T& payload) {
  if constexpr (TypeHas_dtype<T>::value) {
    using Said = decltype(&T::dtype);
    if constexpr (std::is_member_function_pointer_v<Said>)
      return payload.dtype();
    else if constexpr (std::is_member_object_pointer_v<Said>)
      return payload.*(&T::dtype);
    else
      return T::dtype;
  } else {
    DType dtype = DType::none;
    if constexpr (component_count<T>() > 0) {
      for (const auto& component : T::components) {
        const Tensor& tensor = payload.*(component.member);
        if (!tensor.defined()) continue;
        dtype = common_dtype(dtype, tensor.dtype());
      }
    }
    return dtype == DType::none ? f32 : dtype;
  }
}

}  // namespace detail
TENON_NAMESPACE_END
