// Gradients summed over ranks, bucket by bucket, during backward.
//
// The first step shows in which order gradients are complete; from then on small ones of one dtype
// are put together in this order until a bucket is full; a large one is a bucket. A bucket is
// reduced as soon as its last gradient is there, and those before it have begun: each rank begins
// them in one order. Parameters without a gradient count as zeros, and get the sum when another rank
// has a gradient.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "tenon/hooks.hpp"
#include "tenon/training/ranks.hpp"

TENON_NAMESPACE_BEGIN

namespace training {

class GradientBuckets {  // sums of gradients over ranks
 public:
  // The parameters that are trained, the same on each rank. Alone it does nothing. With `shards` a
  // rank gets the sums of its shard of each gradient (shard.hpp) for half the bytes; its other
  // elements have no meaning then.
  GradientBuckets(const Ranks& ranks, std::vector<Tensor> parameters, bool shards = false);
  ~GradientBuckets();
  GradientBuckets(const GradientBuckets&) = delete;
  GradientBuckets& operator=(const GradientBuckets&) = delete;

  // After a backward: waits until the gradients of all parameters are the sums over ranks. Returns
  // the sums of further numbers, as many on each rank, which cost no further message.
  std::vector<double> finish(std::vector<double> numbers = {});

 private:
  struct Bucket {
    std::vector<size_t> parameters;
    // Offsets of their elements, or shards, in the buffer's last dimension.
    std::vector<int64_t> offsets;
    int64_t elements = 0;
    Tensor buffer;       // [elements], or [ranks, elements] of shards, or the one gradient itself
    Tensor shard;        // [1, elements]: the sums of this rank's shards
    size_t missing = 0;  // gradients that this step has not made yet
    int64_t handle = 0;
  };
  struct State;
  void plan();

  Ranks ranks_;
  std::unique_ptr<State> state_;
};

}  // namespace training

TENON_NAMESPACE_END
