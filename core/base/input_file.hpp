// Files that are read: regular ones, opened without waiting for anyone.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace tenon::core {

// A named pipe would block its reader until another process writes, a device might never end: both
// are refused. Failures are Error(IO): "cannot read WHAT 'PATH': reason". [calling-thread]
class InputFile {
 public:
  // `what` is "" or a noun with a blank behind it, like "the config ".
  explicit InputFile(std::string path, const char* what = "");
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  ~InputFile();

  int64_t size() const { return size_; }  // when it was opened
  // Exactly `bytes` bytes from `offset`.
  void read_at(void* to, int64_t bytes, int64_t offset) const;
  // The whole file in memory, for the process alone: what is written there does not reach the file.
  // Null for an empty file. The mapping outlives this object.
  std::shared_ptr<char> map() const;

 private:
  [[noreturn]] void fail(const std::string& reason) const;

  std::string path_;
  const char* what_;
  int descriptor_ = -1;
  int64_t size_ = 0;
};

}  // namespace tenon::core
