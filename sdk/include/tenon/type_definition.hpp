// Defining tensor types that stand in for Tensor: a struct becomes a descriptor and its facts.
//
//   struct Diagonal {
//     static constexpr auto name = "Diagonal";
//     static constexpr auto doc = "A multiple of the identity.";
//     int64_t n;                                                 // members are the payload
//     double value;
//     std::array<int64_t, 2> shape() const { return {n, n}; }
//     std::string text() const { return "Diagonal(" + std::to_string(n) + ")"; }
//     Tensor to_tensor() const { return tenon::eye(n) * value; }
//   };
//   TENON_TYPE(Diagonal)
//
// Members of a type, all but `name` optional:
//   parent           "Tensor" or another type; without it the type is unrelated to Tensor: it has
//                    shape and dtype, and no data. A payload begins with that of the parent (derive
//                    from it), or is empty: then the parent's is used
//   shape(), dtype   of objects unrelated to Tensor; dtype: a static constexpr tenon::DType, a
//                    function dtype() or a member; without it that to which the components are
//                    promoted
//   text()           the text form; static text(const Tensor& self) where it needs the data
//   to_tensor()      the conversion to a plain Tensor, or static to_tensor(const Tensor& self)
//   from_tensor      static, (const Tensor& plain, const Tensor& like) -> Tensor: the way back;
//                    `like` is undefined without an example
//   tenon_function   static, (const Call&) -> Results: asked for every op
//   fallback         tenon::decline, to_tensor_fallback or unwrap_rewrap, when all have declined
//   metadata         tenon::keep (default), drop or merge: what results made by the default
//                    handler or from a component carry
//   merge            static, (const std::vector<const T*>&) -> T, for metadata = merge
//   components       static constexpr tenon::Component<T> components[] = {{"data", &T::data}}: the
//                    tensors of a payload, by which it is saved, and whose history is that of an
//                    object unrelated to Tensor: declare all of them. A type unrelated to Tensor
//                    that has one needs neither shape nor conversions
//   attributes()     the payload but its components as text, and static T from_attributes(
//                    std::string_view text): by these state::load_tensors restores an object that has
//                    other members than components
//   project_gradient static, (const Tensor& gradient) -> Tensor: what a gradient of any type is for
//                    a tensor of this type; without it gradients stay what they are
//   partial          true: covers some ops on purpose
//   never_operand    true: no op takes it
//   decomposes       true, of a type unrelated to Tensor with a handler: call_parent for an op that is
//                    made of ops (composite) runs that on the operands as they are
//   own_memory       true, of a subclass of Tensor: elements are in memory that only the type's own code
//                    reads, such as that of a device. Overrides and handler run in place of kernels,
//                    so that calls are recorded by the rules of the op; device/device.hpp
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenon/call.hpp"
#include "tenon/define.hpp"
#include "tenon/typed_tensor.hpp"

TENON_NAMESPACE_BEGIN

enum class Fallback : uint32_t {};                          // after all have declined
inline constexpr Fallback decline{TENON_FALLBACK_DECLINE};  // TypeError
// Operands are converted by to_tensor, and the op is called again.
inline constexpr Fallback to_tensor_fallback{TENON_FALLBACK_TO_TENSOR};
// As to_tensor_fallback, and from_tensor makes results the type again.
inline constexpr Fallback unwrap_rewrap{TENON_FALLBACK_UNWRAP_REWRAP};
enum class Metadata : uint32_t {};                      // payload of results
inline constexpr Metadata keep{TENON_METADATA_KEEP};    // that of the first operand that has one
inline constexpr Metadata drop{TENON_METADATA_DROP};    // a default payload
inline constexpr Metadata merge{TENON_METADATA_MERGE};  // made of the operands' by `merge`

// A tensor in the payload of a type.
template <class T>
struct Component {
  const char* name;   // name of the component
  Tensor T::*member;  // the component
};

