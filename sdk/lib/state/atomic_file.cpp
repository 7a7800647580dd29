// Files written as a whole or not at all: a temporary beside the target takes its place at the end.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <dirent.h>
#include <fcntl.h>
#include <random>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>

#include <tenon/abi/facts.h>
#include <tenon/error.hpp>
#include <tenon/state/atomic_file.hpp>

#include "lib/base/format.hpp"

TENON_NAMESPACE_BEGIN

namespace state {

using lib::format_text;

namespace {

constexpr int kMostLinks = 40;  // as the kernel
constexpr size_t kMostAtOnce = size_t{1} << 30;

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// Target of a link; empty when the file is not one.
std::string link_target(const std::string& path) {
  char target[4096];
  const ssize_t length = readlink(path.c_str(), target, sizeof(target));
  if (length <= 0 || length == static_cast<ssize_t>(sizeof(target))) return {};
  const std::string step(target, static_cast<size_t>(length));
  return step.front() == '/' ? step : format_text("{}/{}", folder_of(path), step);
}

std::string name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// A link that another user left in a folder that is not theirs may point anywhere: writing through
// it would overwrite any file. Links of the folder's owner, of root and of this user are followed.
bool is_foreign_link(const std::string& path) {
  struct stat link {};
  struct stat folder {};
  if (lstat(path.c_str(), &link) != 0 || !S_ISLNK(link.st_mode)) return false;
  if (link.st_uid == geteuid() || link.st_uid == 0) return false;
  return stat(folder_of(path).c_str(), &folder) != 0 || folder.st_uid != link.st_uid;
}

uint64_t hash_of(std::string_view text) {
  uint64_t hash = TENON_FNV1A_64;
  for (const char letter : text) hash = TENON_FNV1A_64_NEXT(hash, letter);
  return hash;
}

std::string hexadecimal(uint64_t number) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(number));
  return text;
}

// The beginning of the names of all temporaries of a target.
std::string temporary_prefix(const std::string& target) {
  return format_text(".tenon-{}-", hexadecimal(hash_of(name_of(target))));
}

uint64_t random_number() {
  uint64_t number = 0;
  if (getrandom(&number, sizeof number, GRND_NONBLOCK) != sizeof number)
    number = std::random_device{}() | uint64_t{std::random_device{}()} << 32;
  return number;
}

// Temporaries that a killed writer left. Writers that are alive hold a lock on theirs.
void remove_stale(const std::string& target) {
  const std::string prefix = temporary_prefix(target);
  DIR* const folder = opendir(folder_of(target).c_str());
  if (folder == nullptr) return;
  while (const dirent* entry = readdir(folder)) {
    if (std::string_view(entry->d_name).substr(0, prefix.size()) != prefix) continue;
    const int file = openat(dirfd(folder), entry->d_name,
                            O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (file < 0) continue;
    struct stat status {};
    const bool own =
        fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid();
    if (own && flock(file, LOCK_EX | LOCK_NB) == 0) unlinkat(dirfd(folder), entry->d_name, 0);
    close(file);
  }
  closedir(folder);
}

// Creates and locks a temporary for the target. -1: errno says why not.
int create_temporary(const std::string& target, mode_t mode, std::string* path) {
  for (;;) {
    *path = format_text("{}/{}{}.tmp", folder_of(target), temporary_prefix(target),
                        hexadecimal(random_number()));
    const int file = open(path->c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    if (file < 0 && errno == EEXIST) continue;
    if (file < 0) return file;
    // Never waits: a process that can read the file could hold its lock for ever. File systems
    // without locks have no stale files removed, either.
    const bool taken = flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    struct stat status {};
    if (!taken && fstat(file, &status) == 0 && status.st_nlink > 0) return file;
    unlink(path->c_str());
    close(file);  // another writer took it for a stale one before it was locked
  }
}

}  // namespace

AtomicFile::AtomicFile(std::string path) : path_(std::move(path)) {
  if (path_.empty()) fail("the path is empty", 0);
  struct stat old {};
  const bool exists = stat(path_.c_str(), &old) == 0;
  if (exists && S_ISDIR(old.st_mode)) fail("it is a folder", 0);
  target_ = path_;
  for (int links = 0; links < kMostLinks; ++links) {
    const std::string next = link_target(target_);
    if (next.empty()) break;
    if (is_foreign_link(target_)) fail("it is a symbolic link that another user made", 0);
    target_ = next;
  }
  if (exists && !S_ISREG(old.st_mode)) {
    // A pipe that no process reads is an error instead of a wait.
    descriptor_ = open(path_.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (descriptor_ < 0) fail("cannot open", errno);
    if (fstat(descriptor_, &old) != 0 || S_ISREG(old.st_mode)) {
      close(std::exchange(descriptor_, -1));
      fail("another process replaced it while it was opened", 0);
    }
    fcntl(descriptor_, F_SETFL, fcntl(descriptor_, F_GETFL) & ~O_NONBLOCK);
    return;
  }
  if (exists && faccessat(AT_FDCWD, target_.c_str(), W_OK, AT_EACCESS) != 0)
    fail("cannot replace it", errno);
  remove_stale(target_);
  // A file that only some may read is not open to others while it is written.
  descriptor_ = create_temporary(target_, exists ? 0600 : 0666, &temporary_);
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
  if (!temporary_.empty()) unlink(temporary_.c_str());
  if (descriptor_ >= 0) close(descriptor_);
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
  // Before it is closed: with its lock gone another writer would take it for a stale one.
  if (!temporary_.empty() && rename(temporary_.c_str(), target_.c_str()) != 0)
    fail("cannot replace it", errno);
  const bool replaced = !std::exchange(temporary_, {}).empty();
  if (close(std::exchange(descriptor_, -1)) != 0 && errno != EINTR) fail("while writing", errno);
  if (!replaced) return;
  // The name is only lasting once the folder is; not every file system can do this.
  const int folder = open(folder_of(target_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) {
    fsync(folder);
    close(folder);
  }
}

void AtomicFile::fail(const char* what, int code) const {
  std::string message = format_text("cannot write '{}': {}", path_, what);
  if (code != 0) message += format_text(": {}", std::generic_category().message(code));
  throw IOError(message);
}

void write_file(const std::string& path, std::string_view data) {
  AtomicFile file(path);
  file.write(data);
  file.commit();
}

}  // namespace state

TENON_NAMESPACE_END
