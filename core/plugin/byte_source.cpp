// Bounded reads of plugin files.
#include "core/plugin/byte_source.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>
#include <vector>

#include <sys/stat.h>

#include "core/base/format.hpp"
#include "core/plugin/failure.hpp"

namespace tenon::core {

namespace {

[[noreturn]] void refuse(PluginStage stage, const std::string& path, const std::string& problem,
                         const std::string& remedy) {
  PluginFailure failure;
  failure.stage = stage;
  failure.path = path;
  failure.problem = problem;
  failure.remedy = remedy;
  throw PluginError(failure);
}

const char* kind_text(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a named pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

int64_t nanoseconds(const timespec& time) {
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

bool inside(uint64_t size, uint64_t offset, uint64_t count) {
  return offset <= size && count <= size - offset;
}

}  // namespace

bool MemorySource::read(uint64_t offset, void* destination, size_t count) const {
  if (!inside(bytes_.size(), offset, count)) return false;
  if (count > 0) std::memcpy(destination, bytes_.data() + offset, count);
  return true;
}

bool has_same_bytes(const ByteSource& one, const ByteSource& other) {
  if (one.size() != other.size()) return false;
  constexpr size_t kBlock = size_t{1} << 16;
  std::vector<char> first(std::min<uint64_t>(one.size(), kBlock)), second(first.size());
  for (uint64_t at = 0; at < one.size();) {
    const size_t count = std::min<uint64_t>(one.size() - at, first.size());
    if (!one.read(at, first.data(), count) || !other.read(at, second.data(), count) ||
        std::memcmp(first.data(), second.data(), count) != 0)
      return false;
    at += count;
  }
  return true;
}

FileSource::FileSource(const std::string& path) {
  // Without O_NONBLOCK opening a pipe would wait for its writer.
  file_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (file_ < 0) {
    const int reason = errno;
    const bool missing = reason == ENOENT || reason == ENOTDIR;
    refuse(missing ? PluginStage::Find : PluginStage::Read, path,
           missing ? "cannot find the file" : format_text("cannot open it: {}", strerror(reason)),
           missing ? "check the path" : "check the file's rights");
  }
  struct stat status {};
  if (::fstat(file_, &status) != 0 || !S_ISREG(status.st_mode)) {
    refuse(PluginStage::Read, path, format_text("it is {}", kind_text(status.st_mode)),
           "name a shared library");
  }
  stamp_ = {status.st_dev,
            status.st_ino,
            static_cast<uint64_t>(status.st_size),
            nanoseconds(status.st_mtim),
            nanoseconds(status.st_ctim),
            status.st_mode,
            status.st_uid,
            status.st_gid};
}

DescriptorSource::~DescriptorSource() {
  if (file_ >= 0) ::close(file_);
}

bool DescriptorSource::read(uint64_t offset, void* destination, size_t count) const {
  if (!inside(stamp_.size, offset, count)) return false;
  auto* bytes = static_cast<char*>(destination);
  while (count > 0) {
    const ssize_t got = ::pread(file_, bytes, count, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;  // shrunk meanwhile, or a disk fault
    bytes += got;
    offset += static_cast<uint64_t>(got);
    count -= static_cast<size_t>(got);
  }
  return true;
}

}  // namespace tenon::core
