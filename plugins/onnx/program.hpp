// A model as steps that call ops, in an order in which each finds what it reads.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <tenon/op.hpp>

namespace onnx {

// The place that a step reads a value from.
struct Source {
  enum class Kind : uint8_t { none, frame, constant, parameter, buffer };
  Kind kind = Kind::none;
  uint32_t index = 0;
};

// An argument of an op. What a model computes as a tensor may be a list of numbers of the op.
struct StepArgument {
  enum class As : uint8_t { value, tensors, integers, integer, numbers, number, scalar, boolean };
  std::string keyword;  // empty: by position
  As as = As::value;
  std::vector<Source> sources;  // one, but for `tensors`
};

struct Body;

struct Step {
  enum class Kind : uint8_t { call, branch, loop, scan, map };
  Kind kind = Kind::call;
  std::string name;       // the node's, for errors
  std::string operation;  // its operator
  std::unique_ptr<tenon::Op> op;
  std::vector<StepArgument> arguments;  // positional ones first
  size_t positional = 0;
  bool spread = false;             // the results are the elements of the list that the op gives
  bool pointwise = false;          // an element of the result depends on those at its place alone
  std::vector<Source> inputs;      // read by control flow
  std::vector<int64_t> results;    // slots of the frame; -1: not read
  std::vector<uint32_t> released;  // slots that no later step reads
  std::vector<std::unique_ptr<Body>> bodies;
  // Scan: how many inputs are scanned, their axes and directions, and those of the outputs.
  std::vector<int64_t> scan_axes, scan_backward, output_axes, output_backward;
};

// Steps of a graph or subgraph. Subgraphs have slots of the same frame, so that they read what is outside.
struct Body {
  std::vector<uint32_t> inputs;  // slots
  std::vector<Step> steps;
  std::vector<Source> outputs;
  std::vector<tenon::Tensor> empty_outputs;  // loops: what a scan output without iterations is
};

struct Program {
  Body body;
  uint32_t frame_size = 0;
  std::vector<tenon::Value> constants;
  std::vector<int64_t> members;  // by constant: the buffer that it is, too; -1: none
};

// Tensors of the module that a program reads.
struct Members {
  virtual tenon_tensor* parameter(uint32_t index) const = 0;
  virtual tenon_tensor* buffer(uint32_t index) const = 0;
  virtual tenon_tensor* constant(uint32_t index) const = 0;  // on the device of the module

 protected:
  ~Members() = default;
};

// Runs the program on one value for each input; returns one for each output. Errors name the node.
std::vector<tenon::Value> run_program(const Program& program, const Members& members,
                                      std::vector<tenon::Value> inputs);
// The results of one step whose inputs are constants.
std::vector<tenon::Value> run_step(const Step& step, const std::vector<tenon::Value>& constants);

// Another reference to a value: tensors are shared, other values copied.
tenon::Value share(const tenon_value& value);

}  // namespace onnx
