// The layer of autograd: runs a call, leaves a node that can take the gradient back, and carries
// tangents forward. Here are its entry and the common case; the rest is off that path.
//
//   record_fast.cpp       run_recorded decides; record_fast: one new tensor, no lists, no changes
//   recorded_call.cpp     run_tracked, all other calls. RecordedCall: prepare() checks, and keeps
//                         what the run would change; run() passes the call on; finish() takes over
//                         the results, makes the node, sets histories and computes tangents
//   function_inputs.hpp   detached handles, which a Function's forward gets as its inputs
//   tracked.cpp           who needs it (operands, their bases), and what `tenon why` says of it;
//                         refusals before anything runs
//   inplace.cpp           rules of changes in place
//
// Words of these files:
//   slot        place of an operand tensor as gradients are counted: the parameters up to the last
//               tensor have one each, lists one for each entry (for_each_slot)
//   places_     the results in the order in which gradients arrive: a list has one place for each
//               tensor; a result that is not a tensor has `absent_`, which is null
//   originals_  by slot: copies of operands that the run is about to change, for rules to read
//   detached_   the inputs of a Function, as its forward sees them
//   constant_   by place: the result has no gradient (marked so, or of a dtype without one)
//   dirty_      inputs that a Function has marked as changed in place
#include "core/autograd/graph/history.hpp"
#include "core/autograd/graph/op_node.hpp"
#include "core/autograd/record/tracked.hpp"
#include "core/base/error.hpp"
#include "core/dispatch/call/error_context.hpp"
#include "core/dispatch/call/operands.hpp"
#include "core/dispatch/call/result_check.hpp"

namespace tenon::core {

// No allocation but the node.
[[gnu::noinline]] tenon_status record_fast(Call& call) noexcept {
  const Implementation& implementation = call.implementation;
  const tenon_value* const arguments = call.arguments;
  tenon_value* const results = call.results;
  tenon_status run_status = TENON_OK;
  bool ran = false;
  const tenon_status status = guarded(call.error, [&] {
    if (has_out(implementation, arguments)) check_recordable(implementation, arguments);
    uint32_t tensors = 0;
    uint32_t needing = 0;
    const uint32_t slots = implementation.slot_parameters;
    for (uint32_t i = 0; i < slots; ++i) {
      if (arguments[i].tag != TENON_VALUE_TENSOR) continue;
      Tensor& tensor = *arguments[i].as.tensor;
      refresh_history(tensor);
      tensors |= 1u << i;
      needing |= static_cast<uint32_t>(tensor.requires_grad()) << i;
    }
    {
      const GradModeGuard guard(false);
      run_status = next<LayerId::autograd>(call);
    }
    if (run_status != TENON_OK) return;
    ran = true;
    if (needing == 0 || results[0].tag != TENON_VALUE_TENSOR ||
        !differentiable_dtype(results[0].as.tensor))
      return;
    if (results[0].as.tensor->references.load(std::memory_order_relaxed) != 1) [[unlikely]]
      separate_from_inputs(implementation, arguments, &results[0].as.tensor);
    Tensor* result = results[0].as.tensor;
    if (result->typed()) detach_components(*result);
    IntrusivePtr<OpNode> node =
        OpNode::create(implementation, arguments, slots, {&result, 1}, implementation.saves.size());
    node->set_tensor_slots(tensors);
    for (uint32_t i = 0; i < slots; ++i) {
      if ((needing >> i & 1u) != 0) node->connect(i, *arguments[i].as.tensor);
    }
    for (const SavedItem& item : implementation.saves) {
      if ((item.for_parameters & needing) == 0) continue;
      if (item.kind == SavedItem::Kind::Result) {
        node->save(SavedTensor::Kind::Result, item.index, result);
      } else if (arguments[item.index].tag == TENON_VALUE_TENSOR) {
        node->save(item.kind == SavedItem::Kind::ShapeOnly ? SavedTensor::Kind::ShapeOnly
                                                           : SavedTensor::Kind::Argument,
                   item.index, arguments[item.index].as.tensor);
      }
    }
    set_history(*result, {std::move(node), 0});
  });
  if (run_status != TENON_OK) return run_status;
  if (status != TENON_OK) {
    if (ran) release_results(implementation, results);
    add_error_context(call.error, implementation, status);
  }
  return status;
}

tenon_status run_recorded(Call& call) noexcept {
  const Implementation& implementation = call.implementation;
  constexpr uint32_t looked_at =
      TENON_TENSOR_VIEW | TENON_TENSOR_HAS_TANGENT | TENON_TENSOR_INFERENCE;
  if (implementation.fast_record && (call.flags & looked_at) == 0 && records())
    return record_fast(call);
  constexpr uint32_t tracked = TENON_TENSOR_REQUIRES_GRAD | TENON_TENSOR_HAS_TANGENT;
  const bool watched = records() || thread_state.dual_level != nullptr;  // else bases do not matter
  if ((call.flags & tracked) == 0 && !watched) return next<LayerId::autograd>(call);
  return run_tracked(call);
}

}  // namespace tenon::core
