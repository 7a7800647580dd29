// Checking returned gradients, and fitting them to the inputs that they are for.
#include "core/autograd/engine/gradient_check.hpp"

#include <string>
#include <utility>

#include "core/autograd/typed/typed.hpp"
#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/log.hpp"
#include "core/dispatch/call/thread_state.hpp"
#include "core/dispatch/table/core_ops.hpp"
#include "core/dispatch/types/conversion.hpp"
#include "core/dispatch/types/type_table.hpp"
#include "core/tensor/dtype.hpp"
#include "core/tensor/shape.hpp"

namespace tenon::core {

namespace {

[[noreturn, gnu::cold]] void fail_answer(const Node& node, const std::string& what) {
  Error error(TENON_ERROR_RUNTIME, "function {} returned {}", node.name(), what);
  if (const Implementation* implementation = node.implementation()) {
    error.op = implementation->schema.name;
    error.provider = implementation->provider;
  }
  throw error;
}

[[noreturn, gnu::cold]] void fail_count(const Node& node, size_t expected, size_t got) {
  fail_answer(node,
              format_text("an incorrect number of gradients (expected {}, got {})", expected, got));
}

[[noreturn, gnu::cold]] void fail_not_tensor(const Node& node, size_t position) {
  std::string input = "the corresponding forward input";
  const Implementation* implementation = node.implementation();
  if (implementation != nullptr && !implementation->has_lists &&
      position < implementation->parameter_count) {
    input += format_text(" '{}'", implementation->schema.parameters[position].name);
  }
  fail_answer(node,
              format_text("a gradient different from None at position {}, but {} was not a tensor",
                          position + 1, input));
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
  return format_text("an invalid gradient at index {}", index);
}

// The author of a Function mostly forgot a sum: said once for each op, or refused in a strict
// scope.
[[gnu::cold]] void tell_summed(const Implementation& implementation, const Node& from,
                               const OutputInfo& info, const Tensor& gradient, size_t index) {
  const std::string what = format_text(" - got {} for an input of shape {}",
                                       shape_text(gradient.shape()), shape_text(info.sizes()));
  if (thread_state.strict_gradients)
    fail_answer(from,
                format_text("{}{}, and strict gradients are asked for", invalid_at(index), what));
  if (implementation.told_summed.exchange(true, std::memory_order_relaxed)) return;
  log(LogLevel::warning, implementation.provider,
      format_text("function {} returned a gradient at index {}{}; it is summed to that shape; "
                  "reported once for this op",
                  from.name(), index, what));
}

}  // namespace

void check_gradients(Node& node, std::span<const TensorRef> produced) {
  const size_t edges = node.edges().size();
  if (produced.size() < edges) fail_count(node, edges, produced.size());
  for (size_t i = 0; i < edges; ++i) {
    if (produced[i] && !node.slot_holds_tensor(i)) fail_not_tensor(node, i);
  }
  for (size_t i = edges; i < produced.size(); ++i) {
    if (!produced[i]) continue;
    // Beyond the last tensor, but still an argument of the call.
    const Implementation* implementation = node.implementation();
    if (implementation != nullptr && !implementation->has_lists &&
        i < implementation->parameter_count)
      fail_not_tensor(node, i);
    fail_count(node, edges, produced.size());
  }
}

TensorRef fit_gradient(TensorRef gradient, const OutputInfo& info, const Node& from, size_t index) {
  // A gradient without data is made plain where its structure does not fit, unless ops go through it.
  if (gradient->has_flag(TENON_TENSOR_SHAPE_ONLY) && gradient->typed() &&
      (info.type == 0 || gradient->storage == nullptr) &&
      (info.type == 0 || !same_shape(gradient->shape(), info.sizes()) ||
       gradient->view.dtype != info.dtype) &&
      (TypeTable::process().at(gradient->view.type).descriptor.flags & TENON_TYPE_DECOMPOSES) == 0)
      [[unlikely]]
    gradient = to_plain(*gradient);
  if (!same_shape(gradient->shape(), info.sizes())) [[unlikely]] {
    if (!expands_to(info, *gradient)) {
      fail_answer(
          from, format_text("{} - got {} but expected shape compatible with {}", invalid_at(index),
                            shape_text(gradient->shape()), shape_text(info.sizes())));
    }
    const Implementation* implementation = from.implementation();
    if (implementation != nullptr && (implementation->flags & TENON_OP_FUNCTION) != 0)
      tell_summed(*implementation, from, info, *gradient, index);
    gradient = core_ops::sum_to_size(*gradient, info.sizes());
  }
  if (gradient->view.dtype != info.dtype) [[unlikely]] {
    if (!dtype_differentiable(gradient->view.dtype)) {
      fail_answer(from, format_text("{} - expected dtype {} but got {}", invalid_at(index),
                                    dtype_text(info.dtype), dtype_text(gradient->view.dtype)));
    }
    gradient = core_ops::in_dtype(std::move(gradient), info.dtype);
  }
  if (info.type != 0) [[unlikely]]
    gradient = project_gradient(std::move(gradient), info.type);
  if (gradient->has_flag(TENON_TENSOR_SHAPE_ONLY) && !gradient->typed()) [[unlikely]] {
    fail_answer(from,
                format_text("{} - a tensor that has a shape but no data, as saved by shape(...)",
                            invalid_at(index)));
  }
  return gradient;
}

}  // namespace tenon::core
