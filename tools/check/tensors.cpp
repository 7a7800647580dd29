// Tensors and results of checked calls.
#include "tensors.hpp"

#include <algorithm>
#include <cmath>

#include <tenon/gradcheck_numbers.hpp>
#include <tenon/kernel/shape.hpp>
#include <tenon/typed_tensor.hpp>

#include "format.hpp"
#include "text.hpp"

namespace cli {

using tenon::Tensor;
using tenon::Value;

bool has_data(const Tensor& tensor) {
  return (tensor.view_record().flags & TENON_TENSOR_SHAPE_ONLY) == 0;
}
Tensor readable(const Tensor& tensor) {
  if (!tensor.defined() || has_data(tensor)) return tensor;
  try {
    return tenon::ensure_tensor(tensor);
  } catch (const tenon::TypeError&) {
    return {};
  }
}
std::vector<Tensor> readable(std::vector<Tensor> tensors) {
  for (Tensor& tensor : tensors) tensor = readable(tensor);
  return tensors;
}

std::vector<char> bytes_of(const Tensor& given) {
  const Tensor tensor = readable(given);
  if (!tensor.defined() || tensor.numel() == 0) return {};
  const Tensor flat = tenon::contiguous_as(tensor, tensor.dtype());
  const auto* from = static_cast<const char*>(flat.view_record().data);
  return {from, from + flat.numel() * tenon::element_size(flat.dtype())};
}
std::vector<std::vector<char>> bytes_of(const std::vector<Tensor>& tensors) {
  std::vector<std::vector<char>> list;
  list.reserve(tensors.size());
  for (const Tensor& tensor : tensors) list.push_back(bytes_of(tensor));
  return list;
}

bool shares_storage(const Tensor& a, const Tensor& b) {
  return a.defined() && b.defined() && a.numel() > 0 && b.numel() > 0 &&
         tenon::service::tensors().shares_storage(a.handle(), b.handle()) != 0;
}

std::string shape_dtype_text(const Tensor& tensor) {
  return format_text("{} {}", tenon::kernel::shape_text(tensor.shape()),
                     tenon::dtype_text(tensor.dtype()));
}

bool has_floating(const std::vector<Tensor>& tensors) {
  return std::any_of(tensors.begin(), tensors.end(), [](const Tensor& tensor) {
    return tensor.defined() && tenon::is_differentiable(tensor.dtype());
  });
}
bool any_half(const std::vector<Tensor>& tensors) {
  return std::any_of(tensors.begin(), tensors.end(), [](const Tensor& tensor) {
    return tensor.defined() && tenon::is_half(tensor.dtype());
  });
}
bool all_finite(const std::vector<Tensor>& tensors) {
  for (const Tensor& tensor : tensors) {
    if (!tensor.defined() || !tenon::is_differentiable(tensor.dtype())) continue;
    for (const double number : numbers_of(tensor)) {
      if (!std::isfinite(number)) return false;
    }
  }
  return true;
}

Tensor converted(const Tensor& tensor, tenon::DType dtype) {
  const Tensor result = tenon::empty_tensor(tensor.shape(), dtype);
  tenon::copy_elements(result, tensor);
  return result;
}

std::vector<Tensor> copied(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> copies;
  copies.reserve(tensors.size());
  for (const Tensor& tensor : tensors) copies.push_back(copied(tensor));
  return copies;
}

std::vector<Tensor> in_single(std::vector<Tensor> tensors) {
  for (Tensor& tensor : tensors) {
    if (tensor.defined() && tensor.dtype() == tenon::f64) tensor = converted(tensor, tenon::f32);
  }
  return tensors;
}

Tensor tiled(const Tensor& tensor, int64_t dim, int64_t count) {
  std::vector<int64_t> sizes = tensor.sizes();
  const auto at = static_cast<size_t>(dim);
  sizes[at] *= count;
  const Tensor result = tenon::empty_tensor(
      tenon::IntList(sizes.data(), static_cast<int64_t>(sizes.size())), tensor.dtype());
  // The dimension as two: which copy, and where in it.
  std::vector<int64_t> shape = tensor.sizes(),
                       from(tensor.strides().begin(), tensor.strides().end()),
                       to(result.strides().begin(), result.strides().end());
  to.insert(to.begin() + dim, shape[at] * to[at]);
  from.insert(from.begin() + dim, 0);
  shape.insert(shape.begin() + dim, count);
  const auto rank = static_cast<int64_t>(shape.size());
  const tenon::IntList all(shape.data(), rank);
  tenon::copy_elements(tenon::alias_tensor(result, all, tenon::IntList(to.data(), rank), 0),
                       tenon::alias_tensor(tensor, all, tenon::IntList(from.data(), rank), 0));
  return result;
}

Tensor reshaped(const Tensor& tensor, const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t step = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    strides[d] = step;
    step *= shape[d];
  }
  const auto rank = static_cast<int64_t>(shape.size());
  return tenon::alias_tensor(copied(tensor), tenon::IntList(shape.data(), rank),
                             tenon::IntList(strides.data(), rank), 0);
}

