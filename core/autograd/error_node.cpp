// Refusing histories, and what they say.
#include "core/autograd/error_node.hpp"

#include <string>

#include "core/base/allocator.hpp"
#include "core/base/error.hpp"
#include "core/tensor/dtype.hpp"

namespace tenon::core {

ErrorNode* ErrorNode::create(const Implementation& implementation, ErrorReason reason,
                             uint32_t detail, std::span<const Edge> edges,
                             std::span<Tensor* const> outputs) {
  size_t shapes = 0;
  for (const Tensor* output : outputs) shapes += output == nullptr ? 0 : output->view.rank;
  const size_t edges_at = (sizeof(ErrorNode) + 7) / 8 * 8;
  const size_t outputs_at = edges_at + edges.size() * sizeof(Edge);
  const size_t shapes_at = outputs_at + outputs.size() * sizeof(OutputInfo);
  const size_t bytes = shapes_at + shapes * sizeof(int64_t);
  auto* memory = static_cast<char*>(allocate(static_cast<int64_t>(bytes)));
  auto* node = new (memory) ErrorNode(implementation, reason, detail, static_cast<uint32_t>(bytes));
  node->edges_ = reinterpret_cast<Edge*>(memory + edges_at);
  for (const Edge& edge : edges) {
    if (edge.node == nullptr) continue;
    edge.node->retain();
    node->edges_[node->edge_count_++] = edge;
  }
  node->outputs_ = reinterpret_cast<OutputInfo*>(memory + outputs_at);
  node->output_count_ = static_cast<uint16_t>(outputs.size());
  auto* shape = reinterpret_cast<int64_t*>(memory + shapes_at);
  for (size_t i = 0; i < outputs.size(); ++i) {
    node->outputs_[i] = {};
    if (outputs[i] == nullptr) continue;
    const tenon_tensor_view& view = outputs[i]->view;
    for (size_t d = 0; d < view.rank; ++d) shape[d] = view.shape[d];
    node->outputs_[i] = {shape, view.dtype, view.rank, dtype_floating(view.dtype), view.type};
    shape += view.rank;
  }
  return node;
}

void ErrorNode::apply(std::span<Tensor* const>, std::vector<TensorRef>&, BackwardCall) {
  Error error = reason_(*implementation_, detail_);
  error.op = implementation_->schema.name;
  error.provider = implementation_->provider;
  throw error;
}

namespace {

Error differentiated_twice(const Implementation& implementation, const char* rule) {
  return {TENON_ERROR_GRAPH,
          "trying to differentiate twice a function that was marked with once_differentiable: "
          "the " +
              std::string(rule) + " of op '" + implementation.schema.name + "'"};
}

}  // namespace

Error backward_differentiated(const Implementation& implementation, uint32_t) {
  return differentiated_twice(implementation, "backward");
}
Error jvp_differentiated(const Implementation& implementation, uint32_t) {
  return differentiated_twice(implementation, "jvp");
}

Error no_backward_rule(const Implementation& implementation, uint32_t) {
  const std::string& name = implementation.schema.name;
  return {TENON_ERROR_NOT_IMPLEMENTED,
          "[" + name + "::backward] not implemented: Function '" + name + "' of plugin '" +
              implementation.provider +
              "' has neither backward nor vjp; implement either of them to take gradients through "
              "it, or call it under no_grad"};
}

Error unknown_gradient(const Implementation& implementation, uint32_t detail) {
  const std::string what = detail == kStashed
                               ? "a tensor stashed on its context"
                               : "saved tensor " + std::to_string(detail) +
                                     ", which is neither an input nor an output of the Function";
  return {TENON_ERROR_GRAPH,
          "the backward of op '" + implementation.schema.name +
              "' is being differentiated, but uses " + what +
              ": no gradient is known for it. Make it an output of forward and save that with "
              "save_for_backward, or mark it with mark_non_differentiable if it does not depend on "
              "the inputs"};
}

}  // namespace tenon::core
