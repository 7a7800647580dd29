#include "core/autograd/forward/dual.hpp"

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "core/autograd/graph/history.hpp"
#include "core/autograd/typed/typed.hpp"
#include "core/base/error.hpp"
#include "core/dispatch/binding/value.hpp"
#include "core/dispatch/table/core_ops.hpp"
#include "core/tensor/copy.hpp"
#include "core/tensor/dtype.hpp"
#include "core/tensor/shape.hpp"

namespace tenon::core {

namespace {

// The innermost level that this thread opened.
thread_local std::shared_ptr<DualLevel> opened;

// The tensor's own entry for the present level.
CarriedTangent* find_carried(const Tensor& tensor) {
  TensorMeta* meta = meta_if_any(tensor);
  if (meta == nullptr) return nullptr;
  const auto at_level = [](const CarriedTangent& carried) {
    return carried.level.get() == thread_state.dual_level;
  };
  const auto found = std::find_if(meta->tangents.begin(), meta->tangents.end(), at_level);
  return found == meta->tangents.end() ? nullptr : &*found;
}

// New memory with the strides of `tensor`.
TensorRef empty_in_layout(const Tensor& tensor) {
  if (tensor.contiguous()) return make_empty(tensor.view.dtype, tensor.shape());
  int64_t lowest = 0;
  int64_t highest = 0;
  for (size_t d = 0; d < tensor.view.rank; ++d) {
    const int64_t reach = (tensor.view.shape[d] - 1) * tensor.view.strides[d];
    (reach < 0 ? lowest : highest) += reach;
  }
  const int64_t extent = highest - lowest + 1;
  const TensorRef memory = make_empty(tensor.view.dtype, {&extent, 1});
  return make_alias(*memory, tensor.shape(), tensor.strides(), -lowest);
}

}  // namespace

bool same_layout(const Tensor& a, const Tensor& b) {
  if (a.contiguous() && b.contiguous()) return true;
  for (size_t d = 0; d < a.view.rank; ++d) {
    if (a.view.shape[d] > 1 && a.view.strides[d] != b.view.strides[d]) return false;
  }
  return true;
}
void attach_tangent(Tensor& tensor, TensorRef tangent) {
  if (CarriedTangent* carried = find_carried(tensor)) {
    carried->tensor = std::move(tangent);
    return;
  }
  std::vector<CarriedTangent>& all = meta_of(tensor).tangents;
  std::erase_if(all, [](const CarriedTangent& carried) { return !carried.level->open; });
  all.push_back({thread_state.dual_level->shared_from_this(), std::move(tangent)});
  tensor.view.flags |= TENON_TENSOR_HAS_TANGENT;
}

Tensor* attached_tangent(const Tensor& tensor) {
  if (!tensor.has_flag(TENON_TENSOR_HAS_TANGENT)) return nullptr;
  const CarriedTangent* carried = find_carried(tensor);
  return carried == nullptr ? nullptr : carried->tensor.get();
}

TensorRef zeros_in_layout(const Tensor& tensor) {
  if (memory_type(tensor.view.type) != 0)
    return make_zeros_in(tensor.view.type, tensor.view.dtype, tensor.shape(), &tensor);
  TensorRef zeros = empty_in_layout(tensor);
  fill(*zeros, int_value(0));
  return zeros;
}

TensorRef copy_in_layout(Tensor& tensor, const Tensor& like) {
  if (like.contiguous() || memory_type(like.view.type) != 0) return core_ops::clone(tensor);
  const TensorRef result = empty_in_layout(like);
  return core_ops::copy(*result, tensor);
}

// ---- levels ----

void enter_dual_level() {
  DualLevel* const outer = thread_state.dual_level;
  auto level = std::make_shared<DualLevel>(outer == nullptr ? nullptr : outer->shared_from_this());
  level->opened_before = std::exchange(opened, level);
  thread_state.dual_level = opened.get();
}

void exit_dual_level() {
  if (thread_state.dual_level == nullptr) throw Error(TENON_ERROR_RUNTIME, "no dual level is open");
  const auto level = thread_state.dual_level->shared_from_this();
  opened = std::move(level->opened_before);
  thread_state.dual_level = level->outer.get();
  level->open = false;
  std::vector<TensorRef> freed;  // after the lock: more of them may go along
  const std::lock_guard lock(level->mutex);
  for (TensorMeta* holder : level->holders) {
    for (CarriedTangent& carried : holder->tangents) {
      if (carried.level == level) freed.push_back(std::move(carried.tensor));
    }
  }
  level->holders.clear();
}

void share_tangent(Tensor& tensor, Tensor& copy) {
  Tensor* tangent = tangent_of(tensor);
  if (tangent == nullptr) return;
  attach_tangent(copy, TensorRef(tangent));
  if (!tangent->requires_grad()) return;
  CarriedTangent& carried = *find_carried(copy);
  carried.listed = true;
  const std::lock_guard lock(carried.level->mutex);
  carried.level->holders.insert(&meta_of(copy));
}

// ---- dual tensors ----

Tensor* tangent_of(Tensor& tensor) {
  if (thread_state.dual_level == nullptr) return nullptr;
  if (Tensor* tangent = attached_tangent(tensor)) return tangent;
  Tensor* base = tensor.view_base;
  Tensor* whole = base == nullptr ? nullptr : attached_tangent(*base);
  if (whole == nullptr || !dtype_differentiable(tensor.view.dtype)) return nullptr;
  if (tensor.view.dtype != base->view.dtype) {
    throw Error(TENON_ERROR_NOT_IMPLEMENTED,
                "a {} view whose base, which is {}, got its tangent after the view was taken: take "
                "the view again",
                dtype_text(tensor.view.dtype), dtype_text(base->view.dtype));
  }
  const auto bytes =
      static_cast<const char*>(tensor.view.data) - static_cast<const char*>(base->view.data);
  const int64_t offset = tensor.view.data == nullptr ? 0 : bytes / dtype_bytes(base->view.dtype);
  attach_tangent(tensor, core_ops::as_strided(*whole, tensor.shape(), tensor.strides(), offset));
  return attached_tangent(tensor);
}

void carry_tangent(Tensor& tensor, Tensor& tangent) {
  attach_tangent(
      tensor, same_layout(tangent, tensor) ? TensorRef(&tangent) : copy_in_layout(tangent, tensor));
}

TensorRef without_history(Tensor& tensor, DualLevel* innermost) {
  TensorRef plain = make_detached(tensor);
  at_each_level(innermost, [&] {
    if (Tensor* tangent = tangent_of(tensor)) attach_tangent(*plain, TensorRef(tangent));
  });
  return plain;
}

TensorRef without_tangent(Tensor& tensor) {
  DualLevel* const present = thread_state.dual_level;
  TensorRef plain = without_history(tensor, present == nullptr ? nullptr : present->outer.get());
  drop_component_tangents(*plain);
  if (tensor.requires_grad()) set_history(*plain, gradient_edge(tensor));
  return plain;
}

TensorRef make_dual(Tensor& primal, Tensor& tangent) {
  if (thread_state.dual_level == nullptr)
    throw Error(TENON_ERROR_RUNTIME, "make_dual needs an open dual level");
  refresh_history(primal);
  if (!dtype_differentiable(primal.view.dtype) || !dtype_differentiable(tangent.view.dtype)) {
    throw Error(TENON_ERROR_TYPE,
                "make_dual: primal and tangent must be floating point or complex, not {} and {}",
                dtype_text(primal.view.dtype), dtype_text(tangent.view.dtype));
  }
  if (!same_shape(primal.shape(), tangent.shape())) {
    throw Error(TENON_ERROR_VALUE,
                "make_dual: the tangent has shape {} but the primal has shape {}",
                shape_text(tangent.shape()), shape_text(primal.shape()));
  }
  if (primal.view.dtype != tangent.view.dtype) {
    throw Error(TENON_ERROR_TYPE, "make_dual: the tangent has dtype {} but the primal has dtype {}",
                dtype_text(tangent.view.dtype), dtype_text(primal.view.dtype));
  }
  if (tangent_of(tangent) != nullptr)
    throw Error(TENON_ERROR_RUNTIME,
                "make_dual: the tangent carries a tangent of this level itself");
  TensorRef dual = without_tangent(primal);
  carry_tangent(*dual, tangent);
  return dual;
}

}  // namespace tenon::core
