// Explanations of calls for readers.
#pragma once

#include <tenon/json.hpp>

TENON_NAMESPACE_BEGIN

namespace listing {

// An explanation from the host's account of a call and its arguments as they are to be shown: with the
// versions of plugins, what else they declare for the call, and for one that would fail what to try.
Json explanation_of(const Json& account, const Json& arguments);

}  // namespace listing

TENON_NAMESPACE_END
