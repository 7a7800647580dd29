// Which op an error comes from, and through which others.
#pragma once

#include <string>
#include <vector>

#include "core/dispatch/table/op.hpp"
#include "tenon/abi/error.h"

namespace tenon::core {

// Whose failure it is: of a call, which the message then names, or of a rule, which says it itself.
enum class FailureOf { call, rule };

// Adds op and provider to an error, and to its message the op where it names none; one that names
// another op becomes the cause, and of a recursion the chain gets longer.
void add_error_context(tenon_error** error, const Implementation& implementation,
                       tenon_status status, FailureOf what = FailureOf::call) noexcept;
// The message of a recursion that has used up the stack, from the innermost ops.
std::string recursion_text(const std::vector<std::string>& chain);

}  // namespace tenon::core
