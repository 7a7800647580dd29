// Scalars, dtypes, arguments and results: tagged values with C++ types around them.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenon/error.hpp"

TENON_NAMESPACE_BEGIN

class Tensor;
class Module;
class ModuleDict;
class Json;

// none, boolean, u8, i8, i16, i32, i64, f32, f64, f16, bf16, u16, u32, u64, c64, c128, f8_e4m3, f8_e5m2,
// f8_e8m0, f6_e2m3, f6_e3m2 and f4_e2m1. From f16 to u64 they are for storage, conversion and files; some
// ops compute in c64 and c128, none in those behind them.
enum class DType : uint8_t {
  none = 0,
#define TENON_ENUMERATOR(name, code, bytes, type, text, kind, identifier) identifier = code,
  TENON_ALL_DTYPES(TENON_ENUMERATOR)
#undef TENON_ENUMERATOR
};
#define TENON_NAME(name, code, bytes, type, text, kind, identifier) \
  inline constexpr DType identifier = DType::identifier;
TENON_ALL_DTYPES(TENON_NAME)
#undef TENON_NAME

// Elements of f16 and bf16.
using Half = tenon_f16;
using BFloat16 = tenon_bf16;                                              // 2 bytes
inline float to_float(Half half) { return tenon_f16_to_f32(half); }       // exact
inline float to_float(BFloat16 half) { return tenon_bf16_to_f32(half); }  // exact

struct None {};
inline constexpr None none{};  // an absent value

// A non-owning run of elements; `Span<const Tensor>` is how tensor lists arrive.
template <class T>
class Span {
 public:
  constexpr Span() = default;
  constexpr Span(T* data, int64_t size) : data_(data), size_(size) {}  // borrowed
  constexpr T* data() const { return data_; }                          // borrowed; null where empty
  constexpr int64_t size() const { return size_; }                     // elements
  constexpr bool empty() const { return size_ == 0; }                  // without elements
  constexpr T* begin() const { return data_; }                         // borrowed
  constexpr T* end() const { return data_ + size_; }                   // borrowed
  constexpr T& operator[](int64_t i) const { return data_[i]; }        // without a check

 private:
  T* data_ = nullptr;
  int64_t size_ = 0;
};
using IntList = Span<const int64_t>;    // borrowed
using FloatList = Span<const double>;   // borrowed
using TensorList = Span<const Tensor>;  // borrowed

namespace detail {
// A complex number: std::complex, which this header does not include, and its like.
template <class T, class = void>
struct ComplexPart {
  using Type = void;
};
template <class T>
struct ComplexPart<T, std::void_t<typename T::value_type, decltype(std::declval<T>().real()),
                                  decltype(std::declval<T>().imag())>> {
  using Type = std::conditional_t<sizeof(T) == 2 * sizeof(typename T::value_type),
                                  typename T::value_type, void>;
};
}  // namespace detail
// Whether T is std::complex<float> or std::complex<double>.
template <class T>
inline constexpr bool is_complex_number =
    std::is_floating_point_v<typename detail::ComplexPart<T>::Type>;

// The dtype of a C++ element type.
template <class T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, bool>)
    return boolean;
  else if constexpr (std::is_same_v<T, Half>)
    return f16;
  else if constexpr (std::is_same_v<T, BFloat16>)
    return bf16;
  else if constexpr (std::is_same_v<T, float>)
    return f32;
  else if constexpr (std::is_same_v<T, double>)
    return f64;
  else if constexpr (std::is_same_v<T, tenon_c64>)
    return c64;
  else if constexpr (std::is_same_v<T, tenon_c128>)
    return c128;
  else if constexpr (is_complex_number<T>)
    return sizeof(T) == sizeof(tenon_c64) ? c64 : c128;
  else if constexpr (std::is_integral_v<T> && sizeof(T) == 8 && std::is_signed_v<T>)
    return i64;
  else if constexpr (std::is_integral_v<T> && sizeof(T) == 4 && std::is_signed_v<T>)
    return i32;
  else if constexpr (std::is_integral_v<T> && sizeof(T) == 2 && std::is_signed_v<T>)
    return i16;
  else if constexpr (std::is_same_v<T, uint64_t> || std::is_same_v<T, unsigned long long>)
    return u64;
  else if constexpr (std::is_same_v<T, uint32_t>)
    return u32;
  else if constexpr (std::is_same_v<T, uint16_t>)
    return u16;
  else if constexpr (std::is_same_v<T, unsigned char>)
    return u8;
  else if constexpr (std::is_integral_v<T> && sizeof(T) == 1)
    return i8;
  else
    static_assert(!sizeof(T), "no dtype for this element type");
}

