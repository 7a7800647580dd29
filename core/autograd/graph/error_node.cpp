// Refusing histories, and what they say.
#include "core/autograd/graph/error_node.hpp"

#include <algorithm>
#include <string>

#include "core/autograd/graph/node_block.hpp"
#include "core/base/error.hpp"
#include "core/base/format.hpp"

namespace tenon::core {

IntrusivePtr<ErrorNode> ErrorNode::create(const Implementation& implementation, ErrorReason reason,
                                          uintptr_t detail, std::span<const Edge> edges,
                                          std::span<Tensor* const> outputs) {
  const auto leads_on = [](const Edge& edge) { return static_cast<bool>(edge.node); };
  NodeBlock block(sizeof(ErrorNode),
                  static_cast<size_t>(std::count_if(edges.begin(), edges.end(), leads_on)),
                  outputs);
  IntrusivePtr<ErrorNode> node = block.make<ErrorNode>(implementation, reason, detail);
  std::copy_if(edges.begin(), edges.end(), node->edges_, leads_on);
  return node;
}

void ErrorNode::apply(std::span<Tensor* const>, std::vector<TensorRef>&, const BackwardCall&) {
  Error error = reason_(*implementation_, detail_);
  error.op = implementation_->schema.name;
  error.provider = implementation_->provider;
  throw error;
}

namespace {

Error differentiated_twice(const Implementation& implementation, const char* rule) {
  return {TENON_ERROR_GRAPH, format_text("trying to differentiate twice a function that was marked "
                                         "with once_differentiable: the {} of op '{}'",
                                         rule, implementation.schema.name)};
}

}  // namespace

Error backward_differentiated(const Implementation& implementation, uintptr_t) {
  return differentiated_twice(implementation, "backward");
}
Error jvp_differentiated(const Implementation& implementation, uintptr_t) {
  return differentiated_twice(implementation, "jvp");
}

Error no_backward_rule(const Implementation& implementation, uintptr_t) {
  const std::string& name = implementation.schema.name;
  return {
      TENON_ERROR_NOT_IMPLEMENTED,
      format_text(
          "[{}::backward] not implemented: Function '{}' of plugin '{}' has neither backward nor "
          "vjp; implement either of them to take gradients through it, or call it under no_grad",
          name, name, implementation.provider)};
}

Error unknown_gradient(const Implementation& implementation, uintptr_t detail) {
  const std::string what =
      detail == kStashed
          ? "a tensor stashed on its context"
          : format_text("saved tensor {}, which is neither an input nor an output of the Function",
                        detail);
  return {TENON_ERROR_GRAPH,
          format_text(
              "the backward of op '{}' is being differentiated, but uses {}: no gradient is known "
              "for it. Make it an output of forward and save that with save_for_backward, or mark "
              "it with mark_non_differentiable if it does not depend on the inputs",
              implementation.schema.name, what)};
}

}  // namespace tenon::core
