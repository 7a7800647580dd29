// Memory between pages that must not be touched, itself read-only when asked: every access that is
// not allowed is noticed, also a write that is undone.
#pragma once

#include <cstdint>

#include <tenon/op.hpp>

namespace cli {

// The handler of SIGSEGV is installed while one exists. One at a time; faults on any thread.
class GuardedMemory {
 public:
  enum class Edge { end, begin };  // which end of the elements touches a guard page

  GuardedMemory();
  ~GuardedMemory();
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;

  // A copy of `tensor` in row-major order, with `gap` elements of no tensor between its rows. Its
  // memory is freed with this object: tensors over it must be gone before.
  tenon::Tensor copy(const tenon::Tensor& tensor, Edge edge, int64_t gap = 0);
  // From here on the elements of copy `index` cannot be written unnoticed.
  void protect(size_t index);

  struct Breaches {
    bool written = false;  // a protected element
    bool outside = false;  // a place before the first or behind the last element
  };
  Breaches breaches(size_t index) const;
};

}  // namespace cli
