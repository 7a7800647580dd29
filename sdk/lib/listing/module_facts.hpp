// Members that several listings make from the facts of a module type.
#pragma once

#include "writer.hpp"

TENON_NAMESPACE_BEGIN

namespace listing {

// Adds "forward": the schema of its forward, parsed; null where instances have their own, and where there
// is none.
void put_forward(Writer& document, const Json& module);

}  // namespace listing

TENON_NAMESPACE_END
