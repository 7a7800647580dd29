// Parts of graphs that their makers share.
#pragma once

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <tenon/drawing/drawing.hpp>
#include <tenon/module_hooks.hpp>

TENON_NAMESPACE_BEGIN

namespace drawing {

// "f32[64, 10]"
std::string tensor_text(const Tensor& tensor);

// Modules of a model, and the one whose forward runs.
class ModuleTracker {
 public:
  ModuleTracker(const Module& model, Graph& graph);
  ~ModuleTracker();
  ModuleTracker(const ModuleTracker&) = delete;
  ModuleTracker& operator=(const ModuleTracker&) = delete;
  // Index of Graph::modules; -1: the model, or none.
  int64_t current() const { return running_.empty() ? -1 : running_.back(); }

 private:
  std::vector<Hook> hooks_;
  std::vector<int64_t> running_;
};

// Calls the model with tensors by position; its results, tensors alone.
std::vector<Tensor> call_model(const Module& model, const std::vector<Tensor>& inputs);

// Names of the inputs of a model, from the schema of its forward.
std::vector<std::string> input_names(const Module& model, size_t count);

// Plugin that would run an op with these arguments, one for each parameter; empty: not known.
std::string provider_of(const tenon_op* op, const tenon_value* arguments, int64_t count);

}  // namespace drawing

TENON_NAMESPACE_END
