// Bounded reads of regular files, and copies by memfd_create.
#include "file.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <system_error>
#include <unistd.h>

#include <sys/mman.h>
#include <sys/stat.h>

#include <tenon/error.hpp>

#include "lib/base/format.hpp"
#include "lib/base/text.hpp"

TENON_NAMESPACE_BEGIN

namespace trust {

namespace {

std::string reason_of(int code) { return std::generic_category().message(code); }

int64_t nanoseconds(const timespec& time) {
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

RegularFile::RegularFile(std::string path, const char* what) : path_(std::move(path)), what_(what) {
  // Without O_NONBLOCK opening a pipe would wait for its writer.
  descriptor_ = Descriptor(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (descriptor_.number() < 0) fail(reason_of(errno));
  struct stat status {};
  if (::fstat(descriptor_.number(), &status) != 0) fail(reason_of(errno));
  if (S_ISDIR(status.st_mode)) fail(reason_of(EISDIR));
  if (!S_ISREG(status.st_mode)) fail("it is not a regular file");
  stamp_ = {status.st_dev, status.st_ino, static_cast<uint64_t>(status.st_size),
            nanoseconds(status.st_mtim), nanoseconds(status.st_ctim)};
}

std::string RegularFile::read(uint64_t most) const { return read_at(0, most); }

std::string RegularFile::read_at(uint64_t offset, uint64_t most) const {
  std::string bytes(static_cast<size_t>(std::min(size() - offset, most)), '\0');
  for (size_t at = 0; at < bytes.size();) {
    const ssize_t got = ::pread(descriptor_.number(), bytes.data() + at, bytes.size() - at,
                                static_cast<off_t>(offset + at));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(reason_of(errno));
    if (got == 0) fail("it became shorter while it was read");
    at += static_cast<size_t>(got);
  }
  return bytes;
}

void RegularFile::fail(const std::string& reason) const {
  throw IOError(lib::format_text("cannot read {}{}: {}", what_, lib::quote(path_), reason));
}

bool is_same(const tenon_file_stamp& one, const tenon_file_stamp& other) {
  return one.device == other.device && one.inode == other.inode && one.size == other.size &&
         one.modified == other.modified && one.changed == other.changed;
}

Descriptor sealed_copy(const std::string& bytes) {
  const auto fail = [](const char* what) {
    throw IOError(lib::format_text("cannot {} a file in memory: {}", what, reason_of(errno)));
  };
  Descriptor copy(::memfd_create("tenon-trust", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (copy.number() < 0) fail("make");
  for (size_t at = 0; at < bytes.size();) {
    const ssize_t put = ::write(copy.number(), bytes.data() + at, bytes.size() - at);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) fail("write");
    at += static_cast<size_t>(put);
  }
  if (::fcntl(copy.number(), F_ADD_SEALS,
              F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) != 0)
    fail("seal");
  ::lseek(copy.number(), 0, SEEK_SET);
  return copy;
}

}  // namespace trust

TENON_NAMESPACE_END
