// Recorded calls: run, then leave a node that can take the gradient back; and carry tangents forward.
#include <algorithm>
#include <array>
#include <string>

#include "core/autograd/dual.hpp"
#include "core/autograd/history.hpp"
#include "core/base/error.hpp"
#include "core/dispatch/call.hpp"
#include "core/dispatch/thread_state.hpp"
#include "core/dispatch/value.hpp"
#include "core/tensor/copy.hpp"
#include "core/tensor/dtype.hpp"

namespace tenon::core {

namespace {

std::string name_of(const Implementation& implementation) {
  return std::string(implementation.schema.short_name());
}

size_t count_slots(const Implementation& implementation, const tenon_value* arguments) {
  size_t slots = 0;
  for (uint32_t i = 0; i < implementation.slot_parameters; ++i) {
    slots += arguments[i].tag == TENON_VALUE_TENSOR_LIST ? arguments[i].length : 1;
  }
  return slots;
}

// Calls visit(slot, tensor or null, parameter) for every slot.
template <class Visit>
void for_each_slot(const Implementation& implementation, const tenon_value* arguments, Visit&& visit) {
  size_t slot = 0;
  for (uint32_t i = 0; i < implementation.slot_parameters; ++i) {
    const tenon_value& value = arguments[i];
    if (value.tag == TENON_VALUE_TENSOR_LIST) {
      for (uint32_t k = 0; k < value.length; ++k) visit(slot++, value.as.tensors[k], i);
    } else {
      visit(slot++, value.tag == TENON_VALUE_TENSOR ? value.as.tensor : nullptr, i);
    }
  }
}

// The tensors of all results in order: a list counts as so many.
void collect_results(const Implementation& implementation, tenon_value* results, std::vector<Tensor**>& places) {
  for (uint32_t r = 0; r < implementation.result_count; ++r) {
    if (results[r].tag == TENON_VALUE_TENSOR) places.push_back(&results[r].as.tensor);
    if (results[r].tag == TENON_VALUE_TENSOR_LIST) {
      auto** tensors = const_cast<Tensor**>(results[r].as.tensors);
      for (uint32_t k = 0; k < results[r].length; ++k) places.push_back(&tensors[k]);
    }
  }
}

// A Function's inputs as it sees them: without history. Knows which original each stands for.
class DetachedInputs {
 public:
  DetachedInputs(const Implementation& implementation, const tenon_value* arguments) {
    for (uint32_t i = 0; i < implementation.parameter_count; ++i) {
      values_[i] = arguments[i];
      if (values_[i].tag == TENON_VALUE_TENSOR) values_[i].as.tensor = detach(values_[i].as.tensor);
      if (values_[i].tag == TENON_VALUE_TENSOR_LIST) {
        lists_.emplace_back();
        for (uint32_t k = 0; k < arguments[i].length; ++k) lists_.back().push_back(arguments[i].as.tensors[k] == nullptr ? nullptr : detach(arguments[i].as.tensors[k]));
        values_[i].as.tensors = lists_.back().data();
      }
    }
  }
  const tenon_value* values() const { return values_; }
  Tensor* original(Tensor* tensor) const {
    for (const Pair& pair : pairs_) {
      if (pair.alias.get() == tensor) return pair.original;
    }
    return tensor;
  }
  bool is_input(const Tensor* tensor) const {
    return std::any_of(pairs_.begin(), pairs_.end(), [&](const Pair& pair) { return pair.alias.get() == tensor || pair.original == tensor; });
  }

