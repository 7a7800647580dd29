// Makes the file of what was recorded.
#pragma once

#include <string>
#include <vector>

#include "export/export_rules.hpp"
#include "export/graph.hpp"
#include "export/recording.hpp"

namespace onnx {

// Recordings of one model with batches of different sizes; what differs between them follows from the size.
struct BatchRecording {
  int64_t batch = 0;
  Recording recording;
};

struct AssemblyNames {
  std::vector<std::string> inputs, outputs;  // names in the forward schema
  std::vector<std::pair<std::string, tenon::Tensor>> weights;
  std::string batch;  // name of the dimension of the batch
};

// The bytes of a ModelProto. One recording: each size is fixed. NotImplementedError where a size of the batch
// is needed in a place that a file has a fixed number in.
std::string assemble(const std::vector<BatchRecording>& recordings, const AssemblyNames& names,
                     const ExportRules& rules, Initializers& weights);

}  // namespace onnx
