// Joining, quoting, nearest words, number texts and source carets.
#include "core/base/text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

#include "core/base/characters.hpp"
#include "core/base/format.hpp"

namespace tenon::core {

namespace {

constexpr size_t kQuotedBytes = 120;
constexpr size_t kWindowBefore = 60;
constexpr size_t kWindowAfter = 36;
// Comparing longer words costs more than any suggestion is worth.
constexpr size_t kLongestWord = 64;

// How many letters both begin with, of either case.
int64_t common_start(std::string_view a, std::string_view b) {
  const size_t shorter = std::min(a.size(), b.size());
  size_t length = 0;
  while (length < shorter && lower_case(a[length]) == lower_case(b[length])) ++length;
  return static_cast<int64_t>(length);
}

// Bytes of the well-formed UTF-8 character at the front of `text`; 0: there is none.
size_t character_length(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  const size_t length = lead < 0x80 ? 1 : lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  if (length == 0 || lead > 0xF4 || length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i) {
    if (!continues_character(text[i])) return 0;
  }
  const unsigned second = length > 2 ? static_cast<unsigned char>(text[1]) : 0x80u;
  // Overlong forms, surrogates, and values past the last code point.
  if ((lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F)) return 0;
  if ((lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second > 0x8F)) return 0;
  return length;
}

}  // namespace

std::string_view front_character(std::string_view text) {
  return text.substr(0, std::max<size_t>(character_length(text), 1));
}

bool needs_escape(std::string_view character) noexcept {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(character[i]); };
  const unsigned lead = byte(0);
  if (character.size() == 1) return lead < 0x20 || lead >= 0x7F;
  const unsigned second = byte(1);
  if (lead == 0xC2) return second < 0xA0;   // C1
  if (lead == 0xD8) return second == 0x9C;  // U+061C, the Arabic letter mark
  if (lead != 0xE2) return false;
  const unsigned third = byte(2);
  if (second == 0x80)  // U+200E and U+200F; U+2028 to U+202E
    return third == 0x8E || third == 0x8F || (third >= 0xA8 && third <= 0xAE);
  return second == 0x81 && third >= 0xA6 && third <= 0xA9;  // U+2066 to U+2069
}

namespace {

std::string escape_of(std::string_view character) {
  const auto byte = [&](size_t i) { return static_cast<unsigned>(character[i]) & 0xFFU; };
  if (character.size() == 1) return format_text("\\x{:02x}", byte(0));
  unsigned code = byte(0) & (0x3FU >> (character.size() - 1));
  for (size_t i = 1; i < character.size(); ++i) code = code << 6 | (byte(i) & 0x3FU);
  return format_text("\\u{:04x}", code);
}

}  // namespace

std::string escaped(std::string_view text, std::string_view keep) {
  const auto is_plain = [](char c) { return c >= ' ' && c < 0x7F; };
  std::string out;
  out.reserve(text.size());
  for (;;) {
    // Most of a listing is one run.
    size_t run = 0;
    while (run < text.size() && is_plain(text[run])) ++run;
    out.append(text.data(), run);
    text.remove_prefix(run);
    if (text.empty()) return out;
    const std::string_view character = front_character(text);
    if (needs_escape(character) && keep.find(text[0]) == keep.npos)
      out += escape_of(character);
    else
      out += character;
    text.remove_prefix(character.size());
  }
}

std::string printable(std::string_view text) { return escaped(text, "\n\t"); }

std::string quote(std::string_view text) {
  size_t shown = text.size();
  if (shown > kQuotedBytes) {
    shown = kQuotedBytes;
    while (shown > 0 && continues_character(text[shown])) --shown;
  }
  std::string quoted = "'";
  for (std::string_view rest = text.substr(0, shown); !rest.empty();) {
    const std::string_view character = front_character(rest);
    constexpr std::string_view kNamed = "'\\\n\t";
    if (const size_t named = kNamed.find(character); named != kNamed.npos)
      quoted.append(1, '\\').append(1, "'\\nt"[named]);
    else
      quoted += needs_escape(character) ? escape_of(character) : std::string(character);
    rest.remove_prefix(character.size());
  }
  quoted += shown < text.size() ? "'..." : "'";
  return quoted;
}

std::string word_list(std::span<const std::string_view> words, std::string_view conjunction) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0 && i + 1 < words.size()) text += ", ";
    if (i > 0 && i + 1 == words.size()) text.append(" ").append(conjunction).append(" ");
    text += words[i];
  }
  return text;
}

std::string quoted_list(std::span<const std::string_view> words, std::string_view conjunction) {
  std::vector<std::string> quoted;
  quoted.reserve(words.size());
  for (const std::string_view word : words) quoted.push_back(quote(word));
  const Words views(quoted.begin(), quoted.end());
  return word_list(views, conjunction);
}

std::string counted(int64_t count, std::string_view noun) {
  std::string text = format_text("{} {}", count, noun);
  if (count != 1) text += 's';
  return text;
}

int64_t edit_distance(std::string_view a, std::string_view b) {
  // Three rows of the table are alive at once: the swap of two neighbours looks two rows back.
  std::vector<int64_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) above[j] = static_cast<int64_t>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = static_cast<int64_t>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const bool same = lower_case(a[i - 1]) == lower_case(b[j - 1]);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (same ? 0 : 1)});
      if (i > 1 && j > 1 && lower_case(a[i - 1]) == lower_case(b[j - 2]) &&
          lower_case(a[i - 2]) == lower_case(b[j - 1])) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    std::swap(before, above);
    std::swap(above, row);
  }
  return above[b.size()];
}

