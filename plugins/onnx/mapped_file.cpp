#include "mapped_file.hpp"

#include <cerrno>
#include <fcntl.h>
#include <system_error>
#include <unistd.h>

#include <sys/mman.h>
#include <sys/stat.h>

#include <tenon/error.hpp>

namespace onnx {

namespace {

class Descriptor {
 public:
  // Without O_NONBLOCK opening a pipe would wait for its writer.
  explicit Descriptor(const std::string& path)
      : number_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  int number() const { return number_; }

 private:
  int number_;
};

}  // namespace

MappedFile map_file(const std::string& path) {
  const auto fail = [&](const std::string& reason) {
    throw tenon::IOError("cannot read '" + path + "': " + reason);
  };
  const auto fail_by = [&](int code) { fail(std::generic_category().message(code)); };
  const Descriptor file(path);
  if (file.number() < 0) fail_by(errno);
  struct stat status {};
  if (fstat(file.number(), &status) != 0) fail_by(errno);
  if (!S_ISREG(status.st_mode)) fail("it is not a regular file");
  const auto size = static_cast<size_t>(status.st_size);
  if (size == 0) return {};
  void* data =
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, file.number(), 0);
  if (data == MAP_FAILED) fail_by(errno);
  return {{static_cast<char*>(data), [size](char* mapped) { munmap(mapped, size); }}, size};
}

}  // namespace onnx
