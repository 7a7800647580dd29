// Recording and replaying op calls.
#include "core/autograd/node.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string>
#include <utility>

#include "core/autograd/anomaly.hpp"
#include "core/autograd/dual.hpp"
#include "core/autograd/engine.hpp"
#include "core/autograd/error_node.hpp"
#include "core/autograd/history.hpp"
#include "core/autograd/live.hpp"
#include "core/autograd/saved_hooks.hpp"
#include "core/autograd/typed.hpp"
#include "core/base/allocator.hpp"
#include "core/base/error.hpp"
#include "core/base/log.hpp"
#include "core/dispatch/call.hpp"
#include "core/dispatch/overrides.hpp"
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
    node->outputs_[i] = {shape, view.dtype, view.rank, dtype_floating(view.dtype), view.type};
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

namespace {

void release_saved_tensor(SavedTensor& saved) {
  if (saved.packs()) [[unlikely]] {
    delete std::exchange(saved.packed, nullptr);
    saved.state = 0;
  } else if (saved.tensor != nullptr) {
    saved.tensor->release();
  }
}

}  // namespace

void OpNode::free_saved() {
  for (size_t i = 0; i < saved_count_; ++i) release_saved_tensor(saved_[i]);
  saved_count_ = 0;
  notes_.reset();
}

void OpNode::set_notes(std::unique_ptr<FunctionNotes> notes) {
  notes_ = std::move(notes);
  const tenon_attribute* attribute = notes_->attributes.first();
  for (; attribute != nullptr; attribute = attribute->next) holds_ |= attribute->tensor_count > 0;
}

void OpNode::release_saved() {
  if (!holds_) return;  // there is nothing to free, and it can run again
  // The last running rule frees instead.
  if (uses_.fetch_or(kReleased, std::memory_order_acq_rel) == 0) free_saved();
}

// One run of the node's rule.
class OpNode::Use {
 public:
  // Check `begun`: not when what was saved is released.
  explicit Use(OpNode& node) : node_(node) {
    uint32_t uses = node.uses_.load(std::memory_order_acquire);
    do {
      if ((uses & kReleased) != 0) return;
    } while (!node.uses_.compare_exchange_weak(uses, uses + 1, std::memory_order_acq_rel));
    begun_ = true;
  }
  ~Use() {
    if (begun_ && node_.uses_.fetch_sub(1, std::memory_order_acq_rel) == (kReleased | 1u))
      node_.free_saved();
  }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;
  bool begun() const { return begun_; }

 private:
  OpNode& node_;
  bool begun_ = false;
};

NodeReport OpNode::report() {
  NodeReport report;
  const Use use(*this);
  if (!use.begun()) return report;
  const auto bytes = [](tenon_dtype dtype, Shape shape) {
    int64_t count = dtype_bytes(dtype);
    for (const int64_t size : shape) count *= size;
    return count;
  };
  for (size_t i = 0; i < saved_count_; ++i) {
    const SavedTensor& saved = saved_[i];
    if (saved.tensor == nullptr) continue;
    if (saved.packs()) {
      report.saved_bytes += bytes(saved.packed->dtype, saved.packed->shape);
    } else if (saved.tensor->storage != nullptr) {
      report.saved_bytes += bytes(saved.tensor->view.dtype, saved.tensor->shape());
    } else {
      continue;
    }
    ++report.saved_tensors;
  }
  const tenon_attribute* attribute = notes_ ? notes_->attributes.first() : nullptr;
  for (; attribute != nullptr; attribute = attribute->next) {
    report.attribute_bytes += attribute->bytes;
    for (int64_t i = 0; i < attribute->tensor_count; ++i) {
      const Tensor* tensor = attribute->tensors[i];
      if (tensor == nullptr) continue;
      ++report.stashed_tensors;
      report.attribute_bytes += bytes(tensor->view.dtype, tensor->shape());
    }
  }
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
    saved.version = version_of(*tensor);
    saved.state = SavedTensor::kPresent;
    holds_ |= kind != SavedTensor::Kind::ShapeOnly;
    const bool own =
        kind == SavedTensor::Kind::Result || kind == SavedTensor::Kind::ListedOwnResult;
    if (kind == SavedTensor::Kind::ShapeOnly) {
      saved.tensor = make_shape_only(*tensor).give();
    } else if (thread_state.saved_scope == nullptr || !pack(saved, *tensor, !own)) [[likely]] {
      // A result without its history: the node must not keep itself alive through it.
      saved.tensor = (own ? make_detached(*tensor) : TensorRef(tensor)).give();
    }
  }
  saved_[saved_count_++] = saved;
}

