// The tensor object behind the handle, and the counted pointer to it.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <utility>

#include "core/base/intrusive_ptr.hpp"
#include "core/base/reference_count.hpp"
#include "core/tensor/shape.hpp"
#include "core/tensor/storage.hpp"
#include "tenon/abi/tensor.h"

namespace tenon::core {

// The graph node of a tensor, as far as tensors need it; autograd derives from it.
struct GraphNode {
  std::atomic<int32_t> references{1};
  uint32_t module = 0;  // number of the module whose forward recorded it; 0: none
  void (*destroy)(GraphNode*) noexcept = nullptr;

  void retain() noexcept { count_up(references); }
  void release() noexcept {
    if (count_down(references)) destroy(this);
  }
};

// The rarer autograd state (gradient, accumulator, hooks, view base, tangent); autograd derives
// from it.
struct AutogradMeta {
  virtual ~AutogradMeta() = default;
};

inline constexpr int64_t kInlineRank = 5;

// Which mode a view was made in: one made where nothing is recorded has no history.
enum class ViewOrigin : uint8_t { recorded, no_grad, inference };

// Data that a tensor type keeps with its tensors; shared by all that are derived from one.
struct Payload {
  std::atomic<int32_t> references{1};
  uint32_t owner = 0;  // id of the type that says what it is
  int64_t bytes = 0;
  void (*destroy)(void* payload) = nullptr;

  static constexpr int64_t kHeader = 64;  // data behind it is aligned for anything
  void* data() noexcept { return reinterpret_cast<char*>(this) + kHeader; }
  void retain() noexcept { count_up(references); }
  void release() noexcept {
    if (count_down(references)) free();
  }

 private:
  void free() noexcept;
};

// Zeroed memory, without a destructor yet.
Payload* make_payload(uint32_t owner, int64_t bytes);

// Members that few tensors need.
struct TensorExtension {
  Payload* payload = nullptr;  // counted
  int64_t rank = 0;            // shape then strides, when the rank exceeds kInlineRank
  int64_t* dimensions() noexcept { return reinterpret_cast<int64_t*>(this + 1); }
};

}  // namespace tenon::core

// First member: the frozen view, whose address is the handle. Pooled; destroyed by its last
// release.
struct tenon_tensor {
  tenon_tensor_view view;
  std::atomic<int32_t> references{1};
  uint32_t node_output = 0;  // which output of `node` this is
  tenon::core::Storage* storage = nullptr;
  tenon::core::GraphNode* node = nullptr;     // the history; null on leaves and constants
  tenon::core::AutogradMeta* meta = nullptr;  // owned
  tenon_tensor* view_base = nullptr;          // owned; the tensor that an op made this a view of
  // Version of the storage when `node` was made: history is older otherwise.
  uint32_t view_version = 0;
  tenon::core::ViewOrigin view_origin = tenon::core::ViewOrigin::recorded;
  tenon::core::TensorExtension* extension = nullptr;  // owned
  int64_t inline_dimensions[2 * tenon::core::kInlineRank];

  void retain() noexcept { tenon::core::count_up(references); }
  // A sole owner needs no locked instruction: no other thread can reach the count to raise it.
  void release() noexcept {
    if (references.load(std::memory_order_acquire) == 1 || tenon::core::count_down(references)) {
      destroy(this);
    }
  }
  // As a call reads them: another thread may be updating a view's history at the same time.
  uint32_t flags() const { return __atomic_load_n(&view.flags, __ATOMIC_RELAXED); }
  // The version that the history belongs to; any thread may update a view's history.
  uint32_t history_version() const { return __atomic_load_n(&view_version, __ATOMIC_ACQUIRE); }
  std::span<const int64_t> shape() const { return {view.shape, view.rank}; }
  std::span<const int64_t> strides() const { return {view.strides, view.rank}; }
  bool has_flag(uint32_t flag) const { return (view.flags & flag) != 0; }
  bool contiguous() const { return has_flag(TENON_TENSOR_CONTIGUOUS); }
  bool typed() const { return has_flag(TENON_TENSOR_TYPED); }
  tenon::core::Payload* payload() const {
    return extension == nullptr ? nullptr : extension->payload;
  }
  bool requires_grad() const { return has_flag(TENON_TENSOR_REQUIRES_GRAD); }
  uint32_t version() const {
    return storage == nullptr ? 0 : storage->version.load(std::memory_order_relaxed);
  }
  // Whether it is a view whose base got a history after the view did: by a change in place.
  bool older_than_base() const {
    return view_base != nullptr && view_base->node != nullptr &&
           static_cast<int32_t>(view_base->history_version() - history_version()) > 0;
  }

 private:
  static void destroy(tenon_tensor* tensor) noexcept;
};

namespace tenon::core {

using Tensor = ::tenon_tensor;

using TensorRef = IntrusivePtr<Tensor>;

// Facts that new tensors of a thread are made by.
struct Creation {
  // Theirs: TENON_TENSOR_INFERENCE in inference mode. Views have those of their base.
  uint32_t flags = 0;
  // Above the rank of a tensor that make_empty makes as always: 0 where there is a place.
  uint32_t rank_limit = TENON_MAX_RANK + 1;
  // The tensor that the next make_empty of its dtype and shape returns: owned until then, or null.
  Tensor* place = nullptr;

  // Returns the place before.
  Tensor* set_place(Tensor* tensor) noexcept {
    rank_limit = tensor == nullptr ? TENON_MAX_RANK + 1 : 0;
    return std::exchange(place, tensor);
  }
};
extern constinit thread_local Creation creation [[gnu::tls_model("initial-exec")]];

// Uninitialized and contiguous. Throws ValueError for negative sizes, a rank above TENON_MAX_RANK,
// an unknown dtype, or more bytes than can be addressed.
TensorRef make_empty(tenon_dtype dtype, Shape shape);
// Shape and dtype without data (TENON_TENSOR_SHAPE_ONLY): what rules see of "shape(input)".
TensorRef make_shape_only(const Tensor& like);
// Foreign memory; `release_owner(owner)` (it may be null) runs once when the last view is gone, and
// not at all when this throws. Empty `strides`: contiguous.
TensorRef make_wrapped(tenon_dtype dtype, Shape shape, Shape strides, void* data, void* owner,
                       void (*release_owner)(void*));
// Shares base's storage; offset in elements from base's first element. Throws ValueError when an
// element would be outside of the storage. No history, no autograd state, a plain Tensor;
// read-only and inference flags stay.
TensorRef make_alias(const Tensor& base, Shape shape, Shape strides, int64_t offset);
// A tensor on the storage of `base` with complex elements as their parts, or parts as complex
// elements: shape, strides and offset are those of elements of `dtype`. Throws TypeError for any
// other pair of dtypes.
TensorRef make_alias_as(const Tensor& base, tenon_dtype dtype, Shape shape, Shape strides,
                        int64_t offset);
// A tensor of a type without data: shape and dtype only.
TensorRef make_dataless(tenon_dtype dtype, Shape shape, uint32_t type);
// Makes it one of another tensor type (0: a plain Tensor) with that payload, which is shared; null:
// none.
void set_type(Tensor& tensor, uint32_t type, Payload* payload);
// Same storage, shape, strides, tensor type and payload, no history: what detach returns and saved
// results hold.
TensorRef make_detached(const Tensor& base);
// Gives the tensor the dtype, memory, strides, type and payload of `value`, which has its shape.
// Nodes that saved it notice the change by its version.
void replace_data(Tensor& tensor, const Tensor& value);

}  // namespace tenon::core
