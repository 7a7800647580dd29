// Checks of the batches of an epoch before the first of them, by calls that compute shapes alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tenon/training/dataset.hpp"

TENON_NAMESPACE_BEGIN

namespace training {

// Contents of batches: shapes of one sample and of its label, as a reader gives them.
struct BatchContents {
  std::vector<int64_t> sample, label;  // shapes of one
  bool whole_labels = false;           // labels are integers
  int64_t samples = 0;                 // in an epoch
};

// Batches that the transforms, the model in training mode, or the loss refuse: a whole one, and a
// last one of fewer samples, are tried. Makes another module of the config's model, so that nothing of the
// trained one changes. What computes no shapes alone is not checked; each fault begins with its
// place. Without "training" nothing is refused.
std::vector<std::string> batch_faults(const TrainingConfig& config, const BatchContents& contents);

// Throws batch_faults as a ConfigError where the last batch has fewer samples than the others, so
// that a training does not fail at the end of its first epoch.
void require_last_batch(const TrainingConfig& config, const Samples& train);

}  // namespace training

TENON_NAMESPACE_END