bool OpNode::pack(SavedTensor& saved, Tensor& tensor, bool with_history) {
  PackedTensor* packed = pack_saved(tensor, with_history, name());
  if (packed == nullptr) return false;
  saved.packed = packed;
  saved.state |= SavedTensor::kPacked;
  return true;
}

namespace {

bool own_result(const SavedTensor& saved) {
  return saved.kind == SavedTensor::Kind::Result ||
         saved.kind == SavedTensor::Kind::ListedOwnResult;
}

[[noreturn, gnu::cold]] void fail_changed(const SavedTensor& saved, const Node& node) {
  const Tensor& tensor = *saved.tensor;
  const Tensor& changed = last_changed(tensor);
  const tenon_op* writer = changed.storage == nullptr
                               ? nullptr
                               : changed.storage->last_writer.load(std::memory_order_relaxed);
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
      " is at version " + std::to_string(version_of(tensor)) + "; expected version " +
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

void OpNode::detach_saved(const Storage& storage) {
  const Use use(*this);
  if (!use.begun()) return;
  for (size_t i = 0; i < saved_count_; ++i) {
    SavedTensor& saved = saved_[i];
    if (saved.kind == SavedTensor::Kind::ShapeOnly || saved.packs() || saved.tensor == nullptr ||
        saved.tensor->storage != &storage || saved.tensor->typed())
      continue;
    Tensor* detached = make_detached(*saved.tensor).give();
    std::exchange(saved.tensor, detached)->release();
  }
}

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

// The author of a Function mostly forgot a sum: said once for each op, or refused in a strict
// scope.
[[gnu::cold]] void tell_summed(const Implementation& implementation, const Node& from,
                               const OutputInfo& info, const Tensor& gradient, size_t index) {
  const std::string what = " - got " + shape_text(gradient.shape()) + " for an input of shape " +
                           shape_text({info.shape, info.rank});
  if (thread_state.strict_gradients)
    fail_answer(from, invalid_at(index) + what + ", and strict gradients are asked for");
  if (implementation.told_summed.exchange(true, std::memory_order_relaxed)) return;
  log(LogLevel::warning, implementation.provider,
      "function " + std::string(from.name()) + " returned a gradient at index " +
          std::to_string(index) + what + "; it is summed to that shape. Told once for this op");
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
  // A gradient without data of its own is made plain where its structure is not wanted.
  if (gradient->has_flag(TENON_TENSOR_SHAPE_ONLY) && gradient->typed() &&
      (info.type == 0 || !same_shape(*gradient, info) || gradient->view.dtype != info.dtype))
      [[unlikely]]
    gradient = to_plain(*gradient);
  if (!same_shape(*gradient, info)) [[unlikely]] {
    if (!expands_to(info, *gradient)) {
      fail_answer(from, invalid_at(index) + " - got " + shape_text(gradient->shape()) +
                            " but expected shape compatible with " +
                            shape_text({info.shape, info.rank}));
    }
    const Implementation* implementation = from.implementation();
    if (implementation != nullptr && (implementation->flags & TENON_OP_FUNCTION) != 0)
      tell_summed(*implementation, from, info, *gradient, index);
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
  if (info.type != 0) [[unlikely]]
    gradient = project_gradient(std::move(gradient), info.type);
  if (gradient->has_flag(TENON_TENSOR_SHAPE_ONLY) && !gradient->typed()) [[unlikely]] {
    fail_answer(from, invalid_at(index) +
                          " - a tensor that has a shape but no data, as saved by shape(...)");
  }
  return gradient;
}

// What a rule sees of its node.
class BackwardRule final : public RuleState {
 public:
  // `once`: the rule itself must not be recorded.
  BackwardRule(OpNode& node, BackwardCall call, bool once, std::span<Tensor* const> given,
               std::vector<TensorRef>& zeros)
      : node_(node),
        call_(call),
        create_graph_(call.create_graph && !once),
        given_(given),
        zeros_(zeros) {}

  const char* phase() const override { return "backward"; }

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
    if (slot < 0 || slot >= node_.edge_count_) return false;
    const Node* to =
        static_cast<size_t>(slot) == call_.rebased_slot ? call_.rebased : node_.edges_[slot].node;
    return to != nullptr && (call_.run == nullptr || call_.run->reaches(*to));
  }
  int64_t slot_count() override { return node_.edge_count_; }
  int64_t saved_count() override {
    int64_t count = 0;
    for (size_t i = 0; i < node_.saved_count_; ++i) count += node_.saved_[i].listed() ? 1 : 0;
    return count;
  }
  Tensor* saved(int64_t index) override { return unpack(listed(index), index); }
  TensorRef give_saved(int64_t index) override {
    SavedTensor& saved = listed(index);
    if ((node_.implementation_->flags & TENON_OP_CLEAR_SAVED) == 0) [[likely]]
      return TensorRef(unpack(saved, index));
    // Two runs of a retained graph may both ask: one gets it.
    SavedTensor taken = saved;
    taken.tensor = std::atomic_ref(saved.tensor).exchange(nullptr, std::memory_order_acq_rel);
    if (taken.tensor == nullptr) {
      if ((saved.state & SavedTensor::kPresent) == 0) return {};
      throw Error(TENON_ERROR_GRAPH,
                  "saved tensor " + std::to_string(index) + " of " + node_.name() +
                      " was read before: its op declares clear_saved_tensors_on_access, so each "
                      "can be read once, in one backward");
    }
    struct Release {
      SavedTensor& saved;
      ~Release() { release_saved_tensor(saved); }
    } release{taken};
    TensorRef tensor(unpack(taken, index));
    std::erase_if(held_, [&](const TensorRef& held) { return held.get() == tensor.get(); });
    return tensor;
  }
  FunctionNotes* kept() override { return node_.notes_.get(); }
  TensorRef guard(Tensor& tensor) override {
    if (!create_graph_ || tensor.requires_grad() || !dtype_floating(tensor.view.dtype) ||
        is_constant(tensor))
      return TensorRef(&tensor);
    return refusing(tensor, kStashed);
  }
  bool had_tensor(int64_t index) override {
    return index >= 0 && !node_.implementation_->has_lists &&
           static_cast<uint32_t>(index) < node_.implementation_->slot_parameters && index < 64 &&
           node_.slot_holds_tensor(static_cast<size_t>(index));
  }
  uint32_t backward_options() override {
    return static_cast<uint32_t>(call_.retain_graph) * TENON_BACKWARD_RETAIN_GRAPH |
           static_cast<uint32_t>(call_.create_graph) * TENON_BACKWARD_CREATE_GRAPH;
  }
  bool take_gradients(std::span<Tensor*> taken) override {
    if (taken_ || taken.size() != given_.size()) return false;
    taken_ = true;
    for (size_t i = 0; i < taken.size(); ++i) {
      taken[i] = given_[i];
      if (given_[i] == nullptr) continue;
      const bool zero = i < zeros_.size() && zeros_[i].get() == given_[i];
      // A rule that is recorded as a whole is compared with its gradients afterwards.
      if (zero) {
        zeros_[i].give();
      } else if (call_.owned != nullptr && call_.create_graph == create_graph_) {
        call_.owned[i] = nullptr;
      } else {
        given_[i]->retain();
      }
    }
    return true;
  }

 private:
  struct List {
    uint16_t parameter;
    std::vector<Tensor*> tensors;
  };
  SavedTensor& listed(int64_t index) {
    if (index >= 0) {
      for (size_t i = 0, at = static_cast<size_t>(index); i < node_.saved_count_; ++i) {
        if (node_.saved_[i].listed() && at-- == 0) return node_.saved_[i];
      }
    }
    throw Error(TENON_ERROR_INDEX, std::string(node_.name()) + " saved " +
                                       std::to_string(saved_count()) + " tensors, and tensor " +
                                       std::to_string(index) + " is asked for");
  }
  bool is_constant(const Tensor& tensor) const {
    const std::vector<TensorRef>& constants = node_.notes_->non_differentiable;
    return std::any_of(constants.begin(), constants.end(),
                       [&](const TensorRef& constant) { return constant.get() == &tensor; });
  }
  TensorRef refusing(Tensor& tensor, uint32_t detail) {
    TensorRef alias = make_detached(tensor);
    Tensor* output = alias.get();
    ErrorNode* node = ErrorNode::create(*node_.implementation_, unknown_gradient, detail,
                                        node_.edges(), {&output, 1});
    set_history(*alias, node, 0);
    node->release();
    return alias;
  }
  Tensor* hold(TensorRef tensor) {
    held_.push_back(std::move(tensor));
    return held_.back().get();
  }
  // The saved tensor as a rule may use it, alive as long as the node is in use. `index` is that of
  // a listed one.
  Tensor* unpack(const SavedTensor& saved, int64_t index = 0) {
    Tensor* tensor = saved.tensor;
    if (tensor == nullptr || saved.kind == SavedTensor::Kind::ShapeOnly) return tensor;
    const bool packed = saved.packs();
    if (packed) [[unlikely]] {
      tensor = hold(unpack_saved(*saved.packed, node_.name()));
    } else if (version_of(*tensor) != saved.version) {
      fail_changed(saved, node_);
    }
    if (!create_graph_) return tensor;
    if (own_result(saved)) {
      // Results are kept without their history, which a recorded rule needs.
      if (!packed) tensor = hold(make_detached(*tensor));
      if (node_.outputs_[saved.index].differentiable) set_history(*tensor, &node_, saved.index);
      if (!packed) share_tangent(*saved.tensor, *tensor);
    } else if (saved.kind == SavedTensor::Kind::ListedIntermediate) {
      tensor = hold(refusing(*tensor, static_cast<uint32_t>(index)));
    } else if (packed && saved.packed->edge.node != nullptr) {
      set_history(*tensor, saved.packed->edge.node, saved.packed->edge.output);
    }
    return tensor;
  }

  OpNode& node_;
  BackwardCall call_;
  bool create_graph_;
  bool taken_ = false;
  std::span<Tensor* const> given_;
  std::vector<TensorRef>& zeros_;
  std::vector<TensorRef> held_;
  std::vector<List> lists_;
};

void OpNode::apply(std::span<Tensor* const> gradients, std::vector<TensorRef>& answer,
                   BackwardCall call) {
  const Use use(*this);
  if (!use.begun()) fail_released(name());
  if ((implementation_->flags & TENON_OP_ZERO_GRADIENT) != 0) return answer.resize(edge_count_);
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
    zeros.resize(i + 1);
    zeros[i] = make_empty(outputs_[i].dtype, {outputs_[i].shape, outputs_[i].rank});
    fill(*zeros[i], int_value(0));
    incoming[i] = zeros[i].get();
  }
  const bool once =
      call.create_graph && (implementation_->flags & TENON_OP_ONCE_DIFFERENTIABLE) != 0;
  BackwardRule rule(*this, call, once, {incoming, gradients.size()}, zeros);
  rule.answer = &answer;
  tenon_value values[kMaxParameters];
  rule.fill_arguments(values);
  tenon_context context{implementation_, values, nullptr, &rule};
  tenon_error* error = nullptr;
  tenon_status status = TENON_OK;
  {
    const GradModeGuard guard(call.create_graph && !once);
    status =
        implementation_->descriptor.backward(implementation_->descriptor.self, &context, incoming,
                                             static_cast<int64_t>(gradients.size()), &error);
  }
  if (status != TENON_OK) {
    add_error_context(&error, *implementation_, status, FailureOf::rule);
    throw_status(status, error);
  }
  check_answer(*this, answer);
  if (!once) return;
  const bool traced = std::any_of(incoming, incoming + gradients.size(), [](const Tensor* given) {
    return given != nullptr && given->requires_grad();
  });
  if (traced) forbid_differentiation(answer, backward_differentiated, {incoming, gradients.size()});
}

void OpNode::share_tangents(std::span<Tensor** const> results) {
  for (size_t i = 0; i < saved_count_; ++i) {
    if (own_result(saved_[i]) && !saved_[i].packs() && saved_[i].tensor != nullptr)
      share_tangent(**results[saved_[i].index], *saved_[i].tensor);
  }
}

void OpNode::forbid_differentiation(std::vector<TensorRef>& answer, ErrorReason reason,
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
  std::vector<Tensor*> outputs;
  for (const TensorRef& gradient : answer) outputs.push_back(gradient.get());
  ErrorNode* node = ErrorNode::create(*implementation_, reason, 0, edges, outputs);
  for (size_t i = 0; i < answer.size(); ++i) {
    if (!answer[i] || !dtype_floating(answer[i]->view.dtype)) continue;
    answer[i] = make_detached(*answer[i]);
    set_history(*answer[i], node, static_cast<uint32_t>(i));
  }
  node->release();
}

}  // namespace tenon::core