 private:
  struct Pair {
    TensorRef alias;
    Tensor* original;
  };
  Tensor* detach(Tensor* tensor) {
    pairs_.push_back({make_detached(*tensor), tensor});
    return pairs_.back().alias.get();
  }
  tenon_value values_[kMaxParameters];
  std::vector<Pair> pairs_;
  std::vector<std::vector<Tensor*>> lists_;
};

bool saves_for(const SavedItem& item, uint32_t needing_parameters) {
  return (item.for_parameters & needing_parameters) != 0;
}

// Checks that come before anything runs.
void check_recordable(const Implementation& implementation, const tenon_value* arguments) {
  if (implementation.out_parameter >= 0 && arguments[implementation.out_parameter].tag == TENON_VALUE_TENSOR) {
    throw Error(TENON_ERROR_RUNTIME, name_of(implementation) + "(): functions with out=... arguments don't support automatic differentiation, "
                                                               "but one of the arguments requires grad; leave 'out' away or run under no_grad");
  }
  for (uint32_t i = 0; i < implementation.parameter_count && implementation.mutates; ++i) {
    if ((implementation.mutated_parameters >> i & 1u) != 0 && arguments[i].tag == TENON_VALUE_TENSOR) {
      check_inplace(*arguments[i].as.tensor, name_of(implementation).c_str());
    }
  }
}

bool results_can_require_grad(const Implementation& implementation, const std::vector<Tensor**>& places) {
  if ((implementation.flags & TENON_OP_ZERO_GRADIENT) != 0) return false;
  return std::any_of(places.begin(), places.end(), [](Tensor** place) { return *place != nullptr && dtype_floating((*place)->view.dtype); });
}

// A result that is one of the operands, unchanged, becomes a handle of its own before it gets a history.
void separate_from_inputs(const Implementation& implementation, const tenon_value* arguments, Tensor** place,
                          bool dirty) {
  if (dirty) return;
  bool is_input = false;
  for (uint32_t i = 0; i < implementation.parameter_count; ++i) {
    is_input |= arguments[i].tag == TENON_VALUE_TENSOR && arguments[i].as.tensor == *place;
    for (uint32_t k = 0; arguments[i].tag == TENON_VALUE_TENSOR_LIST && k < arguments[i].length; ++k) is_input |= arguments[i].as.tensors[k] == *place;
  }
  if (!is_input) return;
  Tensor* input = *place;
  Tensor* alias = make_detached(*input).give();
  Tensor* base = input->view_base == nullptr ? input : input->view_base;
  base->retain();
  alias->view_base = base;
  *place = alias;
  input->release();
}

void record(const Implementation& implementation, const tenon_value* arguments, std::vector<Tensor**>& places,
            std::unique_ptr<FunctionNotes> notes, const std::vector<TensorRef>& originals) {
  const size_t slots = count_slots(implementation, arguments);
  if (slots > UINT16_MAX || places.size() > UINT16_MAX) {
    throw Error(TENON_ERROR_VALUE, name_of(implementation) + "(): more than 65535 tensors in one recorded call");
  }
  uint32_t needing = 0;
  uint64_t tensor_slots = 0;
  for_each_slot(implementation, arguments, [&](size_t slot, Tensor* tensor, uint32_t parameter) {
    if (tensor == nullptr) return;
    if (slot < 64) tensor_slots |= uint64_t{1} << slot;
    if (tensor->requires_grad()) needing |= 1u << parameter;
  });

  std::array<Tensor*, 8> few{};
  std::vector<Tensor*> many;
  std::span<Tensor* const> results;
  if (places.size() <= few.size()) {
    for (size_t i = 0; i < places.size(); ++i) few[i] = *places[i];
    results = {few.data(), places.size()};
  } else {
    for (Tensor** place : places) many.push_back(*place);
    results = many;
  }
  size_t capacity = notes ? notes->saved.size() : 0;
  for (const SavedItem& item : implementation.saves) {
    capacity += item.kind != SavedItem::Kind::Result && arguments[item.index].tag == TENON_VALUE_TENSOR_LIST ? arguments[item.index].length : 1;
  }

  OpNode* node = OpNode::create(implementation, arguments, slots, results, capacity);
  struct Release {
    OpNode* node;
    ~Release() { node->release(); }
  } release{node};
  node->set_tensor_slots(tensor_slots);
  for_each_slot(implementation, arguments, [&](size_t slot, Tensor* tensor, uint32_t) {
    if (tensor != nullptr && tensor->requires_grad()) node->set_edge(slot, gradient_edge(*tensor));
  });

  for (const SavedItem& item : implementation.saves) {
    if (!saves_for(item, needing)) continue;
    if (item.kind == SavedItem::Kind::Result) {
      node->save(SavedTensor::Kind::Result, item.index, item.index < results.size() ? results[item.index] : nullptr);
      continue;
    }
    const auto kind = item.kind == SavedItem::Kind::ShapeOnly ? SavedTensor::Kind::ShapeOnly : SavedTensor::Kind::Argument;
    const tenon_value& value = arguments[item.index];
    if (value.tag == TENON_VALUE_TENSOR) {
      // A tensor that the op has changed is saved as it was before.
      Tensor* tensor = originals.size() > item.index && originals[item.index] ? originals[item.index].get() : value.as.tensor;
      node->save(kind, item.index, tensor);
    } else if (value.tag == TENON_VALUE_TENSOR_LIST) {
      for (uint32_t k = 0; k < value.length; ++k) node->save(kind, item.index, value.as.tensors[k]);
    }
  }
  if (notes) {
    for (const TensorRef& saved : notes->saved) {
      const auto own = std::find(results.begin(), results.end(), saved.get());
      if (saved && own != results.end()) {
        node->save(SavedTensor::Kind::ListedOwnResult, static_cast<uint8_t>(own - results.begin()), saved.get());
      } else {
        node->save(SavedTensor::Kind::Listed, 0, saved.get());
      }
    }
    for (Tensor* tensor : notes->non_differentiable) {
      for (size_t i = 0; i < results.size(); ++i) {
        if (results[i] == tensor) node->mark_non_differentiable(i);
      }
    }
  }

  std::vector<Tensor*> dirty;
  if (notes) dirty = notes->dirty;
  for (uint32_t i = 0; i < implementation.parameter_count && implementation.mutates; ++i) {
    if ((implementation.mutated_parameters >> i & 1u) != 0 && arguments[i].tag == TENON_VALUE_TENSOR) dirty.push_back(arguments[i].as.tensor);
  }
  if (notes) {
    notes->saved.clear();
    notes->dirty.clear();
    notes->non_differentiable.clear();
    node->set_notes(std::move(notes));
  }
  for (size_t i = 0; i < results.size(); ++i) {
    if (!node->outputs()[i].differentiable) continue;
    Tensor& result = *results[i];
    if (!dirty.empty() && std::find(dirty.begin(), dirty.end(), &result) != dirty.end()) {
      size_t own_slot = slots;
      for_each_slot(implementation, arguments, [&](size_t slot, Tensor* tensor, uint32_t) {
        if (tensor == &result && own_slot == slots) own_slot = slot;
      });
      rebase_history(result, node, static_cast<uint32_t>(i), own_slot);
    } else {
      set_history(result, node, static_cast<uint32_t>(i));
    }
  }
}

}  // namespace

tenon_status call_recorded(const Implementation& implementation, const tenon_value* arguments,
                           tenon_value* results, uint32_t flags, tenon_error** error) noexcept {
  const bool recording = (flags & TENON_TENSOR_REQUIRES_GRAD) != 0 && thread_state.grad_enabled;
  const bool is_function = (implementation.flags & TENON_OP_FUNCTION) != 0;
  const bool dual = (flags & TENON_TENSOR_HAS_TANGENT) != 0 && carries_tangent(implementation, arguments);
  const bool formula = implementation.descriptor.differentiable == TENON_DIFFERENTIABLE_FORMULA;
  tenon_status run_status = TENON_OK;
  bool ran = false;
  const tenon_status status = guarded(error, [&] {
    if (recording) check_recordable(implementation, arguments);
    if (dual) check_dual(implementation, arguments);

    // What an in-place rule wants to see of the tensor that is about to change.
    std::vector<TensorRef> originals;
    if (implementation.mutates && (recording || dual)) {
      for (const SavedItem& item : implementation.saves) {
        if (item.kind == SavedItem::Kind::Argument && (implementation.mutated_parameters >> item.index & 1u) != 0 &&
            arguments[item.index].tag == TENON_VALUE_TENSOR) {
          originals.resize(std::max<size_t>(originals.size(), item.index + size_t{1}));
          Tensor& tensor = *arguments[item.index].as.tensor;
          TensorRef& original = originals[item.index];
          original = contiguous_copy(tensor);
          // With the history it had, which second derivatives go through.
          if (recording && tensor.requires_grad()) {
            const Edge edge = gradient_edge(tensor);
            set_history(*original, edge.node, edge.output);
            edge.node->release();
          }
        }
      }
    }

    std::unique_ptr<FunctionNotes> notes;
    std::unique_ptr<DetachedInputs> detached;
    tenon_context context{&implementation, arguments};
    if (is_function) {
      detached = std::make_unique<DetachedInputs>(implementation, arguments);
      context.arguments = detached->values();
      if (recording || dual) {
        notes = std::make_unique<FunctionNotes>();
        for_each_slot(implementation, arguments, [&](size_t slot, Tensor* tensor, uint32_t) {
          if (tensor != nullptr && tensor->requires_grad() && slot < 64) notes->needs |= uint64_t{1} << slot;
        });
        context.notes = notes.get();
      }
    }
    {
      const GradModeGuard guard(false);
      run_status = run_plain(implementation, context, context.arguments, results, error);
    }
    if (run_status != TENON_OK) return;
    ran = true;

    std::vector<Tensor**> places;
    collect_results(implementation, results, places);
    std::vector<Tensor*> dirty;
    if (detached) {
      // From here on, what the Function spoke of as its inputs are the caller's tensors.
      if (notes) {
        for (TensorRef& saved : notes->saved) saved = TensorRef(detached->original(saved.get()));
        for (Tensor*& tensor : notes->dirty) {
          tensor = detached->original(tensor);
          if (recording) check_inplace(*tensor, name_of(implementation).c_str());
          dirty.push_back(tensor);
          if (tensor->storage != nullptr) {
            tensor->storage->version.fetch_add(1, std::memory_order_relaxed);
            tensor->storage->last_writer.store(implementation.op, std::memory_order_relaxed);
          }
        }
      }
      for (Tensor** place : places) {
        Tensor* original = detached->original(*place);
        if (original == *place) continue;
        original->retain();
        (*place)->release();
        *place = original;
      }
    }
    for (Tensor** place : places) {
      bool changed = std::find(dirty.begin(), dirty.end(), *place) != dirty.end();
      for (uint32_t i = 0; i < implementation.parameter_count && implementation.mutates; ++i) {
        changed |= (implementation.mutated_parameters >> i & 1u) != 0 && arguments[i].tag == TENON_VALUE_TENSOR && arguments[i].as.tensor == *place;
      }
      if (*place != nullptr) separate_from_inputs(implementation, arguments, place, changed);
    }
    if (dual) propagate_tangents(implementation, arguments, originals, places, notes.get());
    if (recording && results_can_require_grad(implementation, places)) {
      if (!formula) {
        throw Error(TENON_ERROR_NOT_IMPLEMENTED, "[" + implementation.schema.name + "::backward] not implemented: autograd not implemented for op '" +
                                                     implementation.schema.name + "' of plugin '" + implementation.provider +
                                                     "'; give it a backward, declare it composite, or call it under no_grad");
      }
      record(implementation, arguments, places, std::move(notes), originals);
    }
  });
  if (run_status != TENON_OK) return run_status;
  if (status != TENON_OK) {
    if (ran) {
      for (uint32_t r = 0; r < implementation.result_count; ++r) release_value(results[r]);
    }
    add_error_context(error, implementation);
  }
  return status;
}

}  // namespace tenon::core
