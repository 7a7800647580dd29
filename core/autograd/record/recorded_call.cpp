// Calls that are recorded in the general way: any number of results, lists, changes in place,
// Functions, tangents. See record_fast.cpp for the words.
#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "core/autograd/forward/tangents.hpp"
#include "core/autograd/graph/error_node.hpp"
#include "core/autograd/graph/op_node.hpp"
#include "core/autograd/record/function_inputs.hpp"
#include "core/autograd/record/inplace.hpp"
#include "core/autograd/record/tracked.hpp"
#include "core/autograd/typed/typed.hpp"
#include "core/base/error.hpp"
#include "core/base/interrupt.hpp"
#include "core/dispatch/call/aliasing.hpp"
#include "core/dispatch/call/error_context.hpp"
#include "core/dispatch/call/result_check.hpp"
#include "core/dispatch/table/core_ops.hpp"
#include "core/dispatch/types/type_table.hpp"
#include "core/tensor/copy.hpp"

namespace tenon::core {

namespace {

// Collects the places of all results.
void collect_results(const Implementation& implementation, tenon_value* results, Tensor** absent,
                     CallVector<Tensor**>& places) {
  for (uint32_t r = 0; r < implementation.result_count; ++r) {
    if (results[r].tag == TENON_VALUE_TENSOR) {
      places.push_back(&results[r].as.tensor);
    } else if (results[r].tag != TENON_VALUE_TENSOR_LIST) {
      places.push_back(absent);
    } else {
      auto** tensors = const_cast<Tensor**>(results[r].as.tensors);
      for (uint32_t k = 0; k < results[r].length; ++k) places.push_back(&tensors[k]);
    }
  }
}

// Whether a node may hold the tensor or another on its memory, with its history.
bool may_be_saved(const Tensor& result) {
  return result.storage != nullptr && result.storage->saved.load(std::memory_order_relaxed);
}

// Whether the tensor is the operand, or a component of it.
bool is_part(const Tensor& operand, const Tensor* tensor) {
  bool found = &operand == tensor;
  for_each_component(operand, [&](const Tensor& component, int64_t) {
    found = found || is_part(component, tensor);
  });
  return found;
}

}  // namespace

void separate_from_inputs(const Implementation& implementation, const tenon_value* arguments,
                          Tensor** place) {
  bool is_input = false;
  for_each_operand(implementation, arguments,
                   [&](const Tensor* operand) { is_input |= is_part(*operand, *place); });
  if (!is_input) return;
  TensorRef alias = make_detached(**place);
  set_view_base(*alias, **place);
  put(*place, std::move(alias));
}

namespace {

// Throws, before anything has run, where an operand of inference mode would be saved for a
// gradient.
void check_no_inference_saved(const Implementation& implementation, const tenon_value* arguments) {
  uint32_t needing = 0;
  uint32_t of_inference = 0;
  for_each_slot(implementation, arguments, [&](size_t, const Tensor* tensor, uint32_t i) {
    if (tensor == nullptr) return;
    needing |= static_cast<uint32_t>(tensor->has_flag(TENON_TENSOR_REQUIRES_GRAD)) << i;
    of_inference |= static_cast<uint32_t>(tensor->has_flag(TENON_TENSOR_INFERENCE)) << i;
  });
  for (const SavedItem& item : implementation.saves) {
    if (item.kind == SavedItem::Kind::Argument && (item.for_parameters & needing) != 0 &&
        (of_inference >> item.index & 1u) != 0)
      fail_inference_saved();
  }
}

// A scope in which results with tangents are saved as they are: they get these, and are packed,
// later.
class ResultScope : SwitchGuard<&ThreadState::saved_scope> {
 public:
  explicit ResultScope(bool dual) : SwitchGuard(dual ? nullptr : thread_state.saved_scope) {}
};

class RecordedCall {
 public:
  RecordedCall(const Call& call, bool recording, bool dual)
      : call_(call),
        implementation_(call.implementation),
        arguments_(call.arguments),
        results_(call.results),
        recording_(recording),
        dual_(dual),
        function_((call.implementation.flags & TENON_OP_FUNCTION) != 0) {}

