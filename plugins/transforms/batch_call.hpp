// One call of an op with batched operands: the operands without their level, and arguments in place of
// the call's.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include <tenon/plugin.hpp>
#include <tenon/call.hpp>
#include <tenon/transforms/batched.hpp>

#include "transforms/op_plan.hpp"

namespace tenon_transforms {

using tenon::Call;
using tenon::Results;
using tenon::Tensor;
using tenon::transforms::Batched;
using tenon::transforms::Level;

// A tensor among the arguments.
struct Operand {
  size_t parameter;
  int64_t element;  // in a list; -1: the argument itself
  Tensor given;
  Tensor inner;  // without the level: with the batch in front where it is batched
  bool batched;
  // Rank of one sample.
  int64_t rank() const { return inner.dim() - (batched ? 1 : 0); }
};

class BatchCall {
 public:
  BatchCall(const tenon_call& call, const OpPlan& plan, Level level);

  const OpPlan& plan() const { return plan_; }
  const Level& level() const { return level_; }
  int64_t size() const { return level_->size; }
  std::string name() const { return plan_.name; }
  std::vector<Operand>& operands() { return operands_; }
  const std::vector<Operand>& operands() const { return operands_; }
  // The operand that is all of a parameter; null where it is another value.
  const Operand* operand(size_t parameter) const;
  bool batched(size_t parameter) const;
  // An argument as the call has it.
  const tenon_value& argument(size_t parameter) const { return call_.arguments[parameter]; }
  const tenon_call& call() const { return call_; }

  // Throws TypeError where an operand that the op changes in place is not batched.
  void check_changes() const;
  // The operand with the batch in front, expanded where it is not batched.
  Tensor whole(const Operand& operand) const;

 private:
  const tenon_call& call_;
  const OpPlan& plan_;
  Level level_;
  std::vector<Operand> operands_;
};

// Arguments of a call of the op on inner tensors: first those of the batched call, with operands
// opened and without `out`.
class InnerArguments {
 public:
  explicit InnerArguments(const BatchCall& batch);

  void set(const Operand& operand, const Tensor& tensor);
  void set(size_t parameter, std::vector<int64_t> list);
  void set(size_t parameter, int64_t number);
  const tenon_value& operator[](size_t parameter) const { return values_[parameter]; }
  Results call();

 private:
  const BatchCall& batch_;
  std::vector<tenon_value> values_;
  std::deque<std::vector<int64_t>> integers_;
  std::deque<Tensor> tensors_;
  std::vector<std::vector<Tensor>> lists_;  // by parameter
};

// Puts results of the whole batch into its level. TypeError where one is another value, ValueError where it
// has another size in front; `rule` is named.
Results wrap_results(const BatchCall& batch, Results results, const std::string& rule);

// The tensor inside of a batched one, with the history and the tangent of a Function that ran on it, where it has
// any.
Tensor value_of(const Tensor& tensor, const Batched& payload);

// Dimensions of a tensor as shape ops take them.
std::vector<int64_t> with_batch(int64_t size, tenon::IntList shape);
// The tensor with `count` dimensions of size 1 behind its first.
Tensor widened(Tensor tensor, int64_t count);

}  // namespace tenon_transforms
