// Weights: the state of a trained model in a safetensors file, with a note about its training in
// the metadata "tenon.run".
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tenon/module.hpp"
#include "tenon/training/training_config.hpp"

TENON_NAMESPACE_BEGIN

namespace training {

// The training that weights are from.
struct WeightsNote {
  uint64_t seed = 0;   // the training's
  std::string split;   // JSON of the section: with the seed it says which samples were held back
  int64_t epoch = 0;   // epochs that were made
  std::string fitted;  // values learned from the data, see Dataset
};

// Replaces the file as a whole. Where it cannot be written, for a full disk for example, the
// weights are kept in another folder, and the IOError says where.
void save_weights(const Module& module, const std::string& path, const WeightsNote& note);

// RuntimeError, naming the file, when the weights are another model's.
void load_weights(Module& model, const std::string& path);

// None: a file that save_weights did not write.
std::optional<WeightsNote> weights_note(const std::string& path);

// The seed to evaluate weights with: that of their training, or samples that they were trained on
// would be measured. Without a note the asked one, or the config's. ValueError where another one is
// asked for, or the config has another split.
uint64_t evaluation_seed(const TrainingConfig& config, const std::string& weights,
                         const std::optional<uint64_t>& asked);

}  // namespace training

TENON_NAMESPACE_END
