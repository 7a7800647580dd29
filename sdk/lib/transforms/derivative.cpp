// Runs of functions that are recorded, or carry tangents.
#include <algorithm>
#include <atomic>
#include <string_view>
#include <unordered_set>

#include <tenon/grad_mode.hpp>
#include <tenon/graph.hpp>
#include <tenon/kernel/shape.hpp>
#include <tenon/ops.hpp>
#include <tenon/transforms/derivative.hpp>
#include <tenon/transforms/vmap.hpp>

TENON_NAMESPACE_BEGIN
namespace transforms::derived {

namespace {

std::string described(const Tensor& tensor) {
  return std::string(dtype_text(tensor.dtype())) + " " + kernel::shape_text(tensor.shape());
}

// The innermost vmap of the thread, without a need for the plugin `transforms` where none has run.
Level level_around(const Tensors& tensors) {
  const auto batched = [](const Tensor& tensor) {
    if (!tensor.defined()) return false;
    const tenon_tensor_view& view = tensor.view_record();
    return (view.flags & TENON_TENSOR_TYPED) != 0 &&
           std::string_view(service::types().name(view.type)) == Batched::name;
  };
  if (!vmap_began.load(std::memory_order_relaxed) &&
      std::none_of(tensors.begin(), tensors.end(), batched))
    return {};
  static const Service<transforms_service> levels("transforms", 1);
  return Level(levels->active());
}

// Recordings around the present point of the thread: their derivatives may be differentiated.
thread_local int recordings = 0;

[[noreturn]] void fail_dtype(const char* who, const std::string& what, const Tensor& tensor,
                             const char* remedy) {
  throw TypeError(std::string(who) + ": " + what + " is " + dtype_text(tensor.dtype()) +
                  ", expected " + remedy);
}

void check_input(const char* who, const Tensor& input, size_t index) {
  const std::string what = "input " + std::to_string(index);
  if (!input.defined())
    throw TypeError(std::string(who) + ": " + what +
                    " is an undefined tensor; leave it out of argnums, or give it a value");
  if (!is_floating(input.dtype()) && !is_complex(input.dtype()))
    fail_dtype(
        who, what, input,
        "a floating point or complex dtype: convert it with to(float32), or leave its argument "
        "out of argnums");
}

// Another handle on the elements, with the tangents, and with the history where that is recorded.
Tensor alias(const Tensor& tensor, bool with_history) {
  const uint32_t flags = tensor.view_record().flags;
  constexpr uint32_t kept = TENON_TENSOR_HAS_TANGENT | TENON_TENSOR_VIEW | TENON_TENSOR_TYPED;
  if ((flags & kept) == 0 && (!with_history || (flags & TENON_TENSOR_REQUIRES_GRAD) == 0))
    return tensor.detach();
  const GradMode mode(with_history);
  return expand(tensor, tensor.sizes());
}

// Whether the results have a history that leads to other leaves than these.
bool depends_on_others(const Tensors& results, const Tensors& leaves) {
  std::unordered_set<const tenon_node*> seen;
  std::vector<Node> open;
  const auto reach = [&](Node node) {
    if (node.defined() && seen.insert(node.handle()).second) open.push_back(std::move(node));
  };
  const auto node_of = [](const Tensor& tensor) {
    tenon_node* node = nullptr;
    uint32_t output = 0;
    tenon::detail::check(service::graph().gradient_node, tensor.handle(), &node, &output);
    return Node::take(node);
  };
  for (const Tensor& leaf : leaves) reach(node_of(leaf));
  open.clear();
  for (const Tensor& result : results) {
    if (result.requires_grad()) reach(node_of(result));
  }
  while (!open.empty()) {
    const Node node = std::move(open.back());
    open.pop_back();
    const std::vector<Node::Edge> edges = node.next_edges();
    if (edges.empty()) return true;
    for (const Node::Edge& edge : edges) reach(edge.node);
  }
  return false;
}

}  // namespace

// ---- backward ----

struct Pullback::State {
  const char* who;
  Level level;                  // innermost vmap around the run
  Tensors leaves;               // inside of all vmaps
  Tensors results;              // as the function returned them
  Tensors roots;                // and inside of all vmaps
  bool differentiable = false;  // gradients have a history
};

class RecordedScope::Scope {
 public:
  Scope() { ++recordings; }
  ~Scope() { --recordings; }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  EnableGrad mode_;
};

RecordedScope::RecordedScope(const char* who, const Tensors& inputs)
    : who_(who), state_(std::make_shared<Pullback::State>()) {
  if (InferenceMode::enabled())
    throw RuntimeError(
        std::string(who) +
        ": inference mode is on, in which nothing is recorded; leave it, or use NoGrad");
  const bool outside = GradMode::enabled();
  const Level level = level_around(inputs);
  state_->who = who;
  state_->level = level;
  state_->differentiable = outside && recordings > 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    check_input(who, inputs[i], i);
    if (outside && inputs[i].requires_grad()) state_->differentiable = true;
    Tensor leaf = alias(lower(inputs[i], level), outside);
    if (!leaf.requires_grad()) leaf.requires_grad_();
    arguments_.push_back(raise(leaf, level));
    state_->leaves.push_back(std::move(leaf));
  }
  scope_ = std::make_unique<Scope>();
  outside_ = outside;
}

