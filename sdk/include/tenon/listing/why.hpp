// Explanations of calls that are written down by the types of their operands:
//
//   listing::why("add", {"ScalarTensor", "Tensor:f64", "alpha=Scalar"})
//
// A type for each operand in order, then by name; lists as A,B or [A,B]; Scalar for a number; other values
// as they are: dim=0, reduction='sum'. What is required and left out is assumed.
#pragma once

#include <string>
#include <vector>

#include "tenon/json.hpp"

TENON_NAMESPACE_BEGIN

namespace listing {

// The explanation, as of explain(). Loads the plugins of the op and of the types. Calling thread only:
// modes and settings of the thread are part of the answer.
Json why(const std::string& op, const std::vector<std::string>& operands);

}  // namespace listing

TENON_NAMESPACE_END
