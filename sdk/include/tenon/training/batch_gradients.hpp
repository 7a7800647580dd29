// The gradients of the mean loss of a batch, of which each rank computes its share.
#pragma once

#include <cstdint>
#include <vector>

#include "tenon/module.hpp"
#include "tenon/training/dataset.hpp"
#include "tenon/training/gradient_buckets.hpp"
#include "tenon/training/loss.hpp"
#include "tenon/training/ranks.hpp"

TENON_NAMESPACE_BEGIN

namespace training {

class BatchGradients {
 public:
  // The parameters are those that are trained, the same on each rank.
  BatchGradients(const Ranks& ranks, const Module& model, const Loss& loss,
                 std::vector<Tensor> parameters);

  // Adds the gradients to those of the parameters, which have none, and returns the loss: the mean
  // over samples, or what Loss::sums adds up. `step` counts the batches of a training: what the
  // model draws depends on it and on the part of the batch. ValueError that names the rank when the
  // loss of one is not finite.
  double operator()(const Samples& batch, int64_t step);

 private:
  double backward(const Samples& part, double weight);
  double share(const Samples& batch, int64_t step);
  double parts(const Samples& batch, int64_t step);

  Ranks ranks_;
  Module model_;
  Loss loss_;
  std::vector<Tensor> parameters_;
  GradientBuckets buckets_;
};

}  // namespace training

TENON_NAMESPACE_END
