// An edge of the graph: where a gradient flows to.
#pragma once

#include <cstdint>

#include "core/base/intrusive_ptr.hpp"

namespace tenon::core {

class Node;
using NodeRef = IntrusivePtr<Node>;

// Leads to output `output` of `node`, and owns a reference to it; null where no gradient flows.
// Code that copies or destroys edges needs node.hpp.
struct Edge {
  NodeRef node;
  uint32_t output = 0;
};

}  // namespace tenon::core
