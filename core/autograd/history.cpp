// Leaves, accumulators, and histories across in-place changes and views.
#include "core/autograd/history.hpp"

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <string>
#include <utility>

#include "core/autograd/anomaly.hpp"
#include "core/base/allocator.hpp"
#include "core/base/error.hpp"
#include "core/base/fork.hpp"
#include "core/base/log.hpp"
#include "core/dispatch/call.hpp"
#include "core/dispatch/registry.hpp"
#include "core/dispatch/thread_state.hpp"
#include "core/dispatch/types.hpp"
#include "core/tensor/copy.hpp"
#include "core/tensor/dtype.hpp"
#include "core/tensor/shape.hpp"

namespace tenon::core {

namespace {

const tenon_op* core_op(const char* name) { return Registry::process().require(name); }

// Shape, strides and offset of a view in its base's storage.
struct Geometry {
  Sizes shape, strides;
  int64_t offset = 0;  // elements from the base's first
};

Geometry geometry_of(const Tensor& view, const Tensor& base) {
  Geometry geometry;
  geometry.shape.rank = geometry.strides.rank = view.view.rank;
  for (size_t d = 0; d < view.view.rank; ++d) {
    geometry.shape.values[d] = view.view.shape[d];
    geometry.strides.values[d] = view.view.strides[d];
  }
  const auto bytes =
      static_cast<const char*>(view.view.data) - static_cast<const char*>(base.view.data);
  geometry.offset = view.view.data == nullptr ? 0 : bytes / dtype_bytes(base.view.dtype);
  return geometry;
}

// The geometry is the place of a view in the memory of its base, which must be row-major: other
// layouts have no gradient of that layout to take it from.
void require_place(const Tensor& view, const Tensor& base) {
  if (view.storage != base.storage) {
    throw Error(TENON_ERROR_RUNTIME,
                "a view of shape " + shape_text(view.shape()) +
                    " does not share the memory of its base any more: the base was converted in "
                    "place, as Module::to does; take the view again after the conversion");
  }
  if (base.contiguous()) return;
  throw Error(TENON_ERROR_NOT_IMPLEMENTED,
              "in-place changes of a view are recorded only when its base is contiguous; the base "
              "has shape " +
                  shape_text(base.shape()) + " and strides " + shape_text(base.strides()) +
                  ": make it contiguous() first");
}

// Whether two indices may lead to the same element; sure only of layouts that nest.
bool may_overlap(Shape shape, Shape strides) {
  size_t order[TENON_MAX_RANK];
  size_t rank = 0;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] > 1) order[rank++] = d;
  }
  std::sort(order, order + rank,
            [&](size_t a, size_t b) { return std::abs(strides[a]) < std::abs(strides[b]); });
  int64_t covered = 0;
  for (size_t i = 0; i < rank; ++i) {
    const int64_t step = std::abs(strides[order[i]]);
    if (step <= covered) return true;
    covered += step * (shape[order[i]] - 1);
  }
  return false;
}

// A node with its edges and one output in its own block.
template <class Derived>
struct Trailing {
  static constexpr size_t at() { return (sizeof(Derived) + 7) / 8 * 8; }
  static int64_t bytes(size_t edges, size_t rank) {
    return static_cast<int64_t>(at() + edges * sizeof(Edge) + sizeof(OutputInfo) +
                                rank * sizeof(int64_t));
  }
};

