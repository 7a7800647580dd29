// Recorded graphs as JSON, for reports and drawings.
#pragma once

#include <span>

#include "core/base/json.hpp"
#include "core/tensor/tensor.hpp"

namespace tenon::core {

// In the shape that the graph_describe slot documents; nodes in the order in which a walk from the
// roots meets them. Throws when a root is undefined.
Json describe_graph(std::span<Tensor* const> roots);

}  // namespace tenon::core
