// Marks the lines of a child process that its checker wrote.
#include "seal.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <system_error>

#include <sys/random.h>

#include "format.hpp"

namespace cli {

namespace {

// SipHash-2-4 (Aumasson and Bernstein, 2012).
class SipHash {
 public:
  SipHash(uint64_t k0, uint64_t k1)
      : v_{0x736f6d6570736575u ^ k0, 0x646f72616e646f6du ^ k1, 0x6c7967656e657261u ^ k0,
           0x7465646279746573u ^ k1} {}
  void add(uint64_t word) {
    v_[3] ^= word;
    rounds(2);
    v_[0] ^= word;
  }
  uint64_t end() {
    v_[2] ^= 0xff;
    rounds(4);
    return v_[0] ^ v_[1] ^ v_[2] ^ v_[3];
  }

 private:
  void rounds(int count) {
    for (int i = 0; i < count; ++i) {
      v_[0] += v_[1];
      v_[1] = std::rotl(v_[1], 13) ^ v_[0];
      v_[0] = std::rotl(v_[0], 32);
      v_[2] += v_[3];
      v_[3] = std::rotl(v_[3], 16) ^ v_[2];
      v_[0] += v_[3];
      v_[3] = std::rotl(v_[3], 21) ^ v_[0];
      v_[2] += v_[1];
      v_[1] = std::rotl(v_[1], 17) ^ v_[2];
      v_[2] = std::rotl(v_[2], 32);
    }
  }
  std::array<uint64_t, 4> v_;
};

constexpr size_t kMark = 16;

}  // namespace

Secret Secret::make() {
  std::array<uint64_t, 3> random{};
  for (size_t filled = 0; filled < sizeof random;) {
    const ssize_t count =
        getrandom(reinterpret_cast<char*>(random.data()) + filled, sizeof random - filled, 0);
    if (count < 0 && errno != EINTR)
      throw std::system_error(errno, std::generic_category(), "cannot draw the secret of a check");
    if (count > 0) filled += static_cast<size_t>(count);
  }
  // None of the codes that programs usually end with.
  return {{random[0], random[1]}, static_cast<uint8_t>(32 + random[2] % 32)};
}

std::string Seal::mark(std::string_view text) const {
  SipHash hash(key_[0], key_[1]);
  hash.add(number_);
  hash.add(text.size());
  for (size_t at = 0; at < text.size(); at += 8) {
    uint64_t word = 0;
    std::memcpy(&word, text.data() + at, std::min<size_t>(8, text.size() - at));
    hash.add(word);
  }
  return format_text("{:016x}", hash.end());
}

// A line end in front closes whatever a plugin wrote before.
std::string Seal::sealed(std::string_view text) {
  ++number_;
  return format_text("\n{}{}\n", mark(text), text);
}

std::optional<std::string> Seal::opened(std::string_view line) {
  if (line.size() < kMark) return std::nullopt;
  const std::string_view text = line.substr(kMark);
  ++number_;
  if (mark(text) == line.substr(0, kMark)) return std::string(text);
  --number_;
  return std::nullopt;
}

}  // namespace cli