// Reads a view out of its base again, after the base was changed in place.
class ViewNode final : public Node {
 public:
  static ViewNode* create(Edge base_edge, const Tensor& view, const Tensor& base) {
    using Block = Trailing<ViewNode>;
    const int64_t bytes = Block::bytes(1, view.view.rank);
    auto* memory = static_cast<char*>(allocate(bytes));
    auto* node = new (memory) ViewNode(static_cast<uint32_t>(bytes));
    node->edges_ = reinterpret_cast<Edge*>(memory + Block::at());
    node->edges_[0] = base_edge;
    node->edge_count_ = 1;
    node->outputs_ = reinterpret_cast<OutputInfo*>(node->edges_ + 1);
    auto* shape = reinterpret_cast<int64_t*>(node->outputs_ + 1);
    for (size_t d = 0; d < view.view.rank; ++d) shape[d] = view.view.shape[d];
    node->outputs_[0] = {shape, view.view.dtype, view.view.rank, true, 0};
    node->output_count_ = 1;
    node->geometry_ = geometry_of(view, base);
    node->base_shape_.rank = base.view.rank;
    for (size_t d = 0; d < base.view.rank; ++d) node->base_shape_.values[d] = base.view.shape[d];
    return node;
  }
  const char* name() const override { return "AsStridedBackward0"; }
  void apply(std::span<Tensor* const> gradients, std::vector<TensorRef>& answer,
             BackwardCall) override {
    if (gradients[0] == nullptr) {
      answer.emplace_back();
      return;
    }
    if (may_overlap(geometry_.shape, geometry_.strides)) {
      answer.push_back(add_in_place(*gradients[0]));
      return;
    }
    TensorRef zeros = make_empty(gradients[0]->view.dtype, base_shape_);
    fill(*zeros, int_value(0));
    static const tenon_op* const scatter = core_op("as_strided_scatter");
    const tenon_value arguments[] = {tensor_value(zeros.get()), tensor_value(gradients[0]),
                                     int_list_value(geometry_.shape.operator Shape()),
                                     int_list_value(geometry_.strides.operator Shape()),
                                     int_value(geometry_.offset)};
    answer.push_back(call_tensor(scatter, arguments));
  }

 private:
  // Elements that share memory share its gradient.
  TensorRef add_in_place(Tensor& gradient) const {
    static const tenon_op* const index_add = core_op("index_add");
    static const tenon_op* const reshape = core_op("reshape");
    int64_t base_count = 1;
    for (const int64_t size : base_shape_.operator Shape()) base_count *= size;
    const TensorRef zeros = make_empty(gradient.view.dtype, {&base_count, 1});
    fill(*zeros, int_value(0));
    const int64_t count = gradient.view.count;
    const TensorRef positions = make_empty(TENON_I64, {&count, 1});
    for (int64_t i = 0; i < count; ++i) {
      int64_t place = geometry_.offset;
      for (int64_t d = geometry_.shape.rank - 1, rest = i; d >= 0; --d) {
        place += rest % geometry_.shape.values[d] * geometry_.strides.values[d];
        rest /= geometry_.shape.values[d];
      }
      static_cast<int64_t*>(positions->view.data)[i] = place;
    }
    const tenon_value row_arguments[] = {tensor_value(&gradient), int_list_value({&count, 1})};
    const TensorRef row = call_tensor(reshape, row_arguments);
    const tenon_value arguments[] = {tensor_value(zeros.get()), int_value(0),
                                     tensor_value(positions.get()), tensor_value(row.get())};
    const TensorRef whole = call_tensor(index_add, arguments);
    const tenon_value shape_arguments[] = {tensor_value(whole.get()),
                                           int_list_value(base_shape_.operator Shape())};
    return call_tensor(reshape, shape_arguments);
  }
  explicit ViewNode(uint32_t bytes) : Node(next_sequence(), bytes) {}
  Geometry geometry_;
  Sizes base_shape_;
};