namespace detail {
template <DType>
struct DTypeElement;
#define TENON_ELEMENT(name, code, bytes, type, text, kind, identifier)       \
  template <>                                                                \
  struct DTypeElement<DType::identifier> {                                   \
    using Type = std::conditional_t<TENON_##name == TENON_BOOL, bool, type>; \
  };
TENON_DTYPES(TENON_ELEMENT)
#undef TENON_ELEMENT
}  // namespace detail
// The C++ type of an element of a dtype. Of c64 and c128 the C structs: their memory is that of
// std::complex.
template <DType dtype>
using ElementType = typename detail::DTypeElement<dtype>::Type;

namespace detail {
enum class DTypeKind : uint8_t { boolean, integer, floating, complex };
}
// Whether all kernels may compute in it; f16 to u64 are for storage, conversion and files, and
// complex dtypes for the ops that say so.
constexpr bool is_computed(DType dtype) {
  return static_cast<uint32_t>(dtype) < TENON_COMPUTED_DTYPE_COUNT;
}
constexpr bool is_half(DType dtype) { return dtype == f16 || dtype == bf16; }  // f16, bf16
constexpr bool is_floating(DType dtype) {                                      // f16 to f64
  switch (dtype) {
#define TENON_CASE(name, code, bytes, type, text, kind, identifier) \
  case DType::identifier:                                           \
    return detail::DTypeKind::kind == detail::DTypeKind::floating;
    TENON_DTYPES(TENON_CASE)
#undef TENON_CASE
    default:
      return false;
  }
}
// Whether elements are f8, f6 or f4: kept and converted, never computed in.
constexpr bool is_narrow(DType dtype) {
  return static_cast<uint32_t>(dtype) >= TENON_FIRST_NARROW_DTYPE;
}
constexpr bool is_complex(DType dtype) { return dtype == c64 || dtype == c128; }  // c64, c128
// Whether tensors of it have gradients: floating and complex dtypes.
constexpr bool is_differentiable(DType dtype) { return is_floating(dtype) || is_complex(dtype); }
// The dtype of the parts of a complex one, else the dtype itself.
constexpr DType real_dtype(DType dtype) { return dtype == c64 ? f32 : dtype == c128 ? f64 : dtype; }
// The complex dtype whose parts hold numbers of `dtype`: c128 for f64 and c128, else c64.
constexpr DType complex_dtype(DType dtype) { return real_dtype(dtype) == f64 ? c128 : c64; }
// The dtype that kernels compute in for elements of `dtype`: f32 for f16 and bf16, else itself.
constexpr DType compute_dtype(DType dtype) { return is_half(dtype) ? f32 : dtype; }
constexpr int64_t element_size(DType dtype) {  // in bytes
#define TENON_BYTES(name, code, bytes, ...) bytes,
  constexpr int8_t sizes[] = {0, TENON_ALL_DTYPES(TENON_BYTES)};
#undef TENON_BYTES
  return sizes[static_cast<size_t>(dtype)];
}
constexpr const char* dtype_text(DType dtype) {  // "f32"
  switch (dtype) {
#define TENON_CASE(name, code, bytes, type, text, kind, identifier) \
  case DType::identifier:                                           \
    return text;
    TENON_ALL_DTYPES(TENON_CASE)
#undef TENON_CASE
    default:
      return "none";
  }
}

namespace detail {
[[noreturn, gnu::cold, gnu::noinline]] inline void throw_not_computed(DType dtype) {
  if (dtype == DType::none) throw TypeError("an undefined tensor has no dtype");
  throw_message(TENON_ERROR_TYPE,
                {"kernels do not compute in ", dtype_text(dtype),
                 is_complex(dtype)  ? ": take real(), imag() or abs() of the tensor"
                 : is_narrow(dtype) ? ": convert the tensor with to(float32)"
                 : is_half(dtype)   ? ": convert the tensor to f32 with to()"
                                    : ": convert the tensor to i64 or f32 with to()"});
}
}  // namespace detail

