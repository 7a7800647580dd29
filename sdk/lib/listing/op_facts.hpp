// Answers that several listings read from the facts of an op.
#pragma once

#include <string>

#include <tenon/json.hpp>

TENON_NAMESPACE_BEGIN

namespace listing {

// Whether its backward may be differentiated: yes, once, unknown; none without a backward. Rules of
// ops that are not Functions see nothing but what `saves` keeps, so they can.
std::string double_backward(const Json& op);

}  // namespace listing

TENON_NAMESPACE_END