// The base's history after a recorded in-place change of one of its views: the gradient of the
// viewed part goes through the change, the rest passes by.
class CopySlicesNode final : public Node {
 public:
  // `change` changed the view as its result `output`, which it got by its edge `slot`.
  static CopySlicesNode* create(Edge base_edge, OpNode* change, uint32_t output, size_t slot,
                                const Tensor& view, const Tensor& base) {
    using Block = Trailing<CopySlicesNode>;
    const size_t edges = change->edges().size() + 1;
    const int64_t bytes = Block::bytes(edges, base.view.rank);
    auto* memory = static_cast<char*>(allocate(bytes));
    auto* node = new (memory) CopySlicesNode(static_cast<uint32_t>(bytes));
    node->change_ = change;
    change->retain();
    node->output_ = output;
    node->slot_ = slot;
    node->edges_ = reinterpret_cast<Edge*>(memory + Block::at());
    node->edge_count_ = static_cast<uint16_t>(edges);
    node->edges_[0] = base_edge;
    for (size_t i = 1; i < edges; ++i) {
      // The view's own old history is part of the base's.
      node->edges_[i] = i - 1 == slot ? Edge{} : change->edges()[i - 1];
      if (node->edges_[i].node != nullptr) node->edges_[i].node->retain();
    }
    node->outputs_ = reinterpret_cast<OutputInfo*>(node->edges_ + edges);
    auto* shape = reinterpret_cast<int64_t*>(node->outputs_ + 1);
    for (size_t d = 0; d < base.view.rank; ++d) shape[d] = base.view.shape[d];
    node->outputs_[0] = {shape, base.view.dtype, base.view.rank, true, 0};
    node->output_count_ = 1;
    node->geometry_ = geometry_of(view, base);
    return node;
  }
  const char* name() const override { return "CopySlices"; }
  const Implementation* implementation() const override { return change_->implementation(); }
  bool released() const override { return change_->released(); }
  // The other results of the change may still need what it saved.
  void release_saved() override {
    if (change_->outputs().size() == 1) change_->release_saved();
  }
  void detach_saved(const Storage& storage) override { change_->detach_saved(storage); }
  void apply(std::span<Tensor* const> gradients, std::vector<TensorRef>& answer,
             BackwardCall call) override {
    if (gradients[0] == nullptr) {
      answer.resize(edge_count_);
      return;
    }
    static const tenon_op* const contiguous = core_op("contiguous");
    static const tenon_op* const as_strided = core_op("as_strided");
    static const tenon_op* const scatter = core_op("as_strided_scatter");
    const tenon_value whole_argument = tensor_value(gradients[0]);
    const TensorRef whole = call_tensor(contiguous, {&whole_argument, 1});
    const tenon_value shape = int_list_value(geometry_.shape.operator Shape());
    const tenon_value strides = int_list_value(geometry_.strides.operator Shape());
    const tenon_value slice_arguments[] = {tensor_value(whole.get()), shape, strides,
                                           int_value(geometry_.offset)};
    const TensorRef slice = call_tensor(as_strided, slice_arguments);
    std::vector<TensorRef> inner;
    std::vector<Tensor*> given(change_->outputs().size());
    given[output_] = slice.get();
    change_->apply(
        given, inner,
        {call.create_graph, call.retain_graph, nullptr, call.run, slot_, edges_[0].node});
    TensorRef own = slot_ < inner.size() ? inner[slot_] : TensorRef();
    if (own) {
      const OutputInfo part{slice->view.shape, slice->view.dtype, slice->view.rank, true, 0};
      own = fit_gradient(std::move(own), part, *change_, slot_);
    } else {
      own = make_empty(slice->view.dtype, slice->shape());
      fill(*own, int_value(0));
    }
    const tenon_value scatter_arguments[] = {tensor_value(whole.get()), tensor_value(own.get()),
                                             shape, strides, int_value(geometry_.offset)};
    answer.push_back(call_tensor(scatter, scatter_arguments));
    for (size_t i = 1; i < edge_count_; ++i)
      answer.push_back(i - 1 < inner.size() && i - 1 != slot_ ? inner[i - 1] : TensorRef());
  }

 private:
  explicit CopySlicesNode(uint32_t bytes) : Node(next_sequence(), bytes) {}
  ~CopySlicesNode() override { change_->release(); }
  OpNode* change_ = nullptr;
  uint32_t output_ = 0;
  size_t slot_ = 0;
  Geometry geometry_;
};

}  // namespace

// ---- accumulators ----

Accumulator::Accumulator(Tensor* leaf)
    : Node(kAccumulatorSequence, sizeof(Accumulator)), leaf_(leaf) {
  info_ = {leaf->view.shape, leaf->view.dtype, leaf->view.rank, true, leaf->view.type};
  outputs_ = &info_;
  output_count_ = 1;
  references.store(0, std::memory_order_relaxed);
  destroy = let_go;
}

Accumulator* Accumulator::create(Tensor* leaf) {
  return new (allocate(sizeof(Accumulator))) Accumulator(leaf);
}

void Accumulator::dispose(Accumulator* accumulator) noexcept {
  if (accumulator == nullptr) return;
  accumulator->~Accumulator();
  core::release(accumulator, sizeof(Accumulator));
}

// The last edge has gone: the accumulator stays with its leaf, which it no longer holds.
void Accumulator::let_go(GraphNode* node) noexcept {
  static_cast<Accumulator*>(node)->leaf_->release();
}

