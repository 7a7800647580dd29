// Parts of graphs that their makers share.
#pragma once

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <tenon/drawing/drawing.hpp>
#include <tenon/module_watch.hpp>

TENON_NAMESPACE_BEGIN

namespace drawing {

// "f32[64, 10]"
std::string tensor_text(const Tensor& tensor);

// Modules of a model, and the one whose forward runs.
class ModuleTracker : public ModuleWatch {
 public:
  ModuleTracker(const Module& model, Graph& graph);
  // Index of Graph::modules; -1: the model, or none.
  int64_t current() const { return running_.empty() ? -1 : running_.back(); }

  void begins(const Module& module, const HookValues& arguments) override;
  void ended(const Module& module, const HookValues& results) override;
  void failed(const Module& module) override;

 private:
  std::unordered_map<uint64_t, int64_t> indices_;  // by number
  std::vector<int64_t> running_;
  const ModuleWatchScope scope_{*this};
};

// Calls the model with tensors by position; its results, tensors alone.
std::vector<Tensor> call_model(const Module& model, const std::vector<Tensor>& inputs);

// Names of the inputs of a model, from the schema of its forward.
std::vector<std::string> input_names(const Module& model, size_t count);

// Plugin that would run an op with these arguments, one for each parameter; empty: not known.
std::string provider_of(const tenon_op* op, const tenon_value* arguments, int64_t count);

}  // namespace drawing

TENON_NAMESPACE_END
