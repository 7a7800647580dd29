// Running a plan: asking the candidates of a call with typed operands.
#pragma once

#include "core/dispatch/binding/call_frame.hpp"
#include "core/dispatch/types/plan.hpp"

namespace tenon::core {

// From inside a handler or override. `arguments` null: those of the call.
tenon_status call_parent(const tenon_call* call, const tenon_value* arguments, tenon_value* results,
                         tenon_error** error) noexcept;
// One override alone, with arguments of its op. Throws what it throws, and TypeError when it is not
// for such operands.
void call_override(const Override& entry, const AsWritten& written, tenon_value* results);

}  // namespace tenon::core
