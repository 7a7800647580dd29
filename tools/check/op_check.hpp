// One op under check: what its stages share. Each stage is a function in a file named after it.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include <tenon/gradcheck_report.hpp>

#include "item_check.hpp"
#include "tensors.hpp"

namespace cli {

// The differentiable tensors of a call, as leaves.
struct Differentiable {
  SampleCall call;
  std::vector<size_t> inputs;  // tensors of the call that take part
  std::vector<tenon::Tensor> leaves;
};

// Stages that take long look at the first samples alone.
inline constexpr size_t kMostSamples = 3;

class OpCheck : public ItemCheck {
 public:
  OpCheck(const CheckedOp& op_of, const CheckSettings& settings_of, CheckListener& listener_of)
      : ItemCheck(settings_of, listener_of), op(op_of) {}

  const CheckedOp& op;
  std::vector<Sample> samples;
  std::set<std::string> mutated, aliased;  // parameters, in calls so far
  bool random = false;

  // A rule that fails: what it reads was not saved, which no change of the rule itself cures.
  void find_failing_rule(const char* kind, const tenon::Error& error, const Sample& sample);
  // A result that the host has refused; false for other errors.
  bool find_refused_result(const tenon::Error& error, const Sample& sample);

  const DeclaredType& parameter_of(const Sample& sample, size_t value) const;
  SampleCall call_of(const Sample& sample) const { return {op.name, sample, settings.seed}; }
  bool mutates(const Sample& sample) const;  // declares a change, or has changed an operand
  // Functions may declare a change in their context.
  bool marks_dirty(const Sample& sample, size_t tensor) const;

  // Calls, and looks for changes and shared memory that the schema does not declare. Throws what
  // the op throws.
  std::vector<Piece> observe(const Sample& sample, const SampleCall& call,
                             const std::vector<tenon::Tensor>& given);
  // Calls as `observe` does; nullopt when the op refuses these tensors.
  std::optional<std::vector<Piece>> attempt(const Sample& sample, const SampleCall& call,
                                            const std::vector<tenon::Tensor>& given);

  // ---- gradients ----
  Differentiable differentiable(const Sample& sample) const;
  // The op as a function of its differentiable operands. What it changes in place is cloned first.
  tenon::detail::CheckedFunction function_of(const Sample& sample, Differentiable& given) const;
  tenon::GradcheckOptions gradcheck_options(const Sample& sample) const;
};

// Whether a parameter counts dimensions, by its name.
bool names_dimension(const DeclaredType& type);

// Stages. Each looks at all samples, or at those that it can use.
bool find_samples(OpCheck& check);
void check_calls(OpCheck& check);
void check_layouts(OpCheck& check);
void check_shapes(OpCheck& check);
void check_sizes(OpCheck& check);
void check_ranks(OpCheck& check);
void check_operands(OpCheck& check);
void check_numbers(OpCheck& check);
void check_memory(OpCheck& check);
void check_odd_inputs(OpCheck& check);
void check_gradients(OpCheck& check);
void check_gradient_memory(OpCheck& check);
void check_graphs(OpCheck& check);
void check_subsets(OpCheck& check);
void check_forward_mode(OpCheck& check);
void check_second_order(OpCheck& check);
void check_batching(OpCheck& check);
void check_threads(OpCheck& check);
void check_leaks(OpCheck& check);

}  // namespace cli