std::vector<double> numbers_of(const Tensor& tensor) { return tenon::detail::numbers_of(tensor); }
int64_t number_count(const Tensor& tensor) { return tenon::detail::number_count(tensor); }

namespace {

// Numbers outside of a whole dtype keep their lowest bits, as conversions of integers do; nan is 0.
template <class T>
T whole_number(double number) {
  constexpr double lowest = -0x1p63, highest = 0x1.fffffffffffffp62;
  if (std::isnan(number)) return 0;
  return static_cast<T>(static_cast<int64_t>(std::clamp(std::floor(number), lowest, highest)));
}

}  // namespace

Tensor filled_with(tenon::IntList shape, tenon::DType dtype, const std::vector<double>& numbers) {
  const bool written = tenon::is_computed(tenon::real_dtype(dtype));
  // Dtypes that kernels do not compute in are converted.
  const bool real = tenon::is_half(dtype) || tenon::is_narrow(dtype);
  const Tensor result = tenon::empty_tensor(shape, written ? dtype
                                                   : real  ? tenon::f64
                                                           : tenon::i64);
  tenon::visit(tenon::real_dtype(result.dtype()), [&](auto zero) {
    using T = decltype(zero);
    T* to = static_cast<T*>(result.view_record().data);
    for (int64_t i = 0; i < number_count(result); ++i) {
      const double number = numbers[static_cast<size_t>(i) % numbers.size()];
      if constexpr (std::is_same_v<T, bool>)
        to[i] = number > 0;
      else if constexpr (std::is_integral_v<T>)
        to[i] = whole_number<T>(number);
      else
        to[i] = static_cast<T>(number);
    }
  });
  return written ? result : tenon::contiguous_as(result, dtype);
}
Tensor with_elements(const Tensor& like, const std::vector<double>& numbers) {
  return filled_with(like.shape(), like.dtype(), numbers);
}

std::vector<Tensor> tensors_of(const std::vector<Piece>& pieces) {
  std::vector<Tensor> tensors;
  for (const Piece& piece : pieces) {
    if (piece.other.is_none()) tensors.push_back(piece.tensor);
  }
  return tensors;
}

// ---- layouts ----

namespace {

// The tensor's elements in new memory of `count` elements, seen with these strides.
Tensor laid_out(const Tensor& tensor, int64_t count, const std::vector<int64_t>& strides,
                int64_t offset = 0) {
  const Tensor storage = tenon::empty_tensor({count}, tensor.dtype());
  tenon::fill_elements(storage, 1);
  const Tensor view = tenon::alias_tensor(storage, tensor.shape(),
                                          tenon::IntList(strides.data(), tensor.dim()), offset);
  tenon::copy_elements(view, tensor);
  return view;
}

// The dimensions in reverse order, every second element.
Tensor scattered(const Tensor& tensor) {
  if (tensor.dim() == 0 || tensor.numel() == 0) return tensor;
  std::vector<int64_t> padded = tensor.sizes(), strides(padded.size());
  int64_t step = 2;
  for (size_t d = 0; d < padded.size(); ++d) {
    strides[d] = step;
    step *= padded[d];
  }
  return laid_out(tensor, step, strides);
}

// A view of new memory that is larger by `gap` elements after each row.
Tensor padded(const Tensor& tensor) {
  if (tensor.dim() == 0 || tensor.numel() == 0) return tensor;
  constexpr int64_t gap = 3;
  const std::vector<int64_t> sizes = tensor.sizes();
  std::vector<int64_t> strides(sizes.size());
  int64_t step = 1;
  for (size_t d = sizes.size(); d-- > 0;) {
    strides[d] = step;
    step *= sizes[d] + (d + 1 == sizes.size() ? gap : 0);
  }
  return laid_out(tensor, step, strides);
}
// Contiguous, but its first element is the second of its memory.
Tensor shifted(const Tensor& tensor) {
  const Tensor whole = copied(tensor);
  return laid_out(whole, whole.numel() + 1, {whole.strides().begin(), whole.strides().end()}, 1);
}
// Every row is the first one.
Tensor expanded(const Tensor& tensor) {
  if (tensor.dim() == 0 || tensor.numel() == 0) return tensor;
  const Tensor whole = copied(tensor);
  std::vector<int64_t> strides(whole.strides().begin(), whole.strides().end());
  strides[0] = 0;
  return tenon::alias_tensor(whole, whole.shape(), tenon::IntList(strides.data(), whole.dim()), 0);
}
// The last two dimensions in the other order, without gaps: of a matrix, by columns.
Tensor transposed(const Tensor& tensor) {
  if (tensor.dim() < 2 || tensor.numel() == 0) return copied(tensor);
  std::vector<int64_t> sizes = tensor.sizes();
  std::swap(sizes[sizes.size() - 1], sizes[sizes.size() - 2]);
  const Tensor storage =
      tenon::empty_tensor(tenon::IntList(sizes.data(), tensor.dim()), tensor.dtype());
  std::vector<int64_t> strides(storage.strides().begin(), storage.strides().end());
  std::swap(strides[strides.size() - 1], strides[strides.size() - 2]);
  const Tensor view =
      tenon::alias_tensor(storage, tensor.shape(), tenon::IntList(strides.data(), tensor.dim()), 0);
  tenon::copy_elements(view, tensor);
  return view;
}
// Every column is the first one.
Tensor expanded_columns(const Tensor& tensor) {
  if (tensor.dim() < 2 || tensor.numel() == 0) return expanded(tensor);
  const Tensor whole = copied(tensor);
  std::vector<int64_t> strides(whole.strides().begin(), whole.strides().end());
  strides.back() = 0;
  return tenon::alias_tensor(whole, whole.shape(), tenon::IntList(strides.data(), whole.dim()), 0);
}
// Each row begins one element after the one before.
Tensor sliding(const Tensor& tensor) {
  if (tensor.dim() < 2 || tensor.numel() == 0) return expanded(tensor);
  const Tensor whole = copied(tensor);
  const std::vector<int64_t> strides(static_cast<size_t>(whole.dim()), 1);
  return tenon::alias_tensor(whole, whole.shape(), tenon::IntList(strides.data(), whole.dim()), 0);
}

}  // namespace