void Accumulator::apply(std::span<Tensor* const> gradients, std::vector<TensorRef>&,
                        BackwardCall call) {
  if (gradients[0] != nullptr) accumulate_grad(*leaf_, gradients[0], call.create_graph);
}

namespace {

// Whether the holder of the one reference may change the tensor, or keep it as its own.
bool sole_owner(const Tensor& tensor) {
  return tensor.references.load(std::memory_order_acquire) == 1 &&
         tensor.view.flags == TENON_TENSOR_CONTIGUOUS && tensor.storage != nullptr &&
         !tensor.storage->foreign &&
         tensor.storage->references.load(std::memory_order_acquire) == 1;
}

// The gradient's history leads to the leaf that keeps it, most of the time.
[[gnu::cold]] void warn_of_cycle() {
  static std::atomic<bool> warned{false};
  if (warned.exchange(true, std::memory_order_relaxed)) return;
  log(LogLevel::warning, "",
      "backward() with create_graph=true leaves a reference cycle between a leaf and its .grad, "
      "which keeps the graph alive: use gradients() instead, or reset .grad after use. Reported "
      "once");
}

TensorRef cloned(Tensor* tensor) {
  static const tenon_op* const clone = core_op("clone");
  const tenon_value argument = tensor_value(tensor);
  return call_tensor(clone, {&argument, 1});
}

}  // namespace

void accumulate_grad(Tensor& tensor, Tensor* gradient, bool create_graph) {
  TensorMeta& meta = meta_of(tensor);
  const std::lock_guard adding(meta.adding);
  const TensorRef present = grad_of(tensor);
  TensorRef next;
  if (!present && gradient->typed() && gradient->storage == nullptr) {
    // Of a type that keeps its own state: objects of it are values.
    next = create_graph ? TensorRef(gradient) : make_detached(*gradient);
  } else if (!present) {
    // Kept as it is when nobody else can see it change later.
    next = sole_owner(*gradient) || (create_graph && gradient->references.load() == 1)
               ? TensorRef(gradient)
           : create_graph ||
                   (gradient->view.flags & (TENON_TENSOR_HAS_TANGENT | TENON_TENSOR_TYPED)) != 0
               ? cloned(gradient)
               : contiguous_copy(*gradient);
  } else if (create_graph || !present->contiguous() ||
             ((present->view.flags | gradient->view.flags) &
              (TENON_TENSOR_READ_ONLY | TENON_TENSOR_TYPED)) != 0) {
    next = add_gradients(TensorRef(present), gradient, true);
  } else {
    static const tenon_op* const add_in_place = core_op("add_");
    const tenon_value arguments[] = {tensor_value(present.get()), tensor_value(gradient)};
    const GradModeGuard guard(false);
    call_tensor(add_in_place, arguments);
    return;
  }
  if (create_graph && next->node != nullptr && is_leaf(tensor)) warn_of_cycle();
  set_grad(tensor, next.get());
}

TensorRef add_gradients(TensorRef into, Tensor* more, bool create_graph) {
  const bool own = !create_graph && sole_owner(*into) &&
                   (more->view.flags & ~uint32_t{TENON_TENSOR_CONTIGUOUS | TENON_TENSOR_VIEW}) == 0;
  static const tenon_op* const add = core_op("add");
  static const tenon_op* const add_in_place = core_op("add_");
  const tenon_value arguments[] = {tensor_value(into.get()), tensor_value(more)};
  return call_tensor(own ? add_in_place : add, arguments);
}

// ---- histories ----

TensorMeta& meta_of(Tensor& tensor) {
  if (tensor.meta == nullptr) tensor.meta = new TensorMeta;
  return *static_cast<TensorMeta*>(tensor.meta);
}

namespace {

Edge accumulator_edge(Tensor& leaf) {
  TensorMeta& meta = meta_of(leaf);
  Accumulator* present = meta.accumulator.load(std::memory_order_acquire);
  if (present == nullptr) {
    Accumulator* made = Accumulator::create(&leaf);
    if (meta.accumulator.compare_exchange_strong(present, made, std::memory_order_acq_rel))
      present = made;
    else
      Accumulator::dispose(made);
  }
  return {present->acquire(), 0};
}

}  // namespace

