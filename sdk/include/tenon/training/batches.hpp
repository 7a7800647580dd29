// Samples in batches, in an order that is drawn for each epoch.
#pragma once

#include "tenon/training/dataset.hpp"

TENON_NAMESPACE_BEGIN

namespace training {

class Batches {
 public:
  // The last batch of an epoch has what is left.
  Batches(Samples samples, int64_t batch_size);
  int64_t per_epoch() const { return (count_ + size_ - 1) / size_; }
  int64_t batch_size() const { return size_; }

  // Draws the order of an epoch from the process's generator.
  void shuffle();
  // Batch `index` of the epoch.
  Samples batch(int64_t index) const;

  // The order, which checkpoints keep: i64 [samples].
  const Tensor& order() const { return order_; }
  void set_order(const Tensor& order) { order_ = order; }

 private:
  Samples samples_;
  Tensor order_;
  int64_t count_, size_;
};

}  // namespace training

TENON_NAMESPACE_END