// Calls `body` with a zero of the C++ type of `dtype`:
//   visit(t.dtype(), [&](auto zero) { using T = decltype(zero); ... });
// TypeError for a dtype that kernels do not compute in.
template <class Body>
decltype(auto) visit(DType dtype, Body&& body) {
  switch (dtype) {
#define TENON_CASE(name, code, bytes, type, text, kind, identifier) \
  case DType::identifier:                                           \
    return body(ElementType<DType::identifier>{});
    TENON_COMPUTED_DTYPES(TENON_CASE)
#undef TENON_CASE
    default:
      detail::throw_not_computed(dtype);
  }
}

namespace detail {
// The highest value of an integer type; std::numeric_limits would take a hundredth of the compile
// time of a small plugin.
template <class T>
inline constexpr T highest = static_cast<T>(~uint64_t{0} >>
                                            (64 + (std::is_signed_v<T> ? 1 : 0) - 8 * sizeof(T)));
template <class T>
inline constexpr T lowest = static_cast<T>(std::is_signed_v<T> ? -highest<T> - 1 : 0);

// Whether a number, its fraction cut off, is a value of T; floating types and bool take every
// number.
template <class T, class Number>
constexpr bool fits_in(Number number) {
  if constexpr (!std::is_integral_v<T> || std::is_same_v<T, bool>) {
    return true;
  } else if constexpr (std::is_floating_point_v<Number>) {
    // Powers of two, so exact: the first value above the range, and the first at or below it.
    // NOLINTNEXTLINE(bugprone-integer-division)
    constexpr Number beyond = static_cast<Number>(highest<T> / 2 + 1) * 2;
    constexpr auto least = static_cast<Number>(lowest<T>);
    return number < beyond && (number >= least || number - least > -1);
  } else {
    if (std::is_unsigned_v<T> && number < 0) return false;
    return static_cast<Number>(static_cast<T>(number)) == number;
  }
}
// With so many significant digits: "0.5", "1e+300".
TENON_SELDOM_RUN inline std::string number_text(double number, int digits = 6) {
  char buffer[32];
  std::snprintf(buffer, sizeof(buffer), "%.*g", digits, number);
  return buffer;
}
}  // namespace detail

// A number: bool, integer or floating. Never a tensor.
class Scalar {
 public:
  Scalar() : value_{TENON_VALUE_INT, 0, {0}} {}
  template <class T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
  Scalar(T number) : value_{} {  // keeps its kind
    if constexpr (std::is_floating_point_v<T>) {
      value_.tag = TENON_VALUE_FLOAT;
      value_.as.number = static_cast<double>(number);
    } else {
      if constexpr (std::is_unsigned_v<T> && sizeof(T) == sizeof(int64_t)) {
        if (number > static_cast<T>(INT64_MAX))
          detail::throw_message(TENON_ERROR_VALUE, {"the number ", number, " does not fit i64"});
      }
      value_.tag = std::is_same_v<T, bool> ? TENON_VALUE_BOOL : TENON_VALUE_INT;
      value_.as.integer = static_cast<int64_t>(number);
    }
  }
  explicit Scalar(const tenon_value& value) : value_(value) {}          // a number or bool
  bool is_floating() const { return value_.tag == TENON_VALUE_FLOAT; }  // f64
  bool is_bool() const { return value_.tag == TENON_VALUE_BOOL; }       // true or false
  // As T; its fraction is cut off for integers. ValueError when T cannot hold it.
  template <class T>
  T to() const {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      if (!fits<T>()) throw_misfit(detail::lowest<T>, detail::highest<T>);
    }
    return is_floating() ? static_cast<T>(value_.as.number) : static_cast<T>(value_.as.integer);
  }
  // Whether T, or an element of `dtype`, can hold the number once its fraction is cut off. Floating
  // types and bool take every number.
  template <class T>
  bool fits() const {
    return is_floating() ? detail::fits_in<T>(value_.as.number)
                         : detail::fits_in<T>(value_.as.integer);
  }
  template <class D>
  std::enable_if_t<std::is_same_v<D, DType>, bool> fits(D dtype) const {  // without loss
    switch (dtype) {
#define TENON_CASE(name, code, bytes, type, text, kind, identifier) \
  case DType::identifier:                                           \
    return fits<ElementType<DType::identifier>>();
      TENON_DTYPES(TENON_CASE)
#undef TENON_CASE
      default:
        detail::throw_not_computed(dtype);
    }
  }
  // "300", "0.5", "1e+300"
  std::string text() const {
    if (!is_floating()) return std::to_string(value_.as.integer);
    return detail::number_text(value_.as.number, 9);
  }
  const tenon_value& value() const { return value_; }  // borrowed

 private:
  [[noreturn, gnu::cold, gnu::noinline]] void throw_misfit(detail::MessagePart lowest,
                                                           detail::MessagePart highest) const {
    detail::throw_message(
        TENON_ERROR_VALUE,
        {"the number ", text(), " does not fit an integer from ", lowest, " to ", highest});
  }
  tenon_value value_;
};

