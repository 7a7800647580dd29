// Histories of views and their bases after a change in place.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/autograd/graph/edge.hpp"
#include "core/autograd/graph/op_node.hpp"
#include "core/tensor/tensor.hpp"

namespace tenon::core {

// A recorded change of a view: the node's result `output`, which it got by its edge `slot`.
struct ViewChange {
  IntrusivePtr<OpNode> node;
  uint32_t output;
  size_t slot;
};

// Reads the view out of its base again, whose history is the present one.
NodeRef make_view_node(const Tensor& view, Tensor& base);
// The base's history after the change of the view: the gradient of the viewed part goes through the
// change, the rest passes by.
NodeRef make_copy_slices_node(ViewChange change, const Tensor& view, Tensor& base);

}  // namespace tenon::core
