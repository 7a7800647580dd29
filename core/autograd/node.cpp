// Recording and replaying op calls.
#include "core/autograd/node.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "core/autograd/anomaly.hpp"
#include "core/autograd/dual.hpp"
#include "core/autograd/history.hpp"
#include "core/autograd/live.hpp"
#include "core/base/allocator.hpp"
#include "core/base/error.hpp"
#include "core/dispatch/call.hpp"
#include "core/dispatch/registry.hpp"
#include "core/dispatch/thread_state.hpp"
#include "core/tensor/copy.hpp"
#include "core/tensor/dtype.hpp"
#include "core/tensor/shape.hpp"

namespace tenon::core {

namespace {

std::atomic<uint64_t> sequence_counter{1};

// Nodes whose last reference went while another was being destroyed on this thread. Without a
// destructor: tensors with static storage die after the thread's own objects.
struct Graveyard {
  Node* waiting = nullptr;
  bool draining = false;
};
constinit thread_local Graveyard graveyard;

constexpr size_t aligned(size_t bytes) { return (bytes + 7) / 8 * 8; }

// Arguments that are kept as they are, and those of which a node needs its own copy; of the others
// (tensors, lists of them, documents, modules) it keeps nothing here.
constexpr uint32_t kPlainTags = 1u << TENON_VALUE_NONE | 1u << TENON_VALUE_BOOL |
                                1u << TENON_VALUE_INT | 1u << TENON_VALUE_FLOAT |
                                1u << TENON_VALUE_DTYPE;
constexpr uint32_t kCopiedTags = 1u << TENON_VALUE_STRING | 1u << TENON_VALUE_BOOL_LIST |
                                 1u << TENON_VALUE_INT_LIST | 1u << TENON_VALUE_FLOAT_LIST;

size_t copied_bytes(const tenon_value& value) {
  const bool bytes = value.tag == TENON_VALUE_STRING || value.tag == TENON_VALUE_BOOL_LIST;
  return bytes ? value.length : value.length * size_t{8};
}

[[noreturn]] void fail_released(const char* name) {
  throw Error(
      TENON_ERROR_GRAPH,
      std::string(
          "Trying to backward through the graph a second time (or directly access saved tensors "
          "after they have already been freed). Saved intermediate values of the graph are freed "
          "when you call backward() or gradients(): pass retain_graph=true to the first call "
          "if you need to go through it again. (at ") +
          name + ")");
}

}  // namespace

uint64_t next_sequence() { return sequence_counter.fetch_add(1, std::memory_order_relaxed); }

Node::~Node() {
  if (NodeExtra* extra = extra_.load(std::memory_order_relaxed)) {
    extra->clear();
    extra->release();
  }
  for (const Edge& edge : edges()) {
    if (edge.node != nullptr) edge.node->release();
  }
}

NodeExtra& Node::extra() {
  NodeExtra* present = extra_if_any();
  if (present != nullptr) return *present;
  auto* made = new NodeExtra(*this);
  if (extra_.compare_exchange_strong(present, made, std::memory_order_acq_rel)) return *made;
  made->release();
  return *present;
}

void Node::destroy_node(GraphNode* base) noexcept {
  Graveyard& yard = graveyard;
  auto* node = static_cast<Node*>(base);
  if (yard.draining) {
    node->sequence_ = reinterpret_cast<uintptr_t>(yard.waiting);
    yard.waiting = node;
    return;
  }
  yard.draining = true;
  for (;;) {
    const uint32_t bytes = node->bytes_;
    node->~Node();
    core::release(node, bytes);
    node = yard.waiting;
    if (node == nullptr) break;
    yard.waiting = reinterpret_cast<Node*>(static_cast<uintptr_t>(node->sequence_));
  }
  yard.draining = false;
}

OpNode* OpNode::create(const Implementation& implementation, const tenon_value* arguments,
                       size_t slots, std::span<Tensor* const> results, size_t saved_capacity) {
  // Trailing `out` and tensors that nobody reads again need no place.
  size_t argument_count = implementation.parameter_count;
  if (implementation.out_parameter == static_cast<int32_t>(argument_count) - 1) --argument_count;
  size_t extra = 0;
  for (size_t i = 0; i < argument_count; ++i) {
    if ((kCopiedTags >> arguments[i].tag & 1u) != 0) extra += aligned(copied_bytes(arguments[i]));
  }
  size_t shapes = 0;
  for (const Tensor* result : results) shapes += result == nullptr ? 0 : result->view.rank;

  size_t bytes = aligned(sizeof(OpNode));
  const size_t edges_at = bytes;
  bytes += slots * sizeof(Edge);
  const size_t outputs_at = bytes;
  bytes += results.size() * sizeof(OutputInfo);
  const size_t shapes_at = bytes;
  bytes += shapes * sizeof(int64_t);
  const size_t arguments_at = bytes;
  bytes += argument_count * sizeof(tenon_value);
  const size_t saved_at = bytes;
  bytes += saved_capacity * sizeof(SavedTensor);
  const size_t extra_at = bytes;
  bytes += extra;

  auto* memory = static_cast<char*>(allocate(static_cast<int64_t>(bytes)));
  auto* node = new (memory) OpNode(implementation, static_cast<uint32_t>(bytes));
  node->edges_ = reinterpret_cast<Edge*>(memory + edges_at);
  node->edge_count_ = static_cast<uint16_t>(slots);
  for (size_t i = 0; i < slots; ++i) node->edges_[i] = {};
  node->outputs_ = reinterpret_cast<OutputInfo*>(memory + outputs_at);
  node->output_count_ = static_cast<uint16_t>(results.size());
  auto* shape = reinterpret_cast<int64_t*>(memory + shapes_at);
  for (size_t i = 0; i < results.size(); ++i) {
    node->outputs_[i] = {};
    if (results[i] == nullptr) continue;
    const tenon_tensor_view& view = results[i]->view;
    for (size_t d = 0; d < view.rank; ++d) shape[d] = view.shape[d];
    node->outputs_[i] = {shape, view.dtype, view.rank, dtype_floating(view.dtype)};
    shape += view.rank;
  }
  node->arguments_ = reinterpret_cast<tenon_value*>(memory + arguments_at);
  node->argument_count_ = static_cast<uint16_t>(argument_count);
  char* own = memory + extra_at;
  for (size_t i = 0; i < argument_count; ++i) {
    const tenon_value& value = arguments[i];
    const uint32_t bit = 1u << value.tag;
    node->arguments_[i] = (bit & (kPlainTags | kCopiedTags)) != 0 ? value : tenon_value{};
    if ((bit & kCopiedTags) == 0 || value.length == 0) continue;
    const size_t size = copied_bytes(value);
    std::memcpy(own, value.as.pointer, size);
    node->arguments_[i].as.pointer = own;
    own += aligned(size);
  }
  node->saved_ = reinterpret_cast<SavedTensor*>(memory + saved_at);
  node->saved_capacity_ = static_cast<uint16_t>(saved_capacity);
  if (thread_state.anomaly != 0) [[unlikely]]
    remember_origin(*node);
  if (live_tracked.load(std::memory_order_relaxed)) [[unlikely]] {
    note_birth(*node);
    node->counted_ = true;
  }
  return node;
}

OpNode::~OpNode() {
  if (counted_) [[unlikely]]
    note_death(*this);
  free_saved();
}

void OpNode::free_saved() {
  for (size_t i = 0; i < saved_count_; ++i) {
    if (saved_[i].tensor != nullptr) saved_[i].tensor->release();
  }
  saved_count_ = 0;
  notes_.reset();
}

void OpNode::release_saved() {
  // The last running rule frees instead.
  if (uses_.fetch_or(kReleased, std::memory_order_acq_rel) == 0) free_saved();
}

// One run of the node's rule.
class OpNode::Use {
 public:
  explicit Use(OpNode& node) : node_(node) {
    uint32_t uses = node.uses_.load(std::memory_order_acquire);
    do {
      if ((uses & kReleased) != 0) fail_released(node.name());
    } while (!node.uses_.compare_exchange_weak(uses, uses + 1, std::memory_order_acq_rel));
  }
  ~Use() {
    if (node_.uses_.fetch_sub(1, std::memory_order_acq_rel) == (kReleased | 1u)) node_.free_saved();
  }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;

