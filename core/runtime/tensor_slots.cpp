// The host's slots on tensors.
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "core/autograd/graph/history.hpp"
#include "core/autograd/typed/typed.hpp"
#include "core/base/interrupt.hpp"
#include "core/base/json.hpp"
#include "core/dispatch/binding/value.hpp"
#include "core/dispatch/call/running_calls.hpp"
#include "core/dispatch/call/thread_state.hpp"
#include "core/dispatch/types/components.hpp"
#include "core/dispatch/types/conversion.hpp"
#include "core/runtime/runtime.hpp"
#include "core/runtime/slots.hpp"
#include "core/runtime/value_text.hpp"
#include "core/tensor/copy.hpp"
#include "core/tensor/dtype.hpp"
#include "core/tensor/shape.hpp"

namespace tenon::core {

namespace {

tenon_status tensor_empty(tenon_dtype dtype, int64_t rank, const int64_t* shape,
                          tenon_tensor** result, tenon_error** error) {
  return guarded(error, [&] { *result = make_empty(dtype, shape_of(shape, rank)).give(); });
}
tenon_status tensor_wrap(tenon_dtype dtype, int64_t rank, const int64_t* shape,
                         const int64_t* strides, void* data, void* owner,
                         void (*release_owner)(void*), tenon_tensor** result, tenon_error** error) {
  return guarded(error, [&] {
    *result = make_wrapped(dtype, shape_of(shape, rank), shape_of(strides, rank), data, owner,
                           release_owner)
                  .give();
  });
}
tenon_status tensor_alias(tenon_tensor* base, int64_t rank, const int64_t* shape,
                          const int64_t* strides, int64_t offset, tenon_tensor** result,
                          tenon_error** error) {
  return guarded(error, [&] {
    require_data(base, "the tensor to view");
    *result = make_alias(*base, shape_of(shape, rank), shape_of(strides, rank), offset).give();
  });
}
tenon_status tensor_alias_as(tenon_tensor* base, tenon_dtype dtype, int64_t rank,
                             const int64_t* shape, const int64_t* strides, int64_t offset,
                             tenon_tensor** result, tenon_error** error) {
  return guarded(error, [&] {
    require_data(base, "the tensor to view");
    dtype_check(dtype);
    *result =
        make_alias_as(*base, dtype, shape_of(shape, rank), shape_of(strides, rank), offset).give();
  });
}
void tensor_retain(tenon_tensor* tensor) { tensor->retain(); }
void tensor_release(tenon_tensor* tensor) {
  if (tensor != nullptr) tensor->release();
}
int64_t tensor_use_count(const tenon_tensor* tensor) {
  return tensor->references.load(std::memory_order_relaxed);
}
int64_t tensor_version(const tenon_tensor* tensor) {
  return tensor == nullptr ? 0 : tensor->version();
}
int32_t tensor_shares_storage(const tenon_tensor* a, const tenon_tensor* b) {
  return a->storage != nullptr && a->storage == b->storage ? 1 : 0;
}
uint32_t tensor_storage_number(const tenon_tensor* tensor) {
  return tensor == nullptr || tensor->storage == nullptr ? 0 : tensor->storage->number();
}
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
tenon_status tensor_copy(tenon_tensor* destination, const tenon_tensor* source,
                         tenon_error** error) {
  return guarded(error, [&] {
    require_data(destination, "the destination of a copy");
    require_data(source, "the source of a copy");
    const WholeChange whole;
    copy(*destination, *source);
    undo_version_bump(*destination);
  });
}
tenon_status tensor_set_data(tenon_tensor* tensor, const tenon_tensor* value, int32_t share,
                             tenon_error** error) {
  return guarded(error, [&] {
    require_data(tensor, "the tensor that gets other data");
    require_data(value, "the data");
    if (!same_shape(tensor->shape(), value->shape()) ||
        (share != 0 && tensor->view.dtype != value->view.dtype)) {
      throw Error(TENON_ERROR_VALUE, "a {} tensor of shape {} cannot get the data of a {} of {}",
                  dtype_text(tensor->view.dtype), shape_text(tensor->shape()),
                  dtype_text(value->view.dtype), shape_text(value->shape()));
    }
    if (share != 0)
      replace_data(*tensor, *value);
    else
      copy(*tensor, *value);
  });
}
tenon_status tensor_fill(tenon_tensor* destination, const tenon_value* number,
                         tenon_error** error) {
  return guarded(error, [&] {
    require_data(destination, "the tensor to fill");
    const WholeChange whole;
    fill(*destination, *number);
    undo_version_bump(*destination);
  });
}
tenon_status tensor_item(const tenon_tensor* tensor, tenon_value* result, tenon_error** error) {
  return guarded(error, [&] {
    require_not_null(tensor, "the tensor");
    if (!tensor->typed()) {
      require_data(tensor, "the tensor");
      *result = item(*tensor);
      return;
    }
    const GradModeGuard reading(false);
    const TensorRef plain = to_plain(*const_cast<Tensor*>(tensor));
    *result = item(*plain);
  });
}
tenon_status tensor_text_slot(const tenon_tensor* tensor, tenon_value* result,
                              tenon_error** error) {
  return guarded(error, [&] { *result = make_string(typed_text(tensor)); });
}
tenon_status broadcast_shapes_slot(const tenon_tensor* const* tensors, int64_t count,
                                   int64_t* shape, int64_t* rank, tenon_error** error) {
  return guarded(error, [&] {
    Sizes common{};
    for (int64_t i = 0; i < count; ++i) common = broadcast_shapes(common, tensors[i]->shape());
    std::memcpy(shape, common.values, static_cast<size_t>(common.rank) * sizeof(int64_t));
    *rank = common.rank;
  });
}
tenon_dtype promote_dtypes_slot(tenon_dtype a, tenon_dtype b) { return promote_dtypes(a, b); }

std::vector<NamedTensor> named_tensors(const tenon_string* names, tenon_tensor* const* tensors,
                                       int64_t count) {
  std::vector<NamedTensor> list;
  for (int64_t i = 0; i < count; ++i) {
    require_not_null(tensors[i], "a named tensor");
    list.push_back(
        {std::string(names[i].data, static_cast<size_t>(names[i].length)), TensorRef(tensors[i])});
  }
  return list;
}
void give_named(std::vector<NamedTensor> named, tenon_value* names, tenon_value* tensors) {
  std::vector<std::string> texts;
  std::vector<TensorRef> list;
  for (NamedTensor& entry : named) {
    texts.push_back(std::move(entry.name));
    list.push_back(std::move(entry.tensor));
  }
  *names = make_string_list(texts);
  *tensors = make_tensor_list(std::move(list));
}
tenon_status tensors_store(const tenon_string* names, tenon_tensor* const* tensors, int64_t count,
                           uint32_t flags, tenon_value* stored_names, tenon_value* stored,
                           tenon_json** metadata, tenon_error** error) {
  return guarded(error, [&] {
    StoredTensors list;
    for (const NamedTensor& entry : named_tensors(names, tensors, count))
      list.add(entry.name, entry.tensor, (flags & TENON_STORE_WHOLE) != 0);
    JsonBuilder object;
    object.begin_object();
    for (const auto& [key, text] : list.metadata) object.member(key, text);
    object.end_object();
    *metadata = object.finish().give();
    give_named(std::move(list.tensors), stored_names, stored);
  });
}
tenon_status tensors_restore(const char* source, const tenon_string* names,
                             tenon_tensor* const* tensors, int64_t count,
                             const tenon_json* metadata, tenon_value* restored_names,
                             tenon_value* restored, tenon_error** error) {
  return guarded(error, [&] {
    require_not_null(metadata, "the metadata");
    std::vector<NamedTensor> list = named_tensors(names, tensors, count);
    plugin_manager();
    restore_types(list, *metadata, source);
    give_named(std::move(list), restored_names, restored);
  });
}

}  // namespace

void add_tensor_slots(Services& services) {
  services.tensors.empty = tensor_empty;
  services.tensors.wrap = tensor_wrap;
  services.tensors.alias = tensor_alias;
  services.tensors.alias_as = tensor_alias_as;
  services.tensors.retain = tensor_retain;
  services.tensors.release = tensor_release;
  services.tensors.use_count = tensor_use_count;
  services.tensors.version = tensor_version;
  services.tensors.storage_number = tensor_storage_number;
  services.tensors.shares_storage = tensor_shares_storage;
  services.tensors.copy = tensor_copy;
  services.tensors.set_data = tensor_set_data;
  services.tensors.fill = tensor_fill;
  services.tensors.item = tensor_item;
  services.tensors.text = tensor_text_slot;
  services.tensors.broadcast_shapes = broadcast_shapes_slot;
  services.tensors.promote_dtypes = promote_dtypes_slot;
  services.tensors.store = tensors_store;
  services.tensors.restore = tensors_restore;
}

}  // namespace tenon::core
