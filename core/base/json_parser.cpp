// The strict parser over Boost.JSON, and its messages for text that is not JSON.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include <boost/json/basic_parser_impl.hpp>
// Boost.JSON itself is compiled into this file: its static library is not position independent, and
// an installed Tenon must not need the shared one.
#include <boost/json/src.hpp>

#include "core/base/characters.hpp"
#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/json.hpp"
#include "core/base/text.hpp"

namespace tenon::core {

namespace {

// Follows through a text that the parser has found to be right so far: Boost gives no positions.
class Cursor {
 public:
  explicit Cursor(std::string_view source) : source_(source) {
    char bits = 0;
    for (const char letter : source) bits |= letter;
    is_ascii_ = (static_cast<unsigned char>(bits) & 0x80U) == 0;
  }

  size_t offset() const { return offset_; }
  JsonPlace place() const {
    return {line_, static_cast<uint32_t>(offset_ - line_start_ - continued_ + 1),
            static_cast<uint32_t>(offset_)};
  }
  void go_to(size_t offset) {
    while (offset_ < offset) step();
  }
  // Goes behind the next token, and returns where it begins.
  JsonPlace take() {
    skip_separators();
    const JsonPlace begin = place();
    const char letter = offset_ < source_.size() ? source_[offset_] : '\0';
    if (letter == '"')
      skip_string();
    else if (letter == '{' || letter == '}' || letter == '[' || letter == ']')
      ++offset_;
    else
      skip_word();
    return begin;
  }

 private:
  void step() {
    const char letter = source_[offset_++];
    if (letter == '\n') {
      ++line_;
      line_start_ = offset_;
      continued_ = 0;
    } else if (continues_character(letter)) {
      ++continued_;
    }
  }
  // Blanks, commas and colons, and comments where the parser takes them.
  void skip_separators() {
    while (offset_ < source_.size()) {
      const char letter = source_[offset_];
      if (letter == '/') {
        const bool block = source_.substr(offset_, 2) == "/*";
        const size_t end = source_.find(block ? "*/" : "\n", offset_ + 2);
        go_to(end == std::string_view::npos ? source_.size() : end + (block ? 2 : 1));
      } else if (is_blank(letter) || letter == ',' || letter == ':') {
        step();
      } else {
        return;
      }
    }
  }
  // Strings are on one line.
  void skip_string() {
    const size_t begin = offset_;
    size_t end = begin, slash = begin;
    do {
      end = std::min(source_.find('"', end + 1), source_.size());
      for (slash = end; slash > begin && source_[slash - 1] == '\\';) --slash;
    } while (end < source_.size() && (end - slash) % 2 == 1);
    end = std::min(end + 1, source_.size());
    if (is_ascii_)
      offset_ = end;
    else
      go_to(end);
  }
  void skip_word() {
    for (; offset_ < source_.size(); ++offset_) {
      const char letter = source_[offset_];
      if (!is_digit(letter) && !is_letter(letter) && letter != '+' && letter != '-' &&
          letter != '.')
        return;
    }
  }
  static bool is_blank(char letter) {
    return letter == ' ' || letter == '\t' || letter == '\r' || letter == '\n';
  }

  std::string_view source_;
  bool is_ascii_ = true;
  size_t offset_ = 0;
  uint32_t line_ = 1;
  size_t line_start_ = 0;
  size_t continued_ = 0;  // bytes of this line that continue a character
};

// Passes on what the parser finds, with its places.
class Handler {
 public:
  static constexpr std::size_t max_object_size = std::numeric_limits<uint32_t>::max();
  static constexpr std::size_t max_array_size = std::numeric_limits<uint32_t>::max();
  static constexpr std::size_t max_key_size = std::numeric_limits<uint32_t>::max();
  static constexpr std::size_t max_string_size = std::numeric_limits<uint32_t>::max();

  Handler(std::string_view source, JsonEvents& events)
      : source_(source), events_(events), cursor_(source) {}

  using Code = boost::json::error_code;
  using Part = boost::json::string_view;

