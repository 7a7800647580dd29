#include "lib/base/input_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

#include <sys/stat.h>

#include "lib/base/format.hpp"
#include "lib/base/text.hpp"

TENON_NAMESPACE_BEGIN

namespace lib {

namespace {

class RegularFile {
 public:
  RegularFile(const std::string& path, const char* what)
      // Without O_NONBLOCK opening a pipe would wait for its writer.
      : path_(path),
        what_(what),
        descriptor_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)) {
    if (descriptor_ < 0) fail(std::strerror(errno));
    struct stat facts {};
    std::string reason;
    if (fstat(descriptor_, &facts) != 0)
      reason = std::strerror(errno);
    else if (S_ISDIR(facts.st_mode))
      reason = std::strerror(EISDIR);
    else if (!S_ISREG(facts.st_mode))
      reason = "it is not a regular file";
    size = facts.st_size;
    if (reason.empty()) return;
    close(descriptor_);
    fail(reason);
  }
  ~RegularFile() { close(descriptor_); }
  RegularFile(const RegularFile&) = delete;
  RegularFile& operator=(const RegularFile&) = delete;

  std::string read(int64_t most) const {
    std::string text(static_cast<size_t>(std::min<int64_t>(size, most)), '\0');
    for (size_t at = 0; at < text.size();) {
      const ssize_t got = ::read(descriptor_, text.data() + at, text.size() - at);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) fail(std::strerror(errno));
      if (got == 0) fail("it became shorter while it was read");
      at += static_cast<size_t>(got);
    }
    return text;
  }
  int64_t size = 0;

 private:
  [[noreturn]] void fail(const std::string& reason) const {
    throw IOError(format_text("cannot read {}{}: {}", what_, quote(path_), reason));
  }
  std::string path_;
  const char* what_;
  int descriptor_;
};

}  // namespace

std::string read_file(const std::string& path, int64_t most, const char* what) {
  return RegularFile(path, what).read(most);
}

std::string read_standard_input(const char* what, int64_t most) {
  std::string text;
  char block[16384];
  while (static_cast<int64_t>(text.size()) < most) {
    const ssize_t count = ::read(STDIN_FILENO, block, sizeof block);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0)
      throw IOError(
          format_text("cannot read {} from standard input: {}", what, std::strerror(errno)));
    if (count == 0) break;
    text.append(block, static_cast<size_t>(count));
  }
  return text;
}

int64_t file_length(const std::string& path) { return RegularFile(path, "").size; }

}  // namespace lib

TENON_NAMESPACE_END
