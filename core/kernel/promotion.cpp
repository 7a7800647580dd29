// Dtypes of elementwise calls.
#include <cmath>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/kernel/elementwise_call.hpp"
#include "core/tensor/copy.hpp"

namespace tenon::core {

std::string name_of(const Implementation& implementation) {
  return format_text("{}()", implementation.schema.short_name());
}

namespace {

[[noreturn, gnu::cold]] void fail_narrow(const Implementation& implementation, tenon_dtype dtype) {
  throw Error(TENON_ERROR_TYPE,
              "{} is not implemented for {} operands: convert them with to(float32)",
              name_of(implementation), dtype_text(dtype));
}

}  // namespace

uint32_t find_loop_isa(const Implementation& implementation, tenon_dtype dtype) {
  const tenon_loop* loops = implementation.elementwise.loops;
  for (uint32_t isa = best_isa; dtype_computed(dtype); --isa) {
    if (loops[isa * TENON_COMPUTED_DTYPE_COUNT + dtype] != nullptr) return isa;
    if (isa == 0) break;
  }
  if (dtype_complex(dtype)) {
    if (complex_loop(implementation, dtype) != nullptr) return TENON_ISA_BASELINE;
    throw Error(TENON_ERROR_TYPE,
                "{} is not implemented for {} operands: take real(), imag() or abs() of them",
                name_of(implementation), dtype_text(dtype));
  }
  if (dtype_narrow(dtype)) fail_narrow(implementation, dtype);
  if (!dtype_computed(dtype)) {
    throw Error(TENON_ERROR_TYPE,
                "{} is not implemented for {} operands: convert them to i64 or f32 with to()",
                name_of(implementation), dtype_text(dtype));
  }
  throw Error(TENON_ERROR_TYPE, "{} is not implemented for {} operands", name_of(implementation),
              dtype_text(dtype));
}

namespace {

// The dtype of mixed operands: tensors with dimensions first; 0-dim tensors, then numbers, only
// where they are of a higher category (bool, integer, floating, complex). A floating dtype stays
// that of the parts when it becomes complex.
tenon_dtype common_dtype_of(const ElementwiseCall& call, size_t first) {
  tenon_dtype by_rank[3] = {TENON_DTYPE_NONE, TENON_DTYPE_NONE, TENON_DTYPE_NONE};
  for (size_t i = first; i < call.count; ++i) {
    const tenon_value& value = call.operand(i);
    if (value.tag == TENON_VALUE_TENSOR) {
      const Tensor& tensor = *value.as.tensor;
      tenon_dtype& dtype = by_rank[tensor.view.rank == 0 ? 1 : 0];
      dtype = common_dtype(dtype, tensor.view.dtype);
    } else {
      const tenon_dtype own = value.tag == TENON_VALUE_FLOAT ? TENON_F32
                              : value.tag == TENON_VALUE_INT ? TENON_I64
                                                             : TENON_BOOL;
      by_rank[2] = promote_dtypes(by_rank[2], own);
    }
  }
  tenon_dtype result = by_rank[0];
  for (const tenon_dtype lower : {by_rank[1], by_rank[2]}) {
    if (lower == TENON_DTYPE_NONE) continue;
    if (result == TENON_DTYPE_NONE || dtype_category(lower) > dtype_category(result))
      result = dtype_complex(lower) && dtype_floating(result) ? complex_dtype(result) : lower;
  }
  return result;
}

// A number is never cut to an integer dtype that cannot hold it.
void check_number(const ElementwiseCall& call, const tenon_value& value, tenon_dtype dtype) {
  const bool number = value.tag >= TENON_VALUE_BOOL && value.tag <= TENON_VALUE_FLOAT;
  if (!number || number_fits(value, dtype)) return;
  throw Error(TENON_ERROR_VALUE, "{}: {}: convert the tensor to a wider dtype with to()",
              name_of(call.implementation), misfit_text(value, dtype));
}

// Integers are compared as they are: in a dtype that holds every operand, 0-dim ones and numbers
// included; i64 for u16 and u32.
tenon_dtype widest_integer(const ElementwiseCall& call) {
  tenon_dtype widest = TENON_BOOL;
  for (size_t i = 0; i < call.count; ++i) {
    const tenon_value& value = call.operand(i);
    if (value.tag == TENON_VALUE_TENSOR)
      widest = common_dtype(widest == TENON_BOOL ? tenon_dtype{TENON_DTYPE_NONE} : widest,
                            value.as.tensor->view.dtype);
  }
  if (widest == TENON_U16 || widest == TENON_U32) return TENON_I64;
  if (widest == TENON_U64) return widest;
  for (size_t i = 0; i < call.count; ++i) {
    const tenon_value& value = call.operand(i);
    if (value.tag == TENON_VALUE_INT && (widest == TENON_BOOL || !number_fits(value, widest)))
      widest = TENON_I64;
  }
  return widest;
}

}  // namespace

void choose_dtypes(ElementwiseCall& call) {
  const Implementation& implementation = call.implementation;
  const uint32_t promotion = implementation.elementwise.promotion;
  const size_t first = call.condition ? 1 : 0;
  tenon_dtype common = common_dtype_of(call, first);
  if (common == TENON_DTYPE_NONE) common = TENON_F32;
  const bool whole = !dtype_differentiable(common);
  if (promotion == TENON_PROMOTE_COMPARE && whole) common = widest_integer(call);
  if (promotion == TENON_PROMOTE_FLOAT && whole) {
    if (dtype_narrow(common)) fail_narrow(implementation, common);
    common = TENON_F32;
  }
  for (size_t i = first; i < call.count; ++i) check_number(call, call.operand(i), common);
  // A parameter such as alpha takes part only by refusing to lose its fraction.
  for (const uint8_t index : implementation.scalar_parameters) {
    const tenon_value& value = call.arguments[index];
    if (value.tag == TENON_VALUE_FLOAT && !dtype_differentiable(common) &&
        promotion != TENON_PROMOTE_COMPARE && value.as.number != std::trunc(value.as.number)) {
      throw Error(TENON_ERROR_TYPE, "{}: argument '{}' must be an integer for {} operands",
                  name_of(implementation), implementation.schema.parameters[index].name,
                  dtype_text(common));
    }
    check_number(call, value, common);
  }
  // An op that only chooses between elements moves u16, u32 and u64 as i64, which has all of their
  // bits.
  if (call.condition && dtype_wide_unsigned(common)) {
    call.compute = TENON_I64;
    call.result = common;
    return;
  }
  call.biased = call.compares() && common == TENON_U64;
  call.compute = call.biased ? tenon_dtype{TENON_I64} : compute_dtype(common);
  call.result = promotion == TENON_PROMOTE_MAGNITUDE ? real_dtype(common)
                : call.compares()                    ? tenon_dtype{TENON_BOOL}
                                                     : common;
}

}  // namespace tenon::core
