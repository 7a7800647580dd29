// The context of one call or rule: what the context_ slots of the host work on.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/dispatch/binding/arguments.hpp"
#include "core/dispatch/table/op.hpp"
#include "core/tensor/tensor.hpp"
#include "tenon/abi/op.h"

namespace tenon::core {

// The named values of a context, linked through memory of the plugin.
class Attributes {
 public:
  Attributes() = default;
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
  ~Attributes() {
    while (first_ != nullptr) remove(&first_);
  }
  // Takes it, in place of one of the same name.
  void set(tenon_attribute* attribute) noexcept {
    erase(text(attribute->name));
    attribute->next = std::exchange(first_, attribute);
  }
  tenon_attribute* find(std::string_view name) const noexcept {
    tenon_attribute* at = first_;
    while (at != nullptr && text(at->name) != name) at = at->next;
    return at;
  }
  bool erase(std::string_view name) noexcept {
    for (tenon_attribute** at = &first_; *at != nullptr; at = &(*at)->next) {
      if (text((*at)->name) != name) continue;
      remove(at);
      return true;
    }
    return false;
  }
  const tenon_attribute* first() const noexcept { return first_; }
  static std::string_view text(const tenon_string& string) noexcept {
    return {string.data, static_cast<size_t>(string.length)};
  }

 private:
  static void remove(tenon_attribute** at) noexcept {
    tenon_attribute* attribute = *at;
    *at = attribute->next;
    attribute->destroy(attribute);
  }
  tenon_attribute* first_ = nullptr;
};

// Values that a Function's forward keeps for its backward and its jvp, as PyTorch's ctx does.
struct FunctionContext {
  std::vector<TensorRef> saved;
  std::vector<TensorRef> saved_for_forward;
  std::vector<TensorRef> dirty;
  std::vector<TensorRef> non_differentiable;
  Attributes attributes;
  TensorRef memory;    // without elements, where results are in separate memory; else null
  uint64_t needs = 0;  // bit per slot, the first 64
  bool materialize = true;
  bool transient = false;  // a run that is not recorded: attributes for the run itself

  FunctionContext() = default;
  FunctionContext(const FunctionContext&) = delete;
  FunctionContext& operator=(const FunctionContext&) = delete;
};

// Access of a rule to its call and to the place of its gradients; autograd derives from it.
struct RuleState {
  virtual ~RuleState() = default;
  virtual const char* phase() const { return "jvp"; }
  virtual Tensor* result(int64_t index) = 0;
  virtual bool needs_gradient(int64_t slot) = 0;
  virtual int64_t slot_count() = 0;
  virtual int64_t saved_count() = 0;
  virtual Tensor* saved(int64_t index) = 0;  // throws InplaceError when it was changed since
  virtual TensorRef give_saved(int64_t index) { return TensorRef(saved(index)); }
  virtual FunctionContext* function_context() = 0;  // null: not of a Function
  // An attribute's tensor as this rule may use it.
  virtual TensorRef guard(Tensor& tensor) { return TensorRef(&tensor); }
  // Whether the call had a tensor there, kept or not.
  virtual bool had_tensor(int64_t) { return false; }
  virtual uint32_t backward_options() { return 0; }
  // False when they cannot be given away, or were already.
  virtual bool take_gradients(std::span<Tensor*>) { return false; }

  std::vector<TensorRef>* answer = nullptr;  // destination of context_give for the rule's tensors
  bool answered = false;
};

}  // namespace tenon::core

// Cheap to set up on the stack. A kernel's run leaves all of a call that is still needed in here,
// so that the plain path keeps nothing in registers.
struct tenon_context {
  const tenon::core::Implementation* implementation = nullptr;
  const tenon_value* arguments = nullptr;
  tenon_value* results = nullptr;                    // results of a run; null in rules
  tenon_error** error = nullptr;                     // error of a run; null: not read
  tenon::core::FunctionContext* function = nullptr;  // null: what run saves is not read
  tenon::core::RuleState* rule = nullptr;            // set in backward and jvp
  tenon::core::Writing written{};
};
