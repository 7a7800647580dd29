// Calls of ops that several plugins provide, as a run makes them, with arguments that can be passed
// again.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <tenon/mode.hpp>
#include <tenon/tensor.hpp>

namespace cli {

// "f32[17..31, 784]": sizes up to 16 as they are, others by powers of two. A class of calls is what has the
// same dtypes and these sizes.
std::string shape_class(const tenon::Tensor& tensor);
std::string size_class(int64_t size);

// The classes of the operands, by parameter in the order of the schema.
using OperandClasses = std::vector<std::pair<std::string, std::string>>;

struct TunedCall {
  std::string op;
  OperandClasses classes;
  std::vector<tenon_value> arguments;        // one for each parameter
  std::vector<tenon::Tensor> changing;       // operands that a training changes between such calls
  std::vector<std::shared_ptr<void>> owned;  // memory that the arguments point to
  int64_t count = 0;  // number of calls with the same dtypes, sizes, strides and values
};

// Properties of an op that tuning uses.
struct TunedOp {
  std::vector<std::string> providers;  // plugins that may run it, by id
  std::vector<std::string> parameters;
  size_t positional = 0;       // so many of them may be passed by position
  std::vector<bool> operands;  // by parameter: one tensor
  std::vector<bool> mutates;   // by parameter
};

// Listens below autograd, where the ops of backward and those inside of composites come by.
class CallRecorder : public tenon::Mode {
 public:
  CallRecorder() : Mode("tune") {}
  tenon::Results tenon_function(const tenon::Call& call) override;

  // Whether operands that need gradients change between calls, as they do in a training.
  void set_training(bool training) { training_ = training; }
  const std::vector<TunedCall>& calls() const { return calls_; }
  const TunedOp& op(const std::string& op_name) const { return ops_.at(op_name); }

 private:
  const TunedOp& look_up(const tenon::Call& call);
  void record(const tenon::Call& call, const TunedOp& op);

  bool training_ = false;
  std::map<std::string, TunedOp> ops_;
  std::unordered_map<const tenon_op*, const TunedOp*> by_handle_;
  std::unordered_map<std::string, size_t> known_;  // by all that distinguishes calls
  std::vector<TunedCall> calls_;
};

}  // namespace cli