  // Checks the call and keeps what the run would change; throws when it must not take place.
  void prepare() {
    if (recording_) check_recordable(implementation_, arguments_);
    if (dual_) check_dual(implementation_, arguments_);
    if (recording_) {
      recording_ = false;
      for_each_slot(implementation_, arguments_, [&](size_t, Tensor* tensor, uint32_t) {
        if (tensor == nullptr) return;
        refresh_history(*tensor);
        recording_ |= tensor->requires_grad();
      });
    }
    if (implementation_.mutates && (recording_ || dual_)) keep_originals();
    if (!function_) return;
    detached_.emplace(implementation_, arguments_);
    context_ = std::make_unique<FunctionContext>();
    if (!recording_) return;
    for_each_slot(implementation_, arguments_, [&](size_t slot, Tensor* tensor, uint32_t) {
      if (tensor != nullptr && tensor->requires_grad() && slot < 64)
        context_->needs |= uint64_t{1} << slot;
    });
  }

  tenon_status run() noexcept {
    const GradModeGuard guard(false);
    // The rule computes the tangents: those of calls inside would stay on results that have none.
    const SwitchGuard<&ThreadState::dual_level> plain(dual_ ? nullptr : thread_state.dual_level);
    Call inner = call_;
    if (!function_) return next<LayerId::autograd>(inner);
    // A Function's inputs are not those that were written.
    tenon_context context{.implementation = &implementation_,
                          .arguments = detached_->values(),
                          .function = context_.get()};
    inner.arguments = detached_->values();
    inner.written = Writing();
    inner.context = &context;
    return next<LayerId::autograd>(inner);
  }

  void finish() {
    collect_results(implementation_, results_, &absent_, places_);
    constant_.resize(places_.size());
    if (function_) adopt();
    for (Tensor** place : places_) {
      if (*place == nullptr || changed(*place)) continue;
      // A result that is also an operand has at least two references.
      if ((*place)->references.load(std::memory_order_relaxed) != 1)
        separate_from_inputs(implementation_, arguments_, place);
      if (recording_ && (*place)->typed()) detach_components(**place);
    }
    FunctionContext* context = context_.get();  // the node's, once it is recorded
    std::vector<TensorRef> saved;
    if (context_) saved = std::move(context_->saved_for_forward);
    IntrusivePtr<OpNode> node;
    if (recording_ && can_require_grad()) {
      if (implementation_.descriptor.differentiable == TENON_DIFFERENTIABLE_FORMULA) {
        node = record();
      } else if (function_ && dirty_.empty()) {
        record_refusal();
      } else {
        fail_not_implemented(implementation_);
      }
    } else if (recording_ && replaces_history()) {
      node = record();
    }
    // After recording, so that a tangent can be differentiated through the results that it reads.
    if (dual_) {
      propagate_tangents({implementation_, arguments_, originals_, places_, constant_, context,
                          saved, node.get()});
      if (node) node->pack_results();
    }
  }

