// Grammars of a config's texts, one function for each.
#include "format.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>

#include <tenon/abi/dtype.h>
#include <tenon/abi/tensor.h>

TENON_NAMESPACE_BEGIN

namespace config {

namespace {

// ASCII, whatever the locale is.
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_of_name(char c) { return is_letter(c) || is_digit(c) || c == '_'; }

bool begins_with(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}
bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}
std::string_view trimmed(std::string_view text) {
  while (begins_with(text, " ")) text.remove_prefix(1);
  while (ends_with(text, " ")) text.remove_suffix(1);
  return text;
}
// Characters of names, or one of `others`.
bool is_made_of(std::string_view text, std::string_view others) {
  return std::all_of(text.begin(), text.end(),
                     [&](char c) { return is_of_name(c) || others.find(c) != others.npos; });
}

// Whether each part between commas fits.
template <class Fits>
bool all_parts(std::string_view list, Fits fits) {
  for (;;) {
    const size_t comma = std::min(list.find(','), list.size());
    if (!fits(trimmed(list.substr(0, comma)))) return false;
    if (comma == list.size()) return true;
    list.remove_prefix(comma + 1);
  }
}

template <class Number>
bool take_number(std::string_view& text, Number& number) {
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (fault != std::errc()) return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return true;
}

bool is_path(std::string_view text) { return !text.empty() && text.find('\0') == text.npos; }

// Words with dots between: an op, a module, a type.
bool is_name(std::string_view text) {
  bool start = true;
  for (const char c : text) {
    if (c == '.' ? start : !is_of_name(c) || (start && is_digit(c))) return false;
    start = c == '.';
  }
  return !start;
}

// The name of a type, or a path: it has an ending, or a folder.
bool is_module(std::string_view text) {
  return is_name(text) || (is_path(text) && text.find_first_of("./") != text.npos);
}

// "nn.*", or for overrides "add[TypeA, TypeB]".
bool is_pattern(std::string_view text) {
  const size_t bracket = std::min(text.find('['), text.size());
  if (bracket == 0 || !is_made_of(text.substr(0, bracket), ".*")) return false;
  if (bracket == text.size()) return true;
  if (!ends_with(text, "]") || text.size() - bracket < 3) return false;
  return is_made_of(text.substr(bracket + 1, text.size() - bracket - 2), ".*, ");
}

// "math", or one version of it: "math@1.2.0".
bool is_plugin_id(std::string_view text) {
  const size_t at = text.find('@');
  const std::string_view id = text.substr(0, at);
  if (id.empty() || !is_of_name(id.front()) || !is_made_of(id, ".-")) return false;
  return at == text.npos || (at + 1 < text.size() && is_made_of(text.substr(at + 1), ".-+"));
}

// One to three numbers; behind three a pre-release, behind all a build.
bool is_version(std::string_view text) {
  int count = 0;
  for (uint64_t number = 0; count < 3; ++count) {
    if (!take_number(text, number)) return false;
    if (!begins_with(text, ".")) break;
    text.remove_prefix(1);
  }
  count = std::min(count + 1, 3);
  if (const size_t plus = text.find('+'); plus != text.npos) {
    if (plus + 1 == text.size()) return false;
    text = text.substr(0, plus);
  }
  if (text.empty()) return true;
  return count == 3 && text.size() > 1 && text.front() == '-' &&
         std::all_of(text.begin() + 1, text.end(),
                     [](char c) { return is_letter(c) || is_digit(c) || c == '-' || c == '.'; });
}

bool is_version_range(std::string_view text) {
  if (text.empty()) return false;
  const std::string_view range = trimmed(text);
  if (range.empty() || range == "*") return true;
  return all_parts(range, [](std::string_view part) {
    for (const std::string_view relation : {">=", ">", "<=", "<", "^", "="}) {
      if (!begins_with(part, relation)) continue;
      part = trimmed(part.substr(relation.size()));
      break;
    }
    return is_version(part);
  });
}

bool is_sha256(std::string_view text) {
  return text.size() == 64 && std::all_of(text.begin(), text.end(), [](char c) {
           return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
         });
}

bool is_size(std::string_view text, int64_t& size) {
  return !text.empty() && take_number(text, size) && text.empty() && size >= 0;
}
// A number, a range with one end or both, or '*'.
bool is_sizes(std::string_view text) {
  int64_t low = 0, high = INT64_MAX;
  if (text == "*") return true;
  const size_t dots = text.find("..");
  if (dots == text.npos) return is_size(text, low);
  const std::string_view from = trimmed(text.substr(0, dots)), to = trimmed(text.substr(dots + 2));
  if (from.empty() && to.empty()) return false;
  return (from.empty() || is_size(from, low)) && (to.empty() || is_size(to, high)) && low <= high;
}
bool is_dtype(std::string_view text) {
#define TENON_MATCH(name, code, bytes, type, short_name, ...) \
  if (text == short_name) return true;
  TENON_ALL_DTYPES(TENON_MATCH)
#undef TENON_MATCH
#define TENON_MATCH(name, long_name) \
  if (text == long_name) return true;
  TENON_DTYPE_LONG_NAMES(TENON_MATCH)
#undef TENON_MATCH
  return false;
}
bool is_shape_class(std::string_view text) {
  const size_t bracket = text.find('[');
  if (bracket == text.npos || !ends_with(text, "]")) return false;
  if (bracket > 0 && !is_dtype(text.substr(0, bracket))) return false;
  const std::string_view sizes = text.substr(bracket + 1, text.size() - bracket - 2);
  if (trimmed(sizes).empty()) return true;  // tensors without dimensions
  int rank = 0;
  return all_parts(
      sizes, [&](std::string_view part) { return ++rank <= TENON_MAX_RANK && is_sizes(part); });
}

// Base64 of "Ed" and 40 bytes.
bool is_public_key(std::string_view text) {
  return text.size() == 56 && begins_with(text, "RW") && text[2] >= 'Q' && text[2] <= 'T' &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return is_letter(c) || is_digit(c) || c == '+' || c == '/'; });
}