 private:
  OpNode& node_;
};

NodeReport OpNode::report() {
  NodeReport report;
  if (released()) return report;
  const Use use(*this);
  for (size_t i = 0; i < saved_count_; ++i) {
    const Tensor* tensor = saved_[i].tensor;
    if (tensor == nullptr || tensor->storage == nullptr) continue;
    ++report.saved_tensors;
    report.saved_bytes += tensor->view.count * dtype_bytes(tensor->view.dtype);
  }
  report.stashed = notes_ && notes_->stash != nullptr;
  return report;
}

void fail_inference_saved() {
  throw Error(TENON_ERROR_RUNTIME,
              "Inference tensors cannot be saved for backward. To work around you can make a clone "
              "to get a normal tensor and use it in autograd.");
}

void OpNode::save(SavedTensor::Kind kind, size_t index, Tensor* tensor) {
  SavedTensor saved;
  saved.kind = kind;
  saved.index = static_cast<uint16_t>(index);
  if (tensor != nullptr) {
    if (tensor->has_flag(TENON_TENSOR_INFERENCE) && kind != SavedTensor::Kind::ShapeOnly)
        [[unlikely]]
      fail_inference_saved();
    saved.version = tensor->version();
    if (kind == SavedTensor::Kind::ShapeOnly) {
      saved.tensor = make_shape_only(*tensor).give();
    } else if (kind == SavedTensor::Kind::Result || kind == SavedTensor::Kind::ListedOwnResult) {
      // Without its history: the node must not keep itself alive through its own result.
      saved.tensor = make_detached(*tensor).give();
    } else {
      tensor->retain();
      saved.tensor = tensor;
    }
  }
  saved_[saved_count_++] = saved;
}

namespace {

bool own_result(const SavedTensor& saved) {
  return saved.kind == SavedTensor::Kind::Result ||
         saved.kind == SavedTensor::Kind::ListedOwnResult;
}

[[noreturn, gnu::cold]] void fail_changed(const SavedTensor& saved, const Node& node) {
  const Tensor& tensor = *saved.tensor;
  const tenon_op* writer = tensor.storage->last_writer.load(std::memory_order_relaxed);
  std::string origin;
  if (own_result(saved)) {
    origin = ", which is output " + std::to_string(saved.index) + " of " + node.name() + ",";
  } else if (tensor.node != nullptr) {
    origin = ", which is output " + std::to_string(tensor.node_output) + " of " +
             static_cast<Node*>(tensor.node)->name() + ",";
  }
  std::string message =
      "one of the variables needed for gradient computation has been modified by an inplace "
      "operation: [" +
      std::string(dtype_text(tensor.view.dtype)) + " " + shape_text(tensor.shape()) + "]" + origin +
      " is at version " + std::to_string(tensor.version()) + "; expected version " +
      std::to_string(saved.version) + " instead, to compute the gradients of " + node.name() + ".";
  if (writer != nullptr) {
    const Implementation* by = writer->implementation.load();
    message += " It was last changed by '" + writer->name + "'" +
               (by == nullptr ? "" : " (plugin '" + by->provider + "')") + ".";
  }
  message += " Hint: clone the tensor before changing it, or change it after backward.";
  throw Error(TENON_ERROR_INPLACE, message);
}

}  // namespace

namespace {

[[noreturn, gnu::cold]] void fail_answer(const Node& node, const std::string& what) {
  Error error(TENON_ERROR_RUNTIME, "function " + std::string(node.name()) + " returned " + what);
  if (const Implementation* implementation = node.implementation()) {
    error.op = implementation->schema.name;
    error.provider = implementation->provider;
  }
  throw error;
}

[[noreturn, gnu::cold]] void fail_count(const Node& node, size_t expected, size_t got) {
  fail_answer(node, "an incorrect number of gradients (expected " + std::to_string(expected) +
                        ", got " + std::to_string(got) + ")");
}

[[noreturn, gnu::cold]] void fail_not_tensor(const Node& node, size_t position) {
  std::string input = "the corresponding forward input";
  const Implementation* implementation = node.implementation();
  if (implementation != nullptr && !implementation->has_lists &&
      position < implementation->parameter_count) {
    input += " '" + implementation->schema.parameters[position].name + "'";
  }
  fail_answer(node, "a gradient different from None at position " + std::to_string(position + 1) +
                        ", but " + input + " was not a tensor");
}

bool same_shape(const Tensor& tensor, const OutputInfo& info) {
  return tensor.view.rank == info.rank &&
         std::equal(info.shape, info.shape + info.rank, tensor.view.shape);
}

bool expands_to(const OutputInfo& info, const Tensor& tensor) {
  if (info.rank > tensor.view.rank) return false;
  const size_t lead = tensor.view.rank - info.rank;
  for (size_t d = 0; d < info.rank; ++d) {
    if (info.shape[d] != 1 && info.shape[d] != tensor.view.shape[lead + d]) return false;
  }
  return true;
}

[[gnu::cold]] std::string invalid_at(size_t index) {
  return "an invalid gradient at index " + std::to_string(index);
}

}  // namespace

void check_answer(Node& node, std::span<const TensorRef> answer) {
  const size_t edges = node.edges().size();
  if (answer.size() < edges) fail_count(node, edges, answer.size());
  for (size_t i = 0; i < edges; ++i) {
    if (answer[i] && !node.slot_holds_tensor(i)) fail_not_tensor(node, i);
  }
  for (size_t i = edges; i < answer.size(); ++i) {
    if (!answer[i]) continue;
    // Beyond the last tensor, but still an argument of the call.
    const Implementation* implementation = node.implementation();
    if (implementation != nullptr && !implementation->has_lists &&
        i < implementation->parameter_count)
      fail_not_tensor(node, i);
    fail_count(node, edges, answer.size());
  }
}

TensorRef fit_gradient(TensorRef gradient, const OutputInfo& info, const Node& from, size_t index) {
  if (!same_shape(*gradient, info)) [[unlikely]] {
    if (!expands_to(info, *gradient)) {
      fail_answer(from, invalid_at(index) + " - got " + shape_text(gradient->shape()) +
                            " but expected shape compatible with " +
                            shape_text({info.shape, info.rank}));
    }
    static const tenon_op* const sum_to_size = Registry::process().require("sum_to_size");
    tenon_value shape{};
    shape.tag = TENON_VALUE_INT_LIST;
    shape.length = info.rank;
    shape.as.integers = info.shape;
    const tenon_value arguments[] = {tensor_value(gradient.get()), shape};
    gradient = call_tensor(sum_to_size, arguments);
  }
  if (gradient->view.dtype != info.dtype) [[unlikely]] {
    if (!dtype_floating(gradient->view.dtype)) {
      fail_answer(from, invalid_at(index) + " - expected dtype " + dtype_text(info.dtype) +
                            " but got " + dtype_text(gradient->view.dtype));
    }
    static const tenon_op* const to = Registry::process().require("to");
    tenon_value dtype{};
    dtype.tag = TENON_VALUE_DTYPE;
    dtype.as.integer = info.dtype;
    const tenon_value arguments[] = {tensor_value(gradient.get()), dtype};
    gradient = call_tensor(to, arguments);
  }
  if (gradient->has_flag(TENON_TENSOR_SHAPE_ONLY)) [[unlikely]] {
    fail_answer(from, invalid_at(index) +
                          " - a tensor that has a shape but no data, as saved by shape(...)");
  }
  return gradient;
}

// What a rule sees of its node.
class BackwardRule final : public RuleState {
 public:
  BackwardRule(OpNode& node, bool create_graph) : node_(node), create_graph_(create_graph) {}

