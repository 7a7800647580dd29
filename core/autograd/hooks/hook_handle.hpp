// A registered hook: its function, where it is registered, and the handle that removes it.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/base/intrusive_ptr.hpp"
#include "core/base/plugin_code.hpp"

namespace tenon::core {

class Node;

// A number that no other hook of the process has.
inline constinit std::atomic<int64_t> hook_counter{1};
inline int64_t next_hook_id() { return hook_counter.fetch_add(1, std::memory_order_relaxed); }

// The function and what belongs to it; runs under way keep it after its removal.
template <class Function>
struct HookBodyOf {
  HookBodyOf(Function* function_of, void* state_of, void (*destroy_with)(void*)) noexcept
      : function(function_of), state(state_of), destroy(destroy_with) {}
  HookBodyOf(const HookBodyOf&) = delete;
  HookBodyOf& operator=(const HookBodyOf&) = delete;
  ~HookBodyOf() {  // before its code is let go
    if (destroy != nullptr) destroy(state);
  }
  Function* const function;
  void* const state;
  void (*const destroy)(void*);
  std::atomic<bool> removed{false};
  const CodeLease code = lease_at(Holder::Hook, function, destroy);
};

// Owner of hooks. Counted: handles of its hooks keep it. Any thread.
class HookOwner {
 public:
  HookOwner() = default;
  HookOwner(const HookOwner&) = delete;
  HookOwner& operator=(const HookOwner&) = delete;
  void retain() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }
  // False when it is not there, or no longer.
  virtual bool remove(int64_t id) = 0;
  virtual bool holds(int64_t id) = 0;
  // Null where the hooks are not on a node, or once the node is gone.
  virtual const Node* node() const { return nullptr; }

 protected:
  virtual ~HookOwner() = default;

 private:
  std::atomic<int32_t> references_{1};
};

// Name of a hook.
class HookHandle {
 public:
  HookHandle(HookOwner& owner, int64_t id) noexcept : owner_(&owner), id_(id) {}
  int64_t id() const { return id_; }
  bool remove() const { return owner_->remove(id_); }
  const Node* node() const { return owner_->node(); }
  bool registered() const { return owner_->holds(id_); }

 private:
  IntrusivePtr<HookOwner> owner_;
  int64_t id_;
};

}  // namespace tenon::core

// The handle of the boundary.
struct tenon_hook {
  std::atomic<int32_t> references{1};
  tenon::core::HookHandle handle;
};
