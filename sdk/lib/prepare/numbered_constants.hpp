// Constants in memory of the caller's, a mapped file say: storage without a number, of which kernels keep nothing.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>

#include <tenon/tensor.hpp>

TENON_NAMESPACE_BEGIN

namespace prepared {

// The tensor on the same memory, whose storage has a number: kernels keep what they make of the elements, until
// an op changes them. Keeps `tensor`, which must have elements.
Tensor unchanging(const Tensor& tensor);

// Constants of a model, one handle for each in all lists of it and its clones. Any thread.
class NumberedConstants {
 public:
  // The constant itself where it has a number, or no elements.
  Tensor of(const Tensor& constant);

 private:
  struct Known {
    int64_t version;
    Tensor constant, numbered;
  };
  std::mutex mutex_;
  std::map<const tenon_tensor*, Known> known_;
};

}  // namespace prepared

TENON_NAMESPACE_END
