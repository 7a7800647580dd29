// The numbers that a call should give, from the same call in f64, and how far they move with its inputs.
#pragma once

#include <cstdint>
#include <vector>

#include "comparison.hpp"
#include "provider_call.hpp"

namespace cli {

// Directions in which inputs are moved: so many that no number of a few hundred thousand is missed by all.
inline constexpr uint64_t kDirections = 6;

// Copies: floating and complex tensors in f64 and c128.
std::vector<tenon::Tensor> in_double(const std::vector<tenon::Tensor>& tensors);
// Each number a little larger or smaller, as the direction decides; direction 0: as they are.
std::vector<tenon::Tensor> moved_by(const std::vector<tenon::Tensor>& tensors, uint64_t direction);
// Notes what a call gave for inputs as they are. False where it is not one tensor for each entry.
bool note_numbers(const std::vector<tenon::Tensor>& tensors, std::vector<ReferenceNumbers>& list);
// Notes how far they are from what a call gave for inputs that `moved_by` has moved.
void note_spread(const std::vector<tenon::Tensor>& tensors, std::vector<ReferenceNumbers>& list);

// Numbers of a call as it was last run, and how far they move when each input is rounded to another one.
class CallReference {
 public:
  CallReference(ProviderCall& call, size_t results, size_t gradients);
  const ReferenceNumbers& result(size_t i) const { return results_[i]; }
  const ReferenceNumbers& gradient(size_t i) const { return gradients_[i]; }

 private:
  std::vector<ReferenceNumbers> results_, gradients_;
};

}  // namespace cli
