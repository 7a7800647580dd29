// The printed form of tensors.
#include "core/tensor/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <vector>

#include "core/base/format.hpp"
#include "core/tensor/convert.hpp"
#include "core/tensor/copy.hpp"
#include "core/tensor/dtype.hpp"

namespace tenon::core {

namespace {

constexpr int64_t kEdgeItems = 3;
constexpr int64_t kSummarizeAbove = 1000;
constexpr size_t kLineWidth = 80;

// Which elements are printed: all, or the first and last few of each dimension.
struct Extract {
  const Tensor& tensor;
  bool summarize;

  bool shortens(size_t dimension) const {
    return summarize && tensor.view.shape[dimension] > 2 * kEdgeItems;
  }
  // Calls `body(index)` for the printed indices of a dimension, and `gap()` between the two ends.
  template <class Body, class Gap>
  void each(size_t dimension, Body&& body, Gap&& gap) const {
    const int64_t size = tensor.view.shape[dimension];
    if (!shortens(dimension)) {
      for (int64_t i = 0; i < size; ++i) body(i);
      return;
    }
    for (int64_t i = 0; i < kEdgeItems; ++i) body(i);
    gap();
    for (int64_t i = size - kEdgeItems; i < size; ++i) body(i);
  }
};

template <class T, class Body>
void each_value(const Extract& extract, size_t dimension, const Stored<T>* data, Body& body) {
  if (dimension == extract.tensor.view.rank) {
    body(*data);
    return;
  }
  const int64_t stride = extract.tensor.view.strides[dimension];
  extract.each(
      dimension, [&](int64_t i) { each_value<T>(extract, dimension + 1, data + i * stride, body); },
      [] {});
}

// One way of writing numbers for all elements of a tensor, and the width that they share.
template <class T>
class Formatter {
 public:
  explicit Formatter(const Extract& extract) : extract_(extract) {
    if constexpr (std::is_floating_point_v<Shown>) choose_style();
    auto measure = [this](Shown value) {
      if (!counts_for_width(value)) return;
      width_ = std::max(width_, plain(value).size());
    };
    each(measure);
  }

  size_t width() const { return width_; }

  std::string text(Stored<T> element) const {
    std::string text = plain(shown(element));
    if (text.size() < width_) text.insert(0, width_ - text.size(), ' ');
    return text;
  }

 private:
  enum class Style { whole, fixed, scientific };
  using Shown = std::conditional_t<is_half<T>, float, Stored<T>>;

  static Shown shown(Stored<T> element) {
    if constexpr (is_half<T>)
      return widen(element);
    else
      return element;
  }
  template <class Body>
  void each(Body& body) const {
    auto show = [&body](Stored<T> element) { body(shown(element)); };
    each_value<T>(extract_, 0, static_cast<const Stored<T>*>(extract_.tensor.view.data), show);
  }

  // Zeros, infinities and NaN neither decide the style nor the width of floats.
  static bool counts_for_width(Shown value) {
    if constexpr (std::is_floating_point_v<Shown>) return std::isfinite(value) && value != 0;
    return true;
  }

  void choose_style() {
    double smallest = std::numeric_limits<double>::infinity();
    double largest = 0;
    bool whole = true;
    auto look = [&](Shown value) {
      if (!counts_for_width(value)) return;
      const double size = std::abs(static_cast<double>(value));
      smallest = std::min(smallest, size);
      largest = std::max(largest, size);
      whole = whole && std::ceil(value) == value;
    };
    each(look);
    if (largest == 0) return;
    style_ = whole ? Style::whole : Style::fixed;
    if (largest / smallest > 1000. || largest > 1e8 || (!whole && smallest < 1e-4))
      style_ = Style::scientific;
  }

  std::string plain(Shown value) const {
    if constexpr (std::is_same_v<T, bool>) {
      return value != 0 ? "True" : "False";
    } else if constexpr (std::is_integral_v<Shown>) {
      return std::to_string(value);
    } else {
      if (std::isnan(value)) return "nan";
      if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
      // Not printf, whose decimal point depends on the locale. Whole and fixed numbers end at 1e8.
      std::array<char, 48> buffer;
      const auto form =
          style_ == Style::scientific ? std::chars_format::scientific : std::chars_format::fixed;
      const auto end =
          std::to_chars(buffer.data(), buffer.data() + buffer.size(), static_cast<double>(value),
                        form, style_ == Style::whole ? 0 : 4);
      std::string text(buffer.data(), end.ptr);
      if (style_ == Style::whole) text += '.';
      return text;
    }
  }

  const Extract& extract_;
  Style style_ = Style::whole;
  size_t width_ = 1;
};

// Complex numbers: both parts as all of their kind are, "1.-2.5000j".
template <class T>
class ComplexFormatter {
 public:
  explicit ComplexFormatter(const Extract& extract)
      : real_(part(extract.tensor, 0)),
        imag_(part(extract.tensor, 1)),
        real_extract_{*real_, extract.summarize},
        imag_extract_{*imag_, extract.summarize},
        real_text_(real_extract_),
        imag_text_(imag_extract_) {}

  size_t width() const { return real_text_.width() + imag_text_.width() + 2; }
  std::string text(T element) const {
    std::string imag = imag_text_.text(element.imag);
    imag.erase(0, imag.find_first_not_of(' '));
    const char* sign = imag[0] == '-' ? "" : "+";
    return format_text("{}{}{}j", real_text_.text(element.real), sign, imag);
  }

