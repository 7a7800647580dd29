// Texts of a config: the grammar of each kind in one place.
#include "core/plugin/config_text.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/base/characters.hpp"
#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/text.hpp"
#include "core/dispatch/shape_class.hpp"
#include "core/plugin/version_range.hpp"

namespace tenon::core {

namespace {

using Text = ConfigText;
using Type = ConfigType;

bool is_name(std::string_view text) {
  bool start = true;
  for (const char c : text) {
    if (c == '.' ? start : !(start ? begins_name(c) : is_of_name(c))) return false;
    start = c == '.';
  }
  return !start;
}

// "nn.*", or for overrides "add[TypeA, TypeB]".
bool is_pattern(std::string_view text) {
  const size_t bracket = std::min(text.find('['), text.size());
  const auto made_of = [](std::string_view part, std::string_view more) {
    return !part.empty() && std::all_of(part.begin(), part.end(), [&](char c) {
      return is_of_name(c) || c == '.' || c == '*' || more.find(c) != more.npos;
    });
  };
  if (!made_of(text.substr(0, bracket), "")) return false;
  if (bracket == text.size()) return true;
  return text.ends_with(']') && made_of(text.substr(bracket + 1, text.size() - bracket - 2), ", ");
}

// "math", or a version of it: "math@1.2.0".
bool is_plugin_id(std::string_view text) {
  const auto holds = [](std::string_view part, std::string_view others) {
    return std::all_of(part.begin(), part.end(),
                       [&](char c) { return is_of_name(c) || others.find(c) != others.npos; });
  };
  const size_t at = text.find('@');
  const std::string_view id = text.substr(0, at);
  if (id.empty() || !is_of_name(id.front()) || !holds(id, ".-")) return false;
  return at == text.npos || (at + 1 < text.size() && holds(text.substr(at + 1), ".-+"));
}

bool is_sha256(std::string_view text) {
  return text.size() == 64 &&
         std::all_of(text.begin(), text.end(), [](char c) { return hexadecimal(c) >= 0; });
}

// 42 bytes in base64, the first two "Ed": an Ed25519 key of minisign.
bool is_public_key(std::string_view text) {
  constexpr std::string_view kThird = "QRST";  // two bits of it are of the third byte
  return text.size() == 56 && text.starts_with("RW") && kThird.find(text[2]) != kThird.npos &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return (is_of_name(c) && c != '_') || c == '+' || c == '/'; });
}

bool is_namespace(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return is_of_name(c) || c == '.' || c == '-' || c == '*';
  });
}

bool is_version_range(std::string_view text) {
  try {
    static_cast<void>(VersionRange(text));
    return !text.empty();
  } catch (const Error&) {
    return false;
  }
}

bool is_shape_class(std::string_view text) {
  try {
    static_cast<void>(ShapeClass(text));
    return true;
  } catch (const Error&) {
    return false;
  }
}

bool is_path(std::string_view text) {
  return !text.empty() && text.find('\0') == std::string_view::npos;
}

// A kind of text: by code, since expressions take a stack that grows with the text; for editors;
// and in words.
struct Grammar {
  Text kind;
  bool (*fits)(std::string_view text);
  std::string_view pattern;
  std::string_view expected;
};
constexpr Grammar kGrammars[] = {
    {Text::InputPath, is_path, "", "a path"},
    {Text::OutputPath, is_path, "", "a path"},
    {Text::PluginPath, is_path, "", "the path of a plugin"},
    {Text::PluginId, is_plugin_id, "^[A-Za-z0-9_][A-Za-z0-9_.-]*(@[A-Za-z0-9_.+-]+)?$",
     "a plugin id like 'math'"},
    {Text::Name, is_name, "^[A-Za-z_][A-Za-z0-9_]*(\\.[A-Za-z_][A-Za-z0-9_]*)*$",
     "a name like 'relu' or 'nn.functional.relu'"},
    {Text::Pattern, is_pattern, "^[A-Za-z0-9_.*]+(\\[[A-Za-z0-9_.*, ]+\\])?$",
     "a name or pattern like 'nn.functional.*'"},
    {Text::Version, is_version_range, "", "a version range like '>=1.2, <2'"},
    {Text::Sha256, is_sha256, "^[0-9A-Fa-f]{64}$", "a SHA-256 hash of 64 hexadecimal digits"},
    {Text::PublicKey, is_public_key, "^RW[A-Za-z0-9+/]{54}$",
     "a public key of minisign: 'RW' and 54 characters"},
    {Text::ShapeClass, is_shape_class, "^[a-z0-9]*\\[[0-9., *]*\\]$",
     "a class of shapes like 'f32[64..127, 784]', with a size, a range or '*' for each dimension"},
    {Text::Namespace, is_namespace, "^[A-Za-z0-9_.*-]+$", "a namespace like 'acme.'"},
};

