// The context of one call: what forward leaves for backward and jvp.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "tenon/op.hpp"

TENON_NAMESPACE_BEGIN

namespace detail {

// "int", "std::vector<double>": as the compiler writes it, for checks and messages.
template <class T>
constexpr std::string_view type_name() {
  constexpr std::string_view text = __PRETTY_FUNCTION__;
  constexpr size_t begin = text.find("T = ") + 4;
  constexpr size_t end = text.find_first_of(";]", begin);
  return text.substr(begin, end - begin);
}

// A named value in the form in which the host keeps it.
template <class T>
struct HeldAttribute : tenon_attribute {
  HeldAttribute(std::string_view name_of, T&& given)
      : tenon_attribute{}, label(name_of), value(std::move(given)) {
    size = sizeof(tenon_attribute);
    name = string_of(label);
    type = string_of(type_name<T>());
    bytes = sizeof(T);
    if constexpr (std::is_same_v<T, Tensor>) {
      tensors = reinterpret_cast<tenon_tensor* const*>(&value);
      tensor_count = 1;
    } else if constexpr (std::is_same_v<T, std::vector<Tensor>>) {
      tensors = reinterpret_cast<tenon_tensor* const*>(value.data());
      tensor_count = static_cast<int64_t>(value.size());
    }
    destroy = [](tenon_attribute* attribute) { delete static_cast<HeldAttribute*>(attribute); };
  }
  std::string label;
  T value;
};

// Text is kept, not pointed to.
template <class T>
using KeptAs = std::conditional_t<std::is_convertible_v<T, const char*>, std::string, T>;

}  // namespace detail

// Valid during the callback only; this thread only. A method that is called in the wrong phase
// throws RuntimeError naming both.
class Context {
 public:
  explicit Context(tenon_context* context) : context_(context) {}  // borrowed
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  // ContextOf<Op> has the arguments by name. Written for a Context, a read says so.
  template <class Name>
  const Tensor& operator[](Name) const {
    static_assert(!sizeof(Name),
                  "a Context does not know its op: take a ContextOf<Op>&, whose arguments have "
                  "names");
    return reinterpret_cast<const Tensor&>(context_);
  }
  // In backward and jvp: result `i`, undefined where it is not a tensor, or where `saves` keeps it
  // for another input only. IndexError beyond the results; RuntimeError in backward for one that
  // `saves` does not name.
  Tensor result(int64_t i = 0) const {
    tenon_tensor* result = nullptr;
    detail::check(service::contexts().kept_result, context_, i, &result);
    return Tensor::borrow(result);
  }

  // ---- in forward ----
  // Keeps inputs, outputs or any tensor (undefined ones too) for backward, version-checked.
  void save_for_backward(std::initializer_list<Tensor> tensors) {
    detail::check(service::contexts().save, context_, handles(tensors.begin()), count(tensors));
  }
  void save_for_backward(const std::vector<Tensor>& tensors) {  // read by saved(i)
    detail::check(service::contexts().save, context_, handles(tensors.data()), count(tensors));
  }
  // Saves tensors for jvp, which sees these only.
  void save_for_forward(std::initializer_list<Tensor> tensors) {
    detail::check(service::contexts().save_for_forward, context_, handles(tensors.begin()),
                  count(tensors));
  }
  void save_for_forward(const std::vector<Tensor>& tensors) {  // for the jvp
    detail::check(service::contexts().save_for_forward, context_, handles(tensors.data()),
                  count(tensors));
  }
  // Inputs that forward changed in place. Each has to be returned as well.
  void mark_dirty(std::initializer_list<Tensor> tensors) {
    detail::check(service::contexts().mark_dirty, context_, handles(tensors.begin()),
                  count(tensors));
  }
  // Outputs without a gradient; saved tensors that do not depend on the inputs.
  void mark_non_differentiable(std::initializer_list<Tensor> tensors) {
    detail::check(service::contexts().mark_non_differentiable, context_, handles(tensors.begin()),
                  count(tensors));
  }
  // True by default: absent gradients and tangents reach the rules as zeros.
  void set_materialize_grads(bool enabled) {
    detail::check(service::contexts().set_materialize_grads, context_, enabled ? 1 : 0);
  }

  // ---- attributes: anything else that the rules need. Destroyed with the node ----
  // In forward and jvp. A tensor is accepted, but refuses to be differentiated through: save it
  // instead. Strings are copied.
  template <class T>
  void set(std::string_view name, T value) {
    hold<detail::KeptAs<T>>(name, std::move(value));
  }
  // The value, of exactly this type. A Tensor or vector of them by value; others as a reference
  // that holds as long as the attribute.
  template <class T>
  decltype(auto) get(std::string_view name) const {
    tenon_attribute* found = find(name, detail::type_name<T>());
    if constexpr (std::is_same_v<T, Tensor>) {
      return tensor_of(found, 0);
    } else if constexpr (std::is_same_v<T, std::vector<Tensor>>) {
      std::vector<Tensor> tensors;
      for (int64_t i = 0; i < found->tensor_count; ++i) tensors.push_back(tensor_of(found, i));
      return tensors;
    } else {
      T& value = static_cast<detail::HeldAttribute<T>*>(found)->value;
      return (value);
    }
  }
  // In forward and jvp.
  void erase(std::string_view name) {
    const tenon_string text = detail::string_of(name);
    detail::check(service::contexts().erase_attribute, context_, &text);
  }
  // The one attribute without a name.
  template <class T>
  T& stash(T value) {
    return hold<T>("", std::move(value));
  }
  template <class T>
  decltype(auto) stash() const {  // made at the first use, kept for backward
    return get<T>("");
  }

