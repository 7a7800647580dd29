// Bounded reads of plugin files; copies by memfd_create, seals by F_ADD_SEALS.
#include "core/plugin/facts/byte_source.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>
#include <vector>

#include <sys/mman.h>
#include <sys/stat.h>

#include "core/base/format.hpp"
#include "core/plugin/failure.hpp"

namespace tenon::core {

namespace {

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

int open_memory(const std::string& path) {
  // Kernels may have to be asked for memory that can be mapped as code; older ones do not know the
  // flag.
  constexpr unsigned int kExecutable = 0x10;
  for (const unsigned int flag : {kExecutable, 0u}) {
    const int file = ::memfd_create("tenon-plugin", MFD_CLOEXEC | MFD_ALLOW_SEALING | flag);
    if (file >= 0) return file;
    if (errno != EINVAL) break;
  }
  refuse_plugin(PluginStage::Read, "", path,
                format_text("no private copy of it can be made: {}", strerror(errno)),
                "free memory or descriptors, or allow memory files that are mapped as code");
}

bool write_all(int file, const char* bytes, size_t count) {
  while (count > 0) {
    const ssize_t put = ::write(file, bytes, count);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    bytes += put;
    count -= static_cast<size_t>(put);
  }
  return true;
}

}  // namespace

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
    if (missing)
      refuse_plugin(PluginStage::Find, "", path, "cannot find the file", "check the path");
    refuse_plugin(PluginStage::Read, "", path, format_text("cannot open it: {}", strerror(reason)),
                  "check the file's rights");
  }
  struct stat status {};
  if (::fstat(file_, &status) != 0 || !S_ISREG(status.st_mode)) {
    refuse_plugin(PluginStage::Read, "", path, format_text("it is {}", kind_text(status.st_mode)),
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

// ---- sealed copies ----

SealedFile::SealedFile(const std::string& path) {
  const FileSource source(path);
  stamp_ = source.stamp();
  file_ = open_memory(path);
  std::vector<char> buffer(std::min<uint64_t>(size(), uint64_t{1} << 18));
  for (uint64_t at = 0; at < size();) {
    const size_t count = std::min<uint64_t>(size() - at, buffer.size());
    if (!source.read(at, buffer.data(), count))
      refuse_plugin(PluginStage::Read, "", path, "it cannot be read", "copy it again");
    if (!write_all(file_, buffer.data(), count)) {
      refuse_plugin(PluginStage::Read, "", path,
                    format_text("no private copy of it can be made: {}", strerror(errno)),
                    "free memory");
    }
    at += count;
  }
  if (::fcntl(file_, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) != 0) {
    refuse_plugin(PluginStage::Read, "", path,
                  format_text("its private copy cannot be sealed: {}", strerror(errno)),
                  "use a kernel that seals memory files");
  }
}

std::shared_ptr<const void> SealedFile::map() const {
  if (size() == 0) return nullptr;
  void* const mapped = ::mmap(nullptr, size(), PROT_READ, MAP_PRIVATE, file_, 0);
  if (mapped == MAP_FAILED) {
    refuse_plugin(PluginStage::Read, "", path(),
                  format_text("its private copy cannot be mapped: {}", strerror(errno)),
                  "free memory");
  }
  return {mapped, [count = size()](void* bytes) { ::munmap(bytes, count); }};
}

std::string SealedFile::path() const { return format_text("/proc/self/fd/{}", file_); }

}  // namespace tenon::core
