// The choice among the ranked providers of an op: each but the last may decline a call for the
// shapes, strides and dtypes at hand, and the next one runs it, with its own kernel, shape rule and
// gradient. A preference of a config (provider_preference.hpp) has another one tried first; those
// above it count as declining.
#pragma once

#include <string>
#include <vector>

#include "core/dispatch/table/op.hpp"

namespace tenon::core {

struct DeclinedCall {
  std::string provider, reason;
};

// Why the implementation declines a call with these bound arguments; null: it takes it.
const char* reason_to_decline(const Implementation& implementation, const tenon_value* arguments);
// Returns the implementation that runs the call: the first provider that takes it, loaded now where
// need be. `declined` gets those before it. Throws NotImplementedError when all decline, and what
// loading throws. Providers of one op have one schema, so the arguments fit them all.
const Implementation& choose_provider(const Implementation& first, const tenon_value* arguments,
                                      std::vector<DeclinedCall>& declined);

}  // namespace tenon::core
