// Hooks: functions of the user's that the engine runs with gradients on their way.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <type_traits>
#include <vector>

#include "core/autograd/hooks/hook_list.hpp"
#include "core/tensor/tensor.hpp"
#include "tenon/abi/autograd.h"

namespace tenon::core {

struct CallOrigin;

// Keeps the gradient of a computed tensor that asked for it; shared by the tensor and its node.
struct RetainedGrad {
  std::mutex mutex;
  TensorRef grad;
};

using TensorHooks = HookList<std::remove_pointer_t<tenon_hook_function>>;
using HookBody = TensorHooks::Body;

// The rarer parts of a node: hooks, whose detail is the output that those on tensors belong to,
// retained gradients, where it was recorded. Handles of hooks keep it, emptied, beyond its node.
// Any thread.
class NodeExtra final : public TensorHooks {
 public:
  struct Retained {
    uint32_t output;
    std::shared_ptr<RetainedGrad> box;
  };

  explicit NodeExtra(const Node& node) : node_(&node) {}

  void retain_into(uint32_t output, std::shared_ptr<RetainedGrad> box);
  // Takes the box out again; false when it is not here.
  bool forget(const std::shared_ptr<RetainedGrad>& box);
  std::vector<Retained> retained();

  const Node* node() const override { return node_.load(std::memory_order_acquire); }

  // The node is dying: nothing of it is kept any more.
  void clear() noexcept;

  std::shared_ptr<const CallOrigin> origin;  // set before the node is shared

 private:
  ~NodeExtra() override = default;
  std::atomic<const Node*> node_;
  std::vector<Retained> retained_;
};

// ---- registering; `body` is complete, so that nothing leaks when they throw ----
HookHandle add_tensor_hook(Tensor& tensor, int32_t kind, std::shared_ptr<HookBody> body);
HookHandle add_node_hook(Node& node, int32_t kind, std::shared_ptr<HookBody> body);
void remove_tensor_hook(Tensor& tensor, int64_t id);

// ---- for the engine: each hook sees what those before it made of the gradients. Throw. ----
void run_tensor_hooks(NodeExtra& extra, Node& node, std::span<Tensor*> gradients);
void run_hooks_before(NodeExtra& extra, Node& node, std::span<Tensor*> gradients);
void run_hooks_after(NodeExtra& extra, Node& node, std::vector<TensorRef>& produced,
                     std::span<Tensor* const> gradients);
void run_post_accumulate_hooks(NodeExtra& extra, Tensor& leaf);

}  // namespace tenon::core