// One argument of a call: anything that crosses the boundary, borrowed for the call.
class Argument {
 public:
  Argument(None) : value_{} {}                                // none
  Argument(std::nullopt_t) : value_{} {}                      // none
  inline Argument(const Tensor& tensor);                      // borrowed
  Argument(const Scalar& scalar) : value_(scalar.value()) {}  // copied
  template <class T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
  Argument(T number) : value_(Scalar(number).value()) {}  // a number or bool
  Argument(DType dtype) : value_{TENON_VALUE_DTYPE, 0, {static_cast<int64_t>(dtype)}} {  // a dtype
    if (dtype == DType::none) value_.tag = TENON_VALUE_NONE;
  }
  Argument(std::string_view text)  // borrowed
      : value_{TENON_VALUE_STRING, static_cast<uint32_t>(text.size()), {0}} {
    value_.as.string = text.data();
  }
  // A text, borrowed; null is an empty one.
  Argument(const char* text) : Argument(std::string_view(text == nullptr ? "" : text)) {
    if (text == nullptr) *this = Argument(none);
  }
  Argument(const std::string& text) : Argument(std::string_view(text)) {}  // borrowed
  // Borrowed.
  Argument(std::initializer_list<int64_t> list) : Argument(list.begin(), list.size()) {}
  Argument(IntList list) : Argument(list.data(), static_cast<size_t>(list.size())) {}  // borrowed
  Argument(const std::vector<int64_t>& list) : Argument(list.data(), list.size()) {}   // borrowed
  // Borrowed.
  Argument(const std::vector<double>& list)
      : value_{TENON_VALUE_FLOAT_LIST, static_cast<uint32_t>(list.size()), {0}} {
    value_.as.numbers = list.data();
  }
  Argument(FloatList list)  // borrowed
      : value_{TENON_VALUE_FLOAT_LIST, static_cast<uint32_t>(list.size()), {0}} {
    value_.as.numbers = list.data();
  }
  template <size_t N>
  Argument(const std::array<bool, N>& list)  // borrowed
      : value_{TENON_VALUE_BOOL_LIST, static_cast<uint32_t>(N), {0}} {
    value_.as.booleans = reinterpret_cast<const uint8_t*>(list.data());
  }
  template <size_t N>
  Argument(const std::array<tenon_string, N>& list)  // borrowed
      : value_{TENON_VALUE_STRING_LIST, static_cast<uint32_t>(N), {0}} {
    value_.as.strings = list.data();
  }
  inline Argument(const std::vector<Tensor>& list);  // borrowed
  inline Argument(TensorList list);
  inline Argument(const Json& document);  // borrowed
  inline Argument(const Module& module);  // borrowed
  inline Argument(const std::vector<Module>& modules);
  inline Argument(const ModuleDict& modules);  // borrowed
  template <class T>
  Argument(const std::optional<T>& optional) : Argument(none) {  // none without a value
    if (optional) *this = Argument(*optional);
  }
  explicit constexpr Argument(const tenon_value& value) : value_(value) {}  // borrowed
  const tenon_value& value() const { return value_; }                       // borrowed

