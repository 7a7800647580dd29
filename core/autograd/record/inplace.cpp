// Refusing changes in place whose derivative would be wrong.
#include "core/autograd/record/inplace.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "core/autograd/graph/history.hpp"
#include "core/autograd/hooks/gradient_hook_node.hpp"
#include "core/autograd/typed/component_history.hpp"
#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/dispatch/call/call.hpp"
#include "core/dispatch/types/type_table.hpp"
#include "core/tensor/dtype.hpp"
#include "core/tensor/shape.hpp"

namespace tenon::core {

void require_place(const Tensor& view, const Tensor& base) {
  if (view.storage != base.storage) {
    throw Error(TENON_ERROR_RUNTIME,
                "a view of shape {} does not share the memory of its base any more: the base was "
                "converted in place, as Module::to does; take the view again after the conversion",
                shape_text(view.shape()));
  }
  if (view.view.dtype != base.view.dtype) {
    throw Error(TENON_ERROR_NOT_IMPLEMENTED,
                "in-place changes are not recorded through a {} view of a {} base, nor seen by it: "
                "change the base by ops that return new tensors, or under no_grad",
                dtype_text(view.view.dtype), dtype_text(base.view.dtype));
  }
  if (base.contiguous()) return;
  throw Error(TENON_ERROR_NOT_IMPLEMENTED,
              "in-place changes of a view are recorded only when its base is contiguous; the base "
              "has shape {} and strides {}: make it contiguous() first",
              shape_text(base.shape()), shape_text(base.strides()));
}

bool may_overlap(Shape shape, Shape strides) {
  size_t order[TENON_MAX_RANK];
  size_t rank = 0;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] > 1) order[rank++] = d;
  }
  std::sort(order, order + rank,
            [&](size_t a, size_t b) { return std::abs(strides[a]) < std::abs(strides[b]); });
  int64_t covered = 0;
  for (size_t i = 0; i < rank; ++i) {
    const int64_t step = std::abs(strides[order[i]]);
    if (step <= covered) return true;
    covered += step * (shape[order[i]] - 1);
  }
  return false;
}

namespace {

// The operand that an op's result is declared a view of; -1: none.
int32_t viewed_parameter(const Implementation& implementation, uint32_t output) {
  const std::vector<int32_t>& aliases = implementation.result_alias;
  if (aliases.size() == 1) return aliases[0];  // a list, too
  return output < aliases.size() ? aliases[output] : -1;
}

// Result `output` of `node`; borrowed from the view.
struct ViewSource {
  Node* node;
  uint32_t output;
};

// The node at which the view's history leaves the declared views that it was taken by.
ViewSource source_of(const Tensor& view) {
  ViewSource source{static_cast<Node*>(view.node), view.node_output};
  while (source.node != nullptr) {
    const Implementation* implementation = source.node->implementation();
    if (implementation == nullptr || implementation->mutates) break;
    const int32_t parameter = viewed_parameter(*implementation, source.output);
    const std::span<const Edge> edges = source.node->edges();
    if (parameter < 0 || static_cast<size_t>(parameter) >= edges.size()) break;
    const Edge& edge = edges[static_cast<size_t>(parameter)];
    source = {edge.node.get(), edge.output};
  }
  return source;
}

[[noreturn, gnu::cold]] void fail_hooked_view(const ViewSource& source, Changed changed) {
  throw Error(
      TENON_ERROR_INPLACE,
      "Output {} of {} is a view and {} modified inplace. This view was created because an input "
      "or output of a module with full backward hooks is returned as-is, and the change would "
      "bypass the hooks. Clone the tensor, and change the clone",
      source.output, source.node->name(),
      changed == Changed::view ? "is being" : "its base or another view of its base has been");
}

}  // namespace

void check_function_view(const Tensor& view, Changed changed) {
  const ViewSource source = source_of(view);
  const Node* node = source.node;
  if (node == nullptr) return;
  const Implementation* implementation = node->implementation();
  if (implementation == nullptr && hooks_gradients(*node)) fail_hooked_view(source, changed);
  if (implementation == nullptr || (implementation->flags & TENON_OP_FUNCTION) == 0) return;
  if (viewed_parameter(*implementation, source.output) >= 0) return;
  Error error(TENON_ERROR_INPLACE,
              "Output {} of {} is a view and it, or its base, is being modified inplace. This view "
              "was created inside a custom Function (or because an input was returned as-is) and "
              "the gradient of the Function would be passed over. Clone the output of the "
              "Function, or declare the view in its schema: Tensor(a)",
              source.output, node->name());
  error.op = implementation->schema.name;
  error.provider = implementation->provider;
  throw error;
}

void fail_unrecorded_view(const Tensor& view, const std::string& changed) {
  const bool inference = view.view_origin == ViewOrigin::inference;
  throw Error(TENON_ERROR_INPLACE,
              view.view_origin == ViewOrigin::recorded
                  ? format_text("A view that does not require grad, of a base that does, {}. Clone "
                                "the view, or detach it",
                                changed)
                  : format_text("A view was created in {} mode and {}{}. This use is ambiguous: "
                                "move both the view and the change into the mode, so that the "
                                "change is not recorded, or both out of it",
                                inference ? "inference" : "no_grad", changed,
                                inference ? " in normal mode" : " with grad mode enabled"));
}

void require_disjoint(const Tensor& tensor, std::string_view op) {
  if (tensor.contiguous() || !may_overlap(tensor.shape(), tensor.strides())) return;
  throw Error(TENON_ERROR_INPLACE,
              "{}(): a tensor of shape {} and strides {} is being modified inplace, and more than "
              "one of its elements may be in one place of memory: clone it first",
              op, shape_text(tensor.shape()), shape_text(tensor.strides()));
}

void check_inplace(Tensor& tensor, std::string_view op) {
  if (tensor.has_flag(TENON_TENSOR_INFERENCE))
    throw Error(TENON_ERROR_INPLACE, "{}(): {}", op, kInferenceChange);
  refresh_history(tensor);
  require_disjoint(tensor, op);
  // A dual of a leaf has the leaf's accumulator for its history, and its data.
  const bool accumulates =
      tensor.node != nullptr &&
      static_cast<const Node*>(tensor.node)->sequence() == kAccumulatorSequence;
  if ((is_leaf(tensor) && tensor.requires_grad()) || accumulates) {
    throw Error(TENON_ERROR_INPLACE,
                "{}(): a leaf tensor that requires grad is being used in an in-place operation; "
                "run it under no_grad, or on a clone",
                op);
  }
  if (tensor.typed() && component_owner(tensor) != nullptr && has_held_history(tensor)) {
    throw Error(TENON_ERROR_INPLACE,
                "{}(): its components have a history, which does not see that the whole is changed "
                "in place; change the components by ops, or return a new object",
                op);
  }
  if (tensor.view_base == nullptr || !dtype_differentiable(tensor.view.dtype)) return;
  if (tensor.view_origin != ViewOrigin::recorded)
    fail_unrecorded_view(tensor, "is being modified inplace");
  if (is_leaf(*tensor.view_base) && tensor.view_base->requires_grad()) {
    throw Error(TENON_ERROR_INPLACE,
                "{}(): a view of a leaf tensor that requires grad is being used in an in-place "
                "operation; run it under no_grad, or on a clone",
                op);
  }
  if (!tensor.requires_grad() && tensor.view_base->requires_grad())
    fail_unrecorded_view(tensor, "is being modified inplace");
  check_function_view(tensor, Changed::view);
  require_place(tensor, *tensor.view_base);
}

}  // namespace tenon::core
