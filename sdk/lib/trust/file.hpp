// Regular files that are opened once, so that what is read has the stamp that was looked at.
#pragma once

#include <string>

#include <tenon/abi/guard.h>
#include <tenon/trust/descriptor.hpp>

TENON_NAMESPACE_BEGIN

namespace trust {

// Follows links, takes regular files only, and never waits: a named pipe or a device is refused at once.
class RegularFile {
 public:
  // `what` precedes the path in messages: "the signature ", or nothing. Throws IOError.
  explicit RegularFile(std::string path, const char* what = "");

  uint64_t size() const { return stamp_.size; }
  const tenon_file_stamp& stamp() const { return stamp_; }
  const std::string& path() const { return path_; }
  // Up to `most` bytes from its beginning. Throws IOError.
  std::string read(uint64_t most = UINT64_MAX) const;
  // Calls visit(bytes, count) for block after block of it. Throws IOError.
  template <class Visit>
  void each_block(Visit&& visit) const {
    std::string block;
    for (uint64_t at = 0; at < size(); at += block.size()) {
      block = read_at(at, kBlock);
      visit(block.data(), block.size());
    }
  }

 private:
  static constexpr uint64_t kBlock = uint64_t{1} << 18;

  std::string read_at(uint64_t offset, uint64_t most) const;
  [[noreturn]] void fail(const std::string& reason) const;

  std::string path_;
  const char* what_;
  Descriptor descriptor_;
  tenon_file_stamp stamp_{};
};

// Whether both are one file with the same bytes, as far as that is known without reading it.
bool is_same(const tenon_file_stamp& one, const tenon_file_stamp& other);

// A file in memory with these bytes, sealed against changes, for a child process to read or map. Throws
// IOError.
Descriptor sealed_copy(const std::string& bytes);

}  // namespace trust

TENON_NAMESPACE_END
