#include "name_pattern.hpp"

#include <algorithm>
#include <fnmatch.h>
#include <utility>

#include <tenon/text.hpp>

#include "format.hpp"
#include "text.hpp"

namespace cli {

std::string namespace_part(std::string_view name) {
  const size_t dot = name.rfind('.');
  return dot == name.npos ? "" : std::string(name.substr(0, dot));
}

std::string last_part(std::string_view name) {
  const size_t dot = name.rfind('.');
  return std::string(dot == name.npos ? name : name.substr(dot + 1));
}

bool NamePattern::is_one(std::string_view text) { return text.find_first_of("*?[") != text.npos; }

NamePattern::NamePattern(std::string text, const std::vector<std::string>& names)
    : text_(std::move(text)), names_(names), wildcards_(is_one(text_)) {
  if (wildcards_ || text_.empty()) return;
  const std::string inside = format_text("{}.", text_);
  for (const std::string& name : names) {
    namespace_ = namespace_ || namespace_part(name) == text_;
    within_ = within_ || name.starts_with(inside);
  }
}

bool NamePattern::matches(const std::string& name) const {
  if (text_.empty()) return true;
  if (wildcards_)
    return fnmatch(text_.c_str(), name.c_str(), 0) == 0 ||
           fnmatch(text_.c_str(), last_part(name).c_str(), 0) == 0;
  if (namespace_) return namespace_part(name) == text_;
  if (within_) return name.starts_with(format_text("{}.", text_));
  return lower(name).find(lower(text_)) != std::string::npos;
}

std::string NamePattern::suggestion() const {
  std::vector<std::string> known;
  for (const std::string& name : names_) {
    known.push_back(name);
    known.push_back(last_part(name));
    known.push_back(namespace_part(name));
  }
  known.erase(std::remove(known.begin(), known.end(), std::string()), known.end());
  std::sort(known.begin(), known.end());
  known.erase(std::unique(known.begin(), known.end()), known.end());
  return tenon::suggestion(text_, known);
}

}  // namespace cli