  bool on_document_begin(Code&) { return true; }
  bool on_document_end(Code&) { return true; }
  bool on_object_begin(Code&) { return begin(true); }
  bool on_object_end(std::size_t, Code&) { return end(); }
  bool on_array_begin(Code&) { return begin(false); }
  bool on_array_end(std::size_t, Code&) { return end(); }
  bool on_key_part(Part part, std::size_t, Code&) { return keep(part); }
  bool on_key(Part part, std::size_t, Code&) {
    events_.on_key(whole(part), cursor_.take());
    parts_.clear();
    return true;
  }
  bool on_string_part(Part part, std::size_t, Code&) { return keep(part); }
  bool on_string(Part part, std::size_t, Code&) {
    const std::string_view text = whole(part);
    scalar({TENON_VALUE_STRING, static_cast<uint32_t>(text.size()), {.string = text.data()}});
    parts_.clear();
    return true;
  }
  bool on_number_part(Part, Code&) { return true; }
  bool on_int64(int64_t number, Part, Code&) {
    return scalar({TENON_VALUE_INT, 0, {.integer = number}});
  }
  bool on_uint64(uint64_t, Part, Code&) { return refuse(kWideInteger, cursor_.take()); }
  // The parser's own conversion may be off in the last place, and large integers arrive here too.
  bool on_double(double rough, Part, Code&) {
    const JsonPlace place = cursor_.take();
    const std::string_view text = source_.substr(place.offset, cursor_.offset() - place.offset);
    if (text.find_first_of(".eE") == std::string_view::npos) return refuse(kWideInteger, place);
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error == std::errc::result_out_of_range) {
      // Too small is zero; too large has no value.
      if (std::fabs(rough) > 1) return refuse("the number is too large for a double", place);
      number = text.front() == '-' ? -0.0 : 0.0;
    }
    events_.on_scalar({TENON_VALUE_FLOAT, 0, {.number = number}}, place);
    return true;
  }
  bool on_bool(bool boolean, Code&) {
    return scalar({TENON_VALUE_BOOL, 0, {.integer = boolean ? 1 : 0}});
  }
  bool on_null(Code&) { return scalar({}); }
  bool on_comment_part(Part, Code&) { return true; }
  bool on_comment(Part, Code&) { return true; }

  // The fault that the handler itself found, and its offset; else null, and the end of what it
  // took.
  const char* fault() const { return fault_; }
  size_t offset() const { return fault_ != nullptr ? fault_offset_ : cursor_.offset(); }

 private:
  static constexpr const char* kWideInteger = "the integer does not fit in 64 bits";

  bool begin(bool object) {
    events_.on_begin(object, cursor_.take());
    return true;
  }
  bool end() {
    cursor_.take();
    events_.on_end();
    return true;
  }
  bool scalar(const tenon_value& value) {
    events_.on_scalar(value, cursor_.take());
    return true;
  }
  bool keep(Part part) {
    if (parts_.empty()) parts_.reserve(source_.size());  // grows without a copy
    parts_.append(part.data(), part.size());
    return true;
  }
  std::string_view whole(Part part) {
    if (parts_.empty()) return {part.data(), part.size()};
    parts_.append(part.data(), part.size());
    return parts_;
  }
  bool refuse(const char* what, JsonPlace place) {
    fault_ = what;
    fault_offset_ = place.offset;
    return false;
  }