 private:
  // Keeps the tensors that are about to change and that an in-place rule reads, with the history
  // and the tangent that they have now.
  void keep_originals() {
    const bool by_op = dual_ && implementation_.descriptor.jvp_kind == TENON_JVP_MULTILINEAR;
    for_each_slot(implementation_, arguments_, [&](size_t slot, Tensor* tensor, uint32_t i) {
      if (tensor == nullptr) return;
      const bool saved = std::any_of(
          implementation_.saves.begin(), implementation_.saves.end(), [&](const SavedItem& item) {
            return item.kind == SavedItem::Kind::Argument && item.index == i;
          });
      // Rules read after the change, which changes other operands on the same memory too.
      if ((saved || by_op) && (is_mutated(implementation_, i) || shares_with_mutated(*tensor)))
        keep_original(slot, *tensor);
    });
  }
  void keep_original(size_t index, Tensor& tensor) {
    originals_.resize(std::max(originals_.size(), index + 1));
    if (dual_ || tensor.has_flag(TENON_TENSOR_SHAPE_ONLY)) {
      originals_[index] = core_ops::clone(tensor);
      return;
    }
    originals_[index] = contiguous_copy(tensor);
    if (recording_ && tensor.requires_grad())
      set_history(*originals_[index], gradient_edge(tensor));
  }
  bool shares_with_mutated(const Tensor& tensor) const {
    bool shares = false;
    for_each_mutated(implementation_, arguments_, [&](const Tensor* operand, uint32_t) {
      shares |= tensor.storage != nullptr && operand->storage == tensor.storage;
    });
    return shares;
  }
  Tensor* as_it_was(size_t slot, Tensor* operand) const {
    return slot < originals_.size() && originals_[slot] ? originals_[slot].get() : operand;
  }

  bool changed(const Tensor* tensor) const {
    if (std::find(dirty_.begin(), dirty_.end(), tensor) != dirty_.end()) return true;
    bool found = false;
    for_each_mutated(implementation_, arguments_,
                     [&](const Tensor* operand, uint32_t) { found |= operand == tensor; });
    return found;
  }

  // Replaces the Function's detached inputs by the caller's tensors.
  void adopt() {
    for (const TensorRef& marked : context_->non_differentiable) {
      for (size_t i = 0; i < places_.size(); ++i)
        constant_[i] = constant_[i] || (marked && *places_[i] == marked.get());
    }
    for (Tensor** place : places_) {
      if (*place == nullptr) continue;
      if (Tensor* original = detached_->original(*place)) {
        put(*place, TensorRef(original));
      } else if ((*place)->view_base != nullptr) {
        rebase_view(**place);
      }
    }
    if (context_->attributes.first() != nullptr) separate_stashed();
    for (TensorRef& saved : context_->saved) detached_->restore(saved);
    for (TensorRef& saved : context_->saved_for_forward) detached_->restore(saved);
    for (TensorRef& tensor : context_->dirty) {
      detached_->restore(tensor);
      check_dirty(tensor.get());
      if (records()) check_inplace(*tensor, implementation_.schema.short_name());
      note_change(implementation_, *tensor);
      dirty_.push_back(tensor.get());
      if ((recording_ || dual_) &&
          std::none_of(places_.begin(), places_.end(),
                       [&](Tensor** place) { return *place == tensor.get(); })) {
        throw Error(TENON_ERROR_RUNTIME,
                    "{}(): a tensor that was marked dirty is not among the results; a Function "
                    "returns every input that it changes in place",
                    implementation_.schema.short_name());
      }
    }
    separate_duplicates();
    if (implementation_.updates_aliasing) update_aliasing(implementation_, arguments_, results_);
    note_out(implementation_, arguments_);
  }

  // Re-bases views of inputs onto the caller's tensors; views of forward's local tensors become
  // plain tensors.
  void rebase_view(Tensor& view) {
    Tensor* base = view.view_base;
    if (Tensor* input = detached_->original(base)) {
      set_view_base(view, *input);
      return;
    }
    if (detached_->is_original(base) ||
        std::any_of(places_.begin(), places_.end(), [&](Tensor** place) { return *place == base; }))
      return;
    view.view_base = nullptr;
    view.view.flags &= ~uint32_t{TENON_TENSOR_VIEW};
    base->release();
  }

  [[noreturn, gnu::cold]] void fail_marked(const char* what) const {
    throw Error(TENON_ERROR_RUNTIME, "{}(): a tensor that was marked dirty {}",
                implementation_.schema.short_name(), what);
  }
  void check_dirty(const Tensor* tensor) const {
    if (!detached_->is_original(tensor))
      fail_marked("is none of the inputs; mark_dirty takes inputs that forward changes in place");
    for (size_t i = 0; i < places_.size(); ++i) {
      if (*places_[i] != tensor) continue;
      if (constant_[i] && tensor->requires_grad() && recording_)
        fail_marked("is marked as not differentiable too; detach it after the call instead");
      if (std::any_of(places_.begin(), places_.begin() + static_cast<std::ptrdiff_t>(i),
                      [&](Tensor** place) { return *place == tensor; }))
        fail_marked("is returned twice; return it once");
    }
  }