const Grammar* grammar_of(Text kind) {
  for (const Grammar& grammar : kGrammars) {
    if (grammar.kind == kind) return &grammar;
  }
  return nullptr;
}

std::string expected_word(const ConfigSchema& schema) {
  if (schema.text == Text::Choice) return quoted_list(schema.choices, "or");
  const Grammar* grammar = grammar_of(schema.text);
  return std::string(grammar == nullptr ? "a string" : grammar->expected);
}

std::string number_text(double number) {
  if (std::fabs(number) < 1e15 && number == std::floor(number)) {
    return std::to_string(static_cast<int64_t>(number));
  }
  return float_text(number);
}

// " from 1 to 1024", " above 0", " of at least 0 and below 1"; bounds of kMaxConfigInt are not
// worth a word.
std::string range_text(const ConfigSchema& schema) {
  const bool low = schema.low > -kMaxConfigInt;
  const bool high = schema.high < kMaxConfigInt;
  if (low && high && schema.low == schema.high)
    return format_text(" equal to {}", number_text(schema.low));
  if (low && high && !schema.above_low && !schema.below_high) {
    return format_text(" from {} to {}", number_text(schema.low), number_text(schema.high));
  }
  std::string text;
  if (low) text += (schema.above_low ? " above " : " of at least ") + number_text(schema.low);
  if (low && high) text += " and";
  if (high) text += (schema.below_high ? " below " : " of at most ") + number_text(schema.high);
  return text;
}

}  // namespace

bool fits_text(ConfigText kind, std::string_view text) {
  const Grammar* grammar = grammar_of(kind);
  return grammar == nullptr || grammar->fits(text);
}

std::string_view text_pattern(ConfigText kind) {
  const Grammar* grammar = grammar_of(kind);
  return grammar == nullptr ? std::string_view() : grammar->pattern;
}

std::string expected_text(const ConfigSchema& schema) {
  switch (schema.type) {
    case Type::Bool:
      return "true or false";
    case Type::Int:
      return format_text("an integer{}", range_text(schema));
    case Type::Number:
      return format_text("a number{}", range_text(schema));
    case Type::Text:
      return expected_word(schema);
    case Type::Object:
      return schema.object->shorthand.empty() ? "an object" : "a string or an object";
    case Type::Array: {
      std::string text = "an array";
      if (schema.fewest == schema.most) text += format_text(" of {}", schema.most);
      if (schema.most == std::numeric_limits<int64_t>::max()) {
        if (schema.fewest > 0) text += format_text(" of at least {}", schema.fewest);
      } else if (schema.fewest != schema.most && schema.fewest > 0) {
        text += format_text(" of {} to {}", schema.fewest, schema.most);
      }
      return text;
    }
    case Type::Map:
    case Type::Free:
      return "an object";
    case Type::Any:
      return "any value";
  }
  return "";
}

std::string expected_text(std::span<const ConfigSchema> schemas) {
  std::vector<std::string> texts;
  for (const ConfigSchema& schema : schemas) texts.push_back(expected_text(schema));
  const Words words(texts.begin(), texts.end());
  return word_list(words, "or");
}

}  // namespace tenon::core
