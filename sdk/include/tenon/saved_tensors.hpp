// Scopes that decide how tensors saved for backward are kept: on disk, compressed, copied.
#pragma once

#include <string_view>
#include <type_traits>
#include <utility>

#include "tenon/ops.hpp"

TENON_NAMESPACE_BEGIN

// While it lives, what calls on this thread save is passed to `pack(const Tensor&) -> Packed`, or to
// `pack(const Tensor&, const char* op) -> Packed`, which gets the name of the op that saves, and each use in a backward gets `unpack(const Packed&) -> Tensor` of the same shape and dtype. Packed
// once, unpacked as often as it is used, on the thread that runs backward; destroyed with the
// graph. Scopes nest; only the innermost is used. `pack` must not change its tensor. Destroyed in
// the reverse order of construction, on the same thread.
//
//   const SavedTensorsHooks to_disk([](const Tensor& t) { return File(t); },
//                                   [](const File& file) { return file.read(); });
template <class Pack, class Unpack>
class SavedTensorsHooks {
 public:
  SavedTensorsHooks(Pack pack, Unpack unpack) {  // until destroyed, on this thread
    auto* both = new Both{std::move(pack), std::move(unpack)};
    tenon_saved_hooks hooks{};
    hooks.size = sizeof(hooks);
    hooks.state = both;
    hooks.pack_for = [](void* state, const char* op, tenon_tensor* tensor, void** packed,
                        tenon_error** error) {
      return detail::guarded(error, [&] {
        Both& given = *static_cast<Both*>(state);
        if constexpr (kNamesOps)
          *packed = new Packed(given.pack(Tensor::borrow(tensor), op));
        else
          *packed = new Packed(given.pack(Tensor::borrow(tensor)));
      });
    };
    hooks.unpack = [](void* state, void* packed, tenon_tensor** tensor, tenon_error** error) {
      return detail::guarded(error, [&] {
        const Packed& given = *static_cast<Packed*>(packed);
        *tensor = Tensor(static_cast<Both*>(state)->unpack(given)).give();
      });
    };
    hooks.drop = [](void*, void* packed) { delete static_cast<Packed*>(packed); };
    hooks.destroy = [](void* state) { delete static_cast<Both*>(state); };
    tenon_error* error = nullptr;
    const tenon_status status = service::autograd().saved_hooks_push(&hooks, &error);
    if (status != TENON_OK) {
      delete both;
      detail::throw_error(status, error);
    }
  }
  ~SavedTensorsHooks() { service::autograd().saved_hooks_pop(nullptr); }
  SavedTensorsHooks(const SavedTensorsHooks&) = delete;
  SavedTensorsHooks& operator=(const SavedTensorsHooks&) = delete;

 private:
  static constexpr bool kNamesOps = std::is_invocable_v<Pack&, const Tensor&, const char*>;
  template <bool kNamed, class = void>
  struct Result {
    using Type = std::invoke_result_t<Pack&, const Tensor&>;
  };
  template <class Unused>
  struct Result<true, Unused> {
    using Type = std::invoke_result_t<Pack&, const Tensor&, const char*>;
  };
  using Packed = std::decay_t<typename Result<kNamesOps>::Type>;
  struct Both {
    Pack pack;
    Unpack unpack;
  };
};

namespace detail {
struct CloneTensor {
  Tensor operator()(const Tensor& tensor) const { return tensor.clone(); }
};
struct SameTensor {
  Tensor operator()(const Tensor& tensor) const { return tensor; }
};
}  // namespace detail

// While it lives, tensors that are saved may be changed in place afterwards: each saved tensor is
// copied.
class AllowMutationOnSavedTensors
    : public SavedTensorsHooks<detail::CloneTensor, detail::SameTensor> {
 public:
  AllowMutationOnSavedTensors() : SavedTensorsHooks({}, {}) {}
};

// While it lives, opening a scope of saved-tensor hooks is a RuntimeError with this message; so is
// this scope inside one.
class DisableSavedTensorsHooks {
 public:
  explicit DisableSavedTensorsHooks(std::string_view message) {  // RuntimeError with it
    detail::check(service::autograd().saved_hooks_disable, message.data(),
                  static_cast<int64_t>(message.size()));
  }
  ~DisableSavedTensorsHooks() { service::autograd().saved_hooks_pop(nullptr); }
  DisableSavedTensorsHooks(const DisableSavedTensorsHooks&) = delete;
  DisableSavedTensorsHooks& operator=(const DisableSavedTensorsHooks&) = delete;
};

TENON_NAMESPACE_END