  // Fills `values` with the call's arguments, saved tensors in place.
  void fill_arguments(tenon_value* values) {
    for (size_t i = 0; i < node_.argument_count_; ++i) values[i] = node_.arguments_[i];
    for (size_t i = node_.argument_count_; i < node_.implementation_->parameter_count; ++i)
      values[i] = tenon_value{};
    for (size_t i = 0; i < node_.saved_count_; ++i) {
      const SavedTensor& saved = node_.saved_[i];
      if (saved.kind != SavedTensor::Kind::Argument && saved.kind != SavedTensor::Kind::ShapeOnly)
        continue;
      if (!node_.implementation_->has_lists ||
          !node_.implementation_->schema.parameters[saved.index].type.list) [[likely]] {
        values[saved.index] = tensor_value(unpack(saved));
        continue;
      }
      // A list was saved as a run of entries.
      std::vector<Tensor*>& list = lists_.empty() || lists_.back().parameter != saved.index
                                       ? lists_.emplace_back(List{saved.index, {}}).tensors
                                       : lists_.back().tensors;
      list.push_back(unpack(saved));
    }
    for (const List& list : lists_) {
      tenon_value& value = values[list.parameter];
      value = tenon_value{};
      value.tag = TENON_VALUE_TENSOR_LIST;
      value.length = static_cast<uint32_t>(list.tensors.size());
      value.as.tensors = list.tensors.data();
    }
  }

