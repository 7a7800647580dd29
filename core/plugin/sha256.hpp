// SHA-256 of a file, for configs that pin a plugin to its exact bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tenon::core {

// Written here because the packaged libraries that have it weigh megabytes, for one digest of a few
// files.
class Sha256 {
 public:
  void update(const void* data, size_t size);
  // 64 lower-case hexadecimal digits. Ends the computation.
  std::string finish();

 private:
  void block(const uint8_t* data);

  std::array<uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<uint8_t, 64> buffer_{};
  size_t buffered_ = 0;
  uint64_t total_ = 0;
};

std::string sha256_text(std::string_view bytes);
// Throws IOError when the file cannot be read to its end.
std::string sha256_file(const std::string& path);

}  // namespace tenon::core
