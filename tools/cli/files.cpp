// Reading, and looking before writing.
#include "files.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

#include <sys/stat.h>

#include <tenon/error.hpp>

namespace cli {

namespace {

class RegularFile {
 public:
  explicit RegularFile(const std::string& path)
      // Without O_NONBLOCK opening a pipe would wait for its writer.
      : path_(path), descriptor_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)) {
    if (descriptor_ < 0) fail(std::strerror(errno));
    struct stat facts {};
    std::string reason;
    if (fstat(descriptor_, &facts) != 0) reason = std::strerror(errno);
    if (reason.empty() && S_ISDIR(facts.st_mode)) reason = "it is a folder";
    if (reason.empty() && !S_ISREG(facts.st_mode)) reason = "it is not a regular file";
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
    throw tenon::IOError("cannot read '" + path_ + "': " + reason);
  }
  std::string path_;
  int descriptor_;
};

}  // namespace

std::string read_file(const std::string& path, int64_t most) {
  return RegularFile(path).read(most);
}

int64_t file_length(const std::string& path) { return RegularFile(path).size; }

std::string output_fault(const std::string& path) {
  std::string folder = std::filesystem::path(path).parent_path();
  if (folder.empty()) folder = ".";
  const std::string start = "cannot write '" + path + "': ";
  struct stat facts {};
  if (stat(folder.c_str(), &facts) != 0 || !S_ISDIR(facts.st_mode))
    return start + "there is no folder '" + folder + "'";
  const bool exists = stat(path.c_str(), &facts) == 0;
  if (exists && S_ISDIR(facts.st_mode)) return start + "it is a folder";
  if (exists && access(path.c_str(), W_OK) != 0) return start + "it is read-only";
  // A device is written to in place, a file is replaced.
  if ((!exists || S_ISREG(facts.st_mode)) && access(folder.c_str(), W_OK) != 0)
    return start + "the folder '" + folder + "' is read-only";
  return "";
}

PrivateFolder::PrivateFolder()
    : path_((std::filesystem::temp_directory_path() / "tenon-XXXXXX").string()) {
  if (mkdtemp(path_.data()) == nullptr)
    throw tenon::IOError("cannot create a folder '" + path_ + "': " + std::strerror(errno));
}

PrivateFolder::~PrivateFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace cli
