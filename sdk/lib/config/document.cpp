#include "document.hpp"

#include <tenon/text.hpp>

#include "lib/base/format.hpp"

TENON_NAMESPACE_BEGIN

namespace config {

std::string Path::text() const {
  if (outer == nullptr) return {};
  std::string pointer = outer->text() + "/";
  if (index >= 0) return pointer + std::to_string(index);
  for (const char letter : key) {
    if (letter == '~')
      pointer += "~0";
    else if (letter == '/')
      pointer += "~1";
    else
      pointer += letter;
  }
  return pointer;
}

std::string escaped(std::string_view text) {
  std::string line;
  for (const char letter : printable(text)) {
    if (letter == '\n')
      line += "\\x0a";
    else if (letter == '\t')
      line += "\\x09";
    else
      line += letter;
  }
  return line;
}

std::string place_text(std::string_view file, tenon_json_place place) {
  if (file.empty()) return lib::format_text("line {}, column {}", place.line, place.column);
  return lib::format_text("{}:{}:{}", escaped(file), place.line, place.column);
}

void DocumentBuilder::add(uint32_t kind, tenon_value value, ConfigNode origin) {
  tenon_json_step step{};
  step.kind = kind;
  step.key = {key_.data(), static_cast<int64_t>(key_.size())};
  step.value = value;
  step.origin = origin.handle();
  steps_.push_back(step);
  key_ = {};
}

void DocumentBuilder::text(std::string text, ConfigNode origin) {
  value(Argument(texts_.emplace_back(std::move(text))).value(), origin);
}

void DocumentBuilder::copy(ConfigNode node, ConfigNode origin) {
  tenon_value document{};
  document.tag = TENON_VALUE_JSON;
  document.as.json = const_cast<tenon_json*>(node.handle());
  value(document, origin);
}

Json DocumentBuilder::finish(ConfigNode source) const {
  Json document;
  detail::check(service::documents().build, steps_.data(), static_cast<int64_t>(steps_.size()),
                source.handle(), document.slot());
  return document;
}

}  // namespace config

TENON_NAMESPACE_END
