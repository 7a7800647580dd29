// Norms of the gradients of single samples: which samples pull hardest at the parameters of a model.
//
//   training::require_independent_samples(model, dataset.train);
//   const training::SampleNorms norms = training::sample_norms(model, loss, dataset.train);
//   std::printf("sample %lld: %f\n", norms.most[0].sample, norms.most[0].norm);
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tenon/module.hpp"
#include "tenon/training/dataset.hpp"
#include "tenon/training/roles.hpp"

TENON_NAMESPACE_BEGIN

namespace training {

struct SampleNorm {    // norm of a sample's gradient
  int64_t sample = 0;  // its place in the file, from 0
  double norm = 0;     // norm of the gradient
};

struct SampleNorms {                          // norms of a part's samples
  int64_t count = 0;                          // samples that were measured
  double largest = 0, median = 0, least = 0;  // statistics of the norms
  std::vector<SampleNorm> most;               // samples with the largest norms, in descending order
};

// Euclidean norms over all parameters that require grad, of the gradient of the loss of each sample alone;
// of `listed` samples, at most, the places. The model is in the mode that it is in; each sample draws its own
// random numbers. Samples are measured many at a time, by vmap of grad. The parameters and buffers of the
// model do not change. Calling thread; no other one uses the model meanwhile. ValueError where no parameter
// requires grad, where there are no samples, and for a model that require_independent_samples refuses; what
// the model and the loss throw.
SampleNorms sample_norms(const Module& model, const Loss& loss, const Samples& samples,
                         int64_t listed = 5);

// ValueError where a layer computes the output of one sample from others in the mode that it is in, as batch norm
// does in training mode: it is named. Calls the model twice, on a few samples.
void require_independent_samples(const Module& model, const Samples& samples);

}  // namespace training

TENON_NAMESPACE_END
