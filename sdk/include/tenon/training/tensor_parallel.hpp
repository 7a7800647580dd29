// Tensor parallelism: modules of which each rank trains a part.
//
//   {"type": "ColumnParallelLinear", "in_features": 784, "out_features": 4096}
//   {"type": "RowParallelLinear", "in_features": 4096, "out_features": 10}
//
// These modules are Linear until a training on several ranks divides their parameters: a column
// parallel layer by output features, a row parallel one by input features. All ranks then compute
// every sample of a batch together, and each keeps 1/n of these parameters, their gradients and
// the optimizer's states of them. What is stored has whole parameters.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tenon/module.hpp"
#include "tenon/training/ranks.hpp"
#include "tenon/training/roles.hpp"

TENON_NAMESPACE_BEGIN

namespace training {

class TensorParallel {  // layers that ranks share
 public:
  using NamedTensors = std::vector<std::pair<std::string, Tensor>>;  // in order

  // Divides the parameters of the model's parallel modules, those of the first rank. Does nothing
  // where there is one rank, or no such module. ConfigError for sizes that the ranks do not divide,
  // and for what "distributed" asks that needs whole parameters or shares of batches.
  TensorParallel(const Ranks& ranks, const Module& model, const TrainingConfig& config);

  // Whether the ranks train parts.
  bool active() const { return !parts_.empty(); }

  // Collective calls: every rank must make them.

  // Gathers full parameters on every rank.
  void unite();
  // Gives it this rank's parts again, with the values of the whole ones.
  void divide();

  // Tensors named as in a checkpoint (checkpoint.hpp), "model.PARAMETER" for example: whole ones in
  // place of parts.
  NamedTensors united(NamedTensors tensors) const;
  // This rank's parts in place of whole ones.
  NamedTensors divided(NamedTensors tensors) const;
  // The tensors that each rank has as a whole, named as in the model.
  NamedTensors shared(const NamedTensors& tensors) const;

  // Clips the gradients of the parameters, seen as a whole.
  void clip(const GradientClip& clip, const std::vector<Tensor>& parameters) const;

 private:
  struct Part {
    std::string name;  // name of the parameter
    Module module;
    std::string member;
    int64_t dim;
    Tensor own;
    std::vector<int64_t> shape;  // shape of the whole parameter
  };
  const Part* find(const std::string& name) const;
  Tensor gather(const Part& part, const Tensor& own) const;
  Tensor own_of(const Part& part, const Tensor& whole) const;

  Ranks ranks_;
  std::vector<Part> parts_;
  bool united_ = false;
};

}  // namespace training

TENON_NAMESPACE_END
