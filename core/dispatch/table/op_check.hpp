// Values of a descriptor that this host must know, in an op as in rules for one.
#pragma once

#include <optional>

#include "core/dispatch/table/op.hpp"

namespace tenon::core {

// The first fault of its flags, and of its kinds of gradient, jvp and promotion. A part of check_op.
std::optional<DescriptorFault> check_kinds(const tenon_op_descriptor& op);

}  // namespace tenon::core
