// Candidates of a plan, for the layers that ask them: that of types (chain.cpp), and that of types
// whose memory kernels do not read (own_memory.cpp).
#pragma once

#include <cstddef>
#include <vector>

#include "core/dispatch/call/explanation.hpp"
#include "core/dispatch/call/layer.hpp"
#include "core/dispatch/types/plan.hpp"

namespace tenon::core {

// Sets the results to none; a call without results has one, which says whether it was handled.
void clear_results(const Call& call) noexcept;
// Asks one candidate of a chain; the first result says whether it has declined. `hidden`: flags that
// only components of the operands carry.
tenon_status ask_candidate(const Plan& plan, const DispatchChain& chain, size_t index, Call& call,
                           uint32_t hidden) noexcept;
// Adds all candidates of a plan, in the order in which a call asks them; the first one handles the
// call unless it declines then.
void explain_plan(const Plan& plan, const std::vector<Rejection>& rejections,
                  Explanation& explanation);

}  // namespace tenon::core
