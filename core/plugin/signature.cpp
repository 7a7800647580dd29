// The only home of libsodium: Ed25519 and BLAKE2b.
#include "core/base/error.hpp"
#include "core/plugin/minisign.hpp"

#ifdef TENON_HAS_SODIUM

#include <algorithm>
#include <sodium.h>
#include <string>
#include <vector>

namespace tenon::core {

namespace {

constexpr size_t kBlock = size_t{1} << 18;

// Calls visit(bytes, count) for all of the source.
template <class Visit>
void each_block(const ByteSource& source, Visit&& visit) {
  std::vector<unsigned char> block(std::min<uint64_t>(source.size(), kBlock));
  for (uint64_t at = 0; at < source.size();) {
    const size_t count = std::min<uint64_t>(source.size() - at, block.size());
    if (!source.read(at, block.data(), count))
      throw Error(TENON_ERROR_IO, "the signed file cannot be read to its end");
    visit(block.data(), count);
    at += count;
  }
}

// The signed message: the hash of the bytes, or in signatures of old programs the bytes.
std::vector<unsigned char> signed_message(const ByteSource& source, bool prehashed) {
  std::vector<unsigned char> message;
  if (!prehashed) {
    message.reserve(source.size());
    each_block(source, [&](const unsigned char* bytes, size_t count) {
      message.insert(message.end(), bytes, bytes + count);
    });
    return message;
  }
  message.resize(crypto_generichash_BYTES_MAX);
  crypto_generichash_state state;
  crypto_generichash_init(&state, nullptr, 0, message.size());
  each_block(source, [&](const unsigned char* bytes, size_t count) {
    crypto_generichash_update(&state, bytes, count);
  });
  crypto_generichash_final(&state, message.data(), message.size());
  return message;
}

}  // namespace

bool can_verify_signatures() noexcept { return true; }

std::string signature_fault(const MinisignSignature& signature, const MinisignKey& key,
                            const ByteSource& bytes) {
  static const bool started = sodium_init() >= 0;
  if (!started) throw Error(TENON_ERROR_INTERNAL, "libsodium does not start");
  if (signature.id != key.id) return "it was made with another key";
  const std::vector<unsigned char> message = signed_message(bytes, signature.prehashed);
  if (crypto_sign_verify_detached(signature.signature.data(), message.data(), message.size(),
                                  key.point.data()) != 0)
    return "it is not a signature of these bytes";
  std::vector<unsigned char> comment(signature.signature.begin(), signature.signature.end());
  comment.insert(comment.end(), signature.trusted_comment.begin(), signature.trusted_comment.end());
  if (crypto_sign_verify_detached(signature.comment_signature.data(), comment.data(),
                                  comment.size(), key.point.data()) != 0)
    return "its trusted comment was changed";
  return {};
}

}  // namespace tenon::core

#else

namespace tenon::core {

bool can_verify_signatures() noexcept { return false; }

std::string signature_fault(const MinisignSignature&, const MinisignKey&, const ByteSource&) {
  throw Error(TENON_ERROR_RUNTIME,
              "this Tenon cannot verify signatures; build it where libsodium-dev is installed");
}

}  // namespace tenon::core

#endif
