// Recording and replaying op calls.
#include "core/autograd/node.hpp"

#include <cstring>
#include <string>

#include "core/autograd/history.hpp"
#include "core/base/allocator.hpp"
#include "core/base/error.hpp"
#include "core/dispatch/call.hpp"
#include "core/dispatch/thread_state.hpp"
#include "core/tensor/copy.hpp"
#include "core/tensor/dtype.hpp"
#include "core/tensor/shape.hpp"

namespace tenon::core {

namespace {

std::atomic<uint64_t> sequence_counter{1};

// Nodes whose last reference went while another was being destroyed on this thread.
struct Graveyard {
  std::vector<Node*> waiting;
  bool draining = false;
};
thread_local Graveyard graveyard;

constexpr size_t aligned(size_t bytes) { return (bytes + 7) / 8 * 8; }

// Bytes behind an argument that the node must keep for itself.
size_t owned_bytes(const tenon_value& value) {
  switch (value.tag) {
    case TENON_VALUE_STRING:
    case TENON_VALUE_BOOL_LIST:
      return aligned(value.length);
    case TENON_VALUE_INT_LIST:
    case TENON_VALUE_FLOAT_LIST:
      return value.length * size_t{8};
    default:
      return 0;
  }
}

const void* source_of(const tenon_value& value) { return value.as.pointer; }

[[noreturn]] void fail_released(const char* name) {
  throw Error(TENON_ERROR_GRAPH,
              std::string("Trying to backward through the graph a second time (or directly access saved tensors "
                          "after they have already been freed). Saved intermediate values of the graph are freed "
                          "when you call backward() or gradients(): pass retain_graph=true to the first call "
                          "if you need to go through it again. (at ") + name + ")");
}

}  // namespace

uint64_t next_sequence() { return sequence_counter.fetch_add(1, std::memory_order_relaxed); }

Node::~Node() {
  for (const Edge& edge : edges()) {
    if (edge.node != nullptr) edge.node->release();
  }
}

void Node::destroy_node(GraphNode* base) noexcept {
  Graveyard& yard = graveyard;
  auto* node = static_cast<Node*>(base);
  if (yard.draining) {
    yard.waiting.push_back(node);
    return;
  }
  yard.draining = true;
  for (;;) {
    const uint32_t bytes = node->bytes_;
    node->~Node();
    core::release(node, bytes);
    if (yard.waiting.empty()) break;
    node = yard.waiting.back();
    yard.waiting.pop_back();
  }
  yard.draining = false;
}

OpNode* OpNode::create(const Implementation& implementation, const tenon_value* arguments, size_t slots,
                       std::span<Tensor* const> results, size_t saved_capacity) {
  // Trailing `out` and tensors that nobody reads again need no place.
  size_t argument_count = implementation.parameter_count;
  if (implementation.out_parameter == static_cast<int32_t>(argument_count) - 1) --argument_count;
  size_t extra = 0;
  for (size_t i = 0; i < argument_count; ++i) extra += owned_bytes(arguments[i]);
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
    tenon_value value = arguments[i];
    if (value.tag == TENON_VALUE_TENSOR || value.tag == TENON_VALUE_TENSOR_LIST || value.tag == TENON_VALUE_STRING_LIST ||
        value.tag >= TENON_VALUE_TREE) {
      value = tenon_value{};
    } else if (const size_t size = owned_bytes(value); size > 0) {
      std::memcpy(own, source_of(value), value.tag == TENON_VALUE_STRING || value.tag == TENON_VALUE_BOOL_LIST ? value.length : size);
      value.as.pointer = own;
      own += size;
    }
    node->arguments_[i] = value;
  }
  node->saved_ = reinterpret_cast<SavedTensor*>(memory + saved_at);
  node->saved_capacity_ = static_cast<uint16_t>(saved_capacity);
  return node;
}

OpNode::~OpNode() { release_saved(); }

void OpNode::release_saved() {
  for (size_t i = 0; i < saved_count_; ++i) {
    if (saved_[i].tensor != nullptr) saved_[i].tensor->release();
  }
  saved_count_ = 0;
  notes_.reset();
  released_ = true;
}

size_t OpNode::saved_bytes() const {
  size_t bytes = 0;
  for (size_t i = 0; i < saved_count_; ++i) {
    const Tensor* tensor = saved_[i].tensor;
    if (tensor != nullptr && tensor->storage != nullptr) bytes += static_cast<size_t>(tensor->view.count * dtype_bytes(tensor->view.dtype));
  }
  return bytes;
}

