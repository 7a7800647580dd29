// Hooks: functions of the user's that the engine runs with gradients on their way.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "core/base/reference_count.hpp"
#include "core/tensor/tensor.hpp"
#include "tenon/abi/autograd.h"

namespace tenon::core {

class Node;
struct CallOrigin;

// Keeps the gradient of a computed tensor that asked for it; shared by the tensor and its node.
struct RetainedGrad {
  std::mutex mutex;
  TensorRef grad;
};

// The function and what belongs to it; runs under way keep it after its removal.
struct HookBody {
  HookBody(tenon_hook_function function_of, void* state_of, void (*destroy_with)(void*)) noexcept
      : function(function_of), state(state_of), destroy(destroy_with) {}
  HookBody(const HookBody&) = delete;
  HookBody& operator=(const HookBody&) = delete;
  ~HookBody() {
    if (destroy != nullptr) destroy(state);
  }
  const tenon_hook_function function;
  void* const state;
  void (*const destroy)(void*);
  std::atomic<bool> removed{false};
};

// The rarer parts of a node: hooks, retained gradients, where it was recorded. Handles of hooks
// keep it, emptied, beyond its node. Any thread.
class NodeExtra {
 public:
  struct Retained {
    uint32_t output;
    std::shared_ptr<RetainedGrad> box;
  };
  struct Hook {
    int64_t id;
    int32_t kind;
    uint32_t output;  // of hooks on tensors
    std::shared_ptr<HookBody> body;
  };

  explicit NodeExtra(const Node& node);
  NodeExtra(const NodeExtra&) = delete;
  NodeExtra& operator=(const NodeExtra&) = delete;
  void retain() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

  int64_t add(int32_t kind, uint32_t output, std::shared_ptr<HookBody> body);
  // False when it is not there, or no longer.
  bool remove(int64_t id);
  // In the order of registration.
  std::vector<Hook> hooks(int32_t kind);
  bool has(int32_t kind);
  bool holds(int64_t id);

  void retain_into(uint32_t output, std::shared_ptr<RetainedGrad> box);
  // Takes the box out again; false when it is not here.
  bool forget(const std::shared_ptr<RetainedGrad>& box);
  std::vector<Retained> retained();

  // Null once the node is gone.
  const Node* node() const { return node_.load(std::memory_order_acquire); }

  // The node is dying: nothing of it is kept any more.
  void clear() noexcept;

  std::shared_ptr<const CallOrigin> origin;  // set before the node is shared

 private:
  ~NodeExtra();
  std::atomic<int32_t> references_{1};
  std::atomic<const Node*> node_;
  std::mutex mutex_;
  std::vector<Hook> hooks_;
  std::vector<Retained> retained_;
};

// What names a hook.
class HookHandle {
 public:
  HookHandle(NodeExtra& extra, int64_t id) noexcept : extra_(&extra), id_(id) { extra.retain(); }
  HookHandle(const HookHandle& other) noexcept : HookHandle(*other.extra_, other.id_) {}
  HookHandle(HookHandle&& other) noexcept
      : extra_(std::exchange(other.extra_, nullptr)), id_(other.id_) {}
  HookHandle& operator=(HookHandle other) noexcept {
    std::swap(extra_, other.extra_);
    id_ = other.id_;
    return *this;
  }
  ~HookHandle() {
    if (extra_ != nullptr) extra_->release();
  }
  int64_t id() const { return id_; }
  bool remove() const { return extra_->remove(id_); }
  const Node* node() const { return extra_->node(); }
  bool registered() const { return extra_->holds(id_); }

 private:
  NodeExtra* extra_;
  int64_t id_;
};

// ---- registering; `body` is complete, so that nothing leaks when they throw ----
HookHandle add_tensor_hook(Tensor& tensor, int32_t kind, std::shared_ptr<HookBody> body);
HookHandle add_node_hook(Node& node, int32_t kind, std::shared_ptr<HookBody> body);
void remove_tensor_hook(Tensor& tensor, int64_t id);

// ---- for the engine: each hook sees what those before it made of the gradients. Throw. ----
void run_tensor_hooks(NodeExtra& extra, Node& node, std::span<Tensor*> gradients);
void run_hooks_before(NodeExtra& extra, Node& node, std::span<Tensor*> gradients);
void run_hooks_after(NodeExtra& extra, Node& node, std::vector<TensorRef>& answer,
                     std::span<Tensor* const> gradients);
void run_post_accumulate_hooks(NodeExtra& extra, Tensor& leaf);

}  // namespace tenon::core

// The handle of the boundary.
struct tenon_hook {
  std::atomic<int32_t> references{1};
  tenon::core::HookHandle handle;
};
