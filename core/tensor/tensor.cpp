// Making, viewing and destroying tensors.
#include "core/tensor/tensor.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "core/base/allocator.hpp"
#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/tensor/dtype.hpp"

namespace tenon::core {

constinit thread_local Creation creation;

namespace {

constexpr int64_t extension_bytes(int64_t rank) {
  return static_cast<int64_t>(sizeof(TensorExtension)) +
         2 * rank * static_cast<int64_t>(sizeof(int64_t));
}

TensorExtension* make_extension(int64_t rank) {
  auto* extension = new (allocate(extension_bytes(rank))) TensorExtension;
  extension->rank = rank;
  return extension;
}

// Flags that follow from the dtype.
constexpr uint32_t half_flag(tenon_dtype dtype) {
  return dtype_half(dtype) ? uint32_t{TENON_TENSOR_HALF} : 0;
}

// A tensor with room for `rank` dimensions and without storage; the caller fills shape and strides.
Tensor* make_object(tenon_dtype dtype, size_t rank, uint32_t flags) {
  auto* tensor = new (allocate(sizeof(Tensor))) Tensor;
  int64_t* dimensions = tensor->inline_dimensions;
  if (rank > static_cast<size_t>(kInlineRank)) [[unlikely]] {
    try {
      tensor->extension = make_extension(static_cast<int64_t>(rank));
    } catch (...) {
      core::release(tensor, sizeof(Tensor));
      throw;
    }
    dimensions = tensor->extension->dimensions();
  }
  tenon_tensor_view& view = tensor->view;
  view.data = nullptr;
  view.shape = dimensions;
  view.strides = dimensions + rank;
  view.flags = flags | half_flag(dtype);
  view.type = 0;
  view.dtype = dtype;
  view.rank = static_cast<uint8_t>(rank);
  view.device = 0;
  std::memset(view.reserved, 0, sizeof view.reserved);  // GCC makes a call of std::fill
  return tensor;
}

int64_t* mutable_shape(Tensor* tensor) { return const_cast<int64_t*>(tensor->view.shape); }
int64_t* mutable_strides(Tensor* tensor) { return const_cast<int64_t*>(tensor->view.strides); }

[[noreturn, gnu::cold]] void fail_too_large(tenon_dtype dtype, Shape shape) {
  throw_value_error(format_text("a {} tensor of shape {} has more bytes than can be addressed",
                                dtype_text(dtype), shape_text(shape)));
}

// Bytes of `count` elements. Throws ValueError when they cannot be addressed.
inline int64_t checked_bytes(tenon_dtype dtype, int64_t count, Shape shape) {
  int64_t bytes = 0;
  if (__builtin_mul_overflow(count, dtype_bytes(dtype), &bytes) || bytes > (int64_t{1} << 47))
      [[unlikely]]
    fail_too_large(dtype, shape);
  return bytes;
}

void check_strides(Shape shape, Shape strides) {
  if (shape.size() == strides.size()) return;
  throw_value_error(format_text("shape {} and strides {} differ in their number of dimensions",
                                shape_text(shape), shape_text(strides)));
}

struct Layout {
  int64_t count = 1;
  int64_t lowest = 0;  // offsets in elements of the first and last element in memory
  int64_t highest = 0;
  bool contiguous = true;
};

// Layouts that lay_out leaves out: sizes of 0, negative strides, and reaches that cannot be
// addressed.
[[gnu::noinline]] Layout lay_out_unusual(Shape shape, Shape strides) {
  Layout layout;
  layout.count = element_count(shape);
  if (layout.count == 0) return layout;
  bool too_far = false;
  int64_t dense = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    int64_t reach = 0;
    layout.contiguous &= shape[i] == 1 || strides[i] == dense;
    dense *= shape[i];
    too_far |= __builtin_mul_overflow(shape[i] - 1, strides[i], &reach);
    too_far |= __builtin_add_overflow(layout.lowest, std::min<int64_t>(reach, 0), &layout.lowest);
    too_far |= __builtin_add_overflow(layout.highest, std::max<int64_t>(reach, 0), &layout.highest);
  }
  if (too_far) {
    throw_value_error(format_text("shape {} with strides {} reaches further than can be addressed",
                                  shape_text(shape), shape_text(strides)));
  }
  return layout;
}

// Fills count, shape, strides and the contiguous flag. One pass, since views are made all the time.
inline Layout lay_out(Tensor* tensor, Shape shape, Shape strides) {
  int64_t* own_shape = mutable_shape(tensor);
  int64_t* own_strides = mutable_strides(tensor);
  Layout layout;
  int64_t signs = 0;
  bool too_far = false;
  for (size_t i = shape.size(); i-- > 0;) {
    const int64_t size = shape[i];
    const int64_t stride = strides[i];
    own_shape[i] = size;
    own_strides[i] = stride;
    int64_t reach = 0;
    const auto last = static_cast<int64_t>(static_cast<uint64_t>(size) - 1);
    signs |= size | last | stride;
    layout.contiguous &= size == 1 || stride == layout.count;
    too_far |= __builtin_mul_overflow(layout.count, size, &layout.count);
    too_far |= __builtin_mul_overflow(last, stride, &reach);
    too_far |= __builtin_add_overflow(layout.highest, reach, &layout.highest);
  }
  if (signs < 0 || too_far) [[unlikely]]
    layout = lay_out_unusual(shape, strides);
  tensor->view.count = layout.count;
  if (layout.contiguous) tensor->view.flags |= TENON_TENSOR_CONTIGUOUS;
  return layout;
}

// For a place, and for faults: make_empty comes back here with neither.
[[gnu::noinline]] TensorRef make_unusual(tenon_dtype dtype, Shape shape) {
  dtype_check(dtype);
  element_count(shape);
  Tensor* const place = creation.set_place(nullptr);
  if (place == nullptr) return make_empty(dtype, shape);
  if (place->view.dtype == dtype && same_shape(place->shape(), shape))
    return TensorRef::take(place);
  // Kept for a later tensor, whatever becomes of this one.
  struct Kept {
    Tensor* place;
    ~Kept() { creation.set_place(place); }
  } kept{place};
  return make_empty(dtype, shape);
}

}  // namespace