const std::vector<Layout> kLayouts = {
    {"other strides", scattered, false},
    {"gaps between the rows", padded, false},
    {"another alignment", shifted, false},
    {"a stride of 0", expanded, true},
    {"elements that share memory", sliding, true},
    {"columns in a row", transposed, false},
    {"a stride of 0 in the last dimension", expanded_columns, true}};

// ---- results ----

namespace {

Piece piece_of(Tensor tensor) {
  std::string type = tensor.defined() ? tenon::type_name(tensor) : "";
  return {std::move(tensor), {}, std::move(type)};
}

// The numbers of a value that is one or a list of them; empty for others.
std::vector<double> numbers_of(const tenon_value& value) {
  switch (value.tag) {
    case TENON_VALUE_BOOL:
    case TENON_VALUE_INT:
    case TENON_VALUE_FLOAT:
      return {tenon::Scalar(value).to<double>()};
    case TENON_VALUE_INT_LIST:
      return {value.as.integers, value.as.integers + value.length};
    case TENON_VALUE_FLOAT_LIST:
      return {value.as.numbers, value.as.numbers + value.length};
    case TENON_VALUE_BOOL_LIST:
      return {value.as.booleans, value.as.booleans + value.length};
    default:
      return {};
  }
}

// The first place where numbers differ by more than rounding, "3 in one and 4 in the other at
// element 1"; empty: none.
std::string number_difference(const std::vector<double>& a, const std::vector<double>& b,
                              const Tolerance& tolerance) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    const double room = tolerance.absolute + tolerance.relative * std::abs(a[i]);
    if (std::abs(a[i] - b[i]) <= room) continue;
    return format_text("{} in one and {} in the other{}", short_number(a[i]), short_number(b[i]),
                       a.size() == 1 ? "" : format_text(" at element {}", i));
  }
  return "";
}

// Whole numbers are compared as such: a double would round the large ones.
std::string whole_difference(const Tensor& a, const Tensor& b) {
  std::string found;
  tenon::visit(a.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const auto x = a.to_vector<T>(), y = b.to_vector<T>();
    for (size_t i = 0; i < x.size() && found.empty(); ++i) {
      if (x[i] == y[i]) continue;
      found = format_text(" has {} in one and {} in the other at element {}",
                          tenon::Scalar(static_cast<int64_t>(x[i])).to<int64_t>(),
                          tenon::Scalar(static_cast<int64_t>(y[i])).to<int64_t>(), i);
    }
  });
  return found;
}

