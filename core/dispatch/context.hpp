// The context of one call or rule: what the context_ slots of the host work on.
#pragma once

#include <cstdint>
#include <vector>

#include "core/dispatch/op.hpp"
#include "core/tensor/tensor.hpp"
#include "tenon/abi/op.h"

namespace tenon::core {

// What a Function's run leaves behind, when somebody will read it.
struct FunctionNotes {
  std::vector<TensorRef> saved;
  std::vector<TensorRef> dirty;
  std::vector<TensorRef> non_differentiable;
  bool materialize = true;
  void* stash = nullptr;
  void (*destroy_stash)(void*) = nullptr;
  uint64_t needs = 0;  // bit per slot, the first 64

  FunctionNotes() = default;
  FunctionNotes(const FunctionNotes&) = delete;
  FunctionNotes& operator=(const FunctionNotes&) = delete;
  ~FunctionNotes() {
    if (stash != nullptr && destroy_stash != nullptr) destroy_stash(stash);
  }
};

// What a rule reads and answers; autograd derives from it.
struct RuleState {
  virtual ~RuleState() = default;
  virtual Tensor* result(int64_t index) = 0;
  virtual bool needs_gradient(int64_t slot) = 0;
  virtual int64_t slot_count() = 0;
  virtual int64_t saved_count() = 0;
  virtual Tensor* saved(int64_t index) = 0;  // throws InplaceError when it was changed since
  virtual void* stash() = 0;

  std::vector<TensorRef>* answer = nullptr;  // where context_give puts the rule's tensors
  bool answered = false;
};

}  // namespace tenon::core

// Cheap to set up on the stack: a plain call fills three fields.
struct tenon_context {
  const tenon::core::Implementation* implementation = nullptr;
  const tenon_value* arguments = nullptr;
  tenon::core::FunctionNotes* notes = nullptr;  // null: nobody will read what run saves
  tenon::core::RuleState* rule = nullptr;       // set in backward and jvp
};
