// Checkpoints: safetensors files from which a training continues with the same final bits.
//
// The file has the model's parameters and buffers as "model.NAME", the optimizer's states as
// "optimizer.PARAMETER.STATE", the order of the samples in the epoch as "order", and the best
// weights so far as "best.NAME"; the rest is JSON in the metadata "tenon.checkpoint".
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tenon/json.hpp"
#include "tenon/module.hpp"
#include "tenon/tensor.hpp"

TENON_NAMESPACE_BEGIN

namespace training {

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;  // in order

struct Checkpoint {      // a training that can be resumed
  NamedTensors tensors;  // weights and states
  Json progress;         // epoch, step, random generator
};

// Replaces the file as a whole or leaves the old one. IOError.
void save_checkpoint(const std::string& path, const Checkpoint& checkpoint);
// IOError; ValueError when the file is not a checkpoint.
Checkpoint load_checkpoint(const std::string& path);

// The parameters and buffers of a module, names behind `prefix`.
NamedTensors module_state(const Module& module, const std::string& prefix);
// Copies with the same names.
NamedTensors copied_tensors(const NamedTensors& tensors);
// Copies the values of `saved` into the tensors of the same names, which must be all those of
// `prefix`, and of the same shapes and dtypes. ValueError, naming `path`, when they are not.
void restore_tensors(const std::string& path, const NamedTensors& saved, const NamedTensors& into,
                     const std::string& prefix);

}  // namespace training

TENON_NAMESPACE_END
