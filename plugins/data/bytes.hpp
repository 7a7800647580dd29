// Memory for the contents of a file, which is not cleared before they are read.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <string_view>

namespace data {

class Bytes {
 public:
  explicit Bytes(int64_t size) { resize(size); }
  // Keeps what fits. Throws std::bad_alloc.
  void resize(int64_t size) {
    void* moved = std::realloc(bytes_.get(), static_cast<size_t>(size > 0 ? size : 1));
    if (moved == nullptr) throw std::bad_alloc();
    (void)bytes_.release();
    bytes_.reset(static_cast<char*>(moved));
    size_ = size;
  }
  char* data() const { return bytes_.get(); }
  int64_t size() const { return size_; }
  operator std::string_view() const { return {data(), static_cast<size_t>(size_)}; }

 private:
  struct Free {
    void operator()(char* bytes) const { std::free(bytes); }
  };
  std::unique_ptr<char, Free> bytes_;
  int64_t size_ = 0;
};

}  // namespace data
