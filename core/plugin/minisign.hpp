// Public keys and detached signatures as the program minisign writes them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/plugin/byte_source.hpp"

namespace tenon::core {

using MinisignKeyId = std::array<uint8_t, 8>;

struct MinisignKey {
  MinisignKeyId id{};
  std::array<uint8_t, 32> point{};  // Ed25519

  bool operator==(const MinisignKey&) const = default;
};

struct MinisignSignature {
  bool prehashed = true;  // signs the BLAKE2b hash of the bytes, not the bytes themselves
  MinisignKeyId id{};
  std::array<uint8_t, 64> signature{};
  std::string trusted_comment;
  std::array<uint8_t, 64> comment_signature{};  // signs the signature and the comment
};

inline constexpr int64_t kMostMinisignBytes = 16384;  // minisign's own limits are below it

// "RWQ...", the second line of a public key file. Nothing when it is not one.
std::optional<MinisignKey> parse_minisign_key(std::string_view text);
// The whole text of a .minisig file. Throws ValueError that says what of it is not as minisign
// writes it.
MinisignSignature parse_minisign_signature(std::string_view text);

// As minisign prints it: 16 hexadecimal digits.
std::string key_id_text(const MinisignKeyId& id);

// Whether this build can verify signatures: it is built with libsodium.
bool can_verify_signatures() noexcept;

// Why the signature is not of these bytes and this comment by this key; empty when it is. Throws
// RuntimeError in a build that cannot verify, IOError when the bytes cannot be read.
std::string signature_fault(const MinisignSignature& signature, const MinisignKey& key,
                            const ByteSource& bytes);

}  // namespace tenon::core
