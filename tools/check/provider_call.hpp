// Calls by which two providers of an op are compared: the same in the process of each.
#pragma once

#include <string>
#include <vector>

#include "op_check.hpp"

namespace cli {

// Numbers that providers may treat in their own way, in place of some or all of a sample's.
enum class Planted {
  nothing,
  few,           // in each tensor one number that is nan or infinite, and zeros of both signs
  first,         // in the first tensor nan and both infinities, in the others zeros
  others,        // the opposite
  zeros,         // of both signs, and no other number
  ties,          // -0.5, 0 and 0.5
  no_first,      // a first dimension of 0, of the first tensor
  no_first_all,  // of all tensors
  no_last_all    // a last dimension of 0, of all tensors
};

struct ProviderCase {
  size_t sample = 0;
  uint64_t seed = 0;
  bool single = false;      // f64 tensors as f32
  size_t layout = 0;        // index of kLayouts, from 1; 0: contiguous
  int64_t copies = 1;       // along the first dimension
  bool copies_all = false;  // copies all tensors; otherwise the first
  Planted planted = Planted::nothing;
};

struct DeclinedCall {
  std::string op, provider, reason;
  bool backward = false;
};

// The outcome of a call.
struct CallOutcome {
  std::string refusal;  // empty: the call was taken
  bool refused_backward = false;
  std::vector<DeclinedCall> declined;
  // Tensors and numbers; behind them what the call has changed in place. Undefined: none.
  std::vector<tenon::Tensor> results;
  std::vector<std::string> others;       // other results, as text
  std::vector<tenon::Tensor> gradients;  // one for each tensor that requires grad; undefined: none

  bool refused_forward() const { return !refusal.empty() && !refused_backward; }
  tenon::Json json() const;  // but for the tensors
};

class ProviderCall {
 public:
  ProviderCall(const OpCheck& check, const ProviderCase& which);

  const std::vector<tenon::Tensor>& inputs() const { return inputs_; }
  // Names of the tensors that require grad, in their order.
  const std::vector<std::string>& differentiable() const { return names_; }
  // Names of the operands that a call changes in place.
  const std::vector<std::string>& changed() const { return changed_; }
  CallOutcome run() { return run(inputs_, nullptr); }
  // With other inputs, differentiated by these gradients of its results.
  CallOutcome run(const std::vector<tenon::Tensor>& inputs,
                  const std::vector<tenon::Tensor>* seeds);
  // The gradients of results that the last run without given ones was differentiated by.
  const std::vector<tenon::Tensor>& seeds() const { return seeds_; }
  void leave_out_gradients() { gradients_ = false; }  // in runs from here
  double multiply_adds() const;                       // for one call, as far as ops declare them
  tenon::Json json() const;                           // everything that repeats the call

 private:
  const DeclaredType& parameter_of(size_t tensor) const {
    return check_.parameter_of(sample_, call_.places[tensor].value);
  }
  void call(const std::vector<tenon::Tensor>& given, std::vector<tenon::Tensor>& results,
            CallOutcome& outcome) const;
  void differentiate(const std::vector<tenon::Tensor>& results,
                     const std::vector<tenon::Tensor>& leaves,
                     const std::vector<tenon::Tensor>* seeds, CallOutcome& outcome);

  const OpCheck& check_;
  const ProviderCase which_;
  const Sample& sample_;
  SampleCall call_;
  bool gradients_;
  std::vector<tenon::Tensor> inputs_, seeds_;
  std::vector<std::string> names_, changed_;
};

// In the same order in every process.
std::vector<ProviderCase> provider_cases(const OpCheck& check);

// ---- what one process leaves to the other ----

// "FOLDER/OP.safetensors" with the samples, as JSON.
void save_outcomes(const std::string& folder, const OpCheck& check,
                   const std::vector<CallOutcome>& outcomes);
struct SavedOutcomes {
  std::string samples;
  std::vector<CallOutcome> outcomes;
};
// Throws tenon::Error where there are none.
SavedOutcomes load_outcomes(const std::string& folder, const std::string& op);

}  // namespace cli