TensorRef make_empty(tenon_dtype dtype, Shape shape) {
  if (!dtype_valid(dtype) || shape.size() >= creation.rank_limit) [[unlikely]]
    return make_unusual(dtype, shape);
  Tensor* const made = make_object(dtype, shape.size(), TENON_TENSOR_CONTIGUOUS | creation.flags);
  TensorRef tensor = TensorRef::take(made);
  // Count, shape and strides in one pass; element_count reports a wrong size afterwards.
  int64_t* sizes = mutable_shape(made);
  int64_t* strides = mutable_strides(made);
  int64_t count = 1;
  uint64_t stride = 1;
  bool unusual = false;
  for (size_t i = shape.size(); i-- > 0;) {
    const int64_t size = shape[i];
    sizes[i] = size;
    strides[i] = static_cast<int64_t>(stride);
    unusual |= size <= 0;
    unusual |= __builtin_mul_overflow(count, size, &count);
    stride *= static_cast<uint64_t>(size > 0 ? size : 1);
  }
  if (unusual) [[unlikely]]
    count = element_count(shape);
  const int64_t bytes = checked_bytes(dtype, count, shape);
  Storage* const storage = Storage::create(bytes);
  made->view.count = count;
  made->storage = storage;
  if (count != 0) [[likely]]
    made->view.data = storage->data;
  return tensor;
}

TensorRef make_shape_only(const Tensor& like) {
  auto tensor = TensorRef::take(make_object(like.view.dtype, like.view.rank,
                                            TENON_TENSOR_SHAPE_ONLY | TENON_TENSOR_CONTIGUOUS));
  tensor->view.count = like.view.count;
  std::copy_n(like.view.shape, like.view.rank, mutable_shape(tensor.get()));
  contiguous_strides(tensor->shape(), mutable_strides(tensor.get()));
  return tensor;
}

