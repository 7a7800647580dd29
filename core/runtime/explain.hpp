// Explanations of calls: what would run, and why, by the code that calls use.
#pragma once

#include <span>
#include <string_view>

#include "core/base/json.hpp"
#include "core/dispatch/table/op.hpp"
#include "tenon/abi/value.h"

namespace tenon::core {

struct Runtime;

// Explains a call with these arguments, as it would be made now on this thread. Runs nothing.
// sdk/share/tenon/documents.md has the shape.
Json explain_call(const tenon_op* op, std::span<const tenon_value> positional,
                  std::span<const tenon_string> keywords,
                  std::span<const tenon_value> keyword_values);

// Explains a call that is written down by types: "add ScalarTensor Tensor:f64 alpha=Scalar". A type for
// each operand in order, then by name; lists as A,B, Scalar for a number, other values as they
// are: dim=0, reduction='sum'. What is required and left out is assumed.
Json explain_call(const Runtime& runtime, std::string_view call);

}  // namespace tenon::core
