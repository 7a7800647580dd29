// Running elementwise kernels: promotion, broadcasting, output, strides and threads around plugin
// loops.
#pragma once

#include "core/dispatch/table/op.hpp"
#include "core/tensor/tensor.hpp"

namespace tenon::core {

// Completes an implementation whose descriptor has loops: sorts its parameters into operands and
// parameters, and sets `run`. Throws ValueError when the schema does not fit.
void prepare_elementwise(Implementation& implementation);

// What a run on these operands would compute in and give, and the instruction set of its loop.
// Throws the TypeError of a run that cannot.
struct KernelChoice {
  tenon_dtype compute = TENON_DTYPE_NONE;
  tenon_dtype result = TENON_DTYPE_NONE;
  uint32_t isa = TENON_ISA_BASELINE;
};
KernelChoice choose_kernel(const Implementation& implementation, const tenon_value* arguments);

// What a run on these operands would return, without its values: the tensor that it would write, or
// an uninitialized one. Throws the errors of a run that cannot.
TensorRef elementwise_shape(const Implementation& implementation, const tenon_value* arguments);

// "baseline", "v3", "v4".
const char* isa_text(uint32_t isa);
// The instruction set whose loops are run (TENON_ISA_...): the machine's best, or what TENON_ISA
// names. The slot machine_isa; plugins ask it as well.
uint32_t machine_isa() noexcept;

}  // namespace tenon::core