  Tensor* result(int64_t index) override {
    for (size_t i = 0; i < node_.saved_count_; ++i) {
      const SavedTensor& saved = node_.saved_[i];
      if (saved.kind == SavedTensor::Kind::Result && saved.index == index) return unpack(saved);
    }
    return nullptr;
  }
  bool needs_gradient(int64_t slot) override {
    return slot >= 0 && slot < node_.edge_count_ && node_.edges_[slot].node != nullptr;
  }
  int64_t slot_count() override { return node_.edge_count_; }
  int64_t saved_count() override {
    int64_t count = 0;
    for (size_t i = 0; i < node_.saved_count_; ++i) count += is_listed(node_.saved_[i]) ? 1 : 0;
    return count;
  }
  Tensor* saved(int64_t index) override {
    if (index >= 0) {
      for (size_t i = 0, at = static_cast<size_t>(index); i < node_.saved_count_; ++i) {
        if (is_listed(node_.saved_[i]) && at-- == 0) return unpack(node_.saved_[i]);
      }
    }
    throw Error(TENON_ERROR_INDEX, std::string(node_.name()) + " saved " +
                                       std::to_string(saved_count()) + " tensors, and tensor " +
                                       std::to_string(index) + " is asked for");
  }
  void* stash() override { return node_.notes_ ? node_.notes_->stash : nullptr; }