namespace {

// The history of a view that a Function returns without declaring it is the Function's own rule,
// which reading the view out of its changed base would pass over.
void check_function_view(const Tensor& view) {
  auto* node = static_cast<Node*>(view.node);
  const Implementation* implementation = node == nullptr ? nullptr : node->implementation();
  if (implementation == nullptr || (implementation->flags & TENON_OP_FUNCTION) == 0) return;
  const std::vector<int32_t>& aliases = implementation->result_alias;
  if (view.node_output < aliases.size() && aliases[view.node_output] >= 0) return;
  Error error(
      TENON_ERROR_INPLACE,
      "Output " + std::to_string(view.node_output) + " of " + node->name() +
          " is a view and it, or its base, is being modified inplace. This view was created "
          "inside a custom Function (or because an input was returned as-is) and the "
          "gradient of the Function would be passed over. Clone the output of the Function, "
          "or declare the view in its schema: Tensor(a)");
  error.op = implementation->schema.name;
  error.provider = implementation->provider;
  throw error;
}

// A view that was made where nothing is recorded: its change would not reach the base's history,
// nor the base's change its own.
[[noreturn, gnu::cold]] void fail_unrecorded_view(const Tensor& view, const std::string& changed) {
  const bool inference = view.view_origin == ViewOrigin::inference;
  throw Error(
      TENON_ERROR_INPLACE,
      view.view_origin == ViewOrigin::recorded
          ? "A view that does not require grad, of a base that does, " + changed +
                ". Clone the view, or detach it"
          : std::string("A view was created in ") + (inference ? "inference" : "no_grad") +
                " mode and " + changed +
                (inference ? " in normal mode" : " with grad mode enabled") +
                ". This use is ambiguous: move both the view and the change into the mode, so that "
                "the change is not recorded, or both out of it");
}

[[noreturn, gnu::cold]] void fail_leaf_view() {
  throw Error(TENON_ERROR_INPLACE,
              "a leaf tensor that requires grad is a view, and its base, or another view of its "
              "base, was modified inplace by an operation that is recorded: the leaf's value is "
              "computed now. Run the operation under no_grad, or make the leaf a clone");
}

}  // namespace

void refresh_stale(Tensor& tensor) {
  if (!tensor.older_than_base()) return;
  Tensor& base = *tensor.view_base;
  // Readers of one view may be the first to notice, all at once.
  static std::mutex refreshing;
  static const HeldAcrossFork held(refreshing);
  struct Old {
    GraphNode* node = nullptr;
    ~Old() {
      if (node != nullptr) node->release();
    }
  } old;  // freed when the lock is
  const std::lock_guard lock(refreshing);
  if (!tensor.older_than_base()) return;
  if (!dtype_floating(tensor.view.dtype)) return;
  if (tensor.node == nullptr && tensor.requires_grad()) fail_leaf_view();
  if (tensor.view_origin != ViewOrigin::recorded)
    fail_unrecorded_view(tensor, "its base, or another view of its base, was modified inplace");
  check_function_view(tensor);
  require_place(tensor, base);
  if (tensor.node != nullptr) tensor.node->retain();
  old.node = tensor.node;
  ViewNode* node = ViewNode::create(gradient_edge(base), tensor, base);
  set_history(tensor, node, 0);
  node->release();
}

void set_history(Tensor& tensor, Node* node, uint32_t output) {
  node->retain();
  if (TensorMeta* meta = meta_if_any(tensor); meta != nullptr && meta->retained) [[unlikely]] {
    // What retains its gradient goes on doing so for its new value.
    static_cast<Node*>(tensor.node)->extra().forget(meta->retained);
    node->extra().retain_into(output, meta->retained);
  }
  if (tensor.node != nullptr) tensor.node->release();
  tensor.node = node;
  tensor.node_output = output;
  if (tensor.view_origin != ViewOrigin::recorded) tensor.view_origin = ViewOrigin::recorded;
  if (!tensor.requires_grad()) {
    __atomic_store_n(&tensor.view.flags, tensor.view.flags | TENON_TENSOR_REQUIRES_GRAD,
                     __ATOMIC_RELAXED);
  }
  __atomic_store_n(&tensor.view_version, tensor.version(), __ATOMIC_RELEASE);
}