namespace detail {

// A payload may have members of these names: what counts is a static constant, of the right type.
template <class Pointer>
inline constexpr bool is_constant =
    std::is_pointer_v<Pointer>&& std::is_const_v<std::remove_pointer_t<Pointer>>;
template <class D, class = void>
struct TypeHas_fallback : std::false_type {};
template <class D>
struct TypeHas_fallback<D, std::void_t<decltype(&D::fallback)>>
    : std::is_same<decltype(&D::fallback), const Fallback*> {
  static_assert(TypeHas_fallback::value || !is_constant<decltype(&D::fallback)>,
                "fallback is tenon::decline, tenon::to_tensor_fallback or tenon::unwrap_rewrap");
};
template <class D, class = void>
struct TypeHas_metadata : std::false_type {};
template <class D>
struct TypeHas_metadata<D, std::void_t<decltype(&D::metadata)>>
    : std::is_same<decltype(&D::metadata), const Metadata*> {
  static_assert(TypeHas_metadata::value || !is_constant<decltype(&D::metadata)>,
                "metadata is tenon::keep, tenon::drop or tenon::merge");
};

template <class T>
constexpr uint32_t type_flags() {
  uint32_t flags = 0;
  if constexpr (TypeHas_partial<T>::value) {
    if (T::partial) flags |= TENON_TYPE_PARTIAL;
  }
  if constexpr (TypeHas_never_operand<T>::value) {
    if (T::never_operand) flags |= TENON_TYPE_NEVER_OPERAND;
  }
  if constexpr (TypeHas_decomposes<T>::value) {
    if (T::decomposes) flags |= TENON_TYPE_DECOMPOSES;
  }
  if constexpr (TypeHas_own_memory<T>::value) {
    if (T::own_memory) flags |= TENON_TYPE_OWN_MEMORY;
  }
  return flags;
}
template <class T>
constexpr uint32_t fallback_of() {
  if constexpr (TypeHas_fallback<T>::value)
    return static_cast<uint32_t>(T::fallback);
  else
    return TENON_FALLBACK_INHERIT;
}
template <class T>
constexpr uint32_t metadata_of() {
  if constexpr (TypeHas_metadata<T>::value)
    return static_cast<uint32_t>(T::metadata);
  else
    return TENON_METADATA_KEEP;
}
template <class T>
constexpr const char* parent_of() {
  if constexpr (TypeHas_parent<T>::value)
    return T::parent;
  else
    return nullptr;
}

template <class T>
tenon_status run_handler(void*, const tenon_call* call, tenon_value* results, tenon_error** error) {
  return answer(call, results, error, [&] { return T::tenon_function(Call(call)); });
}
template <class T>
void destroy_payload(void* payload) {
  static_cast<T*>(payload)->~T();
}
template <class T>
tenon_status run_merge(void*, tenon_tensor* const* operands, int64_t count, void* payload,
                       tenon_error** error) {
  return guarded(error, [&] {
    if constexpr (TypeHas_merge<T>::value) {
      std::vector<const T*> list;
      for (int64_t i = 0; i < count; ++i) list.push_back(payload_of<T>(operands[i]));
      ::new (payload) T(T::merge(list));
    } else {
      (void)operands, (void)count;
      ::new (payload) T();
    }
  });
}
// Calls a static function with the tensor, or a member of its payload.
template <class T, class Function>
auto of_self(Function function, tenon_tensor* tensor) {
  if constexpr (std::is_member_function_pointer_v<Function>) {
    const T* payload = payload_of<T>(tensor);
    if (payload == nullptr) throw_message(TENON_ERROR_TYPE, {T::name, " without its payload"});
    return (payload->*function)();
  } else {
    return function(Tensor::borrow(tensor));
  }
}
template <class T>
tenon_status run_text(void*, tenon_tensor* tensor, tenon_value* text, tenon_error** error) {
  return guarded(error, [&] { give_result(std::string(of_self<T>(&T::text, tensor)), text); });
}
template <class T>
tenon_status run_to_tensor(void*, tenon_tensor* tensor, tenon_tensor** result,
                           tenon_error** error) {
  return guarded(error, [&] { *result = Tensor(of_self<T>(&T::to_tensor, tensor)).give(); });
}
template <class T>
tenon_status run_from_tensor(void*, tenon_tensor* plain, tenon_tensor* like, tenon_tensor** result,
                             tenon_error** error) {
  return guarded(error, [&] {
    *result = Tensor(T::from_tensor(Tensor::borrow(plain), Tensor::borrow(like))).give();
  });
}

template <class T>
tenon_status run_project_gradient(void*, tenon_tensor* gradient, tenon_tensor** result,
                                  tenon_error** error) {
  return guarded(error,
                 [&] { *result = Tensor(T::project_gradient(Tensor::borrow(gradient))).give(); });
}
template <class T>
tenon_status copy_payload(void*, const void* payload, void* copy, tenon_error** error) {
  return guarded(error, [&] { ::new (copy) T(*static_cast<const T*>(payload)); });
}
template <class T>
tenon_status run_attributes(void*, const void* payload, tenon_value* text, tenon_error** error) {
  return guarded(
      error, [&] { give_result(std::string(static_cast<const T*>(payload)->attributes()), text); });
}
template <class T>
tenon_status run_restore(void*, const char* text, int64_t length, void* payload,
                         tenon_error** error) {
  return guarded(error, [&] {
    ::new (payload) T(T::from_attributes(std::string_view(text, static_cast<size_t>(length))));
  });
}

template <class T>
constexpr tenon_type_descriptor make_type() {
  tenon_type_descriptor type{};
  type.size = sizeof(tenon_type_descriptor);
  type.flags = type_flags<T>();
  type.name = T::name;
  type.parent = parent_of<T>();
  type.doc = doc_of<T>();
  type.fallback = fallback_of<T>();
  type.metadata = metadata_of<T>();
  if constexpr (!std::is_empty_v<T>) {
    static_assert(alignof(T) <= 64, "payloads are aligned to 64 bytes at most");
    type.payload_size = sizeof(T);
    type.payload_alignment = alignof(T);
    type.payload_fingerprint = payload_fingerprint<T>();
    if constexpr (!std::is_trivially_destructible_v<T>) type.destroy = destroy_payload<T>;
    if constexpr (TypeHas_merge<T>::value || std::is_default_constructible_v<T>)
      type.merge = run_merge<T>;
    if constexpr (std::is_copy_constructible_v<T>) type.copy = copy_payload<T>;
    static_assert(TypeHas_attributes<T>::value == TypeHas_from_attributes<T>::value,
                  "attributes() and from_attributes are one the inverse of the other: give both");
    if constexpr (TypeHas_from_attributes<T>::value) {
      type.attributes = run_attributes<T>;
      type.restore = run_restore<T>;
    }
  }
  if constexpr (TypeHas_components<T>::value) {
    type.components = ComponentNames<T>::value.data();
    type.component_count = component_count<T>();
    type.component = component_place<T>;
  }
  if constexpr (TypeHas_project_gradient<T>::value) type.project_gradient = run_project_gradient<T>;
  if constexpr (Has_tenon_function<T>::value) type.handler = run_handler<T>;
  if constexpr (TypeHas_text<T>::value) type.text = run_text<T>;
  if constexpr (TypeHas_to_tensor<T>::value) type.to_tensor = run_to_tensor<T>;
  if constexpr (TypeHas_from_tensor<T>::value) type.from_tensor = run_from_tensor<T>;
  return type;
}

template <class T>
struct TypeFact {
  static constexpr void write(FactsWriter& writer) {
    writer.raw(R"({"type":{"name":)");
    writer.string(T::name);
    if constexpr (TypeHas_parent<T>::value) {
      writer.raw(R"(,"parent":)");
      writer.string(T::parent);
    }
    writer.raw(R"(,"doc":)");
    writer.string(doc_of<T>());
    writer.raw(R"(,"flags":)");
    writer.number(type_flags<T>());
    writer.raw(R"(,"fallback":)");
    writer.number(fallback_of<T>());
    writer.raw(R"(,"metadata":)");
    writer.number(metadata_of<T>());
    writer.raw(Has_tenon_function<T>::value ? ",\"handler\":true" : ",\"handler\":false");
    if constexpr (!std::is_empty_v<T>) {
      writer.raw(R"(,"payload":[)");
      writer.number(sizeof(T));
      writer.put(',');
      writer.number(alignof(T));
      writer.put(',');
      writer.number(payload_fingerprint<T>());
      writer.put(']');
    }
    writer.raw("}}");
  }
};

}  // namespace detail
TENON_NAMESPACE_END

#undef TENON_TYPE  // plugin.hpp has one that asks for this header

// Defines and registers a tensor type. At global scope, once for a definition; in any file of the
// plugin and in any order.
#define TENON_TYPE(Definition) TENON_REGISTER(type, Definition, TypeFact, make_type)
