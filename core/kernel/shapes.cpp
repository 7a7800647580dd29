// The layer of calls that compute shapes and dtypes alone (shapes_only_set).
//
// It knows the results of elementwise ops and of those that only write into operands, asks the
// op's shape rule, and lets views and composites run, which move no data themselves. Any other op
// runs on what the operands hold: zeros, in pages that take no memory until they are written. So
// the shapes of every op are found, also where its plugin knows nothing of this.
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/dispatch/binding/value.hpp"
#include "core/dispatch/call/error_context.hpp"
#include "core/dispatch/call/kernel.hpp"
#include "core/dispatch/call/layer.hpp"
#include "core/dispatch/call/operands.hpp"
#include "core/dispatch/call/result_check.hpp"
#include "core/dispatch/call/trace.hpp"
#include "core/kernel/elementwise.hpp"
#include "core/tensor/copy.hpp"

namespace tenon::core {

namespace {

TensorRef zeros_like(const Tensor& tensor) { return make_zeros(tensor.view.dtype, tensor.shape()); }

// New tensors among the results become zeros: what was computed from zeros means nothing.
void zero_results(const Call& call) {
  for_each_result(call.implementation, call.results, [&](Tensor*& place) {
    if (place == nullptr || place->typed()) return;
    bool shared = false;
    for_each_operand(call.implementation, call.arguments, [&](const Tensor* operand) {
      shared = shared || operand->storage == place->storage;
    });
    if (!shared) put(place, zeros_like(*place));
  });
}

// Whether every result is an operand that the call writes into.
bool only_writes(const Call& call) {
  const Implementation& implementation = call.implementation;
  if (has_out(implementation, call.arguments)) {
    const tenon_value& out = call.arguments[implementation.out_parameter];
    return implementation.result_count == (out.tag == TENON_VALUE_TENSOR ? 1 : out.length);
  }
  if (!implementation.mutates) return false;
  for (const int32_t source : implementation.result_alias) {
    if (source < 0 || !is_mutated(implementation, static_cast<uint32_t>(source))) return false;
  }
  return true;
}

tenon_status return_operands(const Call& call) noexcept {
  const Implementation& implementation = call.implementation;
  return guarded(call.error, [&] {
    for (uint32_t r = 0; r < implementation.result_count; ++r) {
      const int32_t alias = implementation.result_alias[r];
      const tenon_value& source =
          call.arguments[alias >= 0 ? alias : int32_t{implementation.out_parameter}];
      const bool listed = alias < 0 && source.tag == TENON_VALUE_TENSOR_LIST;
      call.results[r] =
          listed ? tensor_value(TensorRef(source.as.tensors[r]).give()) : copy_value(source);
    }
  });
}

tenon_status ask_rule(const Call& call) noexcept {
  const Implementation& implementation = call.implementation;
  for (uint32_t r = 0; r < implementation.result_count; ++r) call.results[r] = tenon_value{};
  tenon_context context{&implementation, call.arguments, call.results, call.error};
  tenon_status status = implementation.descriptor.shape_rule(
      implementation.self, &context, call.arguments, call.results, call.error);
  if (status == TENON_OK) {
    status = guarded(call.error, [&] {
      check_declared(implementation, nullptr, call.results);
      zero_results(call);
    });
  }
  if (status == TENON_OK) return status;
  discard_results(implementation, call.results);
  add_error_context(call.error, implementation, status);
  return status;
}

// A call in which zeros stand for the operands that it changes.
class StandIns {
 public:
  explicit StandIns(const Call& call) : call_(call) {
    replaced_.set(call.implementation, call.arguments, [&](Tensor* operand, uint32_t parameter) {
      return is_mutated(call.implementation, parameter) ? stand_in(operand) : operand;
    });
  }

  tenon_status run() noexcept {
    Call inner = call_;
    inner.arguments = replaced_.values();
    inner.written = Writing();
    return next<LayerId::shapes>(inner);
  }

  // Puts the operand in the place of a stand-in that the call returned.
  void restore() {
    for_each_result(call_.implementation, call_.results, [&](Tensor*& place) {
      for (const auto& [operand, zeros] : pairs_) {
        if (place != zeros.get()) continue;
        put(place, TensorRef(operand));
        return;
      }
    });
  }

 private:
  Tensor* stand_in(Tensor* operand) {
    if (operand->typed()) return operand;
    return pairs_.emplace_back(operand, zeros_like(*operand)).second.get();
  }

  const Call& call_;
  std::vector<std::pair<Tensor*, TensorRef>> pairs_;
  ReplacedOperands replaced_;
};

tenon_status run_on_zeros(Call& call) noexcept {
  const GradModeGuard no_grad(false);
  tenon_status run_status = TENON_OK;
  const tenon_status status = guarded(call.error, [&] {
    if (!call.implementation.mutates) {
      run_status = next<LayerId::shapes>(call);
      if (run_status == TENON_OK) zero_results(call);
      return;
    }
    StandIns stand_ins(call);
    run_status = stand_ins.run();
    if (run_status != TENON_OK) return;
    stand_ins.restore();
    zero_results(call);
  });
  return run_status != TENON_OK ? run_status : status;
}

tenon_status refuse_data_dependent(const Call& call) noexcept {
  const tenon_status status = guarded(call.error, [&] {
    throw Error(TENON_ERROR_NOT_IMPLEMENTED,
                "{}(): the shape of its result depends on the elements of its operands; it is not "
                "known before the op runs",
                call.implementation.schema.short_name());
  });
  add_error_context(call.error, call.implementation, status);
  return status;
}

tenon_status compute_shapes(Call& call) noexcept {
  const Implementation& implementation = call.implementation;
  if ((implementation.flags & TENON_OP_DATA_DEPENDENT_SHAPE) != 0)
    return refuse_data_dependent(call);
  if (implementation.descriptor.elementwise != nullptr) {
    const tenon_status status = guarded(call.error, [&] {
      call.results[0] = tensor_value(elementwise_shape(implementation, call.arguments).give());
      zero_results(call);
    });
    if (status != TENON_OK) add_error_context(call.error, implementation, status);
    return status;
  }
  if (only_writes(call)) return return_operands(call);
  if (implementation.descriptor.shape_rule != nullptr) return ask_rule(call);
  if (implementation.composite) return next<LayerId::shapes>(call);
  return run_on_zeros(call);
}

}  // namespace

tenon_status run_shapes(Call& call) noexcept {
  if (tracing()) [[unlikely]]
    trace(trace_event::shapes, call.implementation,
          format_text("shapes of {}", call.implementation.schema.name),
          call.implementation.provider);
  const TraceDepth deeper(tracing());
  const tenon_op_descriptor& descriptor = call.implementation.descriptor;
  if (descriptor.multiply_adds == nullptr) return compute_shapes(call);
  // The ops that it calls are not counted as well.
  int64_t inside = 0;
  int64_t* const total = std::exchange(thread_state.multiply_adds, &inside);
  const tenon_status status = compute_shapes(call);
  thread_state.multiply_adds = total;
  if (status == TENON_OK && total != nullptr)
    __atomic_fetch_add(total, descriptor.multiply_adds(call.implementation.self, call.arguments),
                       __ATOMIC_RELAXED);
  return status;
}

}  // namespace tenon::core