Edge gradient_edge(Tensor& tensor) {
  if (tensor.node != nullptr) {
    tensor.node->retain();
    return {static_cast<Node*>(tensor.node), tensor.node_output};
  }
  if (!tensor.requires_grad()) return {};
  return accumulator_edge(tensor);
}

void rebase_history(Tensor& tensor, OpNode* node, uint32_t output, size_t slot) {
  if (tensor.view_base == nullptr || !dtype_floating(tensor.view.dtype)) {
    set_history(tensor, node, output);
    return;
  }
  Tensor& base = *tensor.view_base;
  require_place(tensor, base);
  CopySlicesNode* through =
      CopySlicesNode::create(gradient_edge(base), node, output, slot, tensor, base);
  if (thread_state.anomaly != 0) remember_origin(*through);
  set_history(base, through, 0);
  through->release();
  ViewNode* again = ViewNode::create(gradient_edge(base), tensor, base);
  set_history(tensor, again, 0);
  again->release();
}

void break_saved_cycles(const Storage& storage, Node& node, std::span<Node* const> old) {
  constexpr size_t kMost = 10'000;  // a change in place is not worth a longer search
  std::unordered_set<Node*> seen(old.begin(), old.end());
  std::vector<Node*> waiting{&node};
  while (!waiting.empty()) {
    Node* next = waiting.back();
    waiting.pop_back();
    if (next != &node) next->detach_saved(storage);
    for (const Edge& edge : next->edges()) {
      if (edge.node != nullptr && seen.insert(edge.node).second) waiting.push_back(edge.node);
    }
    if (seen.size() <= kMost) continue;
    static std::atomic<bool> warned{false};
    if (warned.exchange(true, std::memory_order_relaxed)) return;
    log(LogLevel::warning, "",
        "a tensor that was saved for backward is changed in place at the end of a long graph, "
        "which may leave a reference cycle that keeps the graph alive: clone the tensor before "
        "the change, or make it under no_grad. Reported once");
    return;
  }
}

void require_disjoint(const Tensor& tensor, const char* op) {
  if (tensor.contiguous() || !may_overlap(tensor.shape(), tensor.strides())) return;
  throw Error(TENON_ERROR_INPLACE,
              std::string(op) + "(): a tensor of shape " + shape_text(tensor.shape()) +
                  " and strides " + shape_text(tensor.strides()) +
                  " is being modified inplace, and more than one of its elements may be in one "
                  "place of memory: clone it first");
}

void check_inplace(Tensor& tensor, const char* op) {
  if (tensor.has_flag(TENON_TENSOR_INFERENCE))
    throw Error(TENON_ERROR_INPLACE, std::string(op) + "(): " + kInferenceChange);
  refresh_history(tensor);
  require_disjoint(tensor, op);
  // A dual of a leaf has the leaf's accumulator for its history, and its data.
  const bool accumulates =
      tensor.node != nullptr &&
      static_cast<const Node*>(tensor.node)->sequence() == kAccumulatorSequence;
  if ((is_leaf(tensor) && tensor.requires_grad()) || accumulates) {
    throw Error(TENON_ERROR_INPLACE,
                std::string(op) +
                    "(): a leaf tensor that requires grad is being used in an in-place operation; "
                    "run it under no_grad, or on a clone");
  }
  if (tensor.typed() && component_owner(tensor) != nullptr && has_held_history(tensor)) {
    throw Error(TENON_ERROR_INPLACE,
                std::string(op) +
                    "(): its components have a history, which does not see that the whole is "
                    "changed in place; change the components by ops, or return a new object");
  }
  if (tensor.view_base == nullptr || !dtype_floating(tensor.view.dtype)) return;
  if (tensor.view_origin != ViewOrigin::recorded)
    fail_unrecorded_view(tensor, "is being modified inplace");
  if (is_leaf(*tensor.view_base) && tensor.view_base->requires_grad()) {
    throw Error(TENON_ERROR_INPLACE, std::string(op) +
                                         "(): a view of a leaf tensor that requires grad is being "
                                         "used in an in-place operation; "
                                         "run it under no_grad, or on a clone");
  }
  if (!tensor.requires_grad() && tensor.view_base->requires_grad())
    fail_unrecorded_view(tensor, "is being modified inplace");
  check_function_view(tensor);
  require_place(tensor, *tensor.view_base);
}