 private:
  using Part = decltype(T::real);
  static TensorRef part(const Tensor& tensor, int64_t offset) {
    Sizes strides = sizes_of(tensor.strides());
    for (int64_t i = 0; i < strides.rank; ++i) strides.values[i] *= 2;
    return make_alias_as(tensor, real_dtype(tensor.view.dtype), tensor.shape(), strides, offset);
  }
  const TensorRef real_, imag_;
  const Extract real_extract_, imag_extract_;
  const Formatter<Part> real_text_, imag_text_;
};

template <class T>
using FormatterOf = std::conditional_t<is_complex<T>, ComplexFormatter<T>, Formatter<T>>;

template <class T>
std::string row_text(const Extract& extract, const FormatterOf<T>& formatter, const Stored<T>* data,
                     size_t indent) {
  const size_t dimension = extract.tensor.view.rank - size_t{1};
  const int64_t stride = extract.tensor.view.strides[dimension];
  std::vector<std::string> items;
  extract.each(
      dimension, [&](int64_t i) { items.push_back(formatter.text(data[i * stride])); },
      [&] { items.emplace_back(" ..."); });
  const size_t room = indent < kLineWidth ? kLineWidth - indent : 0;
  const size_t on_a_line = std::max<size_t>(1, room / (formatter.width() + 2));
  std::string text = "[";
  for (size_t i = 0; i < items.size(); ++i) {
    if (i != 0)
      text += i % on_a_line == 0 ? format_text(",\n{}", std::string(indent + 1, ' ')) : ", ";
    text += items[i];
  }
  return format_text("{}]", text);
}

template <class T>
std::string nested_text(const Extract& extract, const FormatterOf<T>& formatter, size_t dimension,
                        const Stored<T>* data, size_t indent) {
  const size_t rank = extract.tensor.view.rank;
  if (rank == 0) return formatter.text(*data);
  if (dimension + 1 == rank) return row_text<T>(extract, formatter, data, indent);
  const std::string separator =
      format_text(",{}{}", std::string(rank - dimension - 1, '\n'), std::string(indent + 1, ' '));
  const int64_t stride = extract.tensor.view.strides[dimension];
  std::string text = "[";
  bool first = true;
  const auto separate = [&] {
    if (!first) text += separator;
    first = false;
  };
  extract.each(
      dimension,
      [&](int64_t i) {
        separate();
        text += nested_text<T>(extract, formatter, dimension + 1, data + i * stride, indent + 1);
      },
      [&] {
        separate();
        text += "...";
      });
  return format_text("{}]", text);
}

std::string elements_text(const Tensor& tensor, size_t indent) {
  if (dtype_narrow(tensor.view.dtype))
    return elements_text(*contiguous_copy(tensor, TENON_F32), indent);
  return visit_dtype(tensor.view.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    const Extract extract{tensor, tensor.view.count > kSummarizeAbove};
    const FormatterOf<T> formatter(extract);
    return nested_text<T>(extract, formatter, 0, static_cast<const Stored<T>*>(tensor.view.data),
                          indent);
  });
}

// As Python writes a tuple: "(2, 3)", "(2,)".
std::string size_text(Shape shape) {
  std::string text = shape_text(shape);
  text.front() = '(';
  text.back() = shape.size() == 1 ? ',' : ')';
  return shape.size() == 1 ? text + ")" : text;
}

}  // namespace

std::string tensor_text(const Tensor* tensor, std::string_view node_name, std::string_view word) {
  if (tensor == nullptr) return "tensor(<undefined>)";
  const size_t indent = word.size() + 1;  // width of "tensor("
  const tenon_tensor_view& view = tensor->view;
  const bool empty = view.count == 0;
  const bool no_data = !empty && view.data == nullptr;
  std::vector<std::string> suffixes;
  if (no_data || tensor->has_flag(TENON_TENSOR_SHAPE_ONLY) || (empty && view.rank != 1)) {
    suffixes.push_back(format_text("size={}", size_text(tensor->shape())));
  }
  // Without elements nothing shows that they are integers.
  const bool usual = view.dtype == TENON_F32 || (!empty && !no_data && view.dtype == TENON_C64) ||
                     (!empty && !no_data && (view.dtype == TENON_I64 || view.dtype == TENON_BOOL));
  if (!usual) suffixes.push_back(format_text("dtype={}", dtype_text(view.dtype)));
  if (!node_name.empty()) {
    suffixes.push_back(format_text("grad_fn=<{}>", node_name));
  } else if (tensor->requires_grad()) {
    suffixes.emplace_back("requires_grad=True");
  }

  std::string text = format_text("{}(", word);
  text += no_data ? "..." : empty ? "[]" : elements_text(*tensor, indent);
  const size_t newline = text.rfind('\n');
  size_t line_length = newline == std::string::npos ? text.size() + 2 : text.size() - newline + 1;
  for (const std::string& suffix : suffixes) {
    if (line_length + suffix.size() + 2 > kLineWidth) {
      text += format_text(",\n{}{}", std::string(indent, ' '), suffix);
      line_length = indent + suffix.size();
    } else {
      text += format_text(", {}", suffix);
      line_length += suffix.size() + 2;
    }
  }
  return format_text("{})", text);
}

}  // namespace tenon::core