  // One tensor returned twice is two results, each with its own gradient.
  void separate_duplicates() {
    for (size_t i = 1; i < places_.size(); ++i) {
      Tensor* tensor = *places_[i];
      if (tensor == nullptr || detached_->is_original(tensor)) continue;
      for (size_t k = 0; k < i; ++k) {
        if (*places_[k] != tensor) continue;
        TensorRef alias = make_detached(*tensor);
        set_view_base(*alias, *tensor);
        put(*places_[i], std::move(alias));
        break;
      }
    }
  }

  // A result that is on the context too is returned as another tensor, so that its history does
  // not keep itself alive.
  void separate_stashed() {
    const tenon_attribute* attribute = context_->attributes.first();
    for (; attribute != nullptr; attribute = attribute->next) {
      for (int64_t i = 0; i < attribute->tensor_count; ++i) {
        for (Tensor** place : places_) {
          Tensor* stashed = *place;
          if (stashed == nullptr || attribute->tensors[i] != stashed || changed(stashed)) continue;
          TensorRef alias = make_detached(*stashed);
          if (stashed->view_base != nullptr) set_view_base(*alias, *stashed->view_base);
          for (std::vector<TensorRef>* list : {&context_->saved, &context_->saved_for_forward}) {
            for (TensorRef& saved : *list) {
              if (saved.get() == stashed) saved = alias;
            }
          }
          put(*place, std::move(alias));
        }
      }
    }
  }

  bool can_require_grad() const {
    if ((implementation_.flags & TENON_OP_ZERO_GRADIENT) != 0) return false;
    for (size_t i = 0; i < places_.size(); ++i) {
      if (!constant_[i] && differentiable_dtype(*places_[i])) return true;
    }
    return false;
  }

  // Whether results that become constant lose a history by it; marks those that have none.
  bool replaces_history() {
    bool replaces = false;
    for (size_t i = 0; i < places_.size(); ++i) {
      constant_[i] = constant_[i] || !differentiable_dtype(*places_[i]) || !changed(*places_[i]) ||
                     !has_history(**places_[i]);
      replaces |= !constant_[i];
    }
    return replaces;
  }

  // A Function without a backward works forward; asking for its gradient is an error.
  void record_refusal() {
    std::vector<Edge> edges;
    for_each_slot(implementation_, arguments_, [&](size_t, Tensor* tensor, uint32_t) {
      if (tensor != nullptr && tensor->requires_grad()) edges.push_back(gradient_edge(*tensor));
    });
    CallVector<Tensor*> results;
    for (Tensor** place : places_) results.push_back(*place);
    const NodeRef node = ErrorNode::create(implementation_, no_backward_rule, 0, edges, results);
    for (size_t i = 0; i < results.size(); ++i) {
      if (results[i] != nullptr && !constant_[i] && node->outputs()[i].differentiable)
        set_history(*results[i], {node, static_cast<uint32_t>(i)});
    }
  }

