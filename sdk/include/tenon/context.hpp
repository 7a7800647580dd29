// The context of one call: what forward leaves for backward and jvp.
#pragma once

#include <initializer_list>
#include <memory>
#include <vector>

#include "tenon/op.hpp"

TENON_NAMESPACE_BEGIN

namespace detail {
template <class T>
decltype(auto) from_value(const tenon_value& value);
}

// Valid during the callback only; this thread only.
class Context {
 public:
  explicit Context(tenon_context* context) : context_(context) {}
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  // Argument `i` of the call, as bound. Tensors read as undefined in rules unless the op's `saves`
  // names them.
  template <class T>
  T argument(int64_t i) const {
    return detail::from_value<T>(host().context_arguments(context_)[i]);
  }
  const Tensor& tensor(int64_t i) const {
    return reinterpret_cast<const Tensor&>(host().context_arguments(context_)[i].as.tensor);
  }
  bool is_none(int64_t i) const {
    return host().context_arguments(context_)[i].tag == TENON_VALUE_NONE;
  }
  // An operand that may be a tensor or a number.
  Argument operand(int64_t i) const { return Argument(host().context_arguments(context_)[i]); }
  Tensor result(int64_t i = 0) const { return Tensor::borrow(host().context_result(context_, i)); }

  // ---- for Functions: in forward ----
  // Keeps inputs, outputs or any tensor (undefined ones too) for backward and jvp, version-checked.
  void save_for_backward(std::initializer_list<Tensor> tensors) {
    save(tensors.begin(), tensors.size());
  }
  void save_for_backward(const std::vector<Tensor>& tensors) {
    save(tensors.data(), tensors.size());
  }
  void mark_dirty(std::initializer_list<Tensor> tensors) {
    detail::check(host().context_mark_dirty, context_, handles(tensors.begin()),
                  static_cast<int64_t>(tensors.size()));
  }
  void mark_non_differentiable(std::initializer_list<Tensor> tensors) {
    detail::check(host().context_mark_non_differentiable, context_, handles(tensors.begin()),
                  static_cast<int64_t>(tensors.size()));
  }
  // True by default: absent gradients reach backward as zeros.
  void set_materialize_grads(bool enabled) {
    host().context_set_materialize_grads(context_, enabled ? 1 : 0);
  }
  // Anything else that the rules need; destroyed with the node.
  template <class T>
  T& stash(T value) {
    auto owner = std::make_unique<T>(std::move(value));
    T* stored = owner.get();
    detail::check(
        host().context_set_stash, context_, static_cast<void*>(owner.release()),
        +[](void* stash) { delete static_cast<T*>(stash); });
    return *stored;
  }

  // ---- in backward and jvp ----
  template <class T>
  T& stash() const {
    void* stored = host().context_stash(context_);
    if (stored == nullptr) throw RuntimeError("nothing was stashed on the context in forward");
    return *static_cast<T*>(stored);
  }
  int64_t saved_count() const { return host().context_saved_count(context_); }
  Tensor saved(int64_t i) const {
    tenon_tensor* tensor = nullptr;
    detail::check(host().context_saved, context_, i, &tensor);
    return Tensor::borrow(tensor);
  }
  // One per input slot: parameters in order, a tensor list as many as it has tensors.
  bool needs_input_grad(int64_t slot) const {
    return host().context_needs_gradient(context_, slot) != 0;
  }
  int64_t slot_count() const { return host().context_slot_count(context_); }

  tenon_context* handle() const { return context_; }

 private:
  void save(const Tensor* tensors, size_t count) {
    detail::check(host().context_save, context_, handles(tensors), static_cast<int64_t>(count));
  }
  static tenon_tensor* const* handles(const Tensor* tensors) {
    return reinterpret_cast<tenon_tensor* const*>(tensors);
  }
  tenon_context* context_;
};

// Gradients (or tangents) that a rule returns; undefined stands for none.
using Gradients = std::vector<Tensor>;

TENON_NAMESPACE_END
