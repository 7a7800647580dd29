// Accounts of calls: by the code that calls use, described step by step.
#pragma once

#include <span>

#include "core/base/json.hpp"
#include "core/dispatch/table/op.hpp"
#include "tenon/abi/service/ops.h"

namespace tenon::core {

// The account of a call with these arguments, as it would be made now on this thread. Runs nothing.
// sdk/share/tenon/documents.md has the shape.
Json explain_call(const tenon_op* op, std::span<const tenon_value> positional,
                  std::span<const tenon_string> keywords,
                  std::span<const tenon_value> keyword_values);

// The account of a call whose operands are known by their types: the slot explain_types.
Json explain_call(const tenon_op* op, std::span<const tenon_written_argument> arguments);

}  // namespace tenon::core
