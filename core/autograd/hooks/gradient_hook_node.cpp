// The node of hooked gradients.
#include "core/autograd/hooks/gradient_hook_node.hpp"

#include <algorithm>
#include <utility>

#include "core/autograd/engine/anomaly.hpp"
#include "core/autograd/graph/history.hpp"
#include "core/autograd/graph/node_block.hpp"
#include "core/autograd/typed/typed.hpp"
#include "core/dispatch/call/aliasing.hpp"
#include "core/dispatch/call/thread_state.hpp"
#include "core/tensor/copy.hpp"

namespace tenon::core {

namespace {

class GradientHookNode final : public Node {
 public:
  GradientHookNode(const NodeBlock& block, std::span<Tensor* const> tensors,
                   GradientFunction function)
      : Node(block), function_(std::move(function)) {
    for (size_t i = 0; i < tensors.size(); ++i) edges_[i] = gradient_edge(*tensors[i]);
  }
  // PyTorch's name of it, which users look for in messages.
  const char* name() const override { return "BackwardHookFunctionBackward"; }
  void apply(std::span<Tensor* const> gradients, std::vector<TensorRef>& produced,
             const BackwardCall&) override {
    const auto given = std::ranges::find_if(gradients, [](const Tensor* one) { return one; });
    for (size_t i = 0; i < gradients.size(); ++i) {
      produced.push_back(gradients[i] != nullptr
                             ? TensorRef(gradients[i])
                             : make_zeros_in(outputs_[i].type, outputs_[i].dtype,
                                             outputs_[i].sizes(),
                                             given == gradients.end() ? nullptr : *given));
    }
    function_(produced);
  }

 private:
  const GradientFunction function_;
};

}  // namespace

std::vector<TensorRef> hook_gradients(std::span<Tensor* const> tensors, GradientFunction function) {
  std::vector<TensorRef> passed;
  for (Tensor* tensor : tensors) {
    refresh_history(*tensor);
    passed.push_back(make_detached(*tensor));
    set_view_base(*passed.back(), *tensor);
    if (tensor->typed()) detach_components(*passed.back());
  }
  NodeBlock block(sizeof(GradientHookNode), tensors.size(), tensors);
  const NodeRef node = block.make<GradientHookNode>(tensors, std::move(function));
  if (thread_state.anomaly != 0) remember_origin(*node);
  for (size_t i = 0; i < passed.size(); ++i)
    set_history(*passed[i], {node, static_cast<uint32_t>(i)});
  return passed;
}

bool hooks_gradients(const Node& node) {
  return dynamic_cast<const GradientHookNode*>(&node) != nullptr;
}

}  // namespace tenon::core
