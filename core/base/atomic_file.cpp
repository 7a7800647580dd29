// Files written as a whole or not at all: a temporary beside the target takes its place at the end.
#include "core/base/atomic_file.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <system_error>
#include <unistd.h>

#include <sys/stat.h>

#include "core/base/error.hpp"

namespace tenon::core {

namespace {

constexpr int kMostLinks = 40;  // as the kernel
constexpr size_t kMostAtOnce = size_t{1} << 30;

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// Where a link, or a chain of them, leads; the last name need not exist.
std::string follow_links(std::string path) {
  for (int i = 0; i < kMostLinks; ++i) {
    char target[4096];
    const ssize_t length = readlink(path.c_str(), target, sizeof(target));
    if (length < 0 || length == static_cast<ssize_t>(sizeof(target))) return path;
    const std::string step(target, static_cast<size_t>(length));
    path = step.starts_with('/') ? step : folder_of(path) + "/" + step;
  }
  return path;
}

std::string temporary_name(const std::string& target) {
  static std::atomic<uint64_t> counter{0};
  return folder_of(target) + "/.tenon-" + std::to_string(getpid()) + "-" +
         std::to_string(counter.fetch_add(1)) + ".tmp";
}

}  // namespace

AtomicFile::AtomicFile(std::string path) : path_(std::move(path)), target_(follow_links(path_)) {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
  if (path_.empty()) fail("the path is empty", 0);
  struct stat old {};
  const bool exists = stat(target_.c_str(), &old) == 0;
  if (exists && S_ISDIR(old.st_mode)) fail("it is a folder", 0);
  if (exists && !S_ISREG(old.st_mode)) {
    descriptor_ = open(target_.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor_ < 0) fail("cannot open", errno);
    return;
  }
  if (exists && faccessat(AT_FDCWD, target_.c_str(), W_OK, AT_EACCESS) != 0)
    fail("cannot replace it", errno);
  do {
    temporary_ = temporary_name(target_);
    descriptor_ = open(temporary_.c_str(), kFlags, 0666);
  } while (descriptor_ < 0 && errno == EEXIST);
  if (descriptor_ < 0) {
    const int code = errno;
    temporary_.clear();
    fail("cannot create a file in its folder", code);
  }
  if (exists && fchmod(descriptor_, old.st_mode & 0777U) != 0) {
    const int code = errno;
    close(descriptor_);
    unlink(temporary_.c_str());
    fail("cannot keep its permissions", code);
  }
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) close(descriptor_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

void AtomicFile::write(const void* data, int64_t bytes) {
  const char* next = static_cast<const char*>(data);
  auto left = static_cast<size_t>(std::max<int64_t>(bytes, 0));
  while (left > 0) {
    const ssize_t written = ::write(descriptor_, next, std::min(left, kMostAtOnce));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("while writing", errno);
    next += written;
    left -= static_cast<size_t>(written);
  }
}

void AtomicFile::commit() {
  if (!temporary_.empty() && fsync(descriptor_) != 0) fail("while writing", errno);
  if (close(std::exchange(descriptor_, -1)) != 0 && errno != EINTR) fail("while writing", errno);
  if (temporary_.empty()) return;
  if (rename(temporary_.c_str(), target_.c_str()) != 0) fail("cannot replace it", errno);
  temporary_.clear();
  // The name is only lasting once the folder is; not every file system can do this.
  const int folder = open(folder_of(target_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) {
    fsync(folder);
    close(folder);
  }
}

void AtomicFile::fail(const char* what, int code) const {
  std::string message = "cannot write '" + path_ + "': " + what;
  if (code != 0) message += ": " + std::generic_category().message(code);
  throw Error(TENON_ERROR_IO, std::move(message));
}

void write_file(const std::string& path, std::string_view data) {
  AtomicFile file(path);
  file.write(data);
  file.commit();
}

}  // namespace tenon::core