 private:
  struct List {
    uint16_t parameter;
    std::vector<Tensor*> tensors;
  };
  static bool is_listed(const SavedTensor& saved) {
    return saved.kind == SavedTensor::Kind::Listed ||
           saved.kind == SavedTensor::Kind::ListedOwnResult;
  }
  // The saved tensor as a rule may use it, alive as long as the node is in use.
  Tensor* unpack(const SavedTensor& saved) {
    Tensor* tensor = saved.tensor;
    if (tensor == nullptr || saved.kind == SavedTensor::Kind::ShapeOnly) return tensor;
    if (tensor->version() != saved.version) fail_changed(saved, node_);
    if (!create_graph_ || !own_result(saved)) return tensor;
    // Results are kept without their history, which a recorded rule needs.
    held_.push_back(make_detached(*tensor));
    if (node_.outputs_[saved.index].differentiable) set_history(*held_.back(), &node_, saved.index);
    share_tangent(*tensor, *held_.back());
    return held_.back().get();
  }

  OpNode& node_;
  bool create_graph_;
  std::vector<TensorRef> held_;
  std::vector<List> lists_;
};

void OpNode::apply(std::span<Tensor* const> gradients, std::vector<TensorRef>& answer,
                   bool create_graph) {
  const Use use(*this);
  Tensor* few[8];
  std::vector<Tensor*> many;
  Tensor** incoming = few;
  if (gradients.size() > std::size(few)) {
    many.resize(gradients.size());
    incoming = many.data();
  }
  std::vector<TensorRef> zeros;
  for (size_t i = 0; i < gradients.size(); ++i) {
    incoming[i] = gradients[i];
    if (gradients[i] != nullptr || outputs_[i].dtype == TENON_DTYPE_NONE) continue;
    // A Function is handed zeros for all that it returned, unless it declined; a rule of an op for
    // what can have a gradient.
    if (notes_ ? !notes_->materialize : !outputs_[i].differentiable) continue;
    zeros.push_back(make_empty(outputs_[i].dtype, {outputs_[i].shape, outputs_[i].rank}));
    tenon_value zero{};
    zero.tag = TENON_VALUE_INT;
    fill(*zeros.back(), zero);
    incoming[i] = zeros.back().get();
  }
  const bool once = create_graph && (implementation_->flags & TENON_OP_ONCE_DIFFERENTIABLE) != 0;
  BackwardRule rule(*this, create_graph && !once);
  rule.answer = &answer;
  tenon_value values[kMaxParameters];
  rule.fill_arguments(values);
  tenon_context context{implementation_, values, nullptr, &rule};
  tenon_error* error = nullptr;
  tenon_status status = TENON_OK;
  {
    const GradModeGuard guard(create_graph && !once);
    status =
        implementation_->descriptor.backward(implementation_->descriptor.self, &context, incoming,
                                             static_cast<int64_t>(gradients.size()), &error);
  }
  if (status != TENON_OK) {
    add_error_context(&error, *implementation_, status);
    throw_status(status, error);
  }
  check_answer(*this, answer);
  if (!once) return;
  const bool traced = std::any_of(incoming, incoming + gradients.size(), [](const Tensor* given) {
    return given != nullptr && given->requires_grad();
  });
  if (traced) forbid_differentiation(answer, "backward", {incoming, gradients.size()});
}

namespace {

// Stands behind the answer of a rule that must not be differentiated itself. Its edges lead to all
// that the answer was made from, so that nobody can ask for its derivative without meeting it.
class OnceNode final : public Node {
 public:
  static OnceNode* create(const Implementation& implementation, const char* rule,
                          std::span<const Edge> edges, std::span<const TensorRef> answer) {
    size_t shapes = 0;
    for (const TensorRef& gradient : answer) shapes += gradient ? gradient->view.rank : 0;
    const size_t outputs_at = aligned(sizeof(OnceNode)) + edges.size() * sizeof(Edge);
    const size_t shapes_at = outputs_at + answer.size() * sizeof(OutputInfo);
    const size_t bytes = shapes_at + shapes * sizeof(int64_t);
    auto* memory = static_cast<char*>(allocate(static_cast<int64_t>(bytes)));
    auto* node = new (memory) OnceNode(implementation, rule, static_cast<uint32_t>(bytes));
    node->edges_ = reinterpret_cast<Edge*>(memory + aligned(sizeof(OnceNode)));
    node->edge_count_ = static_cast<uint16_t>(edges.size());
    for (size_t i = 0; i < edges.size(); ++i) {
      node->edges_[i] = edges[i];
      if (edges[i].node != nullptr) edges[i].node->retain();
    }
    node->outputs_ = reinterpret_cast<OutputInfo*>(memory + outputs_at);
    node->output_count_ = static_cast<uint16_t>(answer.size());
    auto* shape = reinterpret_cast<int64_t*>(memory + shapes_at);
    for (size_t i = 0; i < answer.size(); ++i) {
      node->outputs_[i] = {};
      if (!answer[i]) continue;
      const tenon_tensor_view& view = answer[i]->view;
      for (size_t d = 0; d < view.rank; ++d) shape[d] = view.shape[d];
      node->outputs_[i] = {shape, view.dtype, view.rank, true};
      shape += view.rank;
    }
    return node;
  }
  const char* name() const override { return "OnceDifferentiableBackward"; }
  const Implementation* implementation() const override { return implementation_; }
  void apply(std::span<Tensor* const>, std::vector<TensorRef>&, bool) override {
    Error error(TENON_ERROR_GRAPH,
                "trying to differentiate twice a function that was marked with "
                "@once_differentiable: the " +
                    std::string(rule_) + " of op '" + implementation_->schema.name + "'");
    error.op = implementation_->schema.name;
    error.provider = implementation_->provider;
    throw error;
  }

