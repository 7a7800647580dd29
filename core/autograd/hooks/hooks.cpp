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

NodeExtra::NodeExtra(const Node& node) : node_(&node) {}
NodeExtra::~NodeExtra() = default;

int64_t NodeExtra::add(int32_t kind, uint32_t output, std::shared_ptr<HookBody> body) {
  const int64_t id = next_hook_id();
  const std::lock_guard lock(mutex_);
  hooks_.push_back({id, kind, output, std::move(body)});
  return id;
}

bool NodeExtra::remove(int64_t id) {
  std::shared_ptr<HookBody> gone;  // may destroy a tensor, and so this: without the lock
  const std::lock_guard lock(mutex_);
  const auto found =
      std::find_if(hooks_.begin(), hooks_.end(), [&](const Hook& hook) { return hook.id == id; });
  if (found == hooks_.end()) return false;
  found->body->removed.store(true, std::memory_order_release);
  gone = std::move(found->body);
  hooks_.erase(found);
  return true;
}

std::vector<NodeExtra::Hook> NodeExtra::hooks(int32_t kind) {
  std::vector<Hook> found;
  const std::lock_guard lock(mutex_);
  for (const Hook& hook : hooks_) {
    if (hook.kind == kind) found.push_back(hook);
  }
  return found;
}

bool NodeExtra::holds(int64_t id) {
  const std::lock_guard lock(mutex_);
  return std::any_of(hooks_.begin(), hooks_.end(), [&](const Hook& hook) { return hook.id == id; });
}

bool NodeExtra::has(int32_t kind) {
  const std::lock_guard lock(mutex_);
  return std::any_of(hooks_.begin(), hooks_.end(),
                     [&](const Hook& hook) { return hook.kind == kind; });
}

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
  std::vector<Hook> hooks;
  std::vector<Retained> retained;
  node_.store(nullptr, std::memory_order_release);
  const std::lock_guard lock(mutex_);
  hooks.swap(hooks_);
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
  NodeExtra& extra = edge.node->extra();
  HookHandle handle(extra, extra.add(kind, edge.output, std::move(body)));
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
  NodeExtra& extra = node.extra();
  return {extra, extra.add(kind, 0, std::move(body))};
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
  size_t index;  // of the gradient
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

// Room for what a hook returns; frees what was not taken.
class Replacements {
 public:
  explicit Replacements(size_t count) {
    if (count > std::size(few_)) {
      many_.resize(count);
      places_ = many_.data();
    }
    count_ = count;
  }
  Replacements(const Replacements&) = delete;
  Replacements& operator=(const Replacements&) = delete;
  ~Replacements() {
    for (size_t i = 0; i < count_; ++i) {
      if (places_[i] != nullptr) places_[i]->release();
    }
  }
  Tensor** data() { return places_; }
  TensorRef take(size_t i) { return TensorRef::take(std::exchange(places_[i], nullptr)); }
  Tensor* operator[](size_t i) const { return places_[i]; }

 private:
  Tensor* few_[4] = {};
  std::vector<Tensor*> many_;
  Tensor** places_ = few_;
  size_t count_ = 0;
};

void call(const HookBody& body, std::span<Tensor* const> gradients,
          std::span<Tensor* const> incoming, Replacements& replacements) {
  tenon_error* error = nullptr;
  const tenon_status status = body.function(
      body.state, gradients.data(), static_cast<int64_t>(gradients.size()), incoming.data(),
      static_cast<int64_t>(incoming.size()), replacements.data(), &error);
  if (status != TENON_OK) throw_status(status, error);
}

bool gone(const NodeExtra::Hook& hook) {
  return hook.body->removed.load(std::memory_order_acquire);
}

}  // namespace

void run_tensor_hooks(NodeExtra& extra, Node& node, std::span<Tensor*> gradients) {
  const std::vector<NodeExtra::Hook> hooks = extra.hooks(TENON_HOOK_TENSOR);
  for (size_t i = 0; i < hooks.size(); ++i) {
    Tensor*& gradient = gradients[hooks[i].output];
    if (gone(hooks[i])) continue;
    Replacements replacements(1);
    call(*hooks[i].body, {&gradient, 1}, {}, replacements);
    if (replacements[0] == nullptr) continue;
    const OutputInfo& info = node.outputs()[hooks[i].output];
    check_replacement({"tensor hook", i, hooks[i].output, node}, {info.shape, info.rank},
                      info.dtype, *replacements[0]);
    put(gradient, replacements.take(0));
  }
}

void run_hooks_before(NodeExtra& extra, Node& node, std::span<Tensor*> gradients) {
  const std::vector<NodeExtra::Hook> hooks = extra.hooks(TENON_HOOK_NODE_BEFORE);
  for (size_t i = 0; i < hooks.size(); ++i) {
    if (gone(hooks[i])) continue;
    Replacements replacements(gradients.size());
    call(*hooks[i].body, gradients, {}, replacements);
    for (size_t k = 0; k < gradients.size(); ++k) {
      if (replacements[k] == nullptr) continue;
      const OutputInfo& info = node.outputs()[k];
      check_replacement({"pre-hook", i, k, node}, {info.shape, info.rank}, info.dtype,
                        *replacements[k]);
      put(gradients[k], replacements.take(k));
    }
  }
}

void run_hooks_after(NodeExtra& extra, Node& node, std::vector<TensorRef>& answer,
                     std::span<Tensor* const> gradients) {
  const std::vector<NodeExtra::Hook> hooks = extra.hooks(TENON_HOOK_NODE_AFTER);
  static_assert(sizeof(TensorRef) == sizeof(Tensor*), "lists of references are lists of tensors");
  for (size_t i = 0; i < hooks.size(); ++i) {
    if (gone(hooks[i])) continue;
    const size_t count = std::min(answer.size(), node.edges().size());
    Replacements replacements(count);
    call(*hooks[i].body, {reinterpret_cast<Tensor* const*>(answer.data()), count}, gradients,
         replacements);
    for (size_t k = 0; k < count; ++k) {
      if (replacements[k] == nullptr) continue;
      if (answer[k]) {
        check_replacement({"post-hook", i, k, node}, answer[k]->shape(), answer[k]->view.dtype,
                          *replacements[k]);
      }
      answer[k] = replacements.take(k);
    }
  }
}

void run_post_accumulate_hooks(NodeExtra& extra, Tensor& leaf) {
  Tensor* shown = &leaf;
  for (const NodeExtra::Hook& hook : extra.hooks(TENON_HOOK_POST_ACCUMULATE)) {
    if (gone(hook)) continue;
    Replacements ignored(1);
    call(*hook.body, {&shown, 1}, {}, ignored);
  }
}

}  // namespace tenon::core
