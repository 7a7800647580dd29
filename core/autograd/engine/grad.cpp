// Leaves and their gradients.
#include "core/autograd/engine/grad.hpp"

#include <atomic>
#include <mutex>
#include <utility>

#include "core/autograd/graph/history.hpp"
#include "core/autograd/graph/tensor_meta.hpp"
#include "core/base/error.hpp"
#include "core/base/log.hpp"
#include "core/dispatch/call/thread_state.hpp"
#include "core/dispatch/table/core_ops.hpp"
#include "core/tensor/copy.hpp"
#include "core/tensor/dtype.hpp"
#include "core/tensor/shape.hpp"

namespace tenon::core {

namespace {

// Whether the holder of the one reference may change the tensor, or keep it as its own.
bool sole_owner(const Tensor& tensor) {
  return tensor.references.load(std::memory_order_acquire) == 1 &&
         tensor.view.flags == TENON_TENSOR_CONTIGUOUS && tensor.storage != nullptr &&
         !tensor.storage->foreign &&
         tensor.storage->references.load(std::memory_order_acquire) == 1;
}

// The gradient's history leads to the leaf that keeps it, most of the time.
[[gnu::cold]] void warn_of_cycle() {
  static std::atomic<bool> warned{false};
  if (warned.exchange(true, std::memory_order_relaxed)) return;
  log(LogLevel::warning, "",
      "backward() with create_graph=true leaves a reference cycle between a leaf and its .grad, "
      "which keeps the graph alive: use gradients() instead, or reset .grad after use. Reported "
      "once");
}

}  // namespace

void accumulate_grad(Tensor& tensor, Tensor* gradient, bool create_graph) {
  TensorMeta& meta = meta_of(tensor);
  const std::lock_guard adding(meta.adding);
  const TensorRef present = grad_of(tensor);
  TensorRef next;
  if (!present && gradient->typed() && gradient->storage == nullptr) {
    // A type that keeps its own state: objects of it are values.
    next = create_graph ? TensorRef(gradient) : make_detached(*gradient);
  } else if (!present) {
    // Kept as it is when no other holder can see it change later.
    next = sole_owner(*gradient) || (create_graph && gradient->references.load() == 1)
               ? TensorRef(gradient)
           : create_graph ||
                   (gradient->view.flags & (TENON_TENSOR_HAS_TANGENT | TENON_TENSOR_TYPED)) != 0
               ? core_ops::clone(*gradient)
               : contiguous_copy(*gradient);
  } else if (create_graph || !present->contiguous() ||
             ((present->view.flags | gradient->view.flags) &
              (TENON_TENSOR_READ_ONLY | TENON_TENSOR_TYPED)) != 0) {
    next = add_gradients(TensorRef(present), gradient, true);
  } else {
    const GradModeGuard no_grad(false);
    core_ops::add_in_place(*present, *gradient);
    return;
  }
  if (create_graph && next->node != nullptr && is_leaf(tensor)) warn_of_cycle();
  set_grad(tensor, next.get());
}

TensorRef add_gradients(TensorRef&& into, Tensor* more, bool create_graph) {
  const bool own = !create_graph && sole_owner(*into) &&
                   (more->view.flags & ~uint32_t{TENON_TENSOR_CONTIGUOUS | TENON_TENSOR_VIEW}) == 0;
  return own ? core_ops::add_in_place(*into, *more) : core_ops::add(*into, *more);
}

void set_requires_grad(Tensor& tensor, bool requires_grad) {
  refresh_history(tensor);
  if (requires_grad && !dtype_differentiable(tensor.view.dtype)) {
    throw Error(TENON_ERROR_RUNTIME,
                "only tensors of floating point and complex dtype can require gradients, not {}",
                dtype_text(tensor.view.dtype));
  }
  if (!is_leaf(tensor)) {
    if (requires_grad) return;
    throw Error(TENON_ERROR_RUNTIME,
                "you can only change requires_grad flags of leaf tensors; use detach() to get a "
                "computed tensor without history");
  }
  if (requires_grad && tensor.has_flag(TENON_TENSOR_INFERENCE) && !thread_state.inference) {
    throw Error(
        TENON_ERROR_RUNTIME,
        "an inference tensor cannot require grad outside of inference mode: clone it first");
  }
  if (requires_grad) {
    meta_of(tensor);
    tensor.view.flags |= TENON_TENSOR_REQUIRES_GRAD;
  } else {
    tensor.view.flags &= ~uint32_t{TENON_TENSOR_REQUIRES_GRAD};
  }
}

TensorRef grad_of(Tensor& tensor) {
  TensorMeta* meta = meta_if_any(tensor);
  if (meta == nullptr) return {};
  if (meta->retained) {
    const std::lock_guard lock(meta->retained->mutex);
    return meta->retained->grad;
  }
  const std::lock_guard lock(meta->mutex);
  return meta->grad;
}

void set_grad(Tensor& tensor, Tensor* grad) {
  if (grad != nullptr) {
    if (!same_shape(grad->shape(), tensor.shape())) {
      throw Error(TENON_ERROR_VALUE, "assigned grad has shape {} but the tensor has shape {}",
                  shape_text(grad->shape()), shape_text(tensor.shape()));
    }
    if (grad->view.dtype != tensor.view.dtype) {
      throw Error(TENON_ERROR_TYPE, "assigned grad has dtype {} but the tensor has dtype {}",
                  dtype_text(grad->view.dtype), dtype_text(tensor.view.dtype));
    }
  } else if (tensor.meta == nullptr) {
    return;
  }
  TensorMeta& meta = meta_of(tensor);
  if (meta.retained) {
    const std::lock_guard lock(meta.retained->mutex);
    meta.retained->grad = TensorRef(grad);
    return;
  }
  const std::lock_guard lock(meta.mutex);
  meta.grad = TensorRef(grad);
}

void replace_value(Tensor& tensor, const Tensor& value, Tensor* grad) {
  const bool computed = tensor.node != nullptr;
  replace_data(tensor, value);
  if (computed) {
    tensor.view.flags &= ~uint32_t{TENON_TENSOR_REQUIRES_GRAD};
    std::exchange(tensor.node, nullptr)->release();
  }
  if (tensor.view_base != nullptr) std::exchange(tensor.view_base, nullptr)->release();
  TensorMeta* meta = meta_if_any(tensor);
  if (meta == nullptr) return;
  if (Accumulator* accumulator = meta->accumulator.load(std::memory_order_acquire))
    accumulator->refresh_output();
  meta->retained = nullptr;
  for (CarriedTangent& carried : meta->tangents) carried.tensor = {};
  const std::lock_guard lock(meta->mutex);
  meta->grad = TensorRef(grad);
}

void retain_grad(Tensor& tensor) {
  refresh_history(tensor);
  if (!tensor.requires_grad()) {
    throw Error(TENON_ERROR_RUNTIME, "can't retain_grad on a tensor that does not require grad");
  }
  if (is_leaf(tensor)) return;
  TensorMeta& meta = meta_of(tensor);
  if (meta.retained) return;
  meta.retained = std::make_shared<RetainedGrad>();
  static_cast<Node*>(tensor.node)->extra().retain_into(tensor.node_output, meta.retained);
}

}  // namespace tenon::core
