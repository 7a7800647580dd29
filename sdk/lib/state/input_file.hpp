// Files that are read: regular ones, opened without waiting for another process.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <tenon/host.hpp>

#include "byte_source.hpp"

TENON_NAMESPACE_BEGIN

namespace state {

// A named pipe would block its reader until another process writes, a device might never end: both
// are refused. Failures are IOErrors: "cannot read 'PATH': reason".
class InputFile : public ByteSource {
 public:
  explicit InputFile(std::string path);
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  ~InputFile() override;

  int64_t size() const override { return size_; }  // when it was opened
  // Exactly `bytes` bytes from `offset`.
  void read_at(void* to, int64_t bytes, int64_t offset) const override;
  // The whole file in memory, for the process alone: what is written there does not reach the file.
  // Null for an empty file. The mapping outlives this object.
  std::shared_ptr<char> map() const;

 private:
  [[noreturn]] void fail(const std::string& reason) const;

  std::string path_;
  int descriptor_ = -1;
  int64_t size_ = 0;
};

}  // namespace state

TENON_NAMESPACE_END
