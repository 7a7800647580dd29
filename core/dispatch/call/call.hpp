// The op call: the one way from a handle and arguments to results.
#pragma once

#include <span>

#include "core/dispatch/binding/value.hpp"
#include "core/dispatch/call/aliasing.hpp"
#include "core/dispatch/call/error_context.hpp"
#include "core/dispatch/call/layer.hpp"
#include "core/dispatch/call/thread_state.hpp"
#include "core/dispatch/table/op.hpp"
#include "core/tensor/tensor.hpp"
#include "tenon/abi/error.h"
#include "tenon/abi/value.h"

namespace tenon::core {

// A call with the first `count` parameters given in schema order; the others take their defaults.
// `results` has result_count slots. On failure nothing is given.
tenon_status call_op(const tenon_op* op, const tenon_value* arguments, int64_t count,
                     tenon_value* results, tenon_error** error) noexcept;
// Calls by typed wrappers, see AsWritten::filled: by a function, a method, an operator.
tenon_status call_op_filled(const tenon_op* op, const tenon_value* arguments, int64_t count,
                            tenon_value* results, tenon_error** error) noexcept;
tenon_status call_op_method(const tenon_op* op, const tenon_value* arguments, int64_t count,
                            tenon_value* results, tenon_error** error) noexcept;
tenon_status call_op_operator(const tenon_op* op, const tenon_value* arguments, int64_t count,
                              tenon_value* results, tenon_error** error) noexcept;
tenon_status call_op_keywords(const tenon_op* op, const AsWritten& written, tenon_value* results,
                              tenon_error** error) noexcept;
// A call that a mode or a fallback passes on, through all layers that its operands lead to now;
// `written` is known.
tenon_status redispatch(Call call) noexcept;

// Returns the implementation that a call runs now; throws NotImplementedError when none is active.
const Implementation& require_implementation(const tenon_op* op);

}  // namespace tenon::core
