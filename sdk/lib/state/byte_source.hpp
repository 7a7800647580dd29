// Bytes that are read by position: a file, or memory in tests.
#pragma once

#include <cstdint>

#include <tenon/host.hpp>

TENON_NAMESPACE_BEGIN

namespace state {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  virtual int64_t size() const = 0;
  // Exactly `bytes` bytes from `offset`; the range must be within the size.
  virtual void read_at(void* to, int64_t bytes, int64_t offset) const = 0;
};

}  // namespace state

TENON_NAMESPACE_END
