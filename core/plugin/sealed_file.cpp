// Copies by memfd_create, seals by F_ADD_SEALS.
#include "core/plugin/sealed_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>
#include <vector>

#include <sys/mman.h>

#include "core/base/format.hpp"
#include "core/plugin/failure.hpp"

namespace tenon::core {

namespace {

[[noreturn]] void refuse(const std::string& path, std::string problem, std::string remedy) {
  throw PluginError(
      make_failure(PluginStage::Read, "", path, std::move(problem), std::move(remedy)));
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
  refuse(path, format_text("no private copy of it can be made: {}", strerror(errno)),
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

SealedFile::SealedFile(const std::string& path) {
  const FileSource source(path);
  stamp_ = source.stamp();
  file_ = open_memory(path);
  std::vector<char> buffer(std::min<uint64_t>(size(), uint64_t{1} << 18));
  for (uint64_t at = 0; at < size();) {
    const size_t count = std::min<uint64_t>(size() - at, buffer.size());
    if (!source.read(at, buffer.data(), count)) refuse(path, "it cannot be read", "copy it again");
    if (!write_all(file_, buffer.data(), count)) {
      refuse(path, format_text("no private copy of it can be made: {}", strerror(errno)),
             "free memory");
    }
    at += count;
  }
  if (::fcntl(file_, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) != 0) {
    refuse(path, format_text("its private copy cannot be sealed: {}", strerror(errno)),
           "use a kernel that seals memory files");
  }
}

std::shared_ptr<const void> SealedFile::map() const {
  if (size() == 0) return nullptr;
  void* const mapped = ::mmap(nullptr, size(), PROT_READ, MAP_PRIVATE, file_, 0);
  if (mapped == MAP_FAILED) {
    refuse(path(), format_text("its private copy cannot be mapped: {}", strerror(errno)),
           "free memory");
  }
  return {mapped, [count = size()](void* bytes) { ::munmap(bytes, count); }};
}

std::string SealedFile::path() const { return format_text("/proc/self/fd/{}", file_); }

}  // namespace tenon::core
