// The gradients of the mean loss of a batch, of which each rank computes its share.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "tenon/training/dataset.hpp"
#include "tenon/training/gradient_buckets.hpp"
#include "tenon/training/ranks.hpp"

TENON_NAMESPACE_BEGIN

namespace training {

class BatchGradients {  // gradients of a batch, by accumulation and ranks
 public:
  // `loss_of` gives the loss of samples as one number, the mean over them or, with `sums`, the sum.
  // The parameters are those that are trained, the same on each rank. `shards`: see GradientBuckets.
  BatchGradients(const Ranks& ranks, std::function<Tensor(const Samples&)> loss_of, bool sums,
                 std::vector<Tensor> parameters, bool shards = false);

  struct Result {  // result of one batch
    double loss;   // loss of the batch
    bool stopped;  // on one rank at least
  };
  // Adds the gradients to those of the parameters, which have none. `step` counts the batches of a
  // training: what the model draws depends on it and on the part of the batch. `stopped` is whether a
  // rank was interrupted before its backward ended. ValueError that names the rank when the loss
  // of one of several is not finite.
  Result operator()(const Samples& batch, int64_t step);

 private:
  double backward(const Samples& part, double weight);
  Result share(const Samples& batch, int64_t step);
  Result parts(const Samples& batch, int64_t step);

  Ranks ranks_;
  std::function<Tensor(const Samples&)> loss_of_;
  bool sums_;
  std::vector<Tensor> parameters_;
  GradientBuckets buckets_;
};

}  // namespace training

TENON_NAMESPACE_END
