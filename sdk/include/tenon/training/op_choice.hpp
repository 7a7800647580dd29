// An op that a config names, with keywords: {"type": "my.lion_step_", "beta1": 0.9}.
//
// An argument that is a tensor is a number, or nested lists of numbers: "weight": [1, 5]. In a call
// it has the dtype of the first operand that has fractions. Or it is the name of an op, or an object
// of its name and keywords, which computes it from the labels: "weight": "balanced".
//
// Optimizers, schedules, losses, metrics, data readers and clipping are all ops of some plugin. A
// role says how a section of the config uses one: which arguments the training passes, and where a
// short name is looked for. Every other key of the section is an argument of the op, by name, and is
// checked against its schema.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tenon/op.hpp"
#include "tenon/training/declared_type.hpp"

TENON_NAMESPACE_BEGIN

namespace training {

struct OpRole {      // purpose of an op that a config names
  std::string what;  // "optimizer", in messages
  // Full names that a short one stands for, in this order: "optim.{}_step_". A name with dots is
  // looked for as it is first, one without dots last.
  std::vector<std::string> forms;
  int64_t operands = 0;               // the leading parameters, tensors that the training passes
  std::vector<std::string> supplied;  // parameters that it passes by name to ops that have them
  std::vector<std::string> others;    // keys of the section that are not arguments
};

// (Tensor output, Tensor target, ...) -> Tensor of one element; "mse_loss" is short for
// "nn.functional.mse_loss".
const OpRole& loss_role();
// (Tensor output, Tensor target, ...) -> number or Tensor; "accuracy" is short for
// "metric.accuracy".
const OpRole& metric_role();
// (Tensor(a!) parameter, Tensor gradient, Tensor(b!) state..., *, ...): optimizer.hpp; "adam" is
// short for "optim.adam_step_", "my.lion" for "my.lion_step_".
const OpRole& optimizer_role();
// (..., int step, int steps, ...) -> float: roles.hpp; "cosine" is short for "schedule.cosine".
const OpRole& schedule_role();
// (Tensor[] gradients, *, ...) -> float: roles.hpp; "norm" is short for "optim.clip_norm_".
const OpRole& clip_role();
// (Tensor input, *, int seed, ...) -> Tensor of as many samples; "flip" is short for
// "data.random_flip".
const OpRole& transform_role();
// (Tensor labels, *, int seed, int epoch, ...) -> Tensor, the row of each place in the order of an
// epoch; "balanced" is short for "data.sample_balanced".
const OpRole& sampler_role();
// (Tensor labels, *, int classes, int ignore_index, ...) -> Tensor, an argument that is computed from the labels of the
// training samples; "balanced" is short for "data.balanced_weights".
const OpRole& weights_role();
// (...) -> (Tensor inputs, Tensor targets, ...): dataset.hpp; "csv" is short for "data.csv".
const OpRole& reader_role();

// The listing of the op that a section means, listing::op, and its parameters. Runs no plugin
// code. `name` is what the section's "type" says, or what is derived where it says nothing; `node`
// is its place. ConfigError, with a suggestion, when no plugin provides such an op.
struct FoundOp {
  std::string name;                      // in full
  Json listing;                          // as tenon::listing::op
  std::vector<DeclaredType> parameters;  // in order

  bool has(const std::string& parameter) const;  // whether one has this name
};
// The short name of an op by a form, "adam" of "optim.adam_step_"; empty: the form does not make it.
std::string short_name(const std::string& form, const std::string& op);

// The op that a config names. ConfigError with suggestions.
FoundOp find_op(const OpRole& role, const std::string& name, const Json& node);
// The op of this full name; none: no plugin provides it.
std::optional<FoundOp> find_op(const std::string& name);

// Faults of a section: operands that the op does not take, and keys that are not its arguments.
// Each fault begins with its place.
std::vector<std::string> op_faults(const OpRole& role, const FoundOp& op, const Json& section);

// The op of a section, ready to be called. Any thread.
class OpChoice {
 public:
  // Loads the plugin. ConfigError with all faults of the section. `name`: where it has no "type".
  OpChoice(const OpRole& role, const Json& section, const std::string& name = "");

  const Op& op() const { return op_; }              // the chosen op
  const Json& section() const { return section_; }  // the config's
  const FoundOp& found() const { return found_; }   // with its schema
  // Calls it with operands, the section's arguments, and those of `supplied` that it has a parameter
  // for, which go before the section's. Errors begin with the section's place.
  std::vector<Value> call(const std::vector<Argument>& operands,
                          const std::vector<Keyword>& supplied = {}) const;
  // Calls the ops of arguments that are computed, and keeps what they give. `classes`: how many
  // there are; 0: not known.
  void compute_arguments(const Tensor& labels, int64_t classes);
  // The one result of such a call.
  Value call_one(const std::vector<Argument>& operands,
                 const std::vector<Keyword>& supplied = {}) const;
  // The arguments that the section gives.
  const std::vector<std::string>& names() const { return names_; }
  const std::vector<tenon_value>& values() const { return values_; }  // borrowed from the section

 private:
  // An argument that an op computes: its place among the values, its text or object, and the op.
  struct Computed {
    size_t at;
    Json section;
    std::vector<OpChoice> op;  // one
  };
  // A tensor that the section writes as numbers or an op computes, or a list of them.
  struct OwnTensors {
    std::vector<Tensor> tensors;
    bool list;
    std::vector<tenon_tensor*> handles;

    OwnTensors(std::vector<Tensor> own, bool is_list);
    tenon_value value() const;  // borrowed from this object
  };
  void put_tensors(size_t at, std::vector<Tensor> tensors, bool list);

  Json section_;
  FoundOp found_;
  Op op_;
  std::vector<std::string> names_;
  std::vector<tenon_value> values_;
  std::vector<Json> documents_;  // documents that values_ borrow from
  // Tensors that values_ borrow, each with its place among them.
  std::vector<std::pair<size_t, std::shared_ptr<const OwnTensors>>> tensors_;
  std::vector<Computed> computed_;  // arguments that are still to be computed
};

// The result of `action`; its errors begin with the place of the node.
template <class Action>
auto at_place(const Json& node, Action&& action) {
  try {
    return action();
  } catch (const Error& error) {
    const std::string place = node.place();
    if (place.empty()) throw;
    detail::throw_message(error.kind(), {place, ": ", error.what()});
  }
}

}  // namespace training

TENON_NAMESPACE_END