bool is_namespace(std::string_view text) { return !text.empty() && is_made_of(text, ".-*"); }

constexpr Format kFormats[] = {
    {"input-path", is_path, "", "a path", Normal::absolute},
    {"output-path", is_path, "", "a path", Normal::absolute},
    {"plugin-path", is_path, "", "the path of a plugin", Normal::absolute},
    {"plugin-id", is_plugin_id, "^[A-Za-z0-9_][A-Za-z0-9_.-]*(@[A-Za-z0-9_.+-]+)?$",
     "a plugin id like 'math'"},
    {"name", is_name, "^[A-Za-z_][A-Za-z0-9_]*(\\.[A-Za-z_][A-Za-z0-9_]*)*$",
     "a name like 'relu' or 'nn.functional.relu'"},
    {"module", is_module, "", "a name like 'Linear', or the path of a model's file"},
    {"pattern", is_pattern, "^[A-Za-z0-9_.*]+(\\[[A-Za-z0-9_.*, ]+\\])?$",
     "a name or pattern like 'nn.functional.*'"},
    {"version-range", is_version_range, "", "a version range like '>=1.2, <2'"},
    {"sha256", is_sha256, "^[0-9A-Fa-f]{64}$", "a SHA-256 hash of 64 hexadecimal digits",
     Normal::lower_case},
    {"public-key", is_public_key, "^RW[A-Za-z0-9+/]{54}$",
     "a public key of minisign: 'RW' and 54 characters"},
    {"shape-class", is_shape_class, "^[a-z0-9]*\\[[0-9., *]*\\]$",
     "a class of shapes like 'f32[64..127, 784]', with a size, a range or '*' for each dimension"},
    {"namespace", is_namespace, "^[A-Za-z0-9_.*-]+$", "a namespace like 'acme.'"},
};

}  // namespace

const Format* find_format(std::string_view name) {
  for (const Format& format : kFormats) {
    if (format.name == name) return &format;
  }
  return nullptr;
}

bool is_plugin_path(std::string_view name) {
  return name.find('/') != name.npos || ends_with(name, ".so");
}

}  // namespace config

TENON_NAMESPACE_END
