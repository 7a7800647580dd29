// Marks the lines of a child process that its checker wrote.
#include "seal.hpp"

#include <cerrno>
#include <cstring>
#include <sodium.h>
#include <system_error>

#include <sys/random.h>

#include "format.hpp"

namespace cli {

namespace {

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

// SipHash-2-4 of the line's number and its text.
std::string Seal::mark(std::string_view text) const {
  static_assert(sizeof key_ == crypto_shorthash_KEYBYTES && kMark == 2 * crypto_shorthash_BYTES);
  std::string message(sizeof number_ + text.size(), '\0');
  std::memcpy(message.data(), &number_, sizeof number_);
  text.copy(message.data() + sizeof number_, text.size());
  std::array<unsigned char, crypto_shorthash_BYTES> hash{};
  crypto_shorthash(hash.data(), reinterpret_cast<const unsigned char*>(message.data()),
                   message.size(), reinterpret_cast<const unsigned char*>(key_.data()));
  std::array<char, kMark + 1> digits{};
  return sodium_bin2hex(digits.data(), digits.size(), hash.data(), hash.size());
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
