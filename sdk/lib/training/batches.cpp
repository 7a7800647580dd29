// Samples in batches.
#include <algorithm>

#include <tenon/ops.hpp>
#include <tenon/training/batches.hpp>

TENON_NAMESPACE_BEGIN

namespace training {

Batches::Batches(Samples samples, int64_t batch_size)
    : samples_(std::move(samples)), count_(samples_.count()), size_(batch_size) {
  if (size_ < 1) throw ValueError("a batch has at least one sample, got " + std::to_string(size_));
}

void Batches::shuffle() { order_ = randperm(count_); }

Samples Batches::batch(int64_t index) const {
  const int64_t start = index * size_;
  return samples_.select(narrow(order_, 0, start, std::min(size_, count_ - start)));
}

}  // namespace training

TENON_NAMESPACE_END
