// An optimizer: any op with the schema below.
//
//   NAME(Tensor(a!) parameter, Tensor gradient, Tensor(b!) state, ..., *, keywords) -> ...
//
// It is called for each parameter that has a gradient, without recording.
// - Every further Tensor that it changes is a state: made once for each parameter, zeros of its
//   shape and dtype. An optional state belongs to the keyword that begins its name, `momentum` of
//   `Tensor(b!)? momentum_buffer=None`, and is made where that keyword is neither 0 nor false;
//   without such a keyword it is always made.
// - `learning_rate` gets the config's learning rate times the factor of the schedule, `step` the
//   number of the step from 1, where the schema has these keywords.
// - All other keywords come from the config.
//
// Where the plugin of NAME_step_ also has NAME_steps_, of lists of them with the same keywords,
//
//   NAME_steps_(Tensor(a!)[] parameters, Tensor[] gradients, Tensor(b!)[] states, ..., *, keywords)
//
// that is called instead, once in a step with the parameters that have a gradient.
//
//   "optimizer": {"type": "adam", "learning_rate": 0.004}
//   "optimizer": {"type": "my.lion_step_", "learning_rate": 0.0001, "beta": 0.9}
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tenon/training/op_choice.hpp"
#include "tenon/training/ranks.hpp"

TENON_NAMESPACE_BEGIN

namespace training {

// The schema of an optimizer, read without running it.
struct OptimizerSchema {
  struct State {          // a tensor kept for each parameter
    std::string name;     // name of the op's parameter
    bool optional;        // may be absent
    std::string keyword;  // keyword that an optional state belongs to; empty: none
  };
  std::vector<State> states;        // in order
  std::vector<std::string> faults;  // reasons why the op is not an optimizer
};
OptimizerSchema optimizer_schema(const FoundOp& op);  // from the op's schema

class Optimizer {  // updates parameters by an op of a plugin
 public:
  // From the section "optimizer" of a config. Parameters that do not require grad are left out;
  // ConfigError for what is wrong with the section, ValueError when no parameter is left.
  //
  // Ranks that shard the optimizer keep the states of their shard of each parameter (shard.hpp) and
  // change it alone; each then gets the others'. ConfigError for an op that changes an element by
  // others: shards are not enough for it. `step` and `states` are called by all ranks alike.
  Optimizer(const Json& section, const std::vector<std::pair<std::string, Tensor>>& parameters,
            const Ranks& ranks = {});

  // Changes the parameters by their gradients and drops those. `factor` is the schedule's.
  void step(double factor = 1);
  // Parameters that it changes.
  std::vector<Tensor> parameters() const;
  // The gradients that the next step uses.
  std::vector<Tensor> gradients() const;

  // Whether it changes each element of a parameter without reading others; two halves are tried.
  bool is_elementwise() const;

  double learning_rate() const { return learning_rate_; }  // rate of the next step
  int64_t steps() const { return steps_; }                 // steps so far
  // States for a checkpoint: of whole parameters, named "PARAMETER.STATE", and how many steps were
  // done.
  std::vector<std::pair<std::string, Tensor>> states() const;
  // Restores states, in the order of `states`.
  void set_states(const std::vector<std::pair<std::string, Tensor>>& states);
  void set_steps(int64_t steps) { steps_ = steps; }  // steps that were made
  // Elements of states on this rank.
  int64_t kept_elements() const;

 private:
  struct Slot {
    std::string name;
    Tensor parameter;
    std::vector<Tensor> states;  // undefined: not needed
  };
  // The target of a step: a parameter or a shard of it.
  struct Target {
    const Slot* slot;
    Tensor parameter, gradient;
  };
  void bind_keywords();
  // The states are those of `elements`: the parameter, or this rank's shard of it.
  Slot slot_of(const std::string& name, const Tensor& parameter, const Tensor& elements,
               const OptimizerSchema& schema) const;
  void apply(const std::vector<Target>& targets, double rate, int64_t number) const;
  void call(const Op& op, std::vector<tenon_value>& values) const;

  Ranks ranks_;
  OpChoice choice_;
  std::optional<Op> list_form_;  // the op for lists of parameters
  int64_t positional_ = 0;
  std::vector<std::string> keywords_;
  std::vector<Value> bound_;             // values of the keywords, in schema order
  int64_t rate_at_ = -1, step_at_ = -1;  // among the values of a call; -1: no such keyword
  double learning_rate_ = 0;
  int64_t steps_ = 0;
  std::vector<std::string> state_names_;
  std::vector<Slot> slots_;
};

}  // namespace training

TENON_NAMESPACE_END