  IntrusivePtr<OpNode> record() {
    const size_t slots = count_slots(implementation_, arguments_);
    if (slots > UINT16_MAX || places_.size() > UINT16_MAX) {
      throw Error(TENON_ERROR_VALUE, "{}(): more than 65535 tensors in one recorded call",
                  implementation_.schema.short_name());
    }
    uint32_t needing = 0;
    uint64_t tensors = 0;
    for_each_slot(implementation_, arguments_,
                  [&](size_t slot, Tensor* tensor, uint32_t parameter) {
                    if (tensor == nullptr) return;
                    if (slot < 64) tensors |= uint64_t{1} << slot;
                    if (tensor->requires_grad()) needing |= 1u << parameter;
                  });
    CallVector<Tensor*> results;
    for (Tensor** place : places_) results.push_back(*place);
    size_t capacity = context_ ? context_->saved.size() : 0;
    for (const SavedItem& item : implementation_.saves) {
      capacity += item.kind == SavedItem::Kind::Result ? 1 : slots_of(arguments_[item.index]);
    }
    if (capacity > UINT16_MAX)
      throw Error(TENON_ERROR_VALUE, "{}(): more than 65535 tensors saved by one call",
                  implementation_.schema.short_name());

    IntrusivePtr<OpNode> node =
        OpNode::create(implementation_, arguments_, slots, results, capacity);
    node->set_tensor_slots(tensors);
    for_each_slot(implementation_, arguments_, [&](size_t slot, Tensor* tensor, uint32_t) {
      if (tensor != nullptr && tensor->requires_grad()) node->connect(slot, *tensor);
    });
    for (size_t i = 0; i < results.size(); ++i) {
      if (constant_[i]) node->mark_non_differentiable(i);
    }
    for (const SavedItem& item : implementation_.saves) {
      if ((item.for_parameters & needing) != 0) save(node.get(), item, results);
    }
    if (context_) save_context(node.get(), results);
    for (size_t i = 0; i < results.size(); ++i) {
      if (results[i] == nullptr || !node->outputs()[i].differentiable) continue;
      Tensor& result = *results[i];
      if (!changed(&result)) {
        set_history(result, {node, static_cast<uint32_t>(i)});
        continue;
      }
      size_t own_slot = slots;
      for_each_slot(implementation_, arguments_, [&](size_t slot, Tensor* tensor, uint32_t) {
        if (tensor == &result && own_slot == slots) own_slot = slot;
      });
      // The nodes of the tensor and its base live until the new ones lead to them.
      const TensorRef base(result.view_base);
      const NodeRef before[] = {NodeRef(static_cast<Node*>(result.node)),
                                NodeRef(static_cast<Node*>(base ? base->node : nullptr))};
      rebase_history(result, node, static_cast<uint32_t>(i), own_slot);
      if (may_be_saved(result)) break_saved_cycles(*result.storage, *node, before);
    }
    return node;
  }

  void save(OpNode* node, const SavedItem& item, std::span<Tensor* const> results) {
    if (item.kind == SavedItem::Kind::Result) {
      const ResultScope unpacked(dual_);
      node->save(SavedTensor::Kind::Result, item.index,
                 item.index < results.size() ? results[item.index] : nullptr);
      return;
    }
    const auto kind = item.kind == SavedItem::Kind::ShapeOnly ? SavedTensor::Kind::ShapeOnly
                                                              : SavedTensor::Kind::Argument;
    const bool list = arguments_[item.index].tag == TENON_VALUE_TENSOR_LIST;
    for_each_slot(implementation_, arguments_, [&](size_t slot, Tensor* tensor, uint32_t i) {
      if (i != item.index || (tensor == nullptr && !list)) return;
      node->save(kind, i, kind == SavedTensor::Kind::Argument ? as_it_was(slot, tensor) : tensor);
    });
  }

  void save_context(OpNode* node, std::span<Tensor* const> results) {
    for (const TensorRef& saved : context_->saved) {
      const auto own = std::find(results.begin(), results.end(), saved.get());
      if (saved && own != results.end()) {
        const ResultScope unpacked(dual_);
        node->save(SavedTensor::Kind::ListedOwnResult, static_cast<size_t>(own - results.begin()),
                   saved.get());
      } else {
        node->save(is_intermediate(saved.get()) ? SavedTensor::Kind::ListedIntermediate
                                                : SavedTensor::Kind::Listed,
                   0, saved.get());
      }
    }
    context_->saved.clear();
    context_->dirty.clear();
    // backward needs these only to distinguish constants from intermediates among the attributes.
    if (context_->attributes.first() == nullptr) context_->non_differentiable.clear();
    // Zeros for gradients that there are not are made there.
    if (std::ranges::any_of(
            results, [](const Tensor* result) { return result != nullptr && result->typed(); }))
      context_->memory = empty_in_memory_of(results);
    node->set_function(std::move(context_));
  }

