// The numbers that a call should give, from the same call in f64.
#pragma once

#include <vector>

#include "comparison.hpp"
#include "provider_call.hpp"

namespace cli {

// And how far they move when each input is rounded to another number. Of the call as it was last run.
class CallReference {
 public:
  CallReference(ProviderCall& call, size_t results, size_t gradients);
  const ReferenceNumbers& result(size_t i) const { return results_[i]; }
  const ReferenceNumbers& gradient(size_t i) const { return gradients_[i]; }

 private:
  std::vector<ReferenceNumbers> results_, gradients_;
};

}  // namespace cli
