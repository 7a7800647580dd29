// Bytes that are read by position: a file, or memory in tests.
#pragma once

#include <cstdint>

namespace data {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  virtual int64_t size() const = 0;
  // Exactly `count` bytes from `offset`; the range must be within the size.
  virtual void read(char* to, int64_t offset, int64_t count) const = 0;
};

}  // namespace data
