// Scopes of saved-tensor hooks: while one is open on a thread, nodes keep what the plugin packed.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/autograd/graph/node.hpp"
#include "core/autograd/graph/tensor_meta.hpp"
#include "core/tensor/tensor.hpp"
#include "tenon/abi/saved_hooks.h"

namespace tenon::core {

// The hooks of one scope, shared by the scope and all that was packed in it.
struct SavedHooks {
  explicit SavedHooks(const tenon_saved_hooks& given) : hooks(given) {}
  SavedHooks(const SavedHooks&) = delete;
  SavedHooks& operator=(const SavedHooks&) = delete;
  ~SavedHooks() {
    if (hooks.destroy != nullptr) hooks.destroy(hooks.state);
  }
  const tenon_saved_hooks hooks;
  const CodeLease code = lease_at(Holder::Hook, hooks.unpack, hooks.destroy);
};

// A saved tensor in the plugin's keeping.
struct PackedTensor {
  std::shared_ptr<const SavedHooks> hooks;
  void* packed = nullptr;
  tenon_dtype dtype = TENON_DTYPE_NONE;
  std::vector<int64_t> shape;
  Edge edge;                         // the history of an input
  std::shared_ptr<DualLevel> level;  // at which it carried a tangent

  PackedTensor() = default;
  PackedTensor(const PackedTensor&) = delete;
  PackedTensor& operator=(const PackedTensor&) = delete;
  ~PackedTensor();
};

// Packs by the innermost scope of this thread; null when that keeps tensors as they are. Throws
// what pack throws, and RuntimeError when it changes the tensor.
PackedTensor* pack_saved(Tensor& tensor, bool with_history, const char* node,
                         const char* op = nullptr);
// A new handle, without history but with the tangents. Throws what unpack throws, and RuntimeError
// when it is another tensor's, or has lost its tangent.
TensorRef unpack_saved(const PackedTensor& packed, const char* node);

void push_saved_hooks(const tenon_saved_hooks& hooks);
// Until the matching pop, pushing hooks fails with the message.
void disable_saved_hooks(std::string message);
void pop_saved_hooks();

}  // namespace tenon::core
