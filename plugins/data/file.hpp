// Files for reading, with errors that name them.
#pragma once

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <unistd.h>

#include <sys/stat.h>

#include <tenon/plugin.hpp>

#include "bytes.hpp"
#include "file_fault.hpp"
#include "gunzip.hpp"

namespace data {

class File {
 public:
  explicit File(std::string_view path) : path_(path) {
    if (path_.empty() || path_.find('\0') != std::string::npos)
      throw tenon::IOError("the path of the file is empty or broken");
    // Without O_NONBLOCK opening a pipe would wait for its writer.
    descriptor_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (descriptor_ < 0) refuse(std::strerror(errno));
    struct stat facts {};
    if (fstat(descriptor_, &facts) != 0) fail(std::strerror(errno));
    if (!S_ISREG(facts.st_mode))
      fail(S_ISDIR(facts.st_mode) ? "it is a folder" : "it is not a regular file");
    size_ = static_cast<int64_t>(facts.st_size);
  }
  ~File() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  const std::string& path() const { return path_; }
  int64_t size() const { return size_; }
  // Exactly `count` bytes from `offset`; the range must be within the size.
  void read(char* to, int64_t offset, int64_t count) const {
    while (count > 0) {
      const ssize_t got =
          pread(descriptor_, to, static_cast<size_t>(count), static_cast<off_t>(offset));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) refuse(std::strerror(errno));
      if (got == 0) refuse("it became shorter while it was read");
      to += got;
      offset += got;
      count -= got;
    }
  }

  // The whole file, decompressed where it is gzipped. Throws Fault for broken data.
  Bytes text() const {
    Bytes bytes(size_);
    read(bytes.data(), 0, size_);
    return is_gzip(bytes) ? gunzip(bytes) : std::move(bytes);
  }

  [[noreturn]] void refuse(const std::string& reason) const {
    throw tenon::IOError("cannot read '" + path_ + "': " + reason);
  }
  // digits.csv:17: 64 columns where 65 were read before
  [[noreturn]] void refuse(const Fault& fault) const {
    const std::string text =
        path_ + (fault.where().empty() ? "" : ":" + fault.where()) + ": " + fault.what();
    if (fault.truncated()) throw tenon::IOError(text);
    throw tenon::ValueError(text);
  }

 private:
  [[noreturn]] void fail(const std::string& reason) {
    close(descriptor_);
    descriptor_ = -1;
    refuse(reason);
  }
  std::string path_;
  int descriptor_ = -1;
  int64_t size_ = 0;
};

}  // namespace data
