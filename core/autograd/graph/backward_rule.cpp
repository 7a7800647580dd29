// Access of a backward rule to its node, and the gradients that it may take.
#include "core/autograd/graph/backward_rule.hpp"

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>

#include "core/autograd/engine/engine.hpp"
#include "core/autograd/forward/dual.hpp"
#include "core/autograd/graph/error_node.hpp"
#include "core/autograd/graph/history.hpp"
#include "core/autograd/hooks/saved_hooks.hpp"
#include "core/autograd/typed/component_history.hpp"
#include "core/base/error.hpp"
#include "core/base/text.hpp"
#include "core/dispatch/call/call.hpp"
#include "core/tensor/dtype.hpp"

namespace tenon::core {

void BackwardRule::fill_arguments(tenon_value* values) {
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

Tensor* BackwardRule::result(int64_t index) {
  for (size_t i = 0; i < node_.saved_count_; ++i) {
    const SavedTensor& saved = node_.saved_[i];
    if (saved.kind == SavedTensor::Kind::Result && saved.index == index) return unpack(saved);
  }
  return nullptr;
}

bool BackwardRule::needs_gradient(int64_t slot) {
  if (slot < 0 || slot >= node_.edge_count_) return false;
  const Node* to = static_cast<size_t>(slot) == call_.rebased_slot ? call_.rebased
                                                                   : node_.edges_[slot].node.get();
  return to != nullptr && (call_.run == nullptr || call_.run->reaches(*to));
}

int64_t BackwardRule::saved_count() {
  int64_t count = 0;
  for (size_t i = 0; i < node_.saved_count_; ++i) count += node_.saved_[i].is_listed() ? 1 : 0;
  return count;
}

Tensor* BackwardRule::saved(int64_t index) { return unpack(listed(index), index); }

TensorRef BackwardRule::give_saved(int64_t index) {
  SavedTensor& saved = listed(index);
  if ((node_.implementation_->flags & TENON_OP_CLEAR_SAVED) == 0) [[likely]]
    return TensorRef(unpack(saved, index));
  // Two runs of a retained graph may both ask: one gets it.
  SavedTensor taken = saved;
  taken.tensor = std::atomic_ref(saved.tensor).exchange(nullptr, std::memory_order_acq_rel);
  if (taken.tensor == nullptr) {
    if ((saved.state & SavedTensor::kPresent) == 0) return {};
    throw Error(TENON_ERROR_GRAPH,
                "saved tensor {} of {} was read before: its op declares "
                "clear_saved_tensors_on_access, so each can be read once, in one backward",
                index, node_.name());
  }
  struct Release {
    SavedTensor& saved;
    ~Release() { saved.release(); }
  } release{taken};
  TensorRef tensor(unpack(taken, index));
  std::erase_if(held_, [&](const TensorRef& held) { return held.get() == tensor.get(); });
  return tensor;
}

FunctionContext* BackwardRule::function_context() { return node_.function_.get(); }

TensorRef BackwardRule::guard(Tensor& tensor) {
  if (!create_graph_ || tensor.requires_grad() || !dtype_differentiable(tensor.view.dtype) ||
      is_constant(tensor))
    return TensorRef(&tensor);
  return refusing(tensor, kStashed);
}

bool BackwardRule::had_tensor(int64_t index) {
  return index >= 0 && !node_.implementation_->has_lists &&
         static_cast<uint32_t>(index) < node_.implementation_->slot_parameters && index < 64 &&
         node_.slot_holds_tensor(static_cast<size_t>(index));
}

uint32_t BackwardRule::backward_options() {
  return static_cast<uint32_t>(call_.retain_graph) * TENON_BACKWARD_RETAIN_GRAPH |
         static_cast<uint32_t>(call_.create_graph) * TENON_BACKWARD_CREATE_GRAPH;
}

bool BackwardRule::take_gradients(std::span<Tensor*> taken) {
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

SavedTensor& BackwardRule::listed(int64_t index) {
  if (index >= 0) {
    for (size_t i = 0, at = static_cast<size_t>(index); i < node_.saved_count_; ++i) {
      if (node_.saved_[i].is_listed() && at-- == 0) return node_.saved_[i];
    }
  }
  throw Error(TENON_ERROR_INDEX,
              "{} reads saved tensor {}, but forward saved {}; save it too, or read one from 0 on",
              node_.name(), index, counted(saved_count(), "tensor"));
}

bool BackwardRule::is_constant(const Tensor& tensor) const {
  const std::vector<TensorRef>& constants = node_.function_->non_differentiable;
  return std::any_of(constants.begin(), constants.end(),
                     [&](const TensorRef& constant) { return constant.get() == &tensor; });
}

TensorRef BackwardRule::refusing(Tensor& tensor, uintptr_t detail) {
  TensorRef alias = make_detached(tensor);
  Tensor* output = alias.get();
  set_history(*alias, {ErrorNode::create(*node_.implementation_, unknown_gradient, detail,
                                         node_.edges(), {&output, 1}),
                       0});
  return alias;
}

Tensor* BackwardRule::hold(TensorRef tensor) {
  held_.push_back(std::move(tensor));
  return held_.back().get();
}

Tensor* BackwardRule::unpack(const SavedTensor& saved, int64_t index) {
  Tensor* tensor = saved.tensor;
  if (tensor == nullptr || saved.kind == SavedTensor::Kind::ShapeOnly) return tensor;
  const bool packed = saved.packs();
  if (packed) [[unlikely]] {
    tensor = hold(unpack_saved(*saved.packed, node_.name()));
  } else if (version_of(*tensor) != saved.version) {
    fail_changed(saved, node_);
  }
  if (!create_graph_) return tensor;
  if (saved.own_result()) {
    // Results are kept without their history, which a recorded rule needs.
    if (!packed) tensor = hold(make_detached(*tensor));
    if (node_.outputs_[saved.index].differentiable)
      set_history(*tensor, {NodeRef(&node_), saved.index});
    if (!packed) at_each_level([&] { share_tangent(*saved.tensor, *tensor); });
  } else if (saved.kind == SavedTensor::Kind::ListedIntermediate) {
    tensor = hold(refusing(*tensor, static_cast<uintptr_t>(index)));
  } else if (packed && saved.packed->edge.node) {
    set_history(*tensor, saved.packed->edge);
  }
  return tensor;
}

}  // namespace tenon::core
