// Hooks of one owner, and room for the values that they return.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <boost/container/small_vector.hpp>

namespace tenon::core {

// Hooks in their order. Copied on write: a run goes through a list that stays as it was, and leaves
// out what is removed meanwhile. Any thread.
//
// A Hook has `id`, `kind` and `body`, a shared HookBodyOf.
template <class Hook>
class HookList {
 public:
  using Hooks = std::vector<Hook>;

  // Null when it is empty.
  std::shared_ptr<const Hooks> read() const {
    const std::lock_guard lock(mutex_);
    return hooks_;
  }
  void add(Hook hook, bool first = false) {
    const std::lock_guard lock(mutex_);
    auto copy = copied();
    copy->insert(first ? copy->begin() : copy->end(), std::move(hook));
    hooks_ = std::move(copy);
  }
  void append(const Hooks& hooks) {
    const std::lock_guard lock(mutex_);
    auto copy = copied();
    copy->insert(copy->end(), hooks.begin(), hooks.end());
    hooks_ = std::move(copy);
  }
  // False when it is not there, or no longer.
  bool remove(int64_t id) {
    std::shared_ptr<const Hooks> old;  // may destroy a hook's state, and so this: without the lock
    const std::lock_guard lock(mutex_);
    if (find(hooks_, id) == nullptr) return false;
    auto copy = copied();
    const auto place = std::ranges::find(*copy, id, &Hook::id);
    place->body->removed.store(true, std::memory_order_release);
    copy->erase(place);
    old = std::exchange(hooks_, std::move(copy));
    return true;
  }
  bool holds(int64_t id) const { return find(read(), id) != nullptr; }
  bool has(int32_t kind) const {
    const std::shared_ptr<const Hooks> hooks = read();
    return hooks != nullptr && std::ranges::find(*hooks, kind, &Hook::kind) != hooks->end();
  }
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
      if (!is_removed(hook)) visit(hook, position);
      ++position;
    }
  }

  static bool is_removed(const Hook& hook) {
    return hook.body->removed.load(std::memory_order_acquire);
  }
  // For HeldAcrossFork.
  std::mutex& mutex() { return mutex_; }

 private:
  std::shared_ptr<Hooks> copied() const {
    return hooks_ == nullptr ? std::make_shared<Hooks>() : std::make_shared<Hooks>(*hooks_);
  }
  static const Hook* find(const std::shared_ptr<const Hooks>& hooks, int64_t id) {
    if (hooks == nullptr) return nullptr;
    const auto place = std::ranges::find(*hooks, id, &Hook::id);
    return place == hooks->end() ? nullptr : &*place;
  }

  mutable std::mutex mutex_;
  std::shared_ptr<const Hooks> hooks_;
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
