// Running elementwise kernels: promotion, broadcasting, output, strides and threads around plugin
// loops.
#pragma once

#include "core/dispatch/call/explanation.hpp"
#include "core/dispatch/table/op.hpp"
#include "core/tensor/tensor.hpp"

namespace tenon::core {

// Functions of the joint, see dispatch/call/higher_areas.hpp.
void prepare_elementwise(Implementation& implementation);
tenon_status run_elementwise_into(const Implementation& implementation,
                                  const tenon_value* arguments, Tensor& result,
                                  tenon_error** error) noexcept;
KernelChoice choose_kernel(const Implementation& implementation, const tenon_value* arguments);

// Returns the result of a run on these operands without its values: the tensor that it would write,
// or an uninitialized one. Throws the errors of a run that cannot.
TensorRef elementwise_shape(const Implementation& implementation, const tenon_value* arguments);

// "baseline", "v3", "v4".
const char* isa_text(uint32_t isa);
// The instruction set whose loops are run (TENON_ISA_...): the machine's best, or what TENON_ISA
// names. The slot machine_isa; plugins ask it as well.
uint32_t machine_isa() noexcept;

}  // namespace tenon::core
