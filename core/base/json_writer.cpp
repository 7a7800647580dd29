// JSON documents as JSON text. Boost.JSON's serializer writes other numbers (1E-1), no lines of a
// width, and characters that a terminal would obey.
#include <algorithm>
#include <cmath>

#include "core/base/characters.hpp"
#include "core/base/format.hpp"
#include "core/base/json.hpp"
#include "core/base/text.hpp"

namespace tenon::core {

namespace {

constexpr size_t kLineWidth = 100;

bool is_plain(char letter) {
  return letter >= ' ' && letter <= '~' && letter != '"' && letter != '\\';
}

void write_string(std::string_view text, std::string& out) {
  out += '"';
  for (;;) {
    const auto special = std::find_if_not(text.begin(), text.end(), is_plain);
    out.append(text.begin(), special);
    text.remove_prefix(static_cast<size_t>(special - text.begin()));
    if (text.empty()) break;
    const std::string_view character = front_character(text);
    text.remove_prefix(character.size());
    constexpr std::string_view kNamed = "\"\\\n\t\r";
    const auto byte = static_cast<unsigned char>(character[0]);
    if (const size_t named = kNamed.find(character); named != kNamed.npos) {
      out.append(1, '\\').append(1, "\"\\ntr"[named]);
    } else if (!needs_escape(character)) {
      out += character;
    } else if (character.size() > 1) {
      out += escaped(character);  // \u202e, as JSON writes it
    } else if (byte < 0x80) {
      out += format_text("\\u{:04x}", byte);
    } else {
      out += "\xEF\xBF\xBD";
      while (!text.empty() && continues_character(text[0])) text.remove_prefix(1);
    }
  }
  out += '"';
}

void write_scalar(const tenon_json& node, std::string& out) {
  switch (node.kind()) {
    case JsonKind::Bool:
      out += node.as_bool() ? "true" : "false";
      break;
    case JsonKind::Int:
      out += std::to_string(node.as_int());
      break;
    case JsonKind::Double:
      out += std::isfinite(node.as_double()) ? float_text(node.as_double()) : "null";
      break;
    case JsonKind::String:
      write_string(node.as_string(), out);
      break;
    default:
      out += "null";
  }
}

void write(const tenon_json& node, int32_t indent, size_t margin, std::string& out) {
  const bool object = node.is_object();
  if (!object && !node.is_array()) return write_scalar(node, out);
  const auto children = node.children();
  const bool scalars = std::none_of(children.begin(), children.end(),
                                    [](const tenon_json& child) { return child.size() > 0; });
  // Arrays of plain values are on one line where they fit.
  if (indent > 0 && !object && scalars) {
    std::string line;
    for (const tenon_json& child : children) {
      if (!line.empty()) line += ", ";
      write(child, 0, 0, line);
      if (line.size() > kLineWidth) break;
    }
    if (margin + line.size() + 2 <= kLineWidth) {
      out += format_text("[{}]", line);
      return;
    }
  }
  out += object ? '{' : '[';
  const size_t inner = margin + static_cast<size_t>(indent);
  for (const tenon_json& child : children) {
    if (&child != children.data()) out += ',';
    if (indent > 0) out.append(1, '\n').append(inner, ' ');
    if (object) {
      write_string(child.key(), out);
      out += indent > 0 ? ": " : ":";
    }
    write(child, indent, inner, out);
  }
  if (indent > 0 && !children.empty()) out.append(1, '\n').append(margin, ' ');
  out += object ? '}' : ']';
}

}  // namespace

std::string dump(const tenon_json& document, int32_t indent) {
  std::string out;
  write(document, std::clamp(indent, 0, 16), 0, out);
  return out;
}

}  // namespace tenon::core
