// Reading classes of operands, and comparing.
#include "core/dispatch/table/shape_class.hpp"

#include <charconv>
#include <optional>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/text.hpp"
#include "core/tensor/dtype.hpp"

namespace tenon::core {

namespace {

std::optional<int64_t> number_in(std::string_view text) {
  int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, fault] = std::from_chars(text.data(), end, number);
  if (text.empty() || fault != std::errc() || stop != end || number < 0) return std::nullopt;
  return number;
}

std::optional<ShapeClass::Sizes> sizes_in(std::string_view text) {
  if (text == "*") return ShapeClass::Sizes{};
  const size_t dots = text.find("..");
  if (dots == text.npos) {
    const std::optional<int64_t> number = number_in(text);
    if (!number) return std::nullopt;
    return ShapeClass::Sizes{*number, *number};
  }
  const std::string_view low = trim_spaces(text.substr(0, dots)),
                         high = trim_spaces(text.substr(dots + 2));
  if (low.empty() && high.empty()) return std::nullopt;
  ShapeClass::Sizes sizes;
  for (const auto& [part, bound] : {std::pair(low, &sizes.low), std::pair(high, &sizes.high)}) {
    if (part.empty()) continue;
    const std::optional<int64_t> number = number_in(part);
    if (!number) return std::nullopt;
    *bound = *number;
  }
  if (sizes.low > sizes.high) return std::nullopt;
  return sizes;
}

[[noreturn]] void refuse(std::string_view text) {
  throw Error(
      TENON_ERROR_VALUE,
      "{} is not a class of shapes; write it like 'f32[64..127, 784]': a dtype or none, and "
      "for each dimension a size, a range or '*'",
      quote(text));
}

}  // namespace

ShapeClass::ShapeClass(std::string_view text) : text_(text) {
  const size_t bracket = text.find('[');
  if (bracket == text.npos || !text.ends_with(']')) refuse(text);
  if (bracket > 0) {
    dtype_ = dtype_find(text.substr(0, bracket));
    if (dtype_ == TENON_DTYPE_NONE) refuse(text);
  }
  std::string_view rest = text.substr(bracket + 1, text.size() - bracket - 2);
  if (trim_spaces(rest).empty()) return;  // a class of tensors without dimensions
  for (;;) {
    const size_t comma = rest.find(',');
    const std::optional<Sizes> sizes = sizes_in(trim_spaces(rest.substr(0, comma)));
    if (!sizes || sizes_.size() == TENON_MAX_RANK) refuse(text);
    sizes_.push_back(*sizes);
    if (comma == rest.npos) return;
    rest.remove_prefix(comma + 1);
  }
}

bool ShapeClass::contains(const Tensor& tensor) const noexcept {
  if (dtype_ != TENON_DTYPE_NONE && tensor.view.dtype != dtype_) return false;
  if (tensor.view.rank != sizes_.size()) return false;
  for (size_t i = 0; i < sizes_.size(); ++i) {
    const int64_t size = tensor.view.shape[i];
    if (size < sizes_[i].low || size > sizes_[i].high) return false;
  }
  return true;
}

}  // namespace tenon::core