 private:
  Argument(const int64_t* data, size_t size)
      : value_{TENON_VALUE_INT_LIST, static_cast<uint32_t>(size), {0}} {
    value_.as.integers = data;
  }
  tenon_value value_;
};

namespace detail {
// The default of a parameter that a call leaves out.
inline constexpr Argument not_given{tenon_value{TENON_VALUE_TAG_COUNT, 0, {0}}};
// The kind of a value, as messages name it: "int", "list of Tensors".
inline const char* kind_text(const tenon_value& value) {
  constexpr const char* kinds[] = {"none",
                                   "bool",
                                   "int",
                                   "float",
                                   "dtype",
                                   "str",
                                   "Tensor",
                                   "list of ints",
                                   "list of floats",
                                   "list of bools",
                                   "list of str",
                                   "list of Tensors",
                                   "json",
                                   "Module",
                                   "NotImplementedType",
                                   "list of Modules",
                                   "dictionary of Modules"};
  static_assert(sizeof(kinds) / sizeof(*kinds) == TENON_VALUE_TAG_COUNT);
  return value.tag < TENON_VALUE_TAG_COUNT ? kinds[value.tag] : "of an unknown kind";
}
[[noreturn]] inline void throw_kind(const char* what, const tenon_value& value,
                                    const char* expected) {
  throw_message(TENON_ERROR_TYPE, {what, " is ", kind_text(value), ", not ", expected});
}
constexpr tenon_string string_of(std::string_view text) {
  return {text.data(), static_cast<int64_t>(text.size())};
}
}  // namespace detail

// A keyword argument: add(a, b, arg("alpha") = 2).
struct Keyword {
  std::string_view name;  // its parameter's
  Argument value;         // borrowed
};
struct arg {  // an argument by name: arg("dim") = 1
  explicit constexpr arg(std::string_view keyword) : name(keyword) {}  // its parameter's
  Keyword operator=(const Argument& value) const { return {name, value}; }
  std::string_view name;  // its parameter's
};

// A result: owns what it holds. Move-only.
class Value {
 public:
  Value() : value_{} {}
  explicit Value(const tenon_value& given) : value_(given) {}  // takes it
  Value(Value&& other) noexcept : value_(std::exchange(other.value_, tenon_value{})) {}
  Value& operator=(Value&& other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }
  Value(const Value&) = delete;
  Value& operator=(const Value&) = delete;
  ~Value() {
    if (value_.tag >= TENON_VALUE_STRING) service::values().release(&value_);
  }

  bool is_none() const { return value_.tag == TENON_VALUE_NONE; }  // an absent value
  // A plain one or another type.
  bool is_tensor() const { return value_.tag == TENON_VALUE_TENSOR; }
  bool is_number() const {  // an integer, number or bool
    return value_.tag >= TENON_VALUE_BOOL && value_.tag <= TENON_VALUE_FLOAT;
  }
  std::string text() const {  // the string; TypeError otherwise
    return value_.tag == TENON_VALUE_STRING ? std::string(value_.as.string, value_.length)
                                            : std::string();
  }
  Scalar scalar() const {  // the number; TypeError otherwise
    if (!is_number()) detail::throw_kind("the value", value_, "a number");
    return Scalar(value_);
  }
  inline Tensor tensor() const;                // another reference; TypeError
  inline std::vector<Tensor> tensors() const;  // the list; TypeError otherwise
  // Its contents as int64_t, double, bool, Scalar, std::string, DType, Tensor, a std::vector or a
  // std::optional of these. TypeError when it holds something else.
  template <class T>
  T to() const;
  // A template, so that files that read no lists of texts compile nothing for them.
  template <class Text = std::string>
  std::vector<Text> strings() const {
    if (value_.tag != TENON_VALUE_STRING_LIST) return {};
    std::vector<Text> list(value_.length);
    for (uint32_t i = 0; i < value_.length; ++i) {
      const tenon_string& text = value_.as.strings[i];
      list[i].assign(text.data, static_cast<size_t>(text.length));
    }
    return list;
  }
  const tenon_value& get() const { return value_; }  // borrowed
  tenon_value* slot() { return &value_; }            // for functions that store a value
  tenon_value give() { return std::exchange(value_, tenon_value{}); }  // to the caller

 private:
  tenon_value value_;
};

TENON_NAMESPACE_END
