// Passes over a list that every prepared model gets.
#pragma once

#include <string>
#include <vector>

#include <tenon/prepare/call_list.hpp>

TENON_NAMESPACE_BEGIN

namespace prepared {

// Runs the calls whose operands are all constants now, and makes their results constants. Memory that
// some call changes, or that an output shows, is not folded. Returns the ops of these calls.
std::vector<std::string> fold_constants(CallList& list);
// Removes calls whose results nothing reads and that change nothing which is read. Returns their ops.
std::vector<std::string> drop_unused(CallList& list);

}  // namespace prepared

TENON_NAMESPACE_END
