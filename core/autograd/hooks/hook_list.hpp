// Hooks of one owner, and room for the values that they return.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <boost/container/small_vector.hpp>

#include "core/autograd/hooks/hook_handle.hpp"

namespace tenon::core {

// Hooks in their order. Copied on write: a run goes through a list that stays as it was, and leaves
// out what is removed meanwhile. Any thread.
template <class Function>
class HookList : public HookOwner {
 public:
  using Body = HookBodyOf<Function>;
  struct Hook {
    int64_t id;
    int32_t kind;
    uint32_t detail;  // by owner: the output of a node, flags of a registration
    std::shared_ptr<Body> body;
    bool removed() const { return body->removed.load(std::memory_order_acquire); }
  };
  using Hooks = std::vector<Hook>;

  HookHandle add(int32_t kind, uint32_t detail, std::shared_ptr<Body> body, bool first = false) {
    const int64_t id = next_hook_id();
    const std::lock_guard lock(mutex_);
    auto copy = copied();
    copy->insert(first ? copy->begin() : copy->end(), Hook{id, kind, detail, std::move(body)});
    hooks_ = std::move(copy);
    return {*this, id};
  }
  // Null when it is empty.
  std::shared_ptr<const Hooks> read() const {
    const std::lock_guard lock(mutex_);
    return hooks_;
  }
  // False when it is not there, or no longer.
  bool remove(int64_t id) override {
    std::shared_ptr<const Hooks> old;  // may destroy a hook's state, and so this: without the lock
    const std::lock_guard lock(mutex_);
    auto copy = copied();
    const auto place = std::ranges::find(*copy, id, &Hook::id);
    if (place == copy->end()) return false;
    place->body->removed.store(true, std::memory_order_release);
    copy->erase(place);
    old = std::exchange(hooks_, std::move(copy));
    return true;
  }
  bool holds(int64_t id) override { return has(id, &Hook::id); }
  bool has_kind(int32_t kind) const { return has(kind, &Hook::kind); }
  // The owner is gone: handles keep this, emptied.
  void clear() noexcept {
    std::shared_ptr<const Hooks> old;
    const std::lock_guard lock(mutex_);
    old.swap(hooks_);
  }
  // Calls visit(hook, position) with every hook of the kind that is not removed when its turn
  // comes; positions count the hooks of the kind.
  template <class Visit>
  void for_each(int32_t kind, Visit&& visit) const {
    const std::shared_ptr<const Hooks> hooks = read();
    size_t position = 0;
    for (size_t i = 0; hooks != nullptr && i < hooks->size(); ++i) {
      const Hook& hook = (*hooks)[i];
      if (hook.kind != kind) continue;
      if (!hook.removed()) visit(hook, position);
      ++position;
    }
  }

 protected:
  ~HookList() override = default;
  mutable std::mutex mutex_;

 private:
  std::shared_ptr<Hooks> copied() const {
    return hooks_ == nullptr ? std::make_shared<Hooks>() : std::make_shared<Hooks>(*hooks_);
  }
  template <class Value>
  bool has(Value value, Value Hook::*member) const {
    const std::shared_ptr<const Hooks> hooks = read();
    return hooks != nullptr && std::ranges::find(*hooks, value, member) != hooks->end();
  }
  std::shared_ptr<const Hooks> hooks_;
};

// The hooks of an object; null while it never had one. Any thread.
template <class Hooks>
class HooksPointer {
 public:
  HooksPointer() = default;
  HooksPointer(const HooksPointer&) = delete;
  HooksPointer& operator=(const HooksPointer&) = delete;
  ~HooksPointer() {
    if (Hooks* hooks = get()) {
      hooks->clear();
      hooks->release();
    }
  }
  Hooks* get() const noexcept { return hooks_.load(std::memory_order_acquire); }
  // Made of the arguments when missing. Not inlined: few tensors have hooks, and callers that may
  // add one are on the path of each recorded call.
  template <class... Arguments>
  [[gnu::noinline]] Hooks& make(const Arguments&... arguments) {
    Hooks* present = get();
    if (present != nullptr) return *present;
    auto* made = new Hooks(arguments...);
    if (hooks_.compare_exchange_strong(present, made, std::memory_order_acq_rel)) return *made;
    made->release();
    return *present;
  }

 private:
  std::atomic<Hooks*> hooks_{nullptr};
};

// Room for the values that a hook returns in place of those that it sees; frees what is not taken.
//
// `Of` says how: Value; kept(), a value that stands for no replacement; is_kept(value);
// release(value).
template <class Of>
class Replacements {
 public:
  using Value = typename Of::Value;

  explicit Replacements(size_t count) : values_(count, Of::kept()) {}
  Replacements(const Replacements&) = delete;
  Replacements& operator=(const Replacements&) = delete;
  ~Replacements() {
    for (Value& value : values_) {
      if (!Of::is_kept(value)) Of::release(value);
    }
  }
  Value* data() { return values_.data(); }
  bool given(size_t i) const { return !Of::is_kept(values_[i]); }
  const Value& operator[](size_t i) const { return values_[i]; }
  // The value is the caller's now.
  Value take(size_t i) { return std::exchange(values_[i], Of::kept()); }

 private:
  boost::container::small_vector<Value, 4> values_;
};

}  // namespace tenon::core
