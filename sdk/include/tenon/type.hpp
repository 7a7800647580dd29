// Tensor types that stand in for Tensor, overrides of ops for them, and the calls that they see.
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
//   struct AddDiagonals {
//     static constexpr auto schema = "add(Tensor input, Tensor other) -> Tensor";
//     static constexpr auto types = "Diagonal";
//     static Results forward(const Tensor& input, const Tensor& other) { ... }
//   };
//   TENON_OVERRIDE(AddDiagonals)
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
//                    `like` is undefined where there is no example
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
// Members of an override:
//   schema, doc      its own signature, under the op's full name; a sentence for listings
//   types            "A", or "A, B": a call has an operand of each
//   accepts          other types that operands may have: default "Tensor"; "*": any
//   forward          function of the own signature's parameters, before which it may take a
//                    `const Call&`. It returns values of any kind; one that may decline returns
//                    Results, and Results(not_implemented) to decline
//   backward, jvp, saves, ...   with a backward the override is defined, recorded and differentiated
//                    as an op is (define.hpp); without one the history of its result is that of the
//                    ops that computed it
// An override without a forward, and with types = "Tensor", gives an op of any plugin another
// backward, jvp or both; rules that it lacks stay the op's own, and a jvp declared `pointwise`
// follows the backward.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenon/define.hpp"
#include "tenon/detail/payload_layout.hpp"

TENON_NAMESPACE_BEGIN

enum class Fallback : uint32_t {};
inline constexpr Fallback decline{TENON_FALLBACK_DECLINE},
    to_tensor_fallback{TENON_FALLBACK_TO_TENSOR}, unwrap_rewrap{TENON_FALLBACK_UNWRAP_REWRAP};
enum class Metadata : uint32_t {};
inline constexpr Metadata keep{TENON_METADATA_KEEP}, drop{TENON_METADATA_DROP},
    merge{TENON_METADATA_MERGE};

struct NotImplemented {};
inline constexpr NotImplemented not_implemented{};

// A tensor in the payload of a type.
template <class T>
struct Component {
  const char* name;
  Tensor T::*member;
};

// Results of a call, or its refusal: as many values as the op has results. Move-only.
class Results {
 public:
  Results(NotImplemented) { values_[0].tag = TENON_VALUE_NOT_IMPLEMENTED; }
  template <class T, std::enable_if_t<!std::is_same_v<std::decay_t<T>, Results>, int> = 0>
  Results(T&& result) {
    detail::give_results(std::forward<T>(result), values_);
  }
  // To be filled through its slots.
  static Results of_count(int64_t count) {
    Results results{none};
    results.count_ = count;
    return results;
  }
  Results(Results&& other) noexcept : count_(other.count_) {
    for (int64_t i = 0; i < detail::max_results; ++i)
      values_[i] = std::exchange(other.values_[i], tenon_value{});
  }
  Results& operator=(Results&& other) noexcept {
    std::swap(count_, other.count_);
    for (int64_t i = 0; i < detail::max_results; ++i) std::swap(values_[i], other.values_[i]);
    return *this;
  }
  Results(const Results&) = delete;
  Results& operator=(const Results&) = delete;
  ~Results() {
    for (tenon_value& value : values_) {
      if (value.tag >= TENON_VALUE_STRING) service::values().release(&value);
    }
  }

