// Calls under vmap beside a loop over samples: for stage "batching".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "op_check.hpp"

namespace cli {

// Whether the plugin `transforms` is installed.
bool has_vmap();

// How vmap ran a call.
struct BatchRun {
  std::string how;  // "rule", "elementwise", "ops", "loop", "random", "refused", "function"
  std::string rule, provider;
  // "rule 'acme.norms: dims(dim)' of plugin 'acme'"
  std::string text() const;
  // False where no rule of a plugin decides about the result.
  bool has_rule() const {
    return !how.empty() && how != "loop" && how != "random" && how != "refused";
  }
};

// Places of the batches of a call: by level, the outermost first.
struct BatchPlaces {
  std::vector<int64_t> sizes;
  std::vector<std::vector<int64_t>> dims;  // by tensor, then by level; -1: not batched
  std::string layout;                      // of the batches; empty: contiguous

  // "in_dims (0, none), 3 samples"
  std::string text() const;
};

// Results with a dimension in front for each level, or why there are none.
struct BatchResult {
  std::vector<tenon::Tensor> tensors;
  std::string error;
};

// One sample's call, with other elements for each sample of a batch.
class BatchedCall {
 public:
  // Undefined operands and objects that hold no elements are the same for all samples.
  BatchedCall(const OpCheck& check, const Sample& sample);

  // Whether the op takes the samples, and gives tensors alone.
  bool usable() const { return usable_; }
  size_t tensors() const { return variants_[0].size(); }
  int64_t rank(size_t tensor) const { return variants_[0][tensor].dim(); }
  bool may_batch(size_t tensor) const { return variants_[0][tensor].defined(); }
  bool requires_grad(size_t tensor) const;
  bool must_batch(size_t tensor) const { return changed_[tensor]; }
  bool changes() const;

  // Operands that hold all samples at their places.
  std::vector<tenon::Tensor> wholes(const BatchPlaces& places) const;
  // Both calls. Operands are those of `wholes`, or leaves and duals made of them.
  BatchResult by_loop(const BatchPlaces& places, const std::vector<tenon::Tensor>& wholes,
                      bool views) const;
  BatchResult by_vmap(const BatchPlaces& places, const std::vector<tenon::Tensor>& wholes);

  // How the last call under vmap ran.
  const BatchRun& last() const { return last_; }

 private:
  std::vector<tenon::Tensor> sample_of(const BatchPlaces& places,
                                       const std::vector<tenon::Tensor>& wholes,
                                       const std::vector<int64_t>& index, bool views) const;

  const std::string op_;
  const std::string function_;  // the plugin of the op's rule as a function; empty: there is none
  std::vector<SampleCall> calls_;
  std::vector<std::vector<tenon::Tensor>> variants_;  // tensors of the op, by sample
  std::vector<bool> changed_;                         // by tensor
  bool usable_ = false;
  BatchRun last_;
};

}  // namespace cli
