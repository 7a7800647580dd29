// Which op an error comes from, and through which others.
#pragma once

#include <string>
#include <vector>

#include "core/dispatch/op.hpp"
#include "tenon/abi/error.h"

namespace tenon::core {

// Adds op and provider to an error; one that names another op becomes the cause, and of a recursion
// the chain gets longer.
void add_error_context(tenon_error** error, const Implementation& implementation,
                       tenon_status status) noexcept;
// The message of a recursion that has used up the stack, from the innermost ops.
std::string recursion_text(const std::vector<std::string>& chain);

}  // namespace tenon::core
