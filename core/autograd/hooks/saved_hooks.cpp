// The stack of saved-tensor scopes of a thread, packing and unpacking.
#include "core/autograd/hooks/saved_hooks.hpp"

#include <memory>
#include <utility>

#include "core/autograd/forward/dual.hpp"
#include "core/autograd/graph/history.hpp"
#include "core/base/error.hpp"
#include "core/base/flags.hpp"
#include "core/base/format.hpp"
#include "core/base/growable.hpp"
#include "core/dispatch/binding/value.hpp"
#include "core/dispatch/call/thread_state.hpp"
#include "core/tensor/dtype.hpp"
#include "core/tensor/shape.hpp"

namespace tenon::core {

struct SavedScope {
  SavedScope* outer;
  std::shared_ptr<const SavedHooks> hooks;  // null: hooks are refused meanwhile
  std::string disabled;                     // text of the refusal
};

namespace {

// Hooks see neither recording nor themselves.
class HookCall {
 public:
  HookCall() : scope_(std::exchange(thread_state.saved_scope, nullptr)) {}
  ~HookCall() { thread_state.saved_scope = scope_; }
  HookCall(const HookCall&) = delete;
  HookCall& operator=(const HookCall&) = delete;

 private:
  SavedScope* scope_;
  GradModeGuard grad_mode_{false};
};

}  // namespace

PackedTensor::~PackedTensor() {
  if (hooks != nullptr) hooks->hooks.drop(hooks->hooks.state, packed);
}

PackedTensor* pack_saved(Tensor& tensor, bool with_history, const char* node, const char* op) {
  const std::shared_ptr<const SavedHooks> hooks = thread_state.saved_scope->hooks;
  if (hooks == nullptr) return nullptr;
  auto kept = std::make_unique<PackedTensor>();
  kept->dtype = tensor.view.dtype;
  kept->shape.assign(tensor.shape().begin(), tensor.shape().end());
  const TensorRef given = make_detached(tensor);
  at_each_level([&] { share_tangent(tensor, *given); });
  const uint32_t version = tensor.version();
  void* packed = nullptr;
  {
    const HookCall call;
    if (hooks->hooks.pack_for != nullptr)
      call_checked(hooks->hooks.pack_for, hooks->hooks.state, op, given.get(), &packed);
    else
      call_checked(hooks->hooks.pack, hooks->hooks.state, given.get(), &packed);
  }
  kept->hooks = hooks;
  kept->packed = packed;
  if (tensor.version() != version) {
    throw Error(TENON_ERROR_RUNTIME,
                "A saved tensor pack hook is modifying its input in place: what {} saves is still "
                "used by others. Pack a clone, or a tensor computed from it",
                node);
  }
  if (with_history && tensor.requires_grad()) kept->edge = gradient_edge(tensor);
  at_each_level([&] {
    if (tangent_of(tensor) != nullptr) kept->level = thread_state.dual_level->shared_from_this();
  });
  return kept.release();
}

TensorRef unpack_saved(const PackedTensor& packed, const char* node) {
  Tensor* unpacked = nullptr;
  {
    const HookCall call;
    const tenon_saved_hooks& hooks = packed.hooks->hooks;
    call_checked(hooks.unpack, hooks.state, packed.packed, &unpacked);
  }
  const TensorRef given = TensorRef::take(unpacked);
  if (!given || given->view.dtype != packed.dtype || !same_shape(packed.shape, given->shape())) {
    throw Error(
        TENON_ERROR_RUNTIME, "a saved tensor unpack hook gave {} where {} had saved {} {}",
        given ? format_text("{} {}", dtype_text(given->view.dtype), shape_text(given->shape()))
              : std::string("no tensor"),
        node, dtype_text(packed.dtype), shape_text({packed.shape.data(), packed.shape.size()}));
  }
  bool dual = packed.level == nullptr || !packed.level->open;
  at_each_level([&] { dual = dual || tangent_of(*given) != nullptr; });
  if (dual) return without_history(*given, thread_state.dual_level);
  throw Error(TENON_ERROR_RUNTIME,
              "a saved tensor unpack hook gave a tensor without the tangent that {} had saved; "
              "compute gradients outside of the dual level, or without these hooks",
              node);
}

void push_saved_hooks(const tenon_saved_hooks& given) {
  SavedScope* outer = thread_state.saved_scope;
  if (outer != nullptr && outer->hooks == nullptr)
    throw Error(TENON_ERROR_RUNTIME, outer->disabled);
  const tenon_saved_hooks hooks = copy_growable(given);
  if ((hooks.pack == nullptr && hooks.pack_for == nullptr) || hooks.unpack == nullptr ||
      hooks.drop == nullptr)
    throw Error(TENON_ERROR_ARGUMENT, "saved-tensor hooks need all of pack, unpack and drop");
  require_flags("saved-tensor hooks", hooks.flags, 0);
  thread_state.saved_scope = new SavedScope{outer, std::make_shared<SavedHooks>(hooks), {}};
}

void disable_saved_hooks(std::string message) {
  SavedScope* outer = thread_state.saved_scope;
  if (outer != nullptr && outer->hooks != nullptr) throw Error(TENON_ERROR_RUNTIME, message);
  thread_state.saved_scope = new SavedScope{outer, nullptr, std::move(message)};
}

void pop_saved_hooks() {
  const std::unique_ptr<SavedScope> scope(thread_state.saved_scope);
  if (!scope)
    throw Error(TENON_ERROR_RUNTIME, "no scope of saved-tensor hooks is open on this thread");
  thread_state.saved_scope = scope->outer;
}

}  // namespace tenon::core
