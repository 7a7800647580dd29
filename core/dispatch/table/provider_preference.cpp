// Reading classes of operands, and which preference holds for a call.
#include "core/dispatch/table/provider_preference.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/text.hpp"
#include "core/tensor/dtype.hpp"

namespace tenon::core {

namespace {

// An end of a range, which may be left open.
bool read_end(std::string_view text, int64_t& number) {
  if (text.empty()) return true;
  const char* const end = text.data() + text.size();
  const auto [stop, fault] = std::from_chars(text.data(), end, number);
  return fault == std::errc() && stop == end && number >= 0;
}

std::optional<ShapeClass::Sizes> sizes_in(std::string_view text) {
  ShapeClass::Sizes sizes;
  if (text == "*") return sizes;
  const size_t dots = text.find("..");
  const std::string_view low = trim_spaces(text.substr(0, dots));
  const std::string_view high = dots == text.npos ? low : trim_spaces(text.substr(dots + 2));
  const bool reads = (!low.empty() || !high.empty()) && read_end(low, sizes.low) &&
                     read_end(high, sizes.high) && sizes.low <= sizes.high;
  return reads ? std::optional(sizes) : std::nullopt;
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
  return std::ranges::equal(sizes_, tensor.shape(), [](const Sizes& sizes, int64_t size) {
    return size >= sizes.low && size <= sizes.high;
  });
}

std::string ProviderPreference::text() const {
  std::vector<std::string> conditions;
  for (const ShapeCondition& one : when)
    conditions.push_back(format_text("{} is {}", one.parameter, one.shape.text()));
  return format_text("{} prefers {}{}{}", source, quote(provider), when.empty() ? "" : " where ",
                     join(conditions, " and "));
}

ProviderPreferences::ProviderPreferences(const Schema& schema,
                                         std::vector<ProviderPreference> preferences) {
  for (ProviderPreference& preference : preferences) {
    Placed placed{std::move(preference), {}, {}};
    placed.text = placed.preference.text();
    for (const ShapeCondition& condition : placed.preference.when) {
      const auto found =
          std::ranges::find(schema.parameters, condition.parameter, &Parameter::name);
      if (found != schema.parameters.end())
        placed.places.push_back(static_cast<size_t>(found - schema.parameters.begin()));
    }
    if (placed.places.size() == placed.preference.when.size())
      preferences_.push_back(std::move(placed));
  }
}

ProviderPreferences::Found ProviderPreferences::find(const tenon_value* arguments) const noexcept {
  for (const Placed& placed : preferences_) {
    bool holds = true;
    for (size_t i = 0; holds && i < placed.places.size(); ++i) {
      const tenon_value& value = arguments[placed.places[i]];
      holds = value.tag == TENON_VALUE_TENSOR && value.as.tensor != nullptr &&
              placed.preference.when[i].shape.contains(*value.as.tensor);
    }
    if (holds) return {&placed.preference, placed.text.c_str()};
  }
  return {};
}

}  // namespace tenon::core
