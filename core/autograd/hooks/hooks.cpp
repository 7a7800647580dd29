// Registering and running hooks.
#include "core/autograd/hooks/hooks.hpp"

#include <algorithm>
#include <utility>

#include "core/autograd/engine/anomaly.hpp"
#include "core/autograd/graph/history.hpp"
#include "core/autograd/graph/node.hpp"
#include "core/autograd/graph/tensor_meta.hpp"
#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/dispatch/call/operands.hpp"
#include "core/tensor/dtype.hpp"
#include "core/tensor/shape.hpp"

namespace tenon::core {

void NodeExtra::retain_into(uint32_t output, std::shared_ptr<RetainedGrad> box) {
  const std::lock_guard lock(mutex_);
  retained_.push_back({output, std::move(box)});
}

bool NodeExtra::forget(const std::shared_ptr<RetainedGrad>& box) {
  const std::lock_guard lock(mutex_);
  return std::erase_if(retained_, [&](const Retained& entry) { return entry.box == box; }) != 0;
}

std::vector<NodeExtra::Retained> NodeExtra::retained() {
  const std::lock_guard lock(mutex_);
  return retained_;
}

void NodeExtra::clear() noexcept {
  std::vector<Retained> retained;
  node_.store(nullptr, std::memory_order_release);
  TensorHooks::clear();
  const std::lock_guard lock(mutex_);
  retained.swap(retained_);
}

// ---- registering ----

HookHandle add_tensor_hook(Tensor& tensor, int32_t kind, std::shared_ptr<HookBody> body) {
  refresh_history(tensor);
  if (kind == TENON_HOOK_POST_ACCUMULATE) {
    if (!is_leaf(tensor)) {
      throw Error(
          TENON_ERROR_RUNTIME,
          "post-accumulate hooks cannot be registered on tensors that are not leaves: nothing is "
          "accumulated in them; this one was made by {}, register a tensor hook instead",
          static_cast<const Node*>(tensor.node)->name());
    }
  } else if (kind != TENON_HOOK_TENSOR) {
    throw Error(TENON_ERROR_ARGUMENT,
                "cannot add a tensor hook: its kind is {}, expected TENON_HOOK_TENSOR or "
                "TENON_HOOK_POST_ACCUMULATE",
                kind);
  }
  if (!tensor.requires_grad()) {
    throw Error(TENON_ERROR_RUNTIME,
                "cannot register a hook on a tensor that doesn't require gradient");
  }
  TensorMeta& meta = meta_of(tensor);
  const Edge edge = gradient_edge(tensor);
  const HookHandle handle = edge.node->extra().add(kind, edge.output, std::move(body));
  std::erase_if(meta.hooks, [](const HookHandle& hook) { return !hook.registered(); });
  meta.hooks.push_back(handle);
  return handle;
}

HookHandle add_node_hook(Node& node, int32_t kind, std::shared_ptr<HookBody> body) {
  if (kind != TENON_HOOK_NODE_BEFORE && kind != TENON_HOOK_NODE_AFTER) {
    throw Error(TENON_ERROR_ARGUMENT,
                "cannot add a node hook: its kind is {}, expected TENON_HOOK_NODE_BEFORE or "
                "TENON_HOOK_NODE_AFTER",
                kind);
  }
  return node.extra().add(kind, 0, std::move(body));
}

void remove_tensor_hook(Tensor& tensor, int64_t id) {
  if (TensorMeta* meta = meta_if_any(tensor)) {
    const auto found = std::find_if(meta->hooks.begin(), meta->hooks.end(),
                                    [&](const HookHandle& hook) { return hook.id() == id; });
    if (found != meta->hooks.end()) {
      const HookHandle handle = *found;
      meta->hooks.erase(found);
      if (handle.remove()) return;
    }
  }
  throw Error(TENON_ERROR_ARGUMENT,
              "no hook with the id {} is registered on this tensor; ids are given by "
              "register_hook, and end with the hook's removal",
              id);
}

// ---- running ----

namespace {

struct Place {
  const char* what;
  size_t hook;   // position among the hooks of its kind
  size_t index;  // index of the gradient
  const Node& node;
  std::string text() const {
    return format_text("{} {} of {} has changed the", what, hook, node.name());
  }
};

[[noreturn, gnu::cold]] void fail_shape(const Place& place, Shape expected, Shape got) {
  throw Error(TENON_ERROR_RUNTIME, "{} size of gradient {}: expected {}, got {}", place.text(),
              place.index, shape_text(expected), shape_text(got));
}
[[noreturn, gnu::cold]] void fail_dtype(const Place& place, tenon_dtype expected, tenon_dtype got) {
  throw Error(TENON_ERROR_RUNTIME, "{} dtype of gradient {}: expected {}, got {}", place.text(),
              place.index, dtype_text(expected), dtype_text(got));
}

void check_replacement(const Place& place, Shape shape, tenon_dtype dtype, const Tensor& given) {
  if (!same_shape(shape, given.shape())) fail_shape(place, shape, given.shape());
  if (given.view.dtype != dtype) fail_dtype(place, dtype, given.view.dtype);
}

struct GradientReplacement {
  using Value = Tensor*;
  static Tensor* kept() { return nullptr; }
  static bool is_kept(const Tensor* gradient) { return gradient == nullptr; }
  static void release(Tensor* gradient) { gradient->release(); }
};
using Gradients = Replacements<GradientReplacement>;

void call(const HookBody& body, std::span<Tensor* const> gradients,
          std::span<Tensor* const> incoming, Gradients& replacements) {
  call_checked(body.function, body.state, gradients.data(), static_cast<int64_t>(gradients.size()),
               incoming.data(), static_cast<int64_t>(incoming.size()), replacements.data());
}

}  // namespace

void run_tensor_hooks(NodeExtra& extra, Node& node, std::span<Tensor*> gradients) {
  extra.for_each(TENON_HOOK_TENSOR, [&](const TensorHooks::Hook& hook, size_t position) {
    Tensor*& gradient = gradients[hook.detail];
    Gradients replacements(1);
    call(*hook.body, {&gradient, 1}, {}, replacements);
    if (!replacements.given(0)) return;
    const OutputInfo& info = node.outputs()[hook.detail];
    check_replacement({"tensor hook", position, hook.detail, node}, {info.shape, info.rank},
                      info.dtype, *replacements[0]);
    put(gradient, TensorRef::take(replacements.take(0)));
  });
}

void run_hooks_before(NodeExtra& extra, Node& node, std::span<Tensor*> gradients) {
  extra.for_each(TENON_HOOK_NODE_BEFORE, [&](const TensorHooks::Hook& hook, size_t position) {
    Gradients replacements(gradients.size());
    call(*hook.body, gradients, {}, replacements);
    for (size_t k = 0; k < gradients.size(); ++k) {
      if (!replacements.given(k)) continue;
      const OutputInfo& info = node.outputs()[k];
      check_replacement({"pre-hook", position, k, node}, {info.shape, info.rank}, info.dtype,
                        *replacements[k]);
      put(gradients[k], TensorRef::take(replacements.take(k)));
    }
  });
}

void run_hooks_after(NodeExtra& extra, Node& node, std::vector<TensorRef>& produced,
                     std::span<Tensor* const> gradients) {
  static_assert(sizeof(TensorRef) == sizeof(Tensor*), "lists of references are lists of tensors");
  extra.for_each(TENON_HOOK_NODE_AFTER, [&](const TensorHooks::Hook& hook, size_t position) {
    const size_t count = std::min(produced.size(), node.edges().size());
    Gradients replacements(count);
    call(*hook.body, {reinterpret_cast<Tensor* const*>(produced.data()), count}, gradients,
         replacements);
    for (size_t k = 0; k < count; ++k) {
      if (!replacements.given(k)) continue;
      if (produced[k]) {
        check_replacement({"post-hook", position, k, node}, produced[k]->shape(),
                          produced[k]->view.dtype, *replacements[k]);
      }
      produced[k] = TensorRef::take(replacements.take(k));
    }
  });
}

void run_post_accumulate_hooks(NodeExtra& extra, Tensor& leaf) {
  Tensor* shown = &leaf;
  extra.for_each(TENON_HOOK_POST_ACCUMULATE, [&](const TensorHooks::Hook& hook, size_t) {
    Gradients ignored(1);
    call(*hook.body, {&shown, 1}, {}, ignored);
  });
}

}  // namespace tenon::core