TensorRef make_wrapped(tenon_dtype dtype, Shape shape, Shape strides, void* data, void* owner,
                       void (*release_owner)(void*)) {
  dtype_check(dtype);
  checked_bytes(dtype, element_count(shape), shape);
  Sizes row_major;
  if (strides.empty()) {
    row_major.rank = static_cast<int64_t>(shape.size());
    contiguous_strides(shape, row_major.values);
    strides = row_major;
  }
  check_strides(shape, strides);
  auto tensor = TensorRef::take(make_object(dtype, shape.size(), creation.flags));
  const Layout layout = lay_out(tensor.get(), shape, strides);
  if (layout.count == 0) {
    tensor->storage = Storage::wrap(data, 0, owner, release_owner);
    return tensor;
  }
  if (data == nullptr)
    throw_value_error(
        format_text("the memory to wrap is null, but shape {} has elements", shape_text(shape)));
  int64_t elements = 0;
  if (__builtin_sub_overflow(layout.highest, layout.lowest, &elements)) elements = INT64_MAX - 1;
  const int64_t bytes = checked_bytes(dtype, elements + 1, shape);
  char* lowest = static_cast<char*>(data) + layout.lowest * dtype_bytes(dtype);
  tensor->storage = Storage::wrap(lowest, bytes, owner, release_owner);
  tensor->view.data = data;
  return tensor;
}

namespace {

// `base` is read as elements of `dtype`.
TensorRef alias(const Tensor& base, tenon_dtype dtype, Shape shape, Shape strides, int64_t offset) {
  constexpr uint32_t kKept =
      TENON_TENSOR_READ_ONLY | TENON_TENSOR_INFERENCE | TENON_TENSOR_SHAPE_ONLY;
  if (shape.size() != strides.size() || shape.size() > TENON_MAX_RANK) [[unlikely]] {
    check_strides(shape, strides);
    element_count(shape);
  }
  auto tensor = TensorRef::take(make_object(dtype, shape.size(), base.view.flags & kKept));
  const Layout layout = lay_out(tensor.get(), shape, strides);
  Storage* storage = base.storage;
  if (storage == nullptr) return tensor;
  if (layout.count != 0) {
    // A base without elements has no position in the storage: use its start.
    const int64_t width = dtype_bytes(dtype);
    const int64_t origin =
        base.view.data == nullptr ? 0 : static_cast<char*>(base.view.data) - storage->data;
    int64_t first = 0;
    int64_t lowest = 0;
    int64_t highest = 0;
    bool outside = __builtin_mul_overflow(offset, width, &first);
    outside |= __builtin_add_overflow(first, origin, &first);
    if (layout.lowest != 0) [[unlikely]]
      outside |= __builtin_mul_overflow(layout.lowest, width, &lowest);
    outside |= __builtin_add_overflow(first, lowest, &lowest);
    outside |= __builtin_mul_overflow(layout.highest, width, &highest);
    outside |= __builtin_add_overflow(first, highest, &highest);
    if (outside || lowest < 0 || highest > storage->bytes - width) [[unlikely]] {
      throw_value_error(format_text(
          "a view of shape {}, strides {} and offset {} is outside of its storage of {} elements",
          shape_text(shape), shape_text(strides), offset, storage->bytes / width));
    }
    tensor->view.data = storage->data + first;
  }
  storage->retain();
  tensor->storage = storage;
  return tensor;
}

}  // namespace

TensorRef make_alias(const Tensor& base, Shape shape, Shape strides, int64_t offset) {
  return alias(base, base.view.dtype, shape, strides, offset);
}

TensorRef make_alias_as(const Tensor& base, tenon_dtype dtype, Shape shape, Shape strides,
                        int64_t offset) {
  const tenon_dtype own = base.view.dtype;
  if (dtype != own &&
      (dtype_complex(dtype) == dtype_complex(own) || real_dtype(dtype) != real_dtype(own))) {
    throw Error(TENON_ERROR_TYPE,
                "elements of {} cannot be viewed as {}: c64 is viewed as f32, c128 as f64, and the "
                "reverse",
                dtype_text(own), dtype_text(dtype));
  }
  return alias(base, dtype, shape, strides, offset);
}