RecordedScope::~RecordedScope() = default;

Pullback RecordedScope::end(const Tensors& results) {
  scope_.reset();
  for (size_t i = 0; i < results.size(); ++i) {
    if (!results[i].defined())
      throw TypeError(std::string(who_) + ": result " + std::to_string(i) +
                      " of the function is an undefined tensor; return it as aux, or not at all");
  }
  state_->results = results;
  for (const Tensor& result : results) state_->roots.push_back(lower(result, state_->level));
  if (outside_ && !state_->differentiable)
    state_->differentiable = depends_on_others(state_->roots, state_->leaves);
  Pullback pullback;
  pullback.state_ = state_;
  return pullback;
}

Tensor RecordedScope::value(const Tensor& result) const {
  return state_->differentiable ? result
                                : raise(alias(lower(result, state_->level), false), state_->level);
}

const Tensors& Pullback::results() const { return state_->results; }

Tensors Pullback::operator()(const Tensors& seeds, bool last, bool strict) const {
  if (seeds.size() != state_->results.size())
    throw ValueError(std::string(state_->who) + ": got " + std::to_string(seeds.size()) +
                     " cotangents for " + std::to_string(state_->results.size()) + " results");
  std::vector<size_t> all;
  for (size_t i = 0; i < seeds.size(); ++i) all.push_back(i);
  return pull(all, seeds, last, strict);
}

Tensors Pullback::of(size_t result, const Tensor& seed) const {
  return pull({result}, {seed}, false, false);
}

Tensors Pullback::of_each(size_t result, const Tensor& seeds) const {
  const State& state = *state_;
  const Tensor& root = state.roots[result];
  const int64_t outer = root.dim() - (seeds.dim() - 1);
  std::vector<int64_t> shape = seeds.sizes(), aligned = shape;
  aligned.insert(aligned.begin() + 1, static_cast<size_t>(outer), 1);
  shape.insert(shape.begin() + 1, root.shape().begin(), root.shape().begin() + outer);
  GradientOptions options;
  options.create_graph = state.differentiable;
  options.refuse_constants = true;
  options.retain_graph = true;
  options.allow_unused = true;
  Tensors found(state.leaves.size());
  const vmapped::LevelScope scope(seeds.size(0), Randomness::same);
  if (root.requires_grad()) {
    options.seeds.push_back(batch(expand(reshape(seeds, aligned), shape), scope.level()));
    found = gradients({root}, state.leaves, options);
  }
  for (size_t i = 0; i < found.size(); ++i) {
    const Tensor whole = unbatch(
        found[i].defined() ? found[i] : zeros_like(state.leaves[i]).detach(), scope.level());
    found[i] = raise(outer == 0 ? whole : movedim(whole, {0}, {outer}), state.level);
  }
  return found;
}

