// Check of an op's descriptor: made when its plugin is loaded and when the op is prepared.
#pragma once

#include <optional>
#include <string>

#include "tenon/abi/op.h"

namespace tenon::core {

struct DescriptorFault {
  std::string what;    // follows the name: "has neither run nor elementwise"
  std::string remedy;  // "set exactly one of them"
};

// The first fault of a descriptor of this SDK's size (see copy_growable).
std::optional<DescriptorFault> check_op(const tenon_op_descriptor& op);

}  // namespace tenon::core
