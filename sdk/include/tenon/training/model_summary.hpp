// Summary of a model: its layers and their work, found from shapes alone: no element is computed
// and large tensors take no memory.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tenon/json.hpp"
#include "tenon/module.hpp"
#include "tenon/prepare/prepare.hpp"
#include "tenon/training/dataset.hpp"
#include "tenon/training/training_config.hpp"

TENON_NAMESPACE_BEGIN

namespace training {

// One module, without those below it.
struct LayerSummary {
  std::string name, type;                     // the model itself has no name
  std::vector<std::vector<int64_t>> outputs;  // shapes, of its last call; empty: none is known
  int64_t parameters = 0;                     // elements; a shared one counts where it is first
  int64_t bytes = 0;                          // bytes of parameters and buffers
  int64_t multiply_adds = 0;                  // for all its calls, as ops declare them
};

// Calls of one op by one layer that one plugin would run.
struct ProvidedOp {
  std::string layer, op, provider;                            // module, op and plugin
  std::vector<std::pair<std::string, std::string>> declined;  // plugins ranked above, each with why
  int64_t calls = 1;                                          // calls in one forward

  bool is_same(const ProvidedOp& other) const {  // but for `calls`
    return layer == other.layer && op == other.op && provider == other.provider &&
           declined == other.declined;
  }
};

struct ModelSummary {                        // sizes of a model
  std::vector<std::vector<int64_t>> inputs;  // shapes, with the batch; empty: not known
  std::vector<LayerSummary> layers;          // parents first; the model is the first
  // Numbers of parameters, their bytes, and multiply-adds of one forward.
  int64_t parameters = 0, trainable = 0, bytes = 0, multiply_adds = 0;
  std::vector<std::string> faults;  // shapes that do not fit, and what a module refuses
  std::string unknown;              // why shapes are not known; empty: they are
  std::vector<ProvidedOp> ops;      // in the order of their first calls; where these are asked for
};

// Inputs of zeros that the model of an applied config can be called with: a batch of "input", or of samples
// as "data" has them, which is read where the outline does not know their shape. Empty where the config has
// neither.
std::vector<Tensor> model_inputs(const TrainingConfig& config, const DataOutline& data);
// Summary of the "model" of an applied config, called with a batch of "input", or of samples as
// "data" has them. Loads the plugins of the model and runs their code, and the reader's where the
// outline does not know the shape. `with_ops` also lists the ops that it calls.
ModelSummary summarize_model(const TrainingConfig& config, const DataOutline& data,
                             bool with_ops = false);
// Account of the model of an applied config as it is prepared for such a batch. Runs the model, on
// zeros. Throws what making it throws, and ConfigError when the config does not say what the model is
// called with.
PreparedList prepare_model(const TrainingConfig& config, const DataOutline& data);
// Summary of a module, called with tensors of these shapes and dtypes, in the mode that it is in,
// training or evaluation. Nothing of it is computed.
void summarize_call(const Module& model, const std::vector<Tensor>& inputs, ModelSummary& summary,
                    bool with_ops = false);

}  // namespace training

TENON_NAMESPACE_END
