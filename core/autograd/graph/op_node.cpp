// Recording and replaying op calls.
#include "core/autograd/graph/op_node.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "core/autograd/engine/anomaly.hpp"
#include "core/autograd/engine/gradient_check.hpp"
#include "core/autograd/forward/dual.hpp"
#include "core/autograd/graph/backward_rule.hpp"
#include "core/autograd/graph/history.hpp"
#include "core/autograd/graph/leak_tracking.hpp"
#include "core/autograd/graph/node_block.hpp"
#include "core/autograd/hooks/saved_hooks.hpp"
#include "core/autograd/typed/component_history.hpp"
#include "core/autograd/typed/typed.hpp"
#include "core/base/error.hpp"
#include "core/dispatch/call/call.hpp"
#include "core/dispatch/call/thread_state.hpp"
#include "core/tensor/copy.hpp"
#include "core/tensor/dtype.hpp"

namespace tenon::core {

namespace {

// Arguments that are kept as they are, and those of which a node needs its own copy; of the others
// (tensors, lists of them, documents, modules) it keeps nothing here.
constexpr uint32_t kPlainTags = 1u << TENON_VALUE_NONE | 1u << TENON_VALUE_BOOL |
                                1u << TENON_VALUE_INT | 1u << TENON_VALUE_FLOAT |
                                1u << TENON_VALUE_DTYPE;
constexpr uint32_t kCopiedTags = 1u << TENON_VALUE_STRING | 1u << TENON_VALUE_BOOL_LIST |
                                 1u << TENON_VALUE_INT_LIST | 1u << TENON_VALUE_FLOAT_LIST |
                                 1u << TENON_VALUE_STRING_LIST;

size_t copied_bytes(const tenon_value& value) {
  if (value.tag == TENON_VALUE_STRING_LIST) [[unlikely]] {
    size_t bytes = value.length * sizeof(tenon_string);
    for (uint32_t i = 0; i < value.length; ++i)
      bytes += static_cast<size_t>(value.as.strings[i].length);
    return bytes;
  }
  const bool bytes = value.tag == TENON_VALUE_STRING || value.tag == TENON_VALUE_BOOL_LIST;
  return bytes ? value.length : value.length * size_t{8};
}
// Copies the characters of strings to the memory after them, and has the strings point there.
void copy_characters(tenon_string* strings, uint32_t count) {
  char* to = reinterpret_cast<char*>(strings + count);
  for (uint32_t i = 0; i < count; ++i) {
    const auto length = static_cast<size_t>(strings[i].length);
    if (length != 0) std::memcpy(to, strings[i].data, length);
    strings[i].data = to;
    to += length;
  }
}

[[noreturn]] void fail_released(const char* name) {
  throw Error(TENON_ERROR_GRAPH,
              "Trying to backward through the graph a second time (or directly access saved "
              "tensors after they have already been freed). Saved intermediate values of the graph "
              "are freed when you call backward() or gradients(): pass retain_graph=true to the "
              "first call if you need to go through it again. (at {})",
              name);
}

}  // namespace

// In `create`, which runs for every recorded call.
[[gnu::always_inline]] inline void OpNode::copy_arguments(const tenon_value* arguments,
                                                          char* memory) {
  tenon_value* const own = arguments_;
  for (size_t i = 0, count = argument_count_; i < count; ++i) {
    const tenon_value& value = arguments[i];
    const uint32_t bit = 1u << value.tag;
    own[i] = (bit & (kPlainTags | kCopiedTags)) != 0 ? value : tenon_value{};
    if ((bit & kCopiedTags) == 0 || value.length == 0) continue;
    const size_t size = copied_bytes(value);
    if (value.tag == TENON_VALUE_STRING_LIST) [[unlikely]] {
      std::memcpy(memory, value.as.strings, value.length * sizeof(tenon_string));
      copy_characters(reinterpret_cast<tenon_string*>(memory), value.length);
    } else {
      std::memcpy(memory, value.as.pointer, size);
    }
    own[i].as.pointer = memory;
    memory += NodeBlock::aligned(size);
  }
}

IntrusivePtr<OpNode> OpNode::create(const Implementation& implementation,
                                    const tenon_value* arguments, size_t slots,
                                    std::span<Tensor* const> results, size_t saved_capacity) {
  // A trailing `out` needs no place.
  size_t argument_count = implementation.parameter_count;
  if (implementation.out_parameter == static_cast<int32_t>(argument_count) - 1) --argument_count;
  size_t copies = 0;
  for (size_t i = 0; i < argument_count; ++i) {
    if ((kCopiedTags >> arguments[i].tag & 1u) != 0)
      copies += NodeBlock::aligned(copied_bytes(arguments[i]));
  }
  NodeBlock block(sizeof(OpNode), slots, results);
  const size_t arguments_at = block.add(argument_count * sizeof(tenon_value));
  const size_t saved_at = block.add(saved_capacity * sizeof(SavedTensor));
  const size_t copies_at = block.add(copies);
  IntrusivePtr<OpNode> node = block.make<OpNode>(implementation);
  node->arguments_ = block.array<tenon_value>(arguments_at);
  node->argument_count_ = static_cast<uint16_t>(argument_count);
  node->copy_arguments(arguments, block.array<char>(copies_at));
  node->saved_ = block.array<SavedTensor>(saved_at);
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
  let_go(*implementation_);  // may be the last use of its code, and of itself
}

void OpNode::free_saved() {
  for (size_t i = 0; i < saved_count_; ++i) saved_[i].release();
  saved_count_ = 0;
  function_.reset();
}

void OpNode::set_function(std::unique_ptr<FunctionContext> function) {
  function_ = std::move(function);
  const tenon_attribute* attribute = function_->attributes.first();
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
  for (size_t i = 0; i < saved_count_; ++i) {
    const SavedTensor& saved = saved_[i];
    if (saved.tensor == nullptr) continue;
    if (!saved.packs() && saved.tensor->storage == nullptr) continue;
    report.saved_bytes += saved.bytes();
    ++report.saved_tensors;
  }
  const tenon_attribute* attribute = function_ ? function_->attributes.first() : nullptr;
  for (; attribute != nullptr; attribute = attribute->next) {
    report.attribute_bytes += attribute->bytes;
    for (int64_t i = 0; i < attribute->tensor_count; ++i) {
      const Tensor* tensor = attribute->tensors[i];
      if (tensor == nullptr) continue;
      ++report.stashed_tensors;
      report.attribute_bytes += data_bytes(tensor->view.dtype, tensor->shape());
    }
  }
  return report;
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
    const bool own = saved.own_result();
    if (kind == SavedTensor::Kind::ShapeOnly) {
      saved.tensor = make_shape_only(*tensor).give();
    } else if (thread_state.saved_scope == nullptr || !pack(saved, *tensor, !own)) [[likely]] {
      // A result without its history: the node must not keep itself alive through it.
      saved.tensor = (own ? make_detached(*tensor) : TensorRef(tensor)).give();
      if (!own && tensor->storage != nullptr)
        tensor->storage->saved.store(true, std::memory_order_relaxed);
    }
  }
  saved_[saved_count_++] = saved;
}

