// Digests by libsodium.
#include <array>

#include <tenon/trust/sha256.hpp>

#include "file.hpp"
#include "sodium.hpp"

TENON_NAMESPACE_BEGIN

namespace trust {

namespace {

class Hash {
 public:
  Hash() {
    start_sodium();
    crypto_hash_sha256_init(&state_);
  }
  void update(const char* bytes, size_t count) {
    crypto_hash_sha256_update(&state_, reinterpret_cast<const unsigned char*>(bytes), count);
  }
  std::string finish() {
    std::array<unsigned char, crypto_hash_sha256_BYTES> digest{};
    crypto_hash_sha256_final(&state_, digest.data());
    std::array<char, 2 * crypto_hash_sha256_BYTES + 1> text{};
    sodium_bin2hex(text.data(), text.size(), digest.data(), digest.size());
    return text.data();
  }

 private:
  crypto_hash_sha256_state state_{};
};

}  // namespace

std::string sha256_text(std::string_view bytes) {
  Hash hash;
  hash.update(bytes.data(), bytes.size());
  return hash.finish();
}

std::string sha256_file(const std::string& path) {
  const RegularFile file(path);
  Hash hash;
  file.each_block([&](const char* bytes, size_t count) { hash.update(bytes, count); });
  return hash.finish();
}

}  // namespace trust

TENON_NAMESPACE_END
