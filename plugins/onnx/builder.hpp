// Makes a program of a model file.
#pragma once

#include <string>
#include <vector>

#include "model_file.hpp"
#include "operators.hpp"
#include "program.hpp"

namespace onnx {

struct NamedTensor {
  std::string name;
  tenon::Tensor tensor;
  std::string_view source;  // its name in the file
};

// A node that a rule of the engine converts, which the model is to be like.
struct ChangedNode {
  std::string name;
  std::string type;
  std::string op;
};

struct BuiltModel {
  Program program;
  std::vector<NamedTensor> parameters;
  std::vector<NamedTensor> buffers;
  std::vector<NamedTensor> constants;  // read by ops as tensors
  std::vector<ValueInfo> inputs;       // arguments of calls, in order
  std::vector<bool> input_has_default;
  std::vector<ValueInfo> outputs;
  std::vector<ChangedNode> changes;
};

// Makes the steps of the model's nodes. NotImplementedError names all nodes that have no conversion, ValueError
// what is wrong in the file; nothing has run then. `outputs`: names of the outputs to compute; empty: all.
BuiltModel build_model(ModelFile& file, Operators& operators,
                       const std::vector<std::string_view>& outputs);

}  // namespace onnx
