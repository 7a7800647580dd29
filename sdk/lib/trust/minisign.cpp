// The text forms of keys and signatures, and their verification by libsodium.
#include <algorithm>
#include <string>
#include <vector>

#include <tenon/trust/minisign.hpp>

#include "lib/base/format.hpp"
#include "sodium.hpp"

TENON_NAMESPACE_BEGIN

namespace trust {

namespace {

constexpr std::string_view kUntrusted = "untrusted comment: ";
constexpr std::string_view kTrusted = "trusted comment: ";

// Exactly as many bytes as there is room for, and in the one way in which base64 writes them. Compared with
// what libsodium writes of the bytes: its reader (1.0.18) takes some letters with the highest bit set.
template <size_t size>
bool decode(std::string_view text, std::array<uint8_t, size>& bytes) {
  constexpr int kVariant = sodium_base64_VARIANT_ORIGINAL;
  size_t count = 0;
  if (sodium_base642bin(bytes.data(), size, text.data(), text.size(), nullptr, &count, nullptr,
                        kVariant) != 0 ||
      count != size)
    return false;
  std::array<char, sodium_base64_ENCODED_LEN(size, kVariant)> again{};
  return text == sodium_bin2base64(again.data(), again.size(), bytes.data(), size, kVariant);
}

// The pieces of a decoded key or signature, one behind the other.
template <size_t size, size_t all>
std::array<uint8_t, size> piece(const std::array<uint8_t, all>& bytes, size_t at) {
  std::array<uint8_t, size> taken;
  std::copy_n(bytes.begin() + static_cast<ptrdiff_t>(at), size, taken.begin());
  return taken;
}

bool begins_with(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}

// The next line, without its end. False behind the last.
bool next_line(std::string_view& text, std::string_view& line) {
  if (text.empty()) return false;
  const size_t end = std::min(text.find('\n'), text.size());
  line = text.substr(0, end);
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  text.remove_prefix(std::min(end + 1, text.size()));
  return true;
}

[[noreturn]] void refuse(int line, std::string_view expected) {
  throw ValueError(lib::format_text("line {} is not {}", line, expected));
}

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

std::string hash_of(std::string_view bytes) {
  std::string hash(crypto_generichash_BYTES_MAX, '\0');
  crypto_generichash(reinterpret_cast<unsigned char*>(hash.data()), hash.size(), bytes_of(bytes),
                     bytes.size(), nullptr, 0);
  return hash;
}

bool is_signature(const std::array<uint8_t, 64>& signature, std::string_view message,
                  const MinisignKey& key) {
  return crypto_sign_verify_detached(signature.data(), bytes_of(message), message.size(),
                                     key.point.data()) == 0;
}

}  // namespace

std::optional<MinisignKey> parse_minisign_key(std::string_view text) {
  std::array<uint8_t, 42> bytes{};
  if (!decode(text, bytes) || bytes[0] != 'E' || bytes[1] != 'd') return std::nullopt;
  return MinisignKey{piece<8>(bytes, 2), piece<32>(bytes, 10)};
}

MinisignSignature parse_minisign_signature(std::string_view text) {
  MinisignSignature found;
  std::string_view line;
  if (!next_line(text, line) || !begins_with(line, kUntrusted))
    refuse(1, "\"untrusted comment: ...\"");
  std::array<uint8_t, 74> bytes{};
  if (!next_line(text, line) || !decode(line, bytes)) refuse(2, "a signature in base64");
  if (bytes[0] != 'E' || (bytes[1] != 'D' && bytes[1] != 'd')) refuse(2, "an Ed25519 signature");
  found.prehashed = bytes[1] == 'D';
  found.id = piece<8>(bytes, 2);
  found.signature = piece<64>(bytes, 10);
  if (!next_line(text, line) || !begins_with(line, kTrusted)) refuse(3, "\"trusted comment: ...\"");
  found.trusted_comment = line.substr(kTrusted.size());
  if (!next_line(text, line) || !decode(line, found.comment_signature))
    refuse(4, "the signature of the trusted comment in base64");
  if (!text.empty()) refuse(5, "the end of the file");
  return found;
}

std::string key_id_text(const MinisignKeyId& id) {
  std::string text;
  for (size_t i = id.size(); i-- > 0;) text += lib::format_text("{:02X}", id[i]);
  return text;
}

std::string signature_fault(const MinisignSignature& signature, const MinisignKey& key,
                            std::string_view bytes) {
  start_sodium();
  if (signature.id != key.id) return "it was made with another key";
  // Old programs have signed the bytes themselves.
  const bool is_valid = signature.prehashed ? is_signature(signature.signature, hash_of(bytes), key)
                                            : is_signature(signature.signature, bytes, key);
  if (!is_valid) return "it is not a signature of these bytes";
  std::string comment(signature.signature.begin(), signature.signature.end());
  comment += signature.trusted_comment;
  if (!is_signature(signature.comment_signature, comment, key))
    return "its trusted comment was changed";
  return {};
}

}  // namespace trust

TENON_NAMESPACE_END