// ---- what the boundary offers ----

void set_requires_grad(Tensor& tensor, bool requires_grad) {
  refresh_history(tensor);
  if (requires_grad && !dtype_floating(tensor.view.dtype)) {
    throw Error(TENON_ERROR_RUNTIME,
                std::string("only tensors of floating point dtype can require gradients, not ") +
                    dtype_text(tensor.view.dtype));
  }
  if (!is_leaf(tensor)) {
    if (requires_grad) return;
    throw Error(TENON_ERROR_RUNTIME,
                "you can only change requires_grad flags of leaf tensors; use detach() to get a "
                "computed tensor without history");
  }
  if (requires_grad && tensor.has_flag(TENON_TENSOR_INFERENCE) && !thread_state.inference) {
    throw Error(
        TENON_ERROR_RUNTIME,
        "an inference tensor cannot require grad outside of inference mode: clone it first");
  }
  if (requires_grad) {
    meta_of(tensor);
    tensor.view.flags |= TENON_TENSOR_REQUIRES_GRAD;
  } else {
    tensor.view.flags &= ~uint32_t{TENON_TENSOR_REQUIRES_GRAD};
  }
}

TensorRef grad_of(Tensor& tensor) {
  TensorMeta* meta = meta_if_any(tensor);
  if (meta == nullptr) return {};
  if (meta->retained) {
    const std::lock_guard lock(meta->retained->mutex);
    return meta->retained->grad;
  }
  const std::lock_guard lock(meta->mutex);
  return meta->grad;
}

void set_grad(Tensor& tensor, Tensor* grad) {
  if (grad != nullptr) {
    if (grad->view.rank != tensor.view.rank ||
        !std::equal(grad->shape().begin(), grad->shape().end(), tensor.shape().begin())) {
      throw Error(TENON_ERROR_VALUE, "assigned grad has shape " + shape_text(grad->shape()) +
                                         " but the tensor has shape " + shape_text(tensor.shape()));
    }
    if (grad->view.dtype != tensor.view.dtype) {
      throw Error(TENON_ERROR_TYPE,
                  std::string("assigned grad has dtype ") + dtype_text(grad->view.dtype) +
                      " but the tensor has dtype " + dtype_text(tensor.view.dtype));
    }
  } else if (tensor.meta == nullptr) {
    return;
  }
  TensorMeta& meta = meta_of(tensor);
  if (meta.retained) {
    const std::lock_guard lock(meta.retained->mutex);
    meta.retained->grad = TensorRef(grad);
    return;
  }
  const std::lock_guard lock(meta.mutex);
  meta.grad = TensorRef(grad);
}

void replace_value(Tensor& tensor, const Tensor& value, Tensor* grad) {
  const bool computed = tensor.node != nullptr;
  replace_data(tensor, value);
  if (computed) {
    tensor.view.flags &= ~uint32_t{TENON_TENSOR_REQUIRES_GRAD};
    std::exchange(tensor.node, nullptr)->release();
  }
  if (tensor.view_base != nullptr) std::exchange(tensor.view_base, nullptr)->release();
  TensorMeta* meta = meta_if_any(tensor);
  if (meta == nullptr) return;
  if (Accumulator* accumulator = meta->accumulator.load(std::memory_order_acquire))
    accumulator->renew();
  meta->retained = nullptr;
  meta->tangent = {};
  const std::lock_guard lock(meta->mutex);
  meta->grad = TensorRef(grad);
}

void retain_grad(Tensor& tensor) {
  refresh_history(tensor);
  if (!tensor.requires_grad()) {
    throw Error(TENON_ERROR_RUNTIME, "can't retain_grad on a tensor that does not require grad");
  }
  if (is_leaf(tensor)) return;
  TensorMeta& meta = meta_of(tensor);
  if (meta.retained) return;
  meta.retained = std::make_shared<RetainedGrad>();
  static_cast<Node*>(tensor.node)->extra().retain_into(tensor.node_output, meta.retained);
}

}  // namespace tenon::core
