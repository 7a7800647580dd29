// Warnings about types that leave most ops without an answer.
#pragma once

#include <string>
#include <vector>

#include "core/runtime/runtime.hpp"

namespace tenon::core {

// One line for each type among these, just registered, that answers for some ops alone and is not
// marked partial: "type ScalarTensor handles 2 of 187 overridable ops; ...". Counts from facts.
std::vector<std::string> partial_type_warnings(const ResolvedLoad& load, const Runtime& runtime);

}  // namespace tenon::core
