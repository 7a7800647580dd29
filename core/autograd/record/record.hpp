// The layer of autograd: what requires grad or carries a tangent is run and recorded here.
#pragma once

#include "core/dispatch/call/layer.hpp"

namespace tenon::core {

tenon_status run_recorded(Call& call) noexcept;
// Completes the flags of the operands by those of their bases, and returns whether the call is
// recorded or carries tangents. False for composites: the ops that they call are.
bool needs_autograd(Call& call) noexcept;
// Refuses, before anything runs, what cannot be recorded.
void check_recordable(const Implementation& implementation, const tenon_value* arguments);

}  // namespace tenon::core
