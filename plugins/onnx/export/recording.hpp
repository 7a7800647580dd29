// A run of a model, as values and nodes.
#pragma once

#include <string>
#include <vector>

#include <tenon/module.hpp>

#include "export/graph.hpp"

namespace onnx {

struct RecordedValue {
  enum class Kind : uint8_t { input, constant, result };
  Kind kind = Kind::result;
  tenon::Tensor tensor;  // a constant; of others the shape and dtype
};

struct RecordedNode {
  std::string place;  // the path of the module that called the op
  std::string op;     // the op that the module called
  std::string type, domain;
  std::vector<int64_t> inputs, outputs;  // values; -1: absent
  std::vector<WrittenAttribute> attributes;
  tenon::Module model;  // a module that is a graph of the format; defined in place of a type
};

struct Recording {
  std::vector<RecordedValue> values;
  std::vector<RecordedNode> nodes;
  std::vector<int64_t> inputs, outputs;
};

}  // namespace onnx
