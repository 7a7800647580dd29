// The text forms of keys and signatures.
#include "core/plugin/minisign.hpp"

#include <algorithm>
#include <span>

#include "core/base/error.hpp"
#include "core/base/format.hpp"

namespace tenon::core {

namespace {

constexpr std::string_view kUntrusted = "untrusted comment: ";
constexpr std::string_view kTrusted = "trusted comment: ";

int digit_of(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  return c == '+' ? 62 : c == '/' ? 63 : -1;
}

// Exactly as many bytes as there is room for, and in the one way in which base64 writes them: with
// padding, without stray bits.
bool decode(std::string_view text, std::span<uint8_t> bytes) {
  if (text.size() != (bytes.size() + 2) / 3 * 4) return false;
  const size_t padding = (3 - bytes.size() % 3) % 3;
  if (text.substr(text.size() - padding) != std::string_view("==").substr(0, padding)) return false;
  text.remove_suffix(padding);
  uint32_t bits = 0;
  int held = 0;
  size_t at = 0;
  for (const char c : text) {
    const int digit = digit_of(c);
    if (digit < 0) return false;
    bits = bits << 6U | static_cast<uint32_t>(digit);
    held += 6;
    if (held < 8) continue;
    held -= 8;
    bytes[at++] = static_cast<uint8_t>(bits >> static_cast<uint32_t>(held));
  }
  return (bits & ((1U << static_cast<uint32_t>(held)) - 1U)) == 0;
}

template <size_t size>
std::array<uint8_t, size> take(std::span<const uint8_t>& bytes) {
  std::array<uint8_t, size> taken;
  std::ranges::copy(bytes.first(size), taken.begin());
  bytes = bytes.subspan(size);
  return taken;
}

// The next line, without its end. False behind the last.
bool next_line(std::string_view& text, std::string_view& line) {
  if (text.empty()) return false;
  const size_t end = std::min(text.find('\n'), text.size());
  line = text.substr(0, end);
  if (line.ends_with('\r')) line.remove_suffix(1);
  text.remove_prefix(std::min(end + 1, text.size()));
  return true;
}

[[noreturn]] void refuse(int line, std::string_view expected) {
  throw Error(TENON_ERROR_VALUE, "line {} is not {}", line, expected);
}

}  // namespace

std::optional<MinisignKey> parse_minisign_key(std::string_view text) {
  std::array<uint8_t, 42> bytes{};
  if (!decode(text, bytes) || bytes[0] != 'E' || bytes[1] != 'd') return std::nullopt;
  MinisignKey key;
  std::span<const uint8_t> rest = std::span(bytes).subspan(2);
  key.id = take<8>(rest);
  key.point = take<32>(rest);
  return key;
}

MinisignSignature parse_minisign_signature(std::string_view text) {
  MinisignSignature found;
  std::string_view line;
  if (!next_line(text, line) || !line.starts_with(kUntrusted))
    refuse(1, "\"untrusted comment: ...\"");
  std::array<uint8_t, 74> bytes{};
  if (!next_line(text, line) || !decode(line, bytes)) refuse(2, "a signature in base64");
  if (bytes[0] != 'E' || (bytes[1] != 'D' && bytes[1] != 'd')) refuse(2, "an Ed25519 signature");
  found.prehashed = bytes[1] == 'D';
  std::span<const uint8_t> rest = std::span(bytes).subspan(2);
  found.id = take<8>(rest);
  found.signature = take<64>(rest);
  if (!next_line(text, line) || !line.starts_with(kTrusted)) refuse(3, "\"trusted comment: ...\"");
  found.trusted_comment = line.substr(kTrusted.size());
  if (!next_line(text, line) || !decode(line, found.comment_signature))
    refuse(4, "the signature of the trusted comment in base64");
  if (!text.empty()) refuse(5, "the end of the file");
  return found;
}

std::string key_id_text(const MinisignKeyId& id) {
  std::string text;
  for (size_t i = id.size(); i-- > 0;) {
    for (const unsigned half : {unsigned{id[i]} >> 4U, unsigned{id[i]} & 15U})
      text += "0123456789ABCDEF"[half];
  }
  return text;
}

}  // namespace tenon::core
