// Bound values as C++ parameters, and C++ results as given values.
#pragma once

#include <array>
#include <optional>

#include "tenon/context.hpp"
#include "tenon/detail/tuple.hpp"
#include "tenon/schema.hpp"

TENON_NAMESPACE_BEGIN
namespace detail {

template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};
template <class T>
struct IsArray : std::false_type {};
template <class T, size_t N>
struct IsArray<std::array<T, N>> : std::true_type {};

// Functions that few definitions need are templates, here and in written_result.hpp: a definition
// that does not call them compiles nothing for them.

// The elements of a Scalar[], whose numbers are of one kind.
template <class List>
List scalars_of(const tenon_value& list) {
  List scalars(list.length);
  for (uint32_t i = 0; i < list.length; ++i) {
    scalars[i] = list.tag == TENON_VALUE_FLOAT_LIST  ? Scalar(list.as.numbers[i])
                 : list.tag == TENON_VALUE_BOOL_LIST ? Scalar(list.as.booleans[i] != 0)
                                                     : Scalar(list.as.integers[i]);
  }
  return scalars;
}

// Specialized for types of other headers, to say how they are read: module.hpp, json.hpp.
template <class T>
struct HandleParameter {
  static constexpr std::string_view type{};
};

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
  } else if constexpr (std::is_same_v<T, std::vector<bool>>) {
    return std::vector<bool>(value.as.booleans, value.as.booleans + value.length);
  } else if constexpr (std::is_same_v<T, std::vector<std::string_view>>) {
    std::vector<std::string_view> texts;
    for (uint32_t i = 0; i < value.length; ++i) {
      const tenon_string& text = value.as.strings[i];
      texts.emplace_back(text.data, static_cast<size_t>(text.length));
    }
    return texts;
  } else if constexpr (std::is_same_v<T, std::vector<Scalar>>) {
    return scalars_of<T>(value);
  } else if constexpr (IsOptional<T>::value) {
    using Inner = typename T::value_type;
    return value.tag == TENON_VALUE_NONE ? T() : T(from_value<Inner>(value));
  } else if constexpr (!HandleParameter<T>::type.empty()) {
    return HandleParameter<T>::read(value);
  } else {
    static_assert(!sizeof(T), "no schema type crosses the boundary as this parameter type");
  }
}

// Whether a value that nothing has checked can be read as P.
template <class P>
bool holds(const tenon_value& value) {
  using T = std::remove_cv_t<std::remove_reference_t<P>>;
  if constexpr (std::is_same_v<T, Argument>)
    return true;
  else if constexpr (IsOptional<T>::value)
    return value.tag == TENON_VALUE_NONE || holds<typename T::value_type>(value);
  else if constexpr (std::is_same_v<T, IntList>)
    return value.tag == TENON_VALUE_INT_LIST;
  else if constexpr (std::is_same_v<T, FloatList>)
    return value.tag == TENON_VALUE_FLOAT_LIST;
  else if constexpr (std::is_same_v<T, TensorList>)
    return value.tag == TENON_VALUE_TENSOR_LIST;
  else if constexpr (std::is_same_v<T, std::string_view>)
    return value.tag == TENON_VALUE_STRING;
  else if constexpr (std::is_same_v<T, std::vector<std::string_view>>)
    return value.tag == TENON_VALUE_STRING_LIST;
  else if constexpr (std::is_same_v<T, std::vector<Scalar>>)
    return ReadValue<std::vector<double>>::fits(value);
  else if constexpr (!HandleParameter<T>::type.empty())
    return value.tag == HandleParameter<T>::tag;
  else
    return ReadValue<T>::fits(value);
}