std::string difference(const Value& a, const Value& b, const Tolerance& tolerance) {
  const tenon_value &x = a.get(), &y = b.get();
  const auto text = [](const tenon_value& value) {
    Value written;
    tenon::detail::check(tenon::service::values().text, &value, written.slot());
    return written.text();
  };
  const std::string found = format_text(" is {} in one and {} in the other", text(x), text(y));
  // A dtype may be that of the operands.
  if (tolerance.any_dtype && x.tag == TENON_VALUE_DTYPE && y.tag == TENON_VALUE_DTYPE) return "";
  if (x.tag != y.tag) return found;
  const std::vector<double> numbers = numbers_of(x), others = numbers_of(y);
  if (numbers.size() != others.size()) return found;
  if (!numbers.empty()) return number_difference(numbers, others, tolerance).empty() ? "" : found;
  if (x.tag == TENON_VALUE_STRING) return a.text() == b.text() ? "" : found;
  if (x.tag == TENON_VALUE_STRING_LIST) return a.strings() == b.strings() ? "" : found;
  // The other kinds are JSON documents and modules, new objects each time.
  return x.tag == TENON_VALUE_DTYPE && x.as.integer != y.as.integer ? found : "";
}

}  // namespace

std::vector<Piece> pieces_of(std::vector<Value> results) {
  std::vector<Piece> pieces;
  for (Value& result : results) {
    if (result.is_tensor()) {
      pieces.push_back(piece_of(result.tensor()));
    } else if (result.get().tag == TENON_VALUE_TENSOR_LIST) {
      for (Tensor& tensor : result.tensors()) pieces.push_back(piece_of(std::move(tensor)));
    } else {
      pieces.push_back({{}, std::move(result), {}});
    }
  }
  return pieces;
}

Tolerance wide_enough(Tolerance tolerance, const Tensor& a, const Tensor& b) {
  const auto either = [&](tenon::DType dtype) { return a.dtype() == dtype || b.dtype() == dtype; };
  const double last_place = either(tenon::bf16) ? 0x1p-7 : either(tenon::f16) ? 0x1p-10 : 0;
  if (!tolerance.any_dtype || last_place == 0) return tolerance;
  return {4 * last_place, 4 * last_place, true};
}

std::string difference(const Tensor& a, const Tensor& b, const Tolerance& tolerance) {
  if (a.defined() != b.defined()) return " is missing in one of them";
  if (!a.defined()) return "";
  if (a.sizes() != b.sizes() || (!tolerance.any_dtype && a.dtype() != b.dtype()))
    return format_text(" is {} in one and {} in the other", shape_dtype_text(a),
                       shape_dtype_text(b));
  const Tensor one = readable(a), other = readable(b);
  if (!one.defined() || !other.defined()) return "";
  if (one.dtype() == other.dtype() && bytes_of(one) == bytes_of(other)) return "";
  const bool whole = one.dtype() == other.dtype() && !tenon::is_differentiable(one.dtype());
  if (whole && tenon::is_computed(one.dtype())) return whole_difference(one, other);
  const auto x = numbers_of(one), y = numbers_of(other);
  if (x.size() != y.size())
    return format_text(" is {} in one and {} in the other", shape_dtype_text(a),
                       shape_dtype_text(b));
  const Tolerance room = whole ? Tolerance{0, 0} : wide_enough(tolerance, a, b);
  for (size_t i = 0; i < x.size(); ++i) {
    const std::string found = number_difference({x[i]}, {y[i]}, room);
    if (!found.empty()) return format_text(" has {} at element {}", found, i);
  }
  return "";
}
std::string difference(const std::vector<Tensor>& a, const std::vector<Tensor>& b,
                       const Tolerance& tolerance) {
  if (a.size() != b.size()) return " is another number of tensors";
  for (size_t i = 0; i < a.size(); ++i) {
    const std::string found = difference(a[i], b[i], tolerance);
    if (!found.empty()) return a.size() == 1 ? found : format_text(" {}{}", i, found);
  }
  return "";
}

std::string difference(const std::vector<Piece>& a, const std::vector<Piece>& b,
                       const Tolerance& tolerance) {
  if (a.size() != b.size()) return "another number of results";
  for (size_t r = 0; r < a.size(); ++r) {
    const bool tensors = a[r].other.is_none() && b[r].other.is_none();
    std::string found = tensors ? difference(a[r].tensor, b[r].tensor, tolerance)
                                : difference(a[r].other, b[r].other, tolerance);
    if (a[r].type != b[r].type)
      found = format_text(" is of type {} in one and {} in the other", a[r].type, b[r].type);
    if (found.empty()) continue;
    return a.size() == 1 ? format_text("the result{}", found)
                         : format_text("result {}{}", r, found);
  }
  return "";
}

}  // namespace cli