  bool declined() const { return values_[0].tag == TENON_VALUE_NOT_IMPLEMENTED; }
  int64_t size() const { return count_; }
  Value take(int64_t i = 0) { return Value(std::exchange(values_[i], tenon_value{})); }
  // Replaces every tensor, in lists too, by what `body` makes of it.
  template <class Body>
  Results& transform(Body&& body) {
    for (tenon_value& value : values_) {
      if (value.tag == TENON_VALUE_TENSOR) {
        value.as.tensor = body(Tensor::take(std::exchange(value.as.tensor, nullptr))).give();
        if (value.as.tensor == nullptr) value.tag = TENON_VALUE_NONE;
      } else if (value.tag == TENON_VALUE_TENSOR_LIST) {
        auto** tensors = const_cast<tenon_tensor**>(value.as.tensors);
        for (uint32_t k = 0; k < value.length; ++k) {
          if (tensors[k] == nullptr) continue;
          tensors[k] = body(Tensor::take(std::exchange(tensors[k], nullptr))).give();
        }
      }
    }
    return *this;
  }
  tenon_value* slots() { return values_; }
  void give(tenon_value* slots, int64_t count) {
    for (int64_t i = 0; i < count; ++i) slots[i] = std::exchange(values_[i], tenon_value{});
  }

 private:
  tenon_value values_[detail::max_results] = {};
  int64_t count_ = 1;
};

namespace detail {
template <>
struct MayDecline<Results> : std::true_type {};
}  // namespace detail

// ---- text ----

// As it is printed: None, 0.4, tensor(1.), ScalarTensor(N=5, value=2).
inline std::string text_of(const Argument& value) {
  Value text;
  detail::check(service::values().text, &value.value(), text.slot());
  return text.text();
}
inline std::string text_of(const Value& value) { return text_of(Argument(value.get())); }

// ---- types of tensors ----

