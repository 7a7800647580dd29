// The strict parser over Boost.JSON, and what it says of text that is not JSON.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include <boost/json/basic_parser_impl.hpp>

#include "core/base/characters.hpp"
#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/json.hpp"
#include "core/base/text.hpp"

namespace tenon::core {

namespace {

namespace json_parser = boost::json;

tenon_value integer_value(uint32_t tag, int64_t integer) {
  tenon_value value{};
  value.tag = tag;
  value.as.integer = integer;
  return value;
}
tenon_value float_value(double number) {
  tenon_value value{};
  value.tag = TENON_VALUE_FLOAT;
  value.as.number = number;
  return value;
}
tenon_value string_value(std::string_view text) {
  return {TENON_VALUE_STRING, static_cast<uint32_t>(text.size()), {.string = text.data()}};
}

// Receives the parser's events. Boost gives no positions: a cursor of our own follows through the
// text, which the parser has already found to be right up to the event.
class Handler {
 public:
  static constexpr std::size_t max_object_size = std::numeric_limits<uint32_t>::max();
  static constexpr std::size_t max_array_size = std::numeric_limits<uint32_t>::max();
  static constexpr std::size_t max_key_size = std::numeric_limits<uint32_t>::max();
  static constexpr std::size_t max_string_size = std::numeric_limits<uint32_t>::max();

  Handler(std::string_view source, JsonEvents& events) : source_(source), events_(events) {}

  using Code = json_parser::error_code;
  using Part = json_parser::string_view;

  bool on_document_begin(Code&) { return true; }
  bool on_document_end(Code&) { return true; }
  bool on_object_begin(Code&) {
    events_.begin(true, seek());
    ++cursor_;
    return true;
  }
  bool on_object_end(std::size_t, Code&) {
    seek();
    ++cursor_;
    events_.end();
    return true;
  }
  bool on_array_begin(Code&) {
    events_.begin(false, seek());
    ++cursor_;
    return true;
  }
  bool on_array_end(std::size_t, Code&) {
    seek();
    ++cursor_;
    events_.end();
    return true;
  }
  bool on_key_part(Part part, std::size_t, Code&) { return keep(part); }
  bool on_key(Part part, std::size_t, Code&) {
    const JsonPlace place = seek();
    skip_string();
    events_.key(whole(part), place);
    parts_.clear();
    return true;
  }
  bool on_string_part(Part part, std::size_t, Code&) { return keep(part); }
  bool on_string(Part part, std::size_t, Code&) {
    const JsonPlace place = seek();
    skip_string();
    events_.scalar(string_value(whole(part)), place);
    parts_.clear();
    return true;
  }
  bool on_number_part(Part, Code&) { return true; }
  bool on_int64(int64_t number, Part, Code&) {
    events_.scalar(integer_value(TENON_VALUE_INT, number), seek());
    skip_word();
    return true;
  }
  bool on_uint64(uint64_t, Part, Code&) {
    return out_of_range("the integer does not fit in 64 bits");
  }
  // The parser's own conversion may be off in the last place, and large integers arrive here too.
  bool on_double(double, Part, Code&) {
    const JsonPlace place = seek();
    const size_t begin = cursor_;
    skip_word();
    const std::string_view text = source_.substr(begin, cursor_ - begin);
    cursor_ = begin;
    if (text.find_first_of(".eE") == std::string_view::npos) {
      return out_of_range("the integer does not fit in 64 bits");
    }
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error == std::errc::result_out_of_range) {
      // Too small is zero; too large has no value.
      if (too_large(text)) return out_of_range("the number is too large for a double");
      number = text.front() == '-' ? -0.0 : 0.0;
    }
    events_.scalar(float_value(number), place);
    skip_word();
    return true;
  }
  bool on_bool(bool boolean, Code&) {
    events_.scalar(integer_value(TENON_VALUE_BOOL, boolean ? 1 : 0), seek());
    skip_word();
    return true;
  }
  bool on_null(Code&) {
    events_.scalar({}, seek());
    skip_word();
    return true;
  }
  bool on_comment_part(Part, Code&) { return true; }
  bool on_comment(Part, Code&) { return true; }

  // The fault that the handler itself found, at the cursor.
  const char* fault() const { return fault_; }
  size_t cursor() const { return cursor_; }

 private:
  bool keep(Part part) {
    if (parts_.empty()) parts_.reserve(source_.size());  // grows without a copy
    parts_.append(part.data(), part.size());
    return true;
  }
  std::string_view whole(Part part) {
    const std::string_view last(part.data(), part.size());
    if (parts_.empty()) return last;
    parts_ += last;
    return parts_;
  }
  bool out_of_range(const char* what) {
    seek();
    fault_ = what;
    return false;
  }
  static bool too_large(std::string_view text) {
    const size_t exponent = text.find_first_of("eE");
    const std::string_view digits = text.substr(0, exponent);
    const size_t point = digits.find('.');
    // "0.000...": only a negative power or leading zeros can be too small.
    if (exponent != std::string_view::npos && exponent + 1 < text.size())
      return text[exponent + 1] != '-';
    return point > 300;  // also where there is none: npos
  }