namespace {

// How near a word is to a name: fewer edits first, then a longer common start, then the shorter
// name.
struct Nearness {
  int64_t edits = 0, common = 0;
  size_t length = 0;

  bool operator<(const Nearness& other) const {
    if (edits != other.edits) return edits < other.edits;
    // 'mul' before 'full' for 'mull', and before 'mul_'.
    return common != other.common ? common > other.common : length < other.length;
  }
};

std::optional<Nearness> nearness(std::string_view word, std::string_view name) {
  const size_t longer = std::max(word.size(), name.size());
  const size_t shorter = std::min(word.size(), name.size());
  const auto bound = static_cast<int64_t>(std::max<size_t>(1, longer / 3));
  if (longer > kLongestWord || static_cast<int64_t>(longer - shorter) > bound) return std::nullopt;
  const int64_t edits = edit_distance(word, name);
  // In words of one or two letters, one edit is already too many.
  if (edits > bound || edits >= static_cast<int64_t>(shorter)) return std::nullopt;
  return Nearness{edits, common_start(word, name), longer};
}

}  // namespace

std::optional<std::string_view> nearest_word(std::string_view word,
                                             std::span<const std::string_view> candidates) {
  if (word.empty() || word.size() > kLongestWord) return std::nullopt;
  const bool whole = word.find('.') != word.npos;
  std::optional<std::string_view> nearest;
  Nearness least;
  for (const std::string_view candidate : candidates) {
    std::optional<Nearness> found = nearness(word, candidate);
    const size_t dot = candidate.rfind('.');
    if (!whole && dot != candidate.npos) {
      const std::optional<Nearness> last = nearness(word, candidate.substr(dot + 1));
      if (last && (!found || *last < *found)) found = last;
    }
    if (found) found->length = candidate.size();
    if (!found || (nearest && !(*found < least))) continue;
    nearest = candidate;
    least = *found;
  }
  return nearest;
}

std::string suggestion(std::string_view word, std::span<const std::string_view> candidates) {
  const std::optional<std::string_view> nearest = nearest_word(word, candidates);
  return nearest ? format_text(" (did you mean {}?)", quote(*nearest)) : "";
}

bool matches_pattern(std::string_view pattern, std::string_view text) {
  size_t p = 0;
  size_t n = 0;
  size_t star = pattern.npos;
  size_t resume = 0;
  while (n < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = n;
    } else if (p < pattern.size() && pattern[p] == text[n]) {
      ++p;
      ++n;
    } else if (star != pattern.npos) {
      p = star + 1;
      n = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

bool any_matches(std::span<const std::string> patterns, std::string_view text) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::string& pattern) { return matches_pattern(pattern, text); });
}

std::string float_text(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number < 0 ? "-inf" : "inf";
  // As Python writes it: plain digits from 0.0001 up to 1e16.
  const double size = std::fabs(number);
  const bool plain = size == 0 || (size >= 1e-4 && size < 1e16);
  char buffer[32];
  const auto format = plain ? std::chars_format::fixed : std::chars_format::scientific;
  const char* const end = std::to_chars(buffer, buffer + sizeof buffer, number, format).ptr;
  std::string text(static_cast<const char*>(buffer), end);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

int64_t character_count(std::string_view text) {
  return std::count_if(text.begin(), text.end(),
                       [](char byte) { return !continues_character(byte); });
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    // Most text is ASCII.
    for (uint64_t block = 0; text.size() >= sizeof block; text.remove_prefix(sizeof block)) {
      std::memcpy(&block, text.data(), sizeof block);
      if ((block & 0x8080808080808080U) != 0) break;
    }
    if (text.empty()) break;
    const size_t length = character_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string caret_lines(std::string_view source, size_t offset) {
  offset = std::min(offset, source.size());
  size_t begin = offset;
  while (begin > 0 && source[begin - 1] != '\n' && offset - begin < kWindowBefore) --begin;
  while (begin < offset && continues_character(source[begin])) ++begin;
  size_t end = offset;
  while (end < source.size() && source[end] != '\n' && end - offset < kWindowAfter) ++end;
  while (end > offset && end < source.size() && continues_character(source[end])) --end;

  // Messages are printable UTF-8 even where the source is not.
  const bool readable =
      is_utf8(source.substr(begin, offset - begin)) && is_utf8(source.substr(offset, end - offset));
  // One column stays one column, so that the caret points where it should.
  const auto shown = [&](std::string_view part) {
    std::string text;
    while (!part.empty()) {
      const std::string_view character = front_character(part);
      const bool ascii = static_cast<unsigned char>(character[0]) < 0x80;
      if (needs_escape(character) || (!ascii && !readable))
        text.append(readable ? 1 : character.size(), ascii ? ' ' : '?');
      else
        text += character;
      part.remove_prefix(character.size());
    }
    return text;
  };
  std::string before = shown(source.substr(begin, offset - begin));
  std::string after = shown(source.substr(offset, end - offset));
  if (begin > 0 && source[begin - 1] != '\n') before.insert(0, "...");
  const auto lead = static_cast<size_t>(character_count(before));
  if (end < source.size() && source[end] != '\n') after += "...";
  std::string line = before + after;
  while (!line.empty() && line.back() == ' ') line.pop_back();
  return format_text("\n  {}\n  {}^", line, std::string(lead, ' '));
}

std::string_view trim_spaces(std::string_view text, std::string_view blanks) {
  const size_t begin = text.find_first_not_of(blanks);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

Words comma_words(std::string_view text) {
  Words words;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    const std::string_view word = trim_spaces(text.substr(0, comma));
    if (!word.empty()) words.push_back(word);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return words;
}

}  // namespace tenon::core
