// Public keys and detached signatures as the program minisign writes them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <tenon/host.hpp>

TENON_NAMESPACE_BEGIN

namespace trust {

using MinisignKeyId = std::array<uint8_t, 8>;  // first bytes of a key

struct MinisignKey {                // a public key
  MinisignKeyId id{};               // as signatures name it
  std::array<uint8_t, 32> point{};  // Ed25519

  // One key.
  bool operator==(const MinisignKey& other) const { return id == other.id && point == other.point; }
};

struct MinisignSignature {  // a signature file
  bool prehashed = true;    // signs the BLAKE2b hash of the bytes, not the bytes themselves
  MinisignKeyId id{};       // id of the key
  std::array<uint8_t, 64> signature{};          // Ed25519
  std::string trusted_comment;                  // signed as well
  std::array<uint8_t, 64> comment_signature{};  // signs the signature and the comment
};

inline constexpr size_t kMostMinisignBytes = 16384;  // minisign's own limits are below it

// "RWQ...", the second line of a public key file. Nothing when it is not one.
std::optional<MinisignKey> parse_minisign_key(std::string_view text);
// The whole text of a .minisig file. Throws ValueError that names the line that is not as minisign
// writes it.
MinisignSignature parse_minisign_signature(std::string_view text);

// As minisign prints it: 16 hexadecimal digits.
std::string key_id_text(const MinisignKeyId& id);

// Why the signature is not of these bytes and this comment by this key; empty when it is. Any thread.
std::string signature_fault(const MinisignSignature& signature, const MinisignKey& key,
                            std::string_view bytes);

}  // namespace trust

TENON_NAMESPACE_END
