// Reading of regular files.
#include "input_file.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <sys/mman.h>
#include <sys/stat.h>

#include <tenon/error.hpp>
#include <tenon/state/mapped_file.hpp>

#include "lib/base/format.hpp"
#include "lib/base/text.hpp"

TENON_NAMESPACE_BEGIN

namespace state {

namespace {

constexpr int64_t kMostReadAtOnce = int64_t{1} << 30;

std::string reason_of(int code) { return std::generic_category().message(code); }

}  // namespace

InputFile::InputFile(std::string path) : path_(std::move(path)) {
  // Without O_NONBLOCK opening a pipe would wait for its writer.
  descriptor_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor_ < 0) fail(reason_of(errno));
  struct stat status {};
  std::string reason;
  if (fstat(descriptor_, &status) != 0) {
    reason = reason_of(errno);
  } else if (S_ISDIR(status.st_mode)) {
    reason = reason_of(EISDIR);
  } else if (!S_ISREG(status.st_mode)) {
    reason = "it is not a regular file";
  }
  if (!reason.empty()) {
    close(descriptor_);
    fail(reason);
  }
  size_ = status.st_size;
}

InputFile::~InputFile() { close(descriptor_); }

void InputFile::read_at(void* to, int64_t bytes, int64_t offset) const {
  char* next = static_cast<char*>(to);
  while (bytes > 0) {
    const ssize_t got =
        pread(descriptor_, next, static_cast<size_t>(std::min(bytes, kMostReadAtOnce)), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(reason_of(errno));
    if (got == 0) fail("it became shorter while it was read");
    next += got;
    offset += got;
    bytes -= got;
  }
}

std::shared_ptr<char> InputFile::map() const {
  if (size_ == 0) return nullptr;
  const auto bytes = static_cast<size_t>(size_);
  void* data =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, descriptor_, 0);
  if (data == MAP_FAILED) fail(reason_of(errno));
  return {static_cast<char*>(data), [bytes](char* mapped) { munmap(mapped, bytes); }};
}

void InputFile::fail(const std::string& reason) const {
  throw IOError(lib::format_text("cannot read {}: {}", lib::quote(path_), reason));
}

MappedFile map_file(const std::string& path) {
  const InputFile file(path);
  return {file.map(), static_cast<size_t>(file.size())};
}

}  // namespace state

TENON_NAMESPACE_END