inline std::string type_name(const Tensor& tensor) {
  return service::types().name(tensor.view_record().type);
}
// A plain Tensor: itself, or what its type's conversion makes; numbers become tensors of rank 0,
// lists of rank 1.
inline Tensor ensure_tensor(const Tensor& tensor) {
  tenon_tensor* result = nullptr;
  detail::check(service::types().to_plain, tensor.handle(), &result);
  return Tensor::take(result);
}
inline Tensor ensure_tensor(const Argument& argument) {
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
TENON_DETECT(tenon_function)
TENON_DETECT(merge)
TENON_DETECT(components)
TENON_DETECT(project_gradient)
TENON_DETECT(attributes)
TENON_DETECT(from_attributes)
TENON_DETECT(partial)
TENON_DETECT(never_operand)
TENON_DETECT(accepts)
#undef TENON_DETECT
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

// ---- calls ----

// One call, as handlers, overrides and modes see it. Valid during the callback, on its thread.
class Call {
 public:
  explicit Call(const tenon_call* call) : call_(call) {}
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  Op op() const { return Op(call_->op); }
  std::string name() const { return service::ops().name(call_->op); }  // "nn.functional.gelu"
  std::string short_name() const {                                     // "gelu"
    const std::string full = name();
    const size_t dot = full.rfind('.');
    return dot == std::string::npos ? full : full.substr(dot + 1);
  }
  // The distinct types of the operands that have a handler, an override or a fallback, in the order
  // of asking. Empty in a mode where types are disabled.
  Span<const uint32_t> types() const { return {call_->types, call_->type_count}; }
  std::vector<std::string> type_names() const {
    std::vector<std::string> names(static_cast<size_t>(types().size()));
    for (size_t i = 0; i < names.size(); ++i) names[i] = service::types().name(call_->types[i]);
    return names;
  }
  // One for each parameter, defaults filled in.
  int64_t size() const { return call_->argument_count; }
  Argument argument(int64_t i) const { return Argument(call_->arguments[i]); }
  Tensor tensor(int64_t i) const {
    const tenon_value& value = call_->arguments[i];
    return value.tag == TENON_VALUE_TENSOR ? Tensor::borrow(value.as.tensor) : Tensor();
  }
  // An argument by its name in the op's schema, looked up in each call; `tensor` is undefined where
  // the argument is not one. IndexError when the op has no parameter of the name. Not for
  // overrides, which have the parameters of the override's schema.
  Argument argument(std::string_view name) const { return argument(index_of(name)); }
  Tensor tensor(std::string_view name) const { return tensor(index_of(name)); }
  // The arguments as the caller wrote them, before conversions: values by position, then values by
  // name, a value that equals its default too. A typed wrapper (tenon::add, x.add, x + y) passes
  // its C++ default arguments as well: of its values those that equal the default, at the end or
  // behind '*', count as not given. Empty in an override, which has its own parameters.
  Span<const tenon_value> args() const { return {call_->positional, call_->positional_count}; }
  std::vector<Keyword> kwargs() const {
    std::vector<Keyword> list;
    for (int64_t i = 0; i < call_->keyword_count; ++i) {
      const tenon_string& keyword = call_->keywords[i];
      list.push_back({std::string_view(keyword.data, static_cast<size_t>(keyword.length)),
                      Argument(call_->keyword_values[i])});
    }
    return list;
  }
  // (tensor([1.]), 2) and {'alpha': 2}
  std::string args_text() const {
    std::string text = "(";
    for (const tenon_value& value : args())
      text += (text.size() > 1 ? ", " : "") + text_of(Argument(value));
    return text + (args().size() == 1 ? ",)" : ")");
  }
  std::string kwargs_text() const {
    std::string text = "{";
    for (const Keyword& keyword : kwargs()) {
      text += (text.size() > 1 ? ", '" : "'") + std::string(keyword.name) +
              "': " + text_of(keyword.value);
    }
    return text + "}";
  }
  // Calls `body` with every tensor among the arguments, in order, those in lists too.
  template <class Body>
  void each_tensor(Body&& body) const {
    for (int64_t i = 0; i < size(); ++i) {
      const tenon_value& value = call_->arguments[i];
      if (value.tag == TENON_VALUE_TENSOR) body(Tensor::borrow(value.as.tensor));
      for (uint32_t k = 0; value.tag == TENON_VALUE_TENSOR_LIST && k < value.length; ++k) {
        if (value.as.tensors[k] != nullptr) body(Tensor::borrow(value.as.tensors[k]));
      }
    }
  }

  // Runs the next handler up the line of descent; at its end the op itself, results made the type.
  Results call_parent() const {
    Results results = Results::of_count(service::ops().result_count(call_->op));
    detail::check(service::types().call_parent, call_, static_cast<const tenon_value*>(nullptr),
                  results.slots());
    return results;
  }
  // Calls the op again, written as this call is, with every tensor among the arguments replaced by
  // what `body` makes of it.
  template <class Body>
  Results call_with(Body&& body) const {
    const bool own = call_->positional == nullptr;  // an override: its own parameters, in order
    const tenon_value* first = own ? call_->arguments : call_->positional;
    std::vector<tenon_value> values(first, first + (own ? size() : call_->positional_count));
    std::vector<tenon_value> named(call_->keyword_values,
                                   call_->keyword_values + call_->keyword_count);
    std::vector<Tensor> owned;
    std::vector<std::vector<tenon_tensor*>> lists;
    lists.reserve(values.size() + named.size());
    const auto replace = [&](tenon_value& value) {
      if (value.tag == TENON_VALUE_TENSOR) {
        owned.push_back(body(Tensor::borrow(value.as.tensor)));
        value.as.tensor = owned.back().handle();
      } else if (value.tag == TENON_VALUE_TENSOR_LIST) {
        std::vector<tenon_tensor*>& list = lists.emplace_back();
        for (uint32_t k = 0; k < value.length; ++k) {
          owned.push_back(body(Tensor::borrow(value.as.tensors[k])));
          list.push_back(owned.back().handle());
        }
        value.as.tensors = list.data();
      }
    };
    for (tenon_value& value : values) replace(value);
    for (tenon_value& value : named) replace(value);
    Results results = Results::of_count(service::ops().result_count(call_->op));
    const auto count = static_cast<int64_t>(values.size());
    if (named.empty())
      detail::check(service::ops().call, call_->op, values.data(), count, results.slots());
    else
      detail::check(service::ops().call_keywords, call_->op, values.data(), count, call_->keywords,
                    named.data(), call_->keyword_count, results.slots());
    return results;
  }
  const tenon_call* handle() const { return call_; }

 private:
  int64_t index_of(std::string_view name) const {
    if (call_->positional == nullptr)
      detail::throw_message(TENON_ERROR_TYPE,
                            {"an override of ", this->name(),
                             " has the parameters of the override's schema: forward takes them"});
    int64_t index = 0;
    detail::check(service::ops().parameter, call_->op, name.data(),
                  static_cast<int64_t>(name.size()), &index);
    return index;
  }
  const tenon_call* call_;
};

// ---- calls that ask no types, or no modes either ----

namespace detail {
class DispatchDisabled {
 public:
  explicit DispatchDisabled(uint32_t what)
      : previous_(service::modes().disable(service::modes().disabled() | what)) {}
  ~DispatchDisabled() { service::modes().disable(previous_); }
  DispatchDisabled(const DispatchDisabled&) = delete;
  DispatchDisabled& operator=(const DispatchDisabled&) = delete;

 private:
  uint32_t previous_;
};
}  // namespace detail

// As long as it lives, the ops that this thread calls, and those that they call, ask no operand
// types: objects of a subclass of Tensor are plain tensors, and so are results made of them; other
// types are refused where a Tensor is expected. Modes are asked. Scopes nest.
//
//   static Results tenon_function(const Call& call) {        // the handler of a parent type
//     const DisableTenonFunctionSubclass off;
//     return call.call_with([](const Tensor& tensor) { return tensor; });
//   }
class DisableTenonFunctionSubclass : detail::DispatchDisabled {
 public:
  DisableTenonFunctionSubclass() : DispatchDisabled(TENON_DISABLE_TYPES) {}
};
// Skips types of operands, and modes above autograd, not even those that are entered in the scope.
class DisableTenonFunction : detail::DispatchDisabled {
 public:
  DisableTenonFunction() : DispatchDisabled(TENON_DISABLE_TYPES | TENON_DISABLE_MODES) {}
};

namespace detail {

template <class T>
constexpr uint32_t type_flags() {
  uint32_t flags = 0;
  if constexpr (TypeHas_partial<T>::value) {
    if (T::partial) flags |= TENON_TYPE_PARTIAL;
  }
  if constexpr (TypeHas_never_operand<T>::value) {
    if (T::never_operand) flags |= TENON_TYPE_NEVER_OPERAND;
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

// Passes on what `body`, a handler, makes of the call; of an op without results whether it handled
// it.
template <class Body>
tenon_status answer(const tenon_call* call, tenon_value* results, tenon_error** error,
                    Body&& body) {
  try {
    Results given = body();
    const int64_t count = service::ops().result_count(call->op);
    given.give(results, count == 0 ? 1 : count);
    return TENON_OK;
  } catch (...) {
    return report_exception(error);
  }
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
  if constexpr (TypeHas_tenon_function<T>::value) type.handler = run_handler<T>;
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
    writer.raw(TypeHas_tenon_function<T>::value ? ",\"handler\":true" : ",\"handler\":false");
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

// The forward of an override takes the parameters of the override's schema, after the Call if it
// needs it.
template <class Function>
struct OverrideSignature;
template <class R, class... P>
struct OverrideSignature<R (*)(P...)> {
  using Result = R;
  static constexpr size_t arity = sizeof...(P);
  static constexpr bool fits(const SchemaCounts& counts) {
    return inputs_fit(counts, Types<P...>{}, std::index_sequence_for<P...>{});
  }
  template <class F, size_t... I>
  static R run(F function, const tenon_call* call, std::index_sequence<I...>) {
    return function(from_value<P>(call->arguments[I])...);
  }
};
template <class R, class... P>
struct OverrideSignature<R (*)(const Call&, P...)> : OverrideSignature<R (*)(P...)> {
  template <class F, size_t... I>
  static R run(F function, const tenon_call* call, std::index_sequence<I...>) {
    return function(Call(call), from_value<P>(call->arguments[I])...);
  }
};

template <class D>
tenon_status run_override(void*, const tenon_call* call, tenon_value* results,
                          tenon_error** error) {
  try {
    using S = OverrideSignature<decltype(&D::forward)>;
    constexpr auto indices = std::make_index_sequence<S::arity>{};
    if constexpr (std::is_same_v<typename S::Result, Results>) {
      return answer(call, results, error, [&] { return S::run(&D::forward, call, indices); });
    } else {
      give_results(S::run(&D::forward, call, indices), results);
    }
    return TENON_OK;
  } catch (...) {
    return report_exception(error);
  }
}

// Without a forward: rules for an op of another plugin.
template <class D>
constexpr tenon_op_descriptor make_rules() {
  tenon_op_descriptor rules{};
  if constexpr (check_schema_text<D>() && check_members<D>() && check_rules<D>()) {
    rules.size = sizeof(tenon_op_descriptor);
    rules.flags = flags_of<D>();
    rules.schema = D::schema;
    rules.differentiable = differentiable_of<D>();
    rules.jvp_kind = static_cast<uint32_t>(jvp_kind_of<D>());
    if constexpr (Has_backward<D>::value) rules.backward = run_rule<D, &D::backward>;
    if constexpr (Has_vjp<D>::value) rules.vjp = run_rule<D, &D::vjp>;
    if constexpr (jvp_kind_of<D>() == JvpKind::rule) rules.jvp = run_rule<D, &D::jvp>;
    if constexpr (Has_saves<D>::value) rules.saves = D::saves;
  }
  return rules;
}
template <class D>
struct OverrideRules {
  static constexpr tenon_op_descriptor make() {
    if constexpr (Has_forward<D>::value)
      return make_op<D, true>();
    else
      return make_rules<D>();
  }
  static constexpr tenon_op_descriptor value = make();
};

template <class D>
constexpr void check_override() {
  using S = OverrideSignature<decltype(&D::forward)>;
  constexpr SchemaCounts counts = count_schema(D::schema);
  check_schema_text<D, false>();
  static_assert(S::arity == static_cast<size_t>(counts.parameters),
                "forward must take exactly the parameters of the override's schema");
  static_assert(S::fits(counts),
                "the type of a parameter of forward does not match its schema type; "
                "sdk/docs/reference/schema_types.md has the table");
}

template <class D>
constexpr tenon_override_descriptor make_override() {
  tenon_override_descriptor entry{};
  entry.size = sizeof(tenon_override_descriptor);
  entry.schema = D::schema;
  entry.doc = doc_of<D>();
  entry.types = D::types;
  if constexpr (TypeHas_accepts<D>::value) entry.accepts = D::accepts;
  if constexpr (!Has_forward<D>::value || Has_backward<D>::value || Has_vjp<D>::value ||
                Has_jvp<D>::value) {
    entry.rules = &OverrideRules<D>::value;
  } else {
    check_override<D>();
    entry.run = run_override<D>;
  }
  return entry;
}

template <class D>
struct OverrideFact {
  static constexpr void write(FactsWriter& writer) {
    writer.raw(R"({"override":{"schema":)");
    writer.string(D::schema);
    writer.raw(R"(,"doc":)");
    writer.string(doc_of<D>());
    writer.raw(R"(,"types":)");
    writer.string(D::types);
    if constexpr (TypeHas_accepts<D>::value) {
      writer.raw(R"(,"accepts":)");
      writer.string(D::accepts);
    }
    writer.raw("}}");
  }
};

}  // namespace detail
TENON_NAMESPACE_END

// Defines and registers a tensor type. At global scope, once for a definition; in any file of the
// plugin and in any order.
#define TENON_TYPE(Definition) TENON_REGISTER(type, Definition, TypeFact, make_type)
// Defines and registers an override, or rules for another plugin's op. At global scope, once for a
// definition; in any file of the plugin and in any order.
#define TENON_OVERRIDE(Definition) TENON_REGISTER(override, Definition, OverrideFact, make_override)