  // Moves to the next token and gives its place.
  JsonPlace seek() {
    for (; cursor_ < source_.size(); ++cursor_) {
      const char letter = source_[cursor_];
      if (letter == '\n') {
        ++line_;
        line_start_ = cursor_ + 1;
        continued_ = 0;
      } else if (letter == '/') {
        skip_comment();
      } else if (letter != ' ' && letter != '\t' && letter != '\r' && letter != ',' &&
                 letter != ':') {
        break;
      }
    }
    return {line_, static_cast<uint32_t>(cursor_ - line_start_ - continued_ + 1),
            static_cast<uint32_t>(cursor_)};
  }
  // Ends on the comment's last character, or before the newline that ends it.
  void skip_comment() {
    const bool block = cursor_ + 1 < source_.size() && source_[cursor_ + 1] == '*';
    const size_t found = block ? source_.find("*/", cursor_ + 2) : source_.find('\n', cursor_);
    const size_t end = found == std::string_view::npos ? source_.size() : found + (block ? 2 : 0);
    for (; cursor_ + 1 < end; ++cursor_) count(source_[cursor_]);
  }
  void count(char letter) {
    if (letter == '\n') {
      ++line_;
      line_start_ = cursor_ + 1;
      continued_ = 0;
    } else if (continues_character(letter)) {
      ++continued_;
    }
  }
  void skip_string() {
    for (++cursor_; cursor_ < source_.size() && source_[cursor_] != '"'; ++cursor_) {
      if (source_[cursor_] == '\\') {
        ++cursor_;
      } else {
        count(source_[cursor_]);
      }
    }
    ++cursor_;
  }
  void skip_word() {
    while (cursor_ < source_.size()) {
      const char letter = source_[cursor_];
      const bool part = is_digit(letter) || (letter >= 'a' && letter <= 'z') || letter == '+' ||
                        letter == '-' || letter == '.' || letter == 'E';
      if (!part) break;
      ++cursor_;
    }
  }

  std::string_view source_;
  JsonEvents& events_;
  std::string parts_;
  const char* fault_ = nullptr;
  size_t cursor_ = 0;
  uint32_t line_ = 1;
  size_t line_start_ = 0;
  size_t continued_ = 0;  // bytes of this line that continue a character
};

JsonPlace place_at(std::string_view source, size_t offset) {
  const std::string_view before = source.substr(0, offset);
  const size_t newline = before.rfind('\n');
  const std::string_view line =
      newline == std::string_view::npos ? before : before.substr(newline + 1);
  return {static_cast<uint32_t>(1 + std::count(before.begin(), before.end(), '\n')),
          static_cast<uint32_t>(1 + character_count(line)), static_cast<uint32_t>(offset)};
}

[[noreturn]] void fail(std::string_view source, size_t offset, const std::string& what,
                       const JsonOptions& options) {
  throw Error(options.kind, "{}: {}{}", place_text(options.source, place_at(source, offset)), what,
              caret_lines(source, offset));
}

constexpr const char* kHalfSurrogate =
    "half of a surrogate pair; \\uXXXX escapes above U+FFFF come in pairs";

std::string_view character_at(std::string_view source, size_t offset) {
  size_t end = offset + 1;
  if (static_cast<unsigned char>(source[offset]) >= 0x80) {
    while (end < source.size() && continues_character(source[end])) ++end;
  }
  return source.substr(offset, end - offset);
}

size_t last_visible(std::string_view source, size_t offset) {
  return source.substr(0, offset).find_last_not_of(" \t\r\n");
}

// Says in words what is at `offset`, where the parser gave up.
std::string syntax_fault(std::string_view source, size_t offset, bool inside_string) {
  if (offset >= source.size()) {
    return inside_string ? "the text ends inside a string" : "the text ends before the value does";
  }
  const char letter = source[offset];
  const auto byte = static_cast<unsigned char>(letter);
  if (offset == 0 && source.substr(0, 3) == "\xEF\xBB\xBF") {
    return "the text begins with a byte order mark; save it as plain UTF-8";
  }
  if (byte >= 0x80 && !is_utf8(source.substr(offset, 4)) && !is_utf8(source.substr(offset, 3)) &&
      !is_utf8(source.substr(offset, 2))) {
    return "the text is not UTF-8";
  }
  if (inside_string && (letter == '\n' || letter == '\r')) {
    return "the line ends inside a string; write \\n for a line break";
  }
  if (inside_string && byte < 0x20)
    return "a control character inside a string; write it as \\u00..";
  const std::string_view escape = offset < 6 ? "" : source.substr(offset - 6, 4);
  const bool half = escape.starts_with("\\u") && (escape[2] == 'd' || escape[2] == 'D') &&
                    escape.find_first_of("89abAB", 3) == 3;
  if (inside_string && half) return kHalfSurrogate;
  if (inside_string) return R"(no such escape; \" \\ \/ \b \f \n \r \t and \uXXXX exist)";
  const size_t previous = last_visible(source, offset);
  const char before = previous == std::string_view::npos ? '\0' : source[previous];
  if ((letter == '}' || letter == ']') && before == ',') {
    return format_text("a comma before '{}'; JSON allows none after the last entry", letter);
  }
  if (letter == '/' || letter == '#') return "JSON has no comments";
  if (letter == '\'') return "strings are written in double quotes";
  std::string text = format_text("unexpected {}", quote(character_at(source, offset)));
  if (before == '"' || is_digit(before) || before == '}' || before == ']') {
    if (letter == '"' || letter == '{' || letter == '[')
      text += "; is a comma or colon missing before it?";
  }
  return text;
}

// Whether `offset` is inside a string that starts at or after the handler's last token.
bool is_inside_string(std::string_view source, size_t begin, size_t offset) {
  bool inside = false;
  for (size_t i = begin; i < offset && i < source.size(); ++i) {
    if (source[i] == '\\' && inside) {
      ++i;
    } else if (source[i] == '"') {
      inside = !inside;
    }
  }
  return inside;
}

}  // namespace

