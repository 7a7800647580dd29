// History of tensors that get another type.
#include "core/autograd/history.hpp"
#include "core/dispatch/call.hpp"
#include "core/dispatch/overrides.hpp"

namespace tenon::core {

TensorRef share_with_history(Tensor& tensor) {
  TensorRef shared = make_detached(tensor);
  if (tensor.requires_grad()) {
    const Edge edge = gradient_edge(tensor);
    set_history(*shared, edge.node, edge.output);
    edge.node->release();
  }
  return shared;
}

}  // namespace tenon::core
