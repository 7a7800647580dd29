// The side of `tenon check` that starts workers and reports what they find.
#pragma once

#include "options.hpp"

namespace cli {

// Checks, prints the report and returns the exit code.
int check_plugin(const CheckOptions& options);

}  // namespace cli
