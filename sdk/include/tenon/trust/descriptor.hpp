// Descriptors that close themselves.
#pragma once

#include <utility>

#include <tenon/host.hpp>

TENON_NAMESPACE_BEGIN

namespace trust {

// Owns its descriptor; a negative number is none.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}  // owns it; -1: none
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() { close(); }
  int number() const { return number_; }  // -1: none
  void close();                           // at once; also when destroyed
  // The caller closes it.
  int release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

// A pipe, whose ends children do not inherit.
struct Pipe {
  // Throws IOError.
  Pipe();
  Descriptor reading, writing;  // ends of a pipe
};

}  // namespace trust

TENON_NAMESPACE_END
