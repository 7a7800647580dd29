// The flags of a call: one word, every bit of which is declared or named here.
//
// A call begins with the bits of its thread and of its implementation, and joins those of its
// operands. A word without kSpecialFlags (layer.hpp) is that of a plain call, which goes straight
// to the kernel; every other bit says why a call takes a longer way.
//
//   bit  name                        set by           meaning
//    0   TENON_TENSOR_CONTIGUOUS     operand          row-major; leads nowhere
//    1   TENON_TENSOR_REQUIRES_GRAD  operand          layer autograd: the call may be recorded
//    2   TENON_TENSOR_HAS_TANGENT    operand          layer autograd: a tangent is carried forward
//    3   TENON_TENSOR_TYPED          operand          layers typed and own_memory: types are asked
//    4   TENON_TENSOR_INFERENCE      operand          layer checks: changed in inference mode alone
//    5   TENON_TENSOR_SHAPE_ONLY     operand          without data; kernels refuse it
//    6   TENON_TENSOR_READ_ONLY      operand          layer checks: no change at all
//    7   TENON_TENSOR_VIEW           operand          layer autograd: its base may have a history
//    8   TENON_TENSOR_HALF           operand          layer half: f16 and bf16 run in f32
//   25   kListsFlag                  implementation   lists of the call are not looked at yet
//   26   kProviderFlag               implementation   layer provider: the provider may decline
//   27   kShapesFlag                 thread           layer shapes: shapes and dtypes alone
//   28   kKernelFlag                 call             layer kernel: the call left the plain path
//   29   kModeBelowFlag              thread           layer mode_below: modes below autograd
//   30   kTraceFlag                  thread           layer trace: the thread has a listener
//   31   kModeFlag                   thread           layer mode: modes above autograd
//
// Bits of operands are the boundary's (abi/tensor.h, frozen): a view's flags join a call's word
// as they are. Bits 9 to 24 are left to it.
#pragma once

#include <cstdint>

#include "tenon/abi/tensor.h"

namespace tenon::core {

inline constexpr uint32_t kListsFlag = 1u << 25;
inline constexpr uint32_t kProviderFlag = 1u << 26;
inline constexpr uint32_t kShapesFlag = 1u << 27;
inline constexpr uint32_t kKernelFlag = 1u << 28;
inline constexpr uint32_t kModeBelowFlag = 1u << 29;
inline constexpr uint32_t kTraceFlag = 1u << 30;
inline constexpr uint32_t kModeFlag = 1u << 31;

// Bits that a thread sets for all of its calls.
inline constexpr uint32_t kThreadFlags = kShapesFlag | kModeBelowFlag | kTraceFlag | kModeFlag;
// Bits of operands that one layer reads together.
inline constexpr uint32_t kCheckFlags = TENON_TENSOR_READ_ONLY | TENON_TENSOR_INFERENCE;
inline constexpr uint32_t kAutogradFlags =
    TENON_TENSOR_REQUIRES_GRAD | TENON_TENSOR_HAS_TANGENT | TENON_TENSOR_VIEW;

static_assert((TENON_TENSOR_HALF << 1) <= kListsFlag, "bits of tensors stay below those of calls");

}  // namespace tenon::core