  // Whether forward computed the tensor and keeps it to itself: through it no gradient can be
  // known.
  bool is_intermediate(const Tensor* saved) const {
    if (saved == nullptr || saved->requires_grad() || !differentiable_dtype(saved) ||
        detached_->is_original(saved))
      return false;
    const std::vector<TensorRef>& constants = context_->non_differentiable;
    return std::none_of(constants.begin(), constants.end(),
                        [&](const TensorRef& constant) { return constant.get() == saved; });
  }

  const Call& call_;
  const Implementation& implementation_;
  const tenon_value* arguments_;
  tenon_value* results_;
  bool recording_;
  bool dual_;
  bool function_;
  std::vector<TensorRef> originals_;
  std::optional<DetachedInputs> detached_;
  std::unique_ptr<FunctionContext> context_;
  Tensor* absent_ = nullptr;
  CallVector<Tensor**> places_;
  CallVector<bool> constant_;
  std::vector<Tensor*> dirty_;
};

// Runs a composite, which is recorded through the ops that it calls; a write into `out` would not
// be.
tenon_status run_composite_out(Call& call) noexcept {
  const tenon_status status = guarded(call.error, [&] {
    if ((call.flags & TENON_TENSOR_REQUIRES_GRAD) != 0 && records())
      check_recordable(call.implementation, call.arguments);
    if ((call.flags & TENON_TENSOR_HAS_TANGENT) != 0 &&
        carries_tangent(call.implementation, call.arguments))
      check_dual(call.implementation, call.arguments);
  });
  if (status == TENON_OK) return next<LayerId::autograd>(call);
  add_error_context(call.error, call.implementation, status);
  return status;
}

}  // namespace

[[gnu::noinline]] tenon_status run_tracked(Call& call) noexcept {
  const Implementation& implementation = call.implementation;
  if (!needs_autograd(call)) {
    if (implementation.composite && has_out(implementation, call.arguments)) [[unlikely]]
      return run_composite_out(call);
    return next<LayerId::autograd>(call);
  }
  const bool recording = (call.flags & TENON_TENSOR_REQUIRES_GRAD) != 0 && records();
  bool dual = false;
  if ((call.flags & (TENON_TENSOR_HAS_TANGENT | TENON_TENSOR_INFERENCE)) != 0) [[unlikely]] {
    const tenon_status status = guarded(call.error, [&] {
      // Tangents of views are read out of their bases, by an op.
      dual = (call.flags & TENON_TENSOR_HAS_TANGENT) != 0 &&
             carries_tangent(implementation, call.arguments);
      if (recording && (call.flags & TENON_TENSOR_INFERENCE) != 0)
        check_no_inference_saved(implementation, call.arguments);
    });
    if (status != TENON_OK) {
      add_error_context(call.error, implementation, status);
      return status;
    }
  }
  if (recording && !dual && implementation.fast_record) return record_fast(call);
  tenon_status run_status = TENON_OK;
  bool ran = false;
  // A tensor that is changed in place changes with its tangent.
  std::optional<UninterruptedGuard> whole;
  if (dual && implementation.mutates) whole.emplace();
  const tenon_status status = guarded(call.error, [&] {
    RecordedCall recorded(call, recording, dual);
    recorded.prepare();
    run_status = recorded.run();
    // An override that declines has given nothing that could be recorded.
    if (run_status != TENON_OK ||
        (implementation.may_decline && call.results[0].tag == TENON_VALUE_NOT_IMPLEMENTED))
      return;
    ran = true;
    recorded.finish();
  });
  if (run_status != TENON_OK) return run_status;
  if (status != TENON_OK) {
    if (ran) release_results(implementation, call.results);
    add_error_context(call.error, implementation, status);
  }
  return status;
}

}  // namespace tenon::core