void scan_json(std::string_view source, const JsonOptions& options, JsonEvents& events) {
  if (source.size() > std::min<size_t>(options.max_bytes, std::numeric_limits<uint32_t>::max())) {
    throw Error(options.kind, "{}the text has {} bytes; at most {} are read",
                options.source.empty() ? "" : format_text("{}: ", options.source), source.size(),
                options.max_bytes);
  }
  if (source.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    throw Error(options.kind, "{}the text is empty, expected JSON",
                options.source.empty() ? "" : format_text("{}: ", options.source));
  }
  json_parser::parse_options parse_options;
  parse_options.max_depth = options.max_depth;
  parse_options.allow_comments = options.relaxed;
  parse_options.allow_trailing_commas = options.relaxed;
  json_parser::basic_parser<Handler> parser(parse_options, source, events);
  json_parser::error_code code;
  const size_t read = parser.write_some(false, source.data(), source.size(), code);
  const Handler& handler = parser.handler();
  if (handler.fault() != nullptr) fail(source, handler.cursor(), handler.fault(), options);
  if (code) {
    using Kind = json_parser::error;
    if (code == Kind::too_deep) {
      fail(source, read, format_text("nested deeper than {} levels", options.max_depth), options);
    }
    if (code == Kind::exponent_overflow) fail(source, read, "the exponent is too large", options);
    if (code == Kind::illegal_leading_surrogate || code == Kind::illegal_trailing_surrogate ||
        code == Kind::expected_utf16_escape) {
      fail(source, read, kHalfSurrogate, options);
    }
    if (code == Kind::expected_hex_digit) {
      fail(source, read, "\\u needs four hexadecimal digits", options);
    }
    const size_t offset = code == Kind::incomplete ? source.size() : read;
    fail(source, offset,
         syntax_fault(source, offset, is_inside_string(source, handler.cursor(), offset)), options);
  }
  if (read < source.size()) {
    fail(source, read,
         format_text("unexpected {} after the end of the value", quote(character_at(source, read))),
         options);
  }
}

namespace {

class DocumentEvents final : public JsonEvents {
 public:
  explicit DocumentEvents(JsonBuilder& builder) : builder_(builder) {}
  void begin(bool object, JsonPlace place) override {
    builder_.at(place);
    if (object)
      builder_.begin_object();
    else
      builder_.begin_array();
    objects_.push_back(object);
  }
  void end() override {
    if (objects_.back())
      builder_.end_object();
    else
      builder_.end_array();
    objects_.pop_back();
  }
  void key(std::string_view text, JsonPlace place) override { builder_.key(text, place); }
  void scalar(const tenon_value& value, JsonPlace place) override {
    builder_.at(place);
    switch (value.tag) {
      case TENON_VALUE_BOOL:
        builder_.value(value.as.integer != 0);
        break;
      case TENON_VALUE_INT:
        builder_.value(value.as.integer);
        break;
      case TENON_VALUE_FLOAT:
        builder_.value(value.as.number);
        break;
      case TENON_VALUE_STRING:
        builder_.value(std::string_view(value.as.string, value.length));
        break;
      default:
        builder_.value(nullptr);
    }
  }

 private:
  JsonBuilder& builder_;
  std::vector<bool> objects_;
};

}  // namespace

Json parse_json(std::string_view source, const JsonOptions& options) {
  std::vector<DuplicateKey> repeated;
  JsonBuilder builder(options.source);
  builder.reserve(std::min(source.size(), options.max_bytes) / 16 + 4,
                  std::min(source.size(), options.max_bytes));
  builder.collect_duplicates(options.duplicates != nullptr ? options.duplicates : &repeated);
  DocumentEvents events(builder);
  scan_json(source, options, events);
  if (!repeated.empty()) {
    const auto first = std::min_element(repeated.begin(), repeated.end(),
                                        [](const DuplicateKey& a, const DuplicateKey& b) {
                                          return a.place.offset < b.place.offset;
                                        });
    fail(source, first->place.offset,
         format_text("duplicate key {} (first at {})", quote(first->key),
                     place_text("", first->first)),
         options);
  }
  return builder.finish();
}

}  // namespace tenon::core