void OpNode::save(SavedTensor::Kind kind, uint8_t index, Tensor* tensor) {
  SavedTensor saved;
  saved.kind = kind;
  saved.index = index;
  if (tensor != nullptr) {
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

TensorRef OpNode::unpack(const SavedTensor& saved, bool create_graph) {
  Tensor* tensor = saved.tensor;
  if (tensor == nullptr) return {};
  if (saved.kind == SavedTensor::Kind::ShapeOnly) return TensorRef(tensor);
  if (tensor->version() != saved.version) {
    const tenon_op* writer = tensor->storage->last_writer.load(std::memory_order_relaxed);
    std::string origin;
    const bool own = saved.kind == SavedTensor::Kind::Result || saved.kind == SavedTensor::Kind::ListedOwnResult;
    if (own) {
      origin = ", which is output " + std::to_string(saved.index) + " of " + name() + ",";
    } else if (tensor->node != nullptr) {
      origin = ", which is output " + std::to_string(tensor->node_output) + " of " + static_cast<Node*>(tensor->node)->name() + ",";
    }
    std::string message = "one of the variables needed for gradient computation has been modified by an inplace operation: [" +
                          std::string(dtype_text(tensor->view.dtype)) + " " + shape_text(tensor->shape()) + "]" + origin +
                          " is at version " + std::to_string(tensor->version()) + "; expected version " + std::to_string(saved.version) + " instead.";
    if (writer != nullptr) {
      const Implementation* by = writer->implementation.load();
      message += " It was last changed by '" + writer->name + "'" + (by == nullptr ? "" : " (plugin '" + by->provider + "')") + ".";
    }
    message += " Hint: clone the tensor before changing it, or change it after backward.";
    throw Error(TENON_ERROR_INPLACE, message);
  }
  if ((saved.kind == SavedTensor::Kind::Result || saved.kind == SavedTensor::Kind::ListedOwnResult) && create_graph) {
    TensorRef alias = make_detached(*tensor);
    set_history(*alias, this, saved.index);
    return alias;
  }
  return TensorRef(tensor);
}

// What a rule sees of its node.
class BackwardRule final : public RuleState {
 public:
  BackwardRule(OpNode& node, bool create_graph) : node_(node), create_graph_(create_graph) {}

  // Fills `values` with the call's arguments, saved tensors in place.
  void fill_arguments(tenon_value* values) {
    for (size_t i = 0; i < node_.argument_count_; ++i) values[i] = node_.arguments_[i];
    for (size_t i = node_.argument_count_; i < node_.implementation_->parameter_count; ++i) values[i] = tenon_value{};
    for (size_t i = 0; i < node_.saved_count_; ++i) {
      const SavedTensor& saved = node_.saved_[i];
      if (saved.kind != SavedTensor::Kind::Argument && saved.kind != SavedTensor::Kind::ShapeOnly) continue;
      held_.push_back(node_.unpack(saved, create_graph_));
      const Parameter& parameter = node_.implementation_->schema.parameters[saved.index];
      if (!parameter.type.list) {
        values[saved.index] = tensor_value(held_.back().get());
        continue;
      }
      // A list was saved as a run of entries.
      std::vector<Tensor*>& list = lists_[saved.index % kLists];
      list.push_back(held_.back().get());
      values[saved.index] = tenon_value{};
      values[saved.index].tag = TENON_VALUE_TENSOR_LIST;
      values[saved.index].length = static_cast<uint32_t>(list.size());
      values[saved.index].as.tensors = list.data();
    }
  }

  Tensor* result(int64_t index) override {
    for (size_t i = 0; i < node_.saved_count_; ++i) {
      const SavedTensor& saved = node_.saved_[i];
      if (saved.kind == SavedTensor::Kind::Result && saved.index == index) {
        held_.push_back(node_.unpack(saved, create_graph_));
        return held_.back().get();
      }
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
    for (size_t i = 0; i < node_.saved_count_; ++i) {
      if (!is_listed(node_.saved_[i])) continue;
      if (index-- > 0) continue;
      held_.push_back(node_.unpack(node_.saved_[i], create_graph_));
      return held_.back().get();
    }
    throw Error(TENON_ERROR_INDEX, "fewer tensors were saved for backward than are asked for");
  }
  void* stash() override { return node_.notes_ ? node_.notes_->stash : nullptr; }

 private:
  static constexpr size_t kLists = 4;
  static bool is_listed(const SavedTensor& saved) {
    return saved.kind == SavedTensor::Kind::Listed || saved.kind == SavedTensor::Kind::ListedOwnResult;
  }
  OpNode& node_;
  bool create_graph_;
  std::vector<TensorRef> held_;
  std::vector<Tensor*> lists_[kLists];
};

void OpNode::apply(std::span<Tensor* const> gradients, std::vector<TensorRef>& answer, bool create_graph) {
  if (released_) fail_released(name());
  Tensor* given[16];
  std::vector<Tensor*> many;
  Tensor** incoming = given;
  if (gradients.size() > 16) {
    many.resize(gradients.size());
    incoming = many.data();
  }
  std::vector<TensorRef> zeros;
  const bool materialize = !notes_ || notes_->materialize;
  for (size_t i = 0; i < gradients.size(); ++i) {
    incoming[i] = gradients[i];
    if (gradients[i] != nullptr || !materialize || outputs_[i].dtype == TENON_DTYPE_NONE) continue;
    zeros.push_back(make_empty(outputs_[i].dtype, {outputs_[i].shape, outputs_[i].rank}));
    tenon_value zero{};
    zero.tag = TENON_VALUE_INT;
    fill(*zeros.back(), zero);
    incoming[i] = zeros.back().get();
  }
  BackwardRule rule(*this, create_graph);
  rule.answer = &answer;
  tenon_value values[kMaxParameters];
  rule.fill_arguments(values);
  tenon_context context{implementation_, values, nullptr, &rule};
  tenon_error* error = nullptr;
  const tenon_status status = implementation_->descriptor.backward(
      implementation_->self == implementation_ ? implementation_->descriptor.self : implementation_->self, &context,
      incoming, static_cast<int64_t>(gradients.size()), &error);
  if (status != TENON_OK) {
    add_error_context(&error, *implementation_);
    throw_status(status, error);
  }
}

}  // namespace tenon::core
