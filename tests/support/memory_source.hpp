// Memory in the place of a plugin file.
#pragma once

#include <cstring>
#include <string_view>

#include "core/plugin/facts/byte_source.hpp"

namespace tenon::core {

class MemorySource : public ByteSource {
 public:
  explicit MemorySource(std::string_view bytes) : bytes_(bytes) {}
  uint64_t size() const override { return bytes_.size(); }
  bool read(uint64_t offset, void* destination, size_t count) const override {
    if (offset > bytes_.size() || count > bytes_.size() - offset) return false;
    if (count > 0) std::memcpy(destination, bytes_.data() + offset, count);
    return true;
  }

 private:
  std::string_view bytes_;
};

}  // namespace tenon::core