 private:
  OnceNode(const Implementation& implementation, const char* rule, uint32_t bytes)
      : Node(next_sequence(), bytes), implementation_(&implementation), rule_(rule) {}
  const Implementation* implementation_;
  const char* rule_;
};

}  // namespace

void OpNode::share_tangents(std::span<Tensor** const> results) {
  for (size_t i = 0; i < saved_count_; ++i) {
    if (own_result(saved_[i]) && saved_[i].tensor != nullptr)
      share_tangent(**results[saved_[i].index], *saved_[i].tensor);
  }
}

void OpNode::forbid_differentiation(std::vector<TensorRef>& answer, const char* rule,
                                    std::span<Tensor* const> given) {
  std::vector<Edge> edges;
  struct Release {
    std::vector<Edge>& edges;
    ~Release() {
      for (const Edge& edge : edges) {
        if (edge.node != nullptr) edge.node->release();
      }
    }
  } release{edges};
  for (Tensor* tensor : given) {
    if (tensor != nullptr && tensor->requires_grad()) edges.push_back(gradient_edge(*tensor));
  }
  for (const Edge& edge : this->edges()) {
    if (edge.node == nullptr) continue;
    edge.node->retain();
    edges.push_back(edge);
  }
  OnceNode* node = OnceNode::create(*implementation_, rule, edges, answer);
  for (size_t i = 0; i < answer.size(); ++i) {
    if (!answer[i] || !dtype_floating(answer[i]->view.dtype)) continue;
    answer[i] = make_detached(*answer[i]);
    set_history(*answer[i], node, static_cast<uint32_t>(i));
  }
  node->release();
}

}  // namespace tenon::core
