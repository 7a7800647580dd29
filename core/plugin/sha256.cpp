// SHA-256 as FIPS 180-4 defines it.
#include "core/plugin/sha256.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "core/base/input_file.hpp"

namespace tenon::core {

namespace {

// Fractional parts of the cube roots of the first 64 primes.
constexpr std::array<uint32_t, 64> kRound = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

uint32_t big_endian(const uint8_t* data) {
  return uint32_t{data[0]} << 24 | uint32_t{data[1]} << 16 | uint32_t{data[2]} << 8 | data[3];
}

}  // namespace

void Sha256::block(const uint8_t* data) {
  std::array<uint32_t, 64> words;
  for (size_t i = 0; i < 16; ++i) words[i] = big_endian(data + 4 * i);
  for (size_t i = 16; i < 64; ++i) {
    const uint32_t a = words[i - 15];
    const uint32_t b = words[i - 2];
    words[i] = words[i - 16] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ a >> 3) + words[i - 7] +
               (std::rotr(b, 17) ^ std::rotr(b, 19) ^ b >> 10);
  }
  std::array<uint32_t, 8> s = state_;
  for (size_t i = 0; i < 64; ++i) {
    const uint32_t choice = (s[4] & s[5]) ^ (~s[4] & s[6]);
    const uint32_t majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
    const uint32_t first = s[7] + (std::rotr(s[4], 6) ^ std::rotr(s[4], 11) ^ std::rotr(s[4], 25)) +
                           choice + kRound[i] + words[i];
    const uint32_t second =
        (std::rotr(s[0], 2) ^ std::rotr(s[0], 13) ^ std::rotr(s[0], 22)) + majority;
    s = {first + second, s[0], s[1], s[2], s[3] + first, s[4], s[5], s[6]};
  }
  for (size_t i = 0; i < 8; ++i) state_[i] += s[i];
}

void Sha256::update(const void* data, size_t size) {
  const auto* bytes = static_cast<const uint8_t*>(data);
  total_ += size;
  while (size > 0) {
    if (buffered_ == 0 && size >= 64) {
      block(bytes);
      bytes += 64;
      size -= 64;
      continue;
    }
    const size_t taken = std::min(size, 64 - buffered_);
    std::memcpy(buffer_.data() + buffered_, bytes, taken);
    buffered_ += taken;
    bytes += taken;
    size -= taken;
    if (buffered_ == 64) {
      block(buffer_.data());
      buffered_ = 0;
    }
  }
}

std::string Sha256::finish() {
  const uint64_t bits = total_ * 8;
  const uint8_t one = 0x80;
  const uint8_t zero = 0;
  update(&one, 1);
  while (buffered_ != 56) update(&zero, 1);
  std::array<uint8_t, 8> length;
  for (size_t i = 0; i < 8; ++i) length[i] = static_cast<uint8_t>(bits >> (56 - 8 * i));
  update(length.data(), length.size());

  std::string text;
  text.reserve(64);
  for (uint32_t word : state_) {
    for (int shift = 28; shift >= 0; shift -= 4) text += "0123456789abcdef"[word >> shift & 15];
  }
  return text;
}

std::string sha256_text(std::string_view bytes) {
  Sha256 hash;
  hash.update(bytes.data(), bytes.size());
  return hash.finish();
}

std::string sha256_file(const std::string& path) {
  const InputFile file(path);
  Sha256 hash;
  std::vector<char> buffer(size_t{1} << 18);
  for (int64_t at = 0; at < file.size();) {
    const int64_t count = std::min(file.size() - at, static_cast<int64_t>(buffer.size()));
    file.read_at(buffer.data(), count, at);
    hash.update(buffer.data(), static_cast<size_t>(count));
    at += count;
  }
  return hash.finish();
}

}  // namespace tenon::core