  // ---- in backward and jvp ----
  // In backward what save_for_backward kept, in jvp what save_for_forward kept. Where the op
  // declares clear_saved_tensors_on_access, backward can read each once and owns it.
  int64_t saved_count() const { return service::contexts().saved_count(context_); }
  Tensor saved(int64_t i) const {  // in backward or jvp
    tenon_tensor* tensor = nullptr;
    detail::check(service::contexts().saved, context_, i, &tensor);
    return Tensor::take(tensor);
  }
  // Options of the call of backward; in backward only.
  bool retain_graph() const { return (options() & TENON_BACKWARD_RETAIN_GRAPH) != 0; }
  // Whether backward is recorded.
  bool create_graph() const { return (options() & TENON_BACKWARD_CREATE_GRAPH) != 0; }

  // ---- in every phase ----
  // One per input slot: parameters in order, a tensor list as many as it has tensors. ContextOf has
  // the same by name. In forward whether the input requires grad; in backward whether this run asks
  // for its gradient.
  bool needs_input_grad(int64_t slot) const {
    return service::contexts().needs_gradient(context_, slot) != 0;
  }
  std::vector<int64_t> needed_inputs() const {  // indices of inputs
    std::vector<int64_t> slots;
    for (int64_t slot = 0; slot < slot_count(); ++slot) {
      if (needs_input_grad(slot)) slots.push_back(slot);
    }
    return slots;
  }
  // Inputs that can hold tensors.
  int64_t slot_count() const { return service::contexts().slot_count(context_); }

  tenon_context* handle() const { return context_; }  // borrowed

 protected:
  // Argument `i` of the call, as bound. IndexError beyond the parameters; RuntimeError in rules for
  // a tensor that neither the op's `saves` nor forward kept.
  const tenon_value& value(int64_t i) const {
    const tenon_value* value = nullptr;
    detail::check(service::contexts().argument, context_, i, &value);
    return *value;
  }

 private:
  template <class T>
  T& hold(std::string_view name, T value) {
    auto* held = new detail::HeldAttribute<T>(name, std::move(value));
    detail::check(service::contexts().set_attribute, context_, static_cast<tenon_attribute*>(held));
    return held->value;
  }
  tenon_attribute* find(std::string_view name, std::string_view type) const {
    const tenon_string names[] = {detail::string_of(name), detail::string_of(type)};
    tenon_attribute* found = nullptr;
    detail::check(service::contexts().attribute, context_, &names[0], &names[1], &found);
    return found;
  }
  Tensor tensor_of(const tenon_attribute* attribute, int64_t i) const {
    tenon_tensor* tensor = nullptr;
    detail::check(service::contexts().attribute_tensor, context_, attribute, i, &tensor);
    return Tensor::take(tensor);
  }
  uint32_t options() const {
    uint32_t options = 0;
    detail::check(service::contexts().backward_options, context_, &options);
    return options;
  }
  template <class List>
  static int64_t count(const List& list) {
    return static_cast<int64_t>(list.size());
  }
  static tenon_tensor* const* handles(const Tensor* tensors) {
    return reinterpret_cast<tenon_tensor* const*>(tensors);
  }
  tenon_context* context_;
};

// Gradients (or tangents) that a rule returns; undefined stands for none.
using Gradients = std::vector<Tensor>;

// The gradients that reach a backward, owned by it: each can be let go while the rule still runs.
// Move-only. `backward(Context&, OwnedGradients gradients)`.
class OwnedGradients {
 public:
  // One for each result; takes them over.
  explicit OwnedGradients(std::vector<Tensor> gradients) : gradients_(std::move(gradients)) {}
  OwnedGradients(OwnedGradients&&) = default;
  OwnedGradients& operator=(OwnedGradients&&) = default;
  OwnedGradients(const OwnedGradients&) = delete;
  OwnedGradients& operator=(const OwnedGradients&) = delete;

  int64_t size() const { return static_cast<int64_t>(gradients_.size()); }  // gradients
  // Gradient of result i; undefined where there is none.
  const Tensor& operator[](int64_t i) const { return gradients_.at(static_cast<size_t>(i)); }
  // Moved out: undefined from here on.
  Tensor take(int64_t i) { return std::exchange(gradients_.at(static_cast<size_t>(i)), Tensor()); }
  void release(int64_t i) { take(i); }  // frees it early

 private:
  std::vector<Tensor> gradients_;
};

TENON_NAMESPACE_END