bool OpNode::pack(SavedTensor& saved, Tensor& tensor, bool with_history) {
  PackedTensor* packed =
      pack_saved(tensor, with_history, name(), implementation_->schema.name.c_str());
  if (packed == nullptr) return false;
  saved.packed = packed;
  saved.state |= SavedTensor::kPacked;
  return true;
}

void OpNode::detach_saved(const Storage& storage) {
  const Use use(*this);
  if (!use.begun()) return;
  for (size_t i = 0; i < saved_count_; ++i) {
    SavedTensor& saved = saved_[i];
    if (saved.kind == SavedTensor::Kind::ShapeOnly || saved.packs() || saved.tensor == nullptr ||
        saved.tensor->storage != &storage || saved.tensor->typed())
      continue;
    const TensorRef old = TensorRef::take(saved.tensor);
    saved.tensor = make_detached(*old).give();
  }
}

void OpNode::apply(std::span<Tensor* const> gradients, std::vector<TensorRef>& produced,
                   const BackwardCall& call) {
  const Use use(*this);
  if (!use.begun()) fail_released(name());
  if ((implementation_->flags & TENON_OP_ZERO_GRADIENT) != 0) return produced.resize(edge_count_);
  Tensor* few[8];
  std::vector<Tensor*> many;
  Tensor** incoming = few;
  if (gradients.size() > std::size(few)) {
    many.resize(gradients.size());
    incoming = many.data();
  }
  std::vector<TensorRef> zeros;
  uint32_t shown = 0;  // flags of the gradients, zeros for missing ones among them
  for (size_t i = 0; i < gradients.size(); ++i) {
    incoming[i] = gradients[i];
    if (gradients[i] != nullptr) shown |= gradients[i]->view.flags;
    if (gradients[i] != nullptr || outputs_[i].dtype == TENON_DTYPE_NONE) continue;
    // A Function is handed zeros for all that it returned, unless it declined; a rule of an op for
    // what can have a gradient.
    if (function_ ? !function_->materialize : !outputs_[i].differentiable) continue;
    zeros.resize(i + 1);
    const auto given = std::ranges::find_if(gradients, [](const Tensor* one) { return one; });
    const Tensor* const like = given != gradients.end() ? *given
                               : function_              ? function_->memory.get()
                                                        : nullptr;
    zeros[i] = make_zeros_in(outputs_[i].type, outputs_[i].dtype, outputs_[i].sizes(), like);
    incoming[i] = zeros[i].get();
    shown |= zeros[i]->view.flags;
  }
  const bool once =
      call.create_graph && (implementation_->flags & TENON_OP_ONCE_DIFFERENTIABLE) != 0;
  BackwardRule rule(*this, call, once, {incoming, gradients.size()}, zeros);
  rule.answer = &produced;
  tenon_value values[kMaxParameters];
  rule.fill_arguments(values);
  tenon_context context{.implementation = implementation_, .arguments = values, .rule = &rule};
  tenon_error* error = nullptr;
  const auto run = [&] {
    const GradModeGuard guard(call.create_graph && !once);
    return implementation_->descriptor.backward(implementation_->descriptor.self, &context,
                                                incoming, static_cast<int64_t>(gradients.size()),
                                                &error);
  };
  tenon_status status = TENON_OK;
  if ((shown & TENON_TENSOR_TYPED) != 0) [[unlikely]] {
    const SwitchGuard<&ThreadState::joins_memory> joins(
        thread_state.joins_memory || in_own_memory({incoming, gradients.size()}));
    status = run();
  } else {
    status = run();
  }
  if (status != TENON_OK) {
    add_error_context(&error, *implementation_, status, FailureOf::rule);
    throw_status(status, error);
  }
  check_gradients(*this, produced);
  if (!once) return;
  const bool traced =
      call.traced || std::any_of(incoming, incoming + gradients.size(), [](const Tensor* given) {
        return given != nullptr && given->requires_grad();
      });
  if (traced)
    forbid_differentiation(produced, backward_differentiated, {incoming, gradients.size()});
}