Tensors Pullback::pull(const std::vector<size_t>& results, const Tensors& seeds, bool last,
                       bool strict) const {
  const State& state = *state_;
  if (level_around(state.results) != state.level)
    throw RuntimeError(
        std::string(state.who) +
        ": the pullback is called inside of another vmap than the function was; call "
        "both in the function that vmap runs");
  GradientOptions options;
  options.create_graph = state.differentiable;
  Tensors roots;
  for (size_t i = 0; i < seeds.size(); ++i) {
    const Tensor& result = state.results[results[i]];
    const Tensor& root = state.roots[results[i]];
    if (seeds[i].defined()) {
      if (seeds[i].sizes() != result.sizes() || seeds[i].dtype() != result.dtype())
        throw ValueError(std::string(state.who) + ": cotangent " + std::to_string(i) + " is " +
                         described(seeds[i]) + ", and the result " + described(result) +
                         "; give one of the result's shape and dtype");
      options.create_graph = options.create_graph ||
                             (GradMode::enabled() && (recordings > 0 || seeds[i].requires_grad()));
    }
    if (!root.requires_grad()) continue;
    roots.push_back(root);
    options.seeds.push_back(seeds[i].defined() ? lower(seeds[i], state.level)
                                               : ones_like(root.detach()));
  }
  options.refuse_constants = true;
  options.retain_graph = !last || options.create_graph;
  options.allow_unused = strict;
  options.materialize_grads = !strict;
  Tensors found(state.leaves.size());
  if (!roots.empty()) found = gradients(roots, state.leaves, options);
  for (size_t i = 0; i < found.size(); ++i) {
    if (found[i].defined()) continue;
    if (strict)
      throw RuntimeError(std::string(state.who) + ": the result does not depend on input " +
                         std::to_string(i) +
                         " through ops that are recorded: detach(), no_grad and ops without a "
                         "derivative end the path; leave it out of argnums, or drop strict");
    found[i] = zeros_like(state.leaves[i]).detach();
  }
  for (Tensor& gradient : found) gradient = raise(gradient, state.level);
  return found;
}

void check_scalar(const char* who, const Tensors& results) {
  const std::string name = who;
  if (results.size() != 1)
    throw ValueError(
        name + ": the function returned " + std::to_string(results.size()) +
        " tensors, and a gradient is that of one number; return the others as aux with "
        "has_aux, or use vjp or jacrev");
  const Tensor& result = results[0];
  if (!result.defined()) throw TypeError(name + ": the function returned an undefined tensor");
  if (result.numel() != 1)
    throw ValueError(name + ": the function returned " + described(result) +
                     ", and a gradient is that of one number; sum it, or use vjp or jacrev");
  if (is_complex(result.dtype()))
    fail_dtype(who, "the result", result,
               "a real number: return its real part or its absolute value");
  if (!is_floating(result.dtype()))
    fail_dtype(who, "the result", result,
               "a floating point number: an integer has no derivative; convert it with to(float32) "
               "before the ops that are to be differentiated");
}

// ---- forward ----

Carrying::Carrying(const char* who, const Tensors& primals, const Tensors& tangents)
    : who_(who), around_(level_around(primals)) {
  if (primals.size() != tangents.size())
    throw ValueError(std::string(who) + ": got " + std::to_string(tangents.size()) +
                     " tangents for " + std::to_string(primals.size()) + " inputs");
  for (size_t i = 0; i < primals.size(); ++i) {
    check_input(who, primals[i], i);
    const Tensor &primal = primals[i], &tangent = tangents[i];
    if (!tangent.defined() || tangent.dtype() != primal.dtype() ||
        tangent.sizes() != primal.sizes())
      throw ValueError(std::string(who) + ": tangent " + std::to_string(i) + " is " +
                       (tangent.defined() ? described(tangent) : "undefined") + ", and input " +
                       std::to_string(i) + " " + described(primal) +
                       "; give one of the input's shape and dtype");
    // A tangent has the layout of its primal, and memory for each sample.
    Tensor inner = lower(primal, around_);
    if (!inner.is_same(primal)) inner = contiguous(inner);
    arguments_.push_back(raise(make_dual(inner, lower(tangent, around_)), around_));
  }
}

Dual Carrying::open(const Tensor& result) const {
  if (!result.defined())
    throw TypeError(std::string(who_) + ": the function returned an undefined tensor");
  Dual parts = unpack_dual(lower(result, around_));
  if (!parts.tangent.defined()) parts.tangent = zeros_like(parts.primal.detach());
  return {raise(parts.primal, around_), raise(parts.tangent, around_)};
}

}  // namespace transforms::derived
TENON_NAMESPACE_END