// Whether a C++ parameter can stand for a schema type.
template <class P>
constexpr bool takes(std::string_view type) {
  using T = std::remove_cv_t<std::remove_reference_t<P>>;
  const bool optional = !type.empty() && type.back() == '?';
  const bool list = find_text(type, "[") != std::string_view::npos;
  const bool either = find_text(type, "|") != std::string_view::npos;
  const std::string_view base = base_type(type);
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
  else if constexpr (std::is_same_v<T, std::vector<bool>>)
    return base == "bool" && list;
  else if constexpr (std::is_same_v<T, std::vector<std::string_view>>)
    return base == "str" && list;
  else if constexpr (std::is_same_v<T, std::vector<Scalar>>)
    return base == "Scalar" && list;
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
  else if constexpr (!HandleParameter<T>::type.empty())
    return type.substr(0, type.size() - (optional ? 1 : 0)) == HandleParameter<T>::type;
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

// The element type of a list: of a vector, array or Span; void of anything else.
template <class T>
struct ElementOf {
  using Type = void;
};
template <class T>
struct ElementOf<std::vector<T>> {
  using Type = T;
};
template <class T, size_t N>
struct ElementOf<std::array<T, N>> {
  using Type = T;
};
template <class T>
struct ElementOf<Span<const T>> {
  using Type = T;
};
template <class T>
inline constexpr bool is_text = std::is_convertible_v<const T&, std::string_view>;

// Whether a C++ result is what the schema type says: a value of another type would be read as one
// of this.
template <class R>
constexpr bool gives(std::string_view type) {
  using T = std::remove_cv_t<std::remove_reference_t<R>>;
  using Element = typename ElementOf<T>::Type;
  const bool list = find_text(type, "[") != std::string_view::npos;
  const std::string_view base = base_type(type);
  if constexpr (std::is_same_v<T, Value> || std::is_same_v<T, Argument>) {
    return true;
  } else if (base == "any" && !std::is_void_v<T>) {
    return true;
  } else if constexpr (IsOptional<T>::value) {
    return type.back() == '?' && gives<typename T::value_type>(type.substr(0, type.size() - 1));
  } else if constexpr (!std::is_void_v<Element>) {
    // A list has numbers of one kind.
    return list && !std::is_same_v<Element, Scalar> && gives<Element>(base);
  } else {
    if (list || std::is_void_v<T>) return false;
    if constexpr (std::is_same_v<T, Tensor>)
      return base == "Tensor";
    else if constexpr (is_text<T>)
      return base == "str";
    else if constexpr (std::is_same_v<T, DType>)
      return base == "dtype";
    else if constexpr (std::is_same_v<T, Scalar>)
      return base == "Scalar";
    else if constexpr (std::is_same_v<T, bool>)
      return base == "bool" || base == "Scalar";
    else if constexpr (std::is_integral_v<T>)
      return base == "int" || base == "Scalar";
    else if constexpr (std::is_floating_point_v<T>)
      return base == "float" || base == "Scalar";
    else
      return false;
  }
}

// The result by which forward declines: Results, which call.hpp defines, in overrides.
template <class R>
struct MayDecline : std::false_type {};

// Results are given: lists and texts in memory of the host.
inline void* allocate_result(int64_t bytes) {
  void* memory = service::values().allocate(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
inline void give_text(std::string_view text, tenon_value* slot) {
  check(service::values().string_create, text.data(), static_cast<int64_t>(text.size()), slot);
}
template <class List>
void give_list(const List& list, tenon_value* slot) {
  using T = typename ElementOf<List>::Type;
  const auto count = static_cast<int64_t>(list.size());
  const auto fill = [&](auto element, uint32_t tag, auto&& convert) {
    using Stored = decltype(element);
    // NOLINTNEXTLINE(bugprone-sizeof-expression): the list is one of pointers
    void* memory = allocate_result(count * static_cast<int64_t>(sizeof(Stored)));
    auto* to = static_cast<Stored*>(memory);
    for (const auto& item : list) *to++ = convert(item);
    slot->as.pointer = memory;
    slot->length = static_cast<uint32_t>(count);
    slot->tag = tag;
  };
  if constexpr (std::is_same_v<T, Tensor>) {
    fill(static_cast<tenon_tensor*>(nullptr), TENON_VALUE_TENSOR_LIST,
         [](const Tensor& tensor) { return Tensor(tensor).give(); });
  } else if constexpr (is_text<T>) {
    Value texts;  // releases what is there when another text finds no memory
    auto* strings = static_cast<tenon_string*>(
        allocate_result(count * static_cast<int64_t>(sizeof(tenon_string))));
    for (int64_t i = 0; i < count; ++i) strings[i] = {};
    tenon_value& given = *texts.slot();
    given.tag = TENON_VALUE_STRING_LIST;
    given.length = static_cast<uint32_t>(count);
    given.as.strings = strings;
    for (const auto& item : list) {
      tenon_value text{};
      give_text(item, &text);
      *strings++ = {text.as.string, text.length};
    }
    *slot = texts.give();
  } else if constexpr (std::is_same_v<T, bool>) {
    fill(uint8_t{}, TENON_VALUE_BOOL_LIST, [](bool truth) -> uint8_t { return truth ? 1 : 0; });
  } else if constexpr (std::is_integral_v<T>) {
    fill(int64_t{}, TENON_VALUE_INT_LIST, [](T number) { return static_cast<int64_t>(number); });
  } else {
    static_assert(std::is_floating_point_v<T>, "no schema type is a list of these elements");
    fill(double{}, TENON_VALUE_FLOAT_LIST, [](T number) { return static_cast<double>(number); });
  }
}
// An owned copy of what the result, which an Argument is made of, refers to.
template <class R>
void give_copy(const R& result, tenon_value* slot) {
  const tenon_value value = Argument(result).value();
  switch (value.tag) {
    case TENON_VALUE_STRING:
      return give_text(std::string_view(value.as.string, value.length), slot);
    case TENON_VALUE_TENSOR:
      service::tensors().retain(value.as.tensor);
      break;
    case TENON_VALUE_INT_LIST:
      return give_list(IntList(value.as.integers, value.length), slot);
    case TENON_VALUE_FLOAT_LIST:
      return give_list(FloatList(value.as.numbers, value.length), slot);
    case TENON_VALUE_TENSOR_LIST:
      return give_list(TensorList(reinterpret_cast<const Tensor*>(value.as.tensors), value.length),
                       slot);
    default:
      if (value.tag > TENON_VALUE_TENSOR)
        throw TypeError("an Argument of this type cannot be a result: return a Value, or a vector");
  }
  *slot = value;
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
  } else if constexpr (IsOptional<T>::value) {
    if (result) give_result(*std::forward<R>(result), slot);
  } else if constexpr (!std::is_void_v<typename ElementOf<T>::Type>) {
    give_list(result, slot);
  } else if constexpr (is_text<T>) {
    give_text(result, slot);
  } else if constexpr (std::is_same_v<T, Value>) {
    *slot = result.give();
  } else if constexpr (std::is_arithmetic_v<T>) {
    *slot = Argument(result).value();
  } else {
    give_copy(result, slot);
  }
}
template <class R>
void give_results(R&& result, tenon_value* slots) {
  if constexpr (IsTuple<std::remove_cv_t<std::remove_reference_t<R>>>::value) {
    with_parts(std::forward<R>(result), [slots](auto&&... parts) {
      [[maybe_unused]] size_t i = 0;
      (give_result(std::forward<decltype(parts)>(parts), slots + i++), ...);
    });
  } else {
    give_result(std::forward<R>(result), slots);
  }
}

}  // namespace detail
TENON_NAMESPACE_END