void OpNode::pack_results() {
  for (size_t i = 0; i < saved_count_ && thread_state.saved_scope != nullptr; ++i) {
    SavedTensor& saved = saved_[i];
    if (!saved.own_result() || saved.packs() || saved.tensor == nullptr) continue;
    TensorRef kept = TensorRef::take(std::exchange(saved.tensor, nullptr));
    if (!pack(saved, *kept, false)) saved.tensor = kept.give();
  }
}

void OpNode::share_tangents(std::span<Tensor** const> results) {
  for (size_t i = 0; i < saved_count_; ++i) {
    if (saved_[i].own_result() && !saved_[i].packs() && saved_[i].tensor != nullptr)
      share_tangent(**results[saved_[i].index], *saved_[i].tensor);
  }
}

void OpNode::forbid_differentiation(std::vector<TensorRef>& produced, ErrorReason reason,
                                    std::span<Tensor* const> given) {
  std::vector<Edge> edges;
  for (Tensor* tensor : given) {
    if (tensor != nullptr && tensor->requires_grad()) edges.push_back(gradient_edge(*tensor));
  }
  edges.insert(edges.end(), this->edges().begin(), this->edges().end());
  std::vector<Tensor*> outputs;
  outputs.reserve(produced.size());
  for (const TensorRef& gradient : produced) outputs.push_back(gradient.get());
  const NodeRef node = ErrorNode::create(*implementation_, reason, 0, edges, outputs);
  for (size_t i = 0; i < produced.size(); ++i) {
    if (!produced[i] || !dtype_differentiable(produced[i]->view.dtype)) continue;
    produced[i] = without_history(*produced[i], thread_state.dual_level);
    set_history(*produced[i], {node, static_cast<uint32_t>(i)});
  }
}

}  // namespace tenon::core
