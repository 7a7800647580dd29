// Tensor: the owning handle, its construction and its inspection.
#pragma once

#include <initializer_list>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenon/value.hpp"

TENON_NAMESPACE_BEGIN

class Hook;
class Node;
namespace indexing {
class Index;
class Element;
}  // namespace indexing

// A counted reference to a tensor; copying shares it. Default-constructed: undefined ("none").
// One pointer in size, so that lists of Tensor are lists of handles. Reading is safe from any
// thread; changing a tensor needs outside ordering.
class Tensor {
 public:
  Tensor() noexcept : handle_(nullptr) {}
  Tensor(None) noexcept : handle_(nullptr) {}          // undefined
  static Tensor take(tenon_tensor* handle) noexcept {  // takes the reference
    Tensor tensor;
    tensor.handle_ = handle;
    return tensor;
  }
  static Tensor borrow(tenon_tensor* handle) noexcept {  // adds a reference
    if (handle != nullptr) service::tensors().retain(handle);
    return take(handle);
  }
  Tensor(const Tensor& other) noexcept : handle_(other.handle_) {
    if (handle_ != nullptr) service::tensors().retain(handle_);
  }
  Tensor(Tensor&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Tensor& operator=(Tensor other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Tensor() {
    if (handle_ != nullptr) service::tensors().release(handle_);
  }

  bool defined() const { return handle_ != nullptr; }   // false: none
  explicit operator bool() const { return defined(); }  // as defined()
  tenon_tensor* handle() const { return handle_; }      // borrowed; null where undefined
  tenon_tensor* give() noexcept { return std::exchange(handle_, nullptr); }  // to the caller
  // Whether both are one tensor.
  bool is_same(const Tensor& other) const { return handle_ == other.handle_; }

  // ---- facts, read from the view without a call; the tensor must be defined ----
  // Borrowed; valid as long as the tensor.
  const tenon_tensor_view& view_record() const { return *tenon_tensor_get_view(handle_); }
  DType dtype() const { return static_cast<DType>(view_record().dtype); }  // dtype of its elements
  int64_t dim() const { return view_record().rank; }                       // number of dimensions
  int64_t numel() const { return view_record().count; }                    // number of elements
  IntList shape() const { return {view_record().shape, dim()}; }           // borrowed
  IntList strides() const { return {view_record().strides, dim()}; }       // in elements; borrowed
  // A copy of shape().
  std::vector<int64_t> sizes() const { return {shape().begin(), shape().end()}; }
  // Size of one dimension; negative counts from the end. IndexError outside.
  int64_t size(int64_t dimension) const { return shape()[wrap_dimension(dimension)]; }
  // Elements from one index of the dimension to the next. IndexError outside.
  int64_t stride(int64_t dimension) const { return strides()[wrap_dimension(dimension)]; }
  // Row-major, without gaps.
  bool is_contiguous() const { return (view_record().flags & TENON_TENSOR_CONTIGUOUS) != 0; }
  bool requires_grad() const {  // whether backward reaches it
    const uint32_t flags = view_record().flags;
    // The base of a view may have been changed, and so may the components of a typed tensor.
    if ((flags & (TENON_TENSOR_VIEW | TENON_TENSOR_TYPED)) != 0)
      return service::autograd().requires_grad(handle_) != 0;
    return (flags & TENON_TENSOR_REQUIRES_GRAD) != 0;
  }
  // Made in inference mode: cannot be saved for a backward.
  bool is_inference() const { return (view_record().flags & TENON_TENSOR_INFERENCE) != 0; }
  int64_t wrap_dimension(int64_t dimension) const {  // from 0; IndexError outside
    const int64_t rank = dim() == 0 ? 1 : dim();
    if (dimension < -rank || dimension >= rank) {
      detail::throw_message(TENON_ERROR_INDEX,
                            {"dimension ", dimension, " is out of range for a tensor of ", dim(),
                             " dimensions (expected ", -rank, " to ", rank - 1, ")"});
    }
    return dimension < 0 ? dimension + rank : dimension;
  }

  // ---- elements ----
  // First element; T must be the dtype's type. Strides apply. TypeError otherwise, and for tensor
  // types that have no data. Writing through it changes no version(): gradients do not notice, and
  // what a kernel keeps of the elements, such as packed weights, stays as it was. Once others have
  // read a tensor, change it by ops.
  template <class T>
  T* data() const {
    using Element = std::remove_const_t<T>;
    if (dtype() != dtype_of<Element>()) {
      detail::throw_message(TENON_ERROR_TYPE,
                            {"data of a ", dtype_text(dtype()), " tensor asked for as ",
                             dtype_text(dtype_of<Element>())});
    }
    if ((view_record().flags & TENON_TENSOR_SHAPE_ONLY) != 0) fail_no_data();
    return static_cast<T*>(view_record().data);
  }
  // The single element of a one-element tensor; std::complex of a complex one.
  template <class T = double>
  T item() const {
    if constexpr (is_complex_number<T>) {
      return numel() == 1 ? to_vector<T>().front() : T(item<typename T::value_type>());
    } else {
      tenon_value value{};
      detail::check(service::tensors().item, handle_, &value);
      return Scalar(value).to<T>();
    }
  }
  // All elements in row-major order, converted to T.
  template <class T>
  std::vector<T> to_vector() const;
  std::string text() const {  // as printed
    Value text;
    detail::check(service::tensors().text, handle_, text.slot());
    return text.text();
  }

  // ---- autograd ----
  Tensor& requires_grad_(bool requires_grad = true) {  // floating dtypes of leaves alone
    detail::check(service::autograd().set_requires_grad, handle_, requires_grad ? 1 : 0);
    return *this;
  }
  // Made by no recorded call.
  bool is_leaf() const { return service::autograd().is_leaf(handle_) != 0; }
  // Undefined before a backward.
  Tensor grad() const { return take(service::autograd().grad(handle_)); }
  void set_grad(const Tensor& grad) {  // has the shape of the tensor, or is undefined
    detail::check(service::autograd().set_grad, handle_, grad.handle_);
  }
  // Grad() of one that is not a leaf.
  void retain_grad() { detail::check(service::autograd().retain_grad, handle_); }
  // The recorded call that made it; undefined on leaves and constants.
  inline Node grad_fn() const;
  // `function(const Tensor& gradient)` runs with every gradient of this tensor; what it returns, if
  // anything, takes the gradient's place. It stays with the call that made the tensor, should the
  // tensor be changed in place. RuntimeError when the tensor does not require grad.
  template <class Function>
  Hook register_hook(Function&& function) const;
  // `function(const Tensor& leaf)` runs once the leaf's .grad has been added to. Leaves only.
  template <class Function>
  Hook register_post_accumulate_grad_hook(Function&& function) const;
  // ArgumentError when no hook of that id is registered on this tensor.
  inline void remove_hook(int64_t id) const;
  Tensor detach() const {  // same elements, no history
    tenon_tensor* result = nullptr;
    detail::check(service::autograd().detach, handle_, &result);
    return take(result);
  }
  // Grows with changes in place.
  int64_t version() const { return service::tensors().version(handle_); }
  // Accumulates into the leaves' .grad. Without a seed the tensor must have one element.
  inline void backward(const Tensor& seed = {}, bool retain_graph = false,
                       bool create_graph = false) const;

  // ---- indexing, as NumPy has it: x[1], x[{ellipsis, Slice(2, none)}] = y; see indexing.hpp ----
  inline indexing::Element operator[](const indexing::Index& index) const;
  // A view, of which `= value` changes the tensor; a copy with tensors as indices.
  inline indexing::Element operator[](std::initializer_list<indexing::Index> indices) const;

  // ---- ops as methods: the same ops as the functions ----
#include "tenon/blas_methods.inc"
#include "tenon/math_methods.inc"

 private:
  [[noreturn, gnu::cold, gnu::noinline]] void fail_no_data() const {
    detail::throw_message(TENON_ERROR_TYPE,
                          {"a ", service::types().name(view_record().type),
                           " has a shape but no data; convert it with ensure_tensor first"});
  }
  tenon_tensor* handle_;
};
static_assert(sizeof(Tensor) == sizeof(tenon_tensor*), "lists of Tensor are lists of handles");

inline Argument::Argument(const Tensor& tensor)
    : value_{tensor.defined() ? uint32_t{TENON_VALUE_TENSOR} : uint32_t{TENON_VALUE_NONE}, 0, {0}} {
  value_.as.tensor = tensor.handle();
}
namespace detail {
// For generated wrappers: to choose among Argument's constructors, or among overloads, for each of
// their parameters would take a twentieth of the compile time of a small plugin.
inline tenon_value tensor_value(const Tensor& tensor) { return Argument(tensor).value(); }
inline tenon_value bool_value(bool truth) { return Argument(truth).value(); }
inline tenon_value int_value(int64_t number) { return Argument(number).value(); }
inline tenon_value float_value(double number) { return Argument(number).value(); }
inline tenon_value dtype_value(DType dtype) { return Argument(dtype).value(); }
}  // namespace detail
inline Argument::Argument(TensorList list)
    : value_{TENON_VALUE_TENSOR_LIST, static_cast<uint32_t>(list.size()), {0}} {
  value_.as.tensors = reinterpret_cast<tenon_tensor* const*>(list.data());
}
inline Argument::Argument(const std::vector<Tensor>& list)
    : Argument(TensorList(list.data(), static_cast<int64_t>(list.size()))) {}
namespace detail {

// A value as a C++ type: whether it can be read as one, and how.
template <class T>
struct ReadValue {
  static_assert(std::is_arithmetic_v<T>, "no value of an op can be read as this type");
  static constexpr const char* expected = std::is_floating_point_v<T> ? "a number" : "an int";
  static bool fits(const tenon_value& held) {
    return held.tag >= TENON_VALUE_BOOL &&
           held.tag <= (std::is_floating_point_v<T> ? TENON_VALUE_FLOAT : TENON_VALUE_INT);
  }
  static T read(const Value& value) { return Scalar(value.get()).template to<T>(); }
};
template <>
struct ReadValue<Scalar> {
  static constexpr const char* expected = "a number";
  static bool fits(const tenon_value& held) {
    return held.tag >= TENON_VALUE_BOOL && held.tag <= TENON_VALUE_FLOAT;
  }
  static Scalar read(const Value& value) { return value.scalar(); }
};
template <>
struct ReadValue<Tensor> {
  static constexpr const char* expected = "Tensor";
  static bool fits(const tenon_value& held) {
    return held.tag == TENON_VALUE_TENSOR || held.tag == TENON_VALUE_NONE;
  }
  static Tensor read(const Value& value) { return value.tensor(); }
};
template <>
struct ReadValue<std::string> {
  static constexpr const char* expected = "a string";
  static bool fits(const tenon_value& held) { return held.tag == TENON_VALUE_STRING; }
  static std::string read(const Value& value) { return value.text(); }
};
template <>
struct ReadValue<DType> {
  static constexpr const char* expected = "a dtype";
  static bool fits(const tenon_value& held) {
    return held.tag == TENON_VALUE_DTYPE || held.tag == TENON_VALUE_NONE;
  }
  static DType read(const Value& value) {
    return value.is_none() ? DType::none : static_cast<DType>(value.get().as.integer);
  }
};
template <class T>
struct ReadValue<std::optional<T>> {
  static constexpr const char* expected = ReadValue<T>::expected;
  static bool fits(const tenon_value& held) {
    return held.tag == TENON_VALUE_NONE || ReadValue<T>::fits(held);
  }
  static std::optional<T> read(const Value& value) {
    return value.is_none() ? std::optional<T>() : ReadValue<T>::read(value);
  }
};
template <>
struct ReadValue<std::vector<Tensor>> {
  static constexpr const char* expected = "list of Tensors";
  static bool fits(const tenon_value& held) { return held.tag == TENON_VALUE_TENSOR_LIST; }
  static std::vector<Tensor> read(const Value& value) { return value.tensors(); }
};
template <>
struct ReadValue<std::vector<std::string>> {
  static constexpr const char* expected = "a list of strings";
  static bool fits(const tenon_value& held) { return held.tag == TENON_VALUE_STRING_LIST; }
  static std::vector<std::string> read(const Value& value) { return value.strings(); }
};
template <class T>
struct ReadValue<std::vector<T>> {
  static_assert(std::is_arithmetic_v<T>, "no value of an op can be read as this type");
  static constexpr const char* expected = std::is_same_v<T, bool>       ? "a list of bools"
                                          : std::is_floating_point_v<T> ? "a list of numbers"
                                                                        : "a list of ints";
  static bool fits(const tenon_value& held) {
    return held.tag == TENON_VALUE_BOOL_LIST ||
           (held.tag == TENON_VALUE_INT_LIST && !std::is_same_v<T, bool>) ||
           (held.tag == TENON_VALUE_FLOAT_LIST && std::is_floating_point_v<T>);
  }
  static std::vector<T> read(const Value& value) {
    const tenon_value& held = value.get();
    const auto copy = [&](const auto* from) { return std::vector<T>(from, from + held.length); };
    if (held.tag == TENON_VALUE_BOOL_LIST) return copy(held.as.booleans);
    if (held.tag == TENON_VALUE_INT_LIST) return copy(held.as.integers);
    return copy(held.as.numbers);
  }
};

}  // namespace detail

template <class T>
T Value::to() const {
  using Read = detail::ReadValue<T>;
  if (!Read::fits(value_)) detail::throw_kind("the value", value_, Read::expected);
  return Read::read(*this);
}
inline Tensor Value::tensor() const {
  if (!is_tensor() && !is_none()) detail::throw_kind("the value", value_, "Tensor");
  return Tensor::borrow(value_.as.tensor);
}
inline std::vector<Tensor> Value::tensors() const {
  if (value_.tag != TENON_VALUE_TENSOR_LIST)
    detail::throw_kind("the value", value_, "list of Tensors");
  std::vector<Tensor> list(value_.length);
  for (uint32_t i = 0; i < value_.length; ++i) list[i] = Tensor::borrow(value_.as.tensors[i]);
  return list;
}

// The dtype of what mixes both. TypeError where there is none: u16, u32 and u64 mix with floating
// and complex dtypes alone.
inline DType common_dtype(DType a, DType b) {
  const tenon_dtype common =
      service::tensors().promote_dtypes(static_cast<tenon_dtype>(a), static_cast<tenon_dtype>(b));
  if (common == TENON_DTYPE_NONE && a != b) {
    detail::throw_message(TENON_ERROR_TYPE,
                          {dtype_text(a), " and ", dtype_text(b),
                           is_narrow(a) || is_narrow(b)
                               ? " have no common dtype; convert the narrow one with to(float32)"
                               : " have no common dtype; convert one of the tensors with to()"});
  }
  return static_cast<DType>(common);
}

// ---- construction ----

// Uninitialized, contiguous.
inline Tensor empty_tensor(IntList shape, DType dtype = f32) {
  tenon_tensor* result = nullptr;
  detail::check(service::tensors().empty, static_cast<tenon_dtype>(dtype), shape.size(),
                shape.data(), &result);
  return Tensor::take(result);
}
// Elements have no value yet.
inline Tensor empty_tensor(std::initializer_list<int64_t> shape, DType dtype = f32) {
  return empty_tensor(IntList(shape.begin(), static_cast<int64_t>(shape.size())), dtype);
}
// A view of `base`'s storage; offset in elements from base's first element. Not recorded: for
// kernels.
inline Tensor alias_tensor(const Tensor& base, IntList shape, IntList strides, int64_t offset) {
  tenon_tensor* result = nullptr;
  detail::check(service::tensors().alias, base.handle(), shape.size(), shape.data(), strides.data(),
                offset, &result);
  return Tensor::take(result);
}
// A tensor on the storage of `base` with complex elements as their parts (c64 as f32, c128 as f64),
// or parts as complex elements: strides and offset are those of elements of `dtype`.
inline Tensor alias_tensor_as(const Tensor& base, DType dtype, IntList shape, IntList strides,
                              int64_t offset) {
  tenon_tensor* result = nullptr;
  detail::check(service::tensors().alias_as, base.handle(), static_cast<tenon_dtype>(dtype),
                shape.size(), shape.data(), strides.data(), offset, &result);
  return Tensor::take(result);
}
// Wraps memory without copying; `release(owner)` runs once when the last view is gone.
inline Tensor wrap_buffer(void* data, IntList shape, IntList strides, DType dtype, void* owner,
                          void (*release)(void*)) {
  tenon_tensor* result = nullptr;
  detail::check(service::tensors().wrap, static_cast<tenon_dtype>(dtype), shape.size(),
                shape.data(), strides.data(), data, owner, release, &result);
  return Tensor::take(result);
}
// Kernel-level copy with conversion and broadcasting; not recorded.
inline void copy_elements(const Tensor& destination, const Tensor& source) {
  detail::check(service::tensors().copy, destination.handle(), source.handle());
}
// Sets all elements, converted to the dtype.
inline void fill_elements(const Tensor& destination, const Scalar& number) {
  detail::check(service::tensors().fill, destination.handle(), &number.value());
}
// `source` converted to `dtype` and contiguous: itself when it is so already. Not recorded: for
// kernels.
inline Tensor contiguous_as(const Tensor& source, DType dtype) {
  constexpr uint32_t readable = TENON_TENSOR_CONTIGUOUS;
  if (source.dtype() == dtype &&
      (source.view_record().flags & (readable | TENON_TENSOR_SHAPE_ONLY)) == readable)
    return source;
  Tensor result = empty_tensor(source.shape(), dtype);
  copy_elements(result, source);
  return result;
}

// Copies a row-major buffer.
template <class T>
Tensor from_buffer(const T* data, IntList shape) {
  Tensor result = empty_tensor(shape, dtype_of<T>());
  T* to = result.data<T>();
  for (int64_t i = 0; i < result.numel(); ++i) to[i] = data[i];
  return result;
}
// A 1-D tensor from an iterator range.
template <class Iterator, class T = typename std::iterator_traits<Iterator>::value_type>
Tensor from_range(Iterator begin, Iterator end) {
  Tensor result = empty_tensor({static_cast<int64_t>(std::distance(begin, end))}, dtype_of<T>());
  T* to = result.data<T>();
  for (; begin != end; ++begin) *to++ = *begin;
  return result;
}

// Nested braces of numbers: {{1, 2}, {3, 4}}, also of std::complex. Borrowed for the call of tensor().
class Nested {
 public:
  template <class T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
  Nested(T number) : number_(number), leaf_(true) {}  // a number
  template <class T, std::enable_if_t<is_complex_number<T>, int> = 0>
  Nested(const T& number)  // another number
      : number_(number.real()),
        imag_(static_cast<double>(number.imag())),
        leaf_(true),
        complex_(true) {}
  // A list of numbers or of lists; ValueError where they are ragged.
  Nested(std::initializer_list<Nested> items) : count_(static_cast<int64_t>(items.size())) {
    items_ = items.begin();
  }

  template <class Result>
  Result make(DType dtype) const;  // ValueError of ragged lists

 private:
  // The sizes of lists, as far as the first lists at each depth have been seen.
  struct Sizes {
    int64_t rank = 0;
    int64_t sizes[TENON_MAX_RANK + 1] = {};  // one more, which the host refuses
  };
  void measure(int64_t depth, Sizes& shape, int& kind) const {
    if (leaf_) {
      if (depth != shape.rank) throw ValueError("nested lists must have one depth everywhere");
      const int own = complex_ ? 3 : number_.is_floating() ? 2 : number_.is_bool() ? 0 : 1;
      if (own > kind) kind = own;
      return;
    }
    if (depth == shape.rank) {
      const bool leaf_seen = kind >= 0 && shape.rank > 0;
      if (leaf_seen) throw ValueError("nested lists must have one depth everywhere");
      if (depth > TENON_MAX_RANK) return;
      shape.sizes[shape.rank++] = count_;
    } else if (shape.sizes[depth] != count_) {
      detail::throw_message(TENON_ERROR_VALUE,
                            {"nested lists must be rectangular: a list of ", count_, " at depth ",
                             depth, " where ", shape.sizes[depth], " were seen before"});
    }
    for (const Nested& item : items()) item.measure(depth + 1, shape, kind);
  }
  Span<const Nested> items() const { return {items_, count_}; }
  void check(DType dtype) const {
    if (complex_ && !is_complex(dtype)) {
      detail::throw_message(TENON_ERROR_TYPE, {"a complex number does not fit ", dtype_text(dtype),
                                               ": ask for c64 or c128"});
    }
    if (leaf_ && !number_.fits(dtype))
      detail::throw_message(TENON_ERROR_VALUE,
                            {"the number ", number_.text(), " does not fit ", dtype_text(dtype)});
    for (const Nested& item : items()) item.check(dtype);
  }
  template <class T>
  void write(T*& to) const {
    if constexpr (std::is_same_v<T, tenon_c128>) {
      if (leaf_) *to++ = {number_.to<double>(), imag_};
    } else {
      if (leaf_) *to++ = number_.to<T>();
    }
    for (const Nested& item : items()) item.write(to);
  }
  Scalar number_;
  double imag_ = 0;
  const Nested* items_ = nullptr;
  int64_t count_ = 0;
  bool leaf_ = false;
  bool complex_ = false;
};

template <class Result>
Result Nested::make(DType dtype) const {
  Sizes shape;
  int kind = -1;
  measure(0, shape, kind);
  if (dtype == DType::none) dtype = kind == 3 ? c64 : kind == 1 ? i64 : kind == 0 ? boolean : f32;
  // Dtypes that kernels do not compute in are converted: numbers of f64 hold those of f16 and bf16,
  // and of i64 all that can be written here.
  const DType written = is_computed(dtype)  ? dtype
                        : is_complex(dtype) ? c128
                        : is_half(dtype)    ? f64
                                            : i64;
  if (kind == 3) check(dtype);
  Result result = empty_tensor(IntList(shape.sizes, shape.rank), written);
  const auto write_as = [&](auto zero) {
    auto* to = result.template data<decltype(zero)>();
    write(to);
  };
  if (written == c128)
    write_as(tenon_c128{});
  else
    visit(written, write_as);
  if (written == dtype) return result;
  check(dtype);
  return contiguous_as(result, dtype);
}

// From nested braces; without a dtype integers give i64, floating numbers f32, bools bool, complex
// numbers c64. TypeError for complex numbers in another dtype. Templates, so that files which make no
// tensor of braces compile nothing for it.
template <class Result = Tensor>
Result tensor(const Nested& values, DType dtype = DType::none) {
  return values.make<Result>(dtype);
}
// Lists inside of each other become dimensions. Without a dtype that of the numbers: f32, i64 or bool.
template <class Result = Tensor>
Result tensor(std::initializer_list<Nested> values, DType dtype = DType::none) {
  return Nested(values).make<Result>(dtype);
}

template <class T>
std::vector<T> Tensor::to_vector() const {
  const Tensor same = contiguous_as(*this, dtype_of<T>());
  const T* from = same.data<T>();
  return std::vector<T>(from, from + same.numel());
}

TENON_NAMESPACE_END
