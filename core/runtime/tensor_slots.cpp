// Service tensors.
#include <cstring>
#include <utility>

#include "core/autograd/graph/history.hpp"
#include "core/base/interrupt.hpp"
#include "core/dispatch/call/running_calls.hpp"
#include "core/dispatch/call/thread_state.hpp"
#include "core/dispatch/table/core_ops.hpp"
#include "core/dispatch/types/conversion.hpp"
#include "core/dispatch/types/modes.hpp"
#include "core/dispatch/types/type_table.hpp"
#include "core/runtime/runtime.hpp"
#include "core/runtime/slots.hpp"
#include "core/tensor/copy.hpp"
#include "core/tensor/dtype.hpp"
#include "core/tensor/shape.hpp"

namespace tenon::core {

namespace {

// A kernel that fills a new result changes nothing that was visible before: its version stays 0,
// unless a cache knows its contents by number and version.
void undo_version_bump(tenon_tensor& tensor) {
  if (tensor.references.load(std::memory_order_acquire) == 1 && tensor.storage != nullptr &&
      tensor.storage->references.load(std::memory_order_acquire) == 1 &&
      tensor.storage->assigned_number.load(std::memory_order_relaxed) == 0) {
    tensor.storage->version.fetch_sub(1, std::memory_order_relaxed);
  }
}
// Within an op that changes nothing they fill what the op has made; elsewhere they change a tensor
// that others see, which must not stay half changed.
class WholeChange {
 public:
  WholeChange() noexcept : previous_(std::exchange(runs_to_end, runs_to_end || !is_in_call())) {}
  ~WholeChange() { runs_to_end = previous_; }
  WholeChange(const WholeChange&) = delete;
  WholeChange& operator=(const WholeChange&) = delete;

 private:
  bool previous_;
};

// Elements that only their own type reads.
bool in_own_memory(const Tensor& tensor) {
  return tensor.typed() && TypeTable::process().at(tensor.view.type).owns_memory();
}

// By op `copy_`, which the type runs, where one of the two is in separate memory: it may wait for
// elements before it changes anything.
void copy_any(Tensor& destination, const Tensor& source) {
  if (!in_own_memory(destination) && !in_own_memory(source)) {
    require_data(&destination, "the destination of a copy");
    require_data(&source, "the source of a copy");
    const WholeChange whole;
    return copy(destination, source);
  }
  const GradModeGuard unrecorded(false);
  const SwitchGuard<&ThreadState::dual_level> without_tangents(nullptr);
  const ModesOffGuard modes_off;
  core_ops::copy(destination, const_cast<Tensor&>(source));
}

void fill_any(Tensor& destination, const tenon_value& number) {
  if (!in_own_memory(destination)) {
    require_data(&destination, "the tensor to fill");
    const WholeChange whole;
    return fill(destination, number);
  }
  const TensorRef one = make_empty(destination.view.dtype, {});
  fill(*one, number);
  copy_any(destination, *one);
}

}  // namespace

constinit const tenon_tensors_service tensors_service{
    .head = {},
    .empty = slot([](tenon_dtype dtype, int64_t rank, const int64_t* shape) {
      return make_empty(dtype, shape_of(shape, rank));
    }),
    .wrap = slot([](tenon_dtype dtype, int64_t rank, const int64_t* shape, const int64_t* strides,
                    void* data, void* owner, void (*release_owner)(void*)) {
      return make_wrapped(dtype, shape_of(shape, rank), shape_of(strides, rank), data, owner,
                          release_owner);
    }),
    .alias = slot([](tenon_tensor* base, int64_t rank, const int64_t* shape, const int64_t* strides,
                     int64_t offset) {
      require_storage(base, "the tensor to view");
      return make_alias(*base, shape_of(shape, rank), shape_of(strides, rank), offset);
    }),
    .alias_as = slot([](tenon_tensor* base, tenon_dtype dtype, int64_t rank, const int64_t* shape,
                        const int64_t* strides, int64_t offset) {
      require_storage(base, "the tensor to view");
      dtype_check(dtype);
      return make_alias_as(*base, dtype, shape_of(shape, rank), shape_of(strides, rank), offset);
    }),
    .retain = [](tenon_tensor* tensor) { tensor->retain(); },
    .release = [](tenon_tensor* tensor) -> void {
      if (tensor != nullptr) tensor->release();
    },
    .use_count = [](const tenon_tensor* tensor) -> int64_t {
      return tensor->references.load(std::memory_order_relaxed);
    },
    .version = [](const tenon_tensor* tensor) -> int64_t {
      return tensor == nullptr ? 0 : tensor->version();
    },
    .storage_number = [](const tenon_tensor* tensor) -> uint32_t {
      return tensor == nullptr || tensor->storage == nullptr ? 0 : tensor->storage->number();
    },
    .shares_storage = [](const tenon_tensor* a, const tenon_tensor* b) -> int32_t {
      return a->storage != nullptr && a->storage == b->storage ? 1 : 0;
    },
    .copy = slot([](tenon_tensor* destination, const tenon_tensor* source) {
      copy_any(checked(destination), checked(source));
      undo_version_bump(*destination);
    }),
    .fill = slot([](tenon_tensor* destination, const tenon_value* number) {
      fill_any(checked(destination), *number);
      undo_version_bump(*destination);
    }),
    .item = slot([](const tenon_tensor* tensor) {
      if (!checked(tensor, "the tensor").typed()) {
        require_data(tensor, "the tensor");
        return item(*tensor);
      }
      const GradModeGuard reading(false);
      return item(*to_plain(*const_cast<Tensor*>(tensor)));
    }),
    .text = slot([](const tenon_tensor* tensor) { return typed_text(tensor); }),
    .broadcast_shapes =
        slot([](const tenon_tensor* const* tensors, int64_t count, int64_t* shape, int64_t* rank) {
          Sizes common{};
          for (int64_t i = 0; i < count; ++i)
            common = broadcast_shapes(common, tensors[i]->shape());
          std::memcpy(shape, common.values, static_cast<size_t>(common.rank) * sizeof(int64_t));
          *rank = common.rank;
        }),
    .promote_dtypes = promote_dtypes,
    .set_data = slot([](tenon_tensor* tensor, const tenon_tensor* value, int32_t share) {
      if (share != 0) {
        require_storage(tensor, "the tensor that gets other data");
        require_storage(value, "the data");
      }
      if (!same_shape(tensor->shape(), value->shape()) ||
          (share != 0 && tensor->view.dtype != value->view.dtype)) {
        throw Error(TENON_ERROR_VALUE, "a {} tensor of shape {} cannot get the data of a {} of {}",
                    dtype_text(tensor->view.dtype), shape_text(tensor->shape()),
                    dtype_text(value->view.dtype), shape_text(value->shape()));
      }
      if (share != 0)
        replace_data(*tensor, *value);
      else
        copy_any(checked(tensor), checked(value));
    }),
};

}  // namespace tenon::core