TensorRef make_detached(const Tensor& base) {
  constexpr uint32_t kDropped =
      TENON_TENSOR_REQUIRES_GRAD | TENON_TENSOR_HAS_TANGENT | TENON_TENSOR_VIEW;
  auto tensor =
      TensorRef::take(make_object(base.view.dtype, base.view.rank, base.view.flags & ~kDropped));
  tensor->view.data = base.view.data;
  tensor->view.count = base.view.count;
  tensor->view.type = base.view.type;
  for (size_t i = 0; i < base.view.rank; ++i) {
    mutable_shape(tensor.get())[i] = base.view.shape[i];
    mutable_strides(tensor.get())[i] = base.view.strides[i];
  }
  if (base.storage != nullptr) {
    base.storage->retain();
    tensor->storage = base.storage;
  }
  if (Payload* payload = base.payload()) set_type(*tensor, base.view.type, payload);
  return tensor;
}

TensorRef make_dataless(tenon_dtype dtype, Shape shape, uint32_t type) {
  dtype_check(dtype);
  const int64_t count = element_count(shape);
  auto tensor = TensorRef::take(make_object(
      dtype, shape.size(), TENON_TENSOR_SHAPE_ONLY | TENON_TENSOR_CONTIGUOUS | TENON_TENSOR_TYPED));
  tensor->view.count = count;
  tensor->view.type = type;
  std::copy_n(shape.data(), shape.size(), mutable_shape(tensor.get()));
  contiguous_strides(tensor->shape(), mutable_strides(tensor.get()));
  return tensor;
}

void set_type(Tensor& tensor, uint32_t type, Payload* payload) {
  if (payload != nullptr && tensor.extension == nullptr) tensor.extension = make_extension(0);
  tensor.view.type = type;
  if (type != 0) {
    tensor.view.flags |= TENON_TENSOR_TYPED;
  } else {
    tensor.view.flags &= ~uint32_t{TENON_TENSOR_TYPED};
  }
  if (tensor.extension == nullptr) return;
  if (payload != nullptr) payload->retain();
  if (tensor.extension->payload != nullptr) tensor.extension->payload->release();
  tensor.extension->payload = payload;
}

void replace_data(Tensor& tensor, const Tensor& value) {
  constexpr uint32_t kTaken =
      TENON_TENSOR_CONTIGUOUS | TENON_TENSOR_SHAPE_ONLY | TENON_TENSOR_TYPED | TENON_TENSOR_HALF;
  constexpr uint32_t kKept = TENON_TENSOR_REQUIRES_GRAD | TENON_TENSOR_INFERENCE;
  const uint32_t version = tensor.version();
  if (value.storage != nullptr) value.storage->retain();
  if (tensor.storage != nullptr) tensor.storage->release();
  tensor.storage = value.storage;
  if (tensor.storage != nullptr) tensor.storage->version.store(version + 1);
  set_type(tensor, value.view.type, value.payload());
  tensor.view.flags = (value.view.flags & kTaken) | (tensor.view.flags & kKept);
  tensor.view.data = value.view.data;
  tensor.view.dtype = value.view.dtype;
  std::copy_n(value.view.strides, value.view.rank, mutable_strides(&tensor));
}

Payload* make_payload(uint32_t owner, int64_t bytes) {
  void* memory = allocate(Payload::kHeader + bytes);
  auto* payload = new (memory) Payload;
  payload->owner = owner;
  payload->bytes = bytes;
  std::memset(payload->data(), 0, static_cast<size_t>(bytes));
  return payload;
}

void Payload::free() noexcept {
  if (destroy != nullptr) destroy(data());
  core::release(this, kHeader + bytes);
}

}  // namespace tenon::core

void tenon_tensor::destroy(tenon_tensor* tensor) noexcept {
  using namespace tenon::core;
  if (tensor->node != nullptr) tensor->node->release();
  if (tensor->view_base != nullptr) tensor->view_base->release();
  delete tensor->meta;
  if (tensor->storage != nullptr) tensor->storage->release();
  if (TensorExtension* extension = tensor->extension) {
    if (extension->payload != nullptr) extension->payload->release();
    tenon::core::release(extension, extension_bytes(extension->rank));
  }
  tenon::core::release(tensor, sizeof(tenon_tensor));
}