  std::string_view source_;
  JsonEvents& events_;
  Cursor cursor_;
  std::string parts_;
  const char* fault_ = nullptr;
  size_t fault_offset_ = 0;
};

[[noreturn]] void fail(std::string_view source, size_t offset, const std::string& what,
                       const JsonOptions& options) {
  Cursor cursor(source);
  cursor.go_to(std::min(offset, source.size()));  // the parser may look one byte further
  throw Error(options.kind, "{}: {}{}", place_text(options.source, cursor.place()), what,
              caret_lines(source, offset));
}
// Refuses the text as a whole, without a place.
[[noreturn]] void fail(const std::string& what, const JsonOptions& options) {
  throw Error(options.kind, "{}{}",
              options.source.empty() ? "" : format_text("{}: ", escaped(options.source)), what);
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
    fail(
        format_text("the text has {} bytes; at most {} are read", source.size(), options.max_bytes),
        options);
  }
  if (source.find_first_not_of(" \t\r\n") == std::string_view::npos)
    fail("the text is empty, expected JSON", options);
  boost::json::parse_options parse_options;
  parse_options.max_depth = options.max_depth;
  parse_options.allow_comments = options.relaxed;
  parse_options.allow_trailing_commas = options.relaxed;
  boost::json::basic_parser<Handler> parser(parse_options, source, events);
  boost::json::error_code code;
  const size_t read = parser.write_some(false, source.data(), source.size(), code);
  const Handler& handler = parser.handler();
  if (handler.fault() != nullptr) fail(source, handler.offset(), handler.fault(), options);
  if (code) {
    using Kind = boost::json::error;
    const size_t offset = code == Kind::incomplete ? source.size() : read;
    if (code == Kind::too_deep)
      fail(source, offset, format_text("nested deeper than {} levels", options.max_depth), options);
    if (code == Kind::exponent_overflow) fail(source, offset, "the exponent is too large", options);
    if (code == Kind::illegal_leading_surrogate || code == Kind::illegal_trailing_surrogate ||
        code == Kind::expected_utf16_escape)
      fail(source, offset, kHalfSurrogate, options);
    if (code == Kind::expected_hex_digit)
      fail(source, offset, "\\u needs four hexadecimal digits", options);
    const bool inside_string = is_inside_string(source, handler.offset(), offset);
    fail(source, offset, syntax_fault(source, offset, inside_string), options);
  }
  if (read < source.size()) {
    fail(source, read,
         format_text("unexpected {} after the end of the value", quote(character_at(source, read))),
         options);
  }
}

Json parse_json(std::string_view source, const JsonOptions& options) {
  JsonBuilder builder(options.source);
  scan_json(source, options, builder);
  std::vector<DuplicateKey> duplicates = builder.take_duplicates();
  if (options.duplicates != nullptr) {
    *options.duplicates = std::move(duplicates);
  } else if (!duplicates.empty()) {
    const DuplicateKey& first = *std::min_element(duplicates.begin(), duplicates.end(),
                                                  [](const DuplicateKey& a, const DuplicateKey& b) {
                                                    return a.place.offset < b.place.offset;
                                                  });
    fail(source, first.place.offset,
         format_text("duplicate key {} (first at {})", quote(first.key),
                     place_text("", first.first)),
         options);
  }
  return builder.finish();
}

void require_bounded(std::string_view source, const JsonOptions& options, size_t bytes_per_value) {
  // A node is in two places while nodes are settled, the first of them a list that doubles;
  // positions are sorted.
  constexpr size_t kBytesPerValue = 320;
  static_assert(3 * sizeof(tenon_json) + 4 * sizeof(uint32_t) <= kBytesPerValue);
  constexpr size_t kAllowance = size_t{256} << 20;
  // Each comma or bracket begins a value at most.
  size_t values = 1, depth = 0;
  size_t text = 0;  // bytes of keys and strings
  for (size_t i = 0; i < source.size(); ++i) {
    const char letter = source[i];
    if (letter == ',' || letter == '[' || letter == '{') ++values;
    if (letter == '[' || letter == '{') ++depth;
    if ((letter == ']' || letter == '}') && depth > 0) --depth;
    if (depth > options.max_depth) break;  // the parser reads no further either, and says why
    if (letter != '"') continue;
    const size_t begin = ++i;
    while (i < source.size() && source[i] != '"') i += source[i] == '\\' ? 2 : 1;
    text += std::min(i, source.size()) - begin;
  }
  const size_t each = kBytesPerValue + bytes_per_value;
  const size_t most = (source.size() + kAllowance - text) / each;
  if (values <= most) return;
  fail(format_text(
           "{} values, in a text of {} bytes, could take {} MiB of memory; at most {} MiB are "
           "taken for a document: split it into several",
           values, source.size(), (values * each) >> 20, (most * each) >> 20),
       options);
}

}  // namespace tenon::core
