// One run of an elementwise op. Private to the folder.
//
//   promotion.cpp    the dtypes that a call computes in and gives, and the loop for them
//   strided.cpp      every call: operands are converted and broadcast
//   elementwise.cpp  the dense path, and the entries
#pragma once

#include <string>

#include "core/dispatch/table/op.hpp"
#include "core/tensor/dtype.hpp"
#include "core/tensor/shape.hpp"
#include "core/tensor/tensor.hpp"

namespace tenon::core {

inline constexpr int64_t kMaxOperands = 4;  // the output and three inputs
inline constexpr int64_t kGrain = 65536;    // elements that are worth a thread

// The instruction set whose loops are run. Hidden: read without the table of addresses.
[[gnu::visibility("hidden")]] extern const uint32_t best_isa;

struct ElementwiseCall {
  const Implementation& implementation;
  const tenon_value* arguments;
  size_t count = 0;  // operands
  bool condition = false;
  tenon_dtype compute = TENON_DTYPE_NONE;  // dtype of the loop: f32 where the result is f16 or bf16
  tenon_dtype result = TENON_DTYPE_NONE;
  bool biased = false;       // u64 operands, compared in the order that i64 gives them
  Tensor* target = nullptr;  // borrowed: `out` or the operand changed in place
  bool in_place = false;

  const tenon_value& operand(size_t i) const {
    return arguments[implementation.operand_parameters[i]];
  }
  bool compares() const { return implementation.elementwise.promotion == TENON_PROMOTE_COMPARE; }
  // Dtype that the loop writes.
  tenon_dtype written() const {
    if (implementation.elementwise.promotion == TENON_PROMOTE_MAGNITUDE) return real_dtype(compute);
    return compares() ? tenon_dtype{TENON_BOOL} : compute;
  }
  tenon_dtype dtype_of_input(size_t i) const {
    return condition && i == 0 ? tenon_dtype{TENON_BOOL} : compute;
  }
};

inline ElementwiseCall make_call(const Implementation& implementation,
                                 const tenon_value* arguments) {
  ElementwiseCall call{implementation, arguments};
  call.count = implementation.operand_parameters.size();
  call.condition = implementation.elementwise.promotion == TENON_PROMOTE_CONDITION;
  return call;
}

// The parameters as the loop sees them, in schema order.
inline void gather_parameters(const ElementwiseCall& call, tenon_value* parameters) {
  size_t i = 0;
  for (const uint8_t index : call.implementation.scalar_parameters)
    parameters[i++] = call.arguments[index];
}

// "add()"
std::string name_of(const Implementation& implementation);

// ---- promotion.cpp ----

// Sets the dtypes of the call. Throws for operands that the op does not take.
void choose_dtypes(ElementwiseCall& call);
// The best instruction set that has a loop for the dtype.
uint32_t find_loop_isa(const Implementation& implementation, tenon_dtype dtype);
// The loop for complex operands; null where the op refuses them.
inline tenon_loop complex_loop(const Implementation& implementation, tenon_dtype dtype) {
  const tenon_loop* loops = implementation.elementwise.complex_loops;
  return loops == nullptr ? nullptr : loops[dtype - TENON_C64];
}
inline tenon_loop find_loop(const Implementation& implementation, tenon_dtype dtype) {
  const uint32_t isa = find_loop_isa(implementation, dtype);
  return dtype_complex(dtype)
             ? complex_loop(implementation, dtype)
             : implementation.elementwise.loops[isa * TENON_COMPUTED_DTYPE_COUNT + dtype];
}

// ---- strided.cpp ----

// The broadcast shape of the operands.
Sizes result_shape(const ElementwiseCall& call);
// Refuses a target that cannot hold the result.
void check_target(const ElementwiseCall& call, const Sizes& shape);
// Runs a call of any kind; returns an owned tensor.
Tensor* run_general(ElementwiseCall& call);

}  // namespace tenon::core
