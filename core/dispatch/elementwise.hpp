// Running elementwise kernels: promotion, broadcasting, output, strides and threads around plugin
// loops.
#pragma once

#include "core/dispatch/op.hpp"

namespace tenon::core {

// Completes an implementation whose descriptor brings loops: sorts its parameters into operands and
// parameters, and sets `run`. Throws ValueError when the schema does not fit.
void prepare_elementwise(Implementation& implementation);

// The instruction set whose loops are run (TENON_ISA_...): the machine's best, or what TENON_ISA
// names.
uint32_t loop_isa();

}  // namespace tenon::core
