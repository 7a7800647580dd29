// Service dlpack.
#include <memory>

#include "core/base/flags.hpp"
#include "core/runtime/slots.hpp"
#include "core/tensor/copy.hpp"
#include "core/tensor/dtype.hpp"
#include "core/tensor/shape.hpp"

namespace tenon::core {

namespace {

constexpr tenon_dl_dtype dl_dtype(tenon_dtype dtype) {
  const auto bits = static_cast<uint8_t>(8 * dtype_bytes(dtype));
  switch (dtype) {
    case TENON_BOOL:
      return {TENON_DL_BOOL, bits, 1};
    case TENON_U8:
    case TENON_U16:
    case TENON_U32:
    case TENON_U64:
      return {TENON_DL_UINT, bits, 1};
    case TENON_BF16:
      return {TENON_DL_BFLOAT, bits, 1};
    case TENON_F8_E4M3:
      return {TENON_DL_F8_E4M3FN, bits, 1};
    case TENON_F8_E5M2:
      return {TENON_DL_F8_E5M2, bits, 1};
    case TENON_F8_E8M0:
      return {TENON_DL_F8_E8M0FNU, bits, 1};
    case TENON_F6_E2M3:
      return {TENON_DL_F6_E2M3FN, 6, 1};
    case TENON_F6_E3M2:
      return {TENON_DL_F6_E3M2FN, 6, 1};
    case TENON_F4_E2M1:
      return {TENON_DL_F4_E2M1FN, 4, 1};
    default:
      break;
  }
  const uint8_t code = dtype_complex(dtype)    ? TENON_DL_COMPLEX
                       : dtype_floating(dtype) ? TENON_DL_FLOAT
                                               : TENON_DL_INT;
  return {code, bits, 1};
}

tenon_dtype find_dtype(tenon_dl_dtype element) {
#pragma GCC unroll 32  // comparisons with constants, not calls
  for (tenon_dtype dtype = TENON_DTYPE_NONE + 1; dtype < TENON_DTYPE_COUNT; ++dtype) {
    const tenon_dl_dtype known = dl_dtype(dtype);
    if (known.code == element.code && known.bits == element.bits && element.lanes == 1)
      return dtype;
  }
  throw Error(TENON_ERROR_TYPE,
              "a DLPack tensor has elements of code {}, {} bits and {} lanes, which no dtype has: "
              "convert it where it was made",
              element.code, element.bits, element.lanes);
}
// Whether DLPack packs elements where Tenon has a byte for each.
bool is_subbyte(tenon_dtype dtype) { return dl_dtype(dtype).bits < 8; }

// ---- giving ----

// Struct, shape and strides, and a reference to the tensor: a deleter frees them.
template <class Managed>
struct Given {
  Managed managed{};
  TensorRef tensor;
  int64_t shape[TENON_MAX_RANK];
  int64_t strides[TENON_MAX_RANK];
};

template <class Managed>
Managed* give_tensor(tenon_tensor* source, uint32_t flags) {
  require_data(source, "a tensor for DLPack");
  require_flags("a tensor for DLPack", flags, TENON_DLPACK_COPY);
  if (source->requires_grad())
    throw Error(
        TENON_ERROR_VALUE,
        "a tensor that requires grad has no history in another library: give detach() of it");
  // Without clearing the arrays, as make_unique would.
  std::unique_ptr<Given<Managed>> given(new Given<Managed>);
  given->tensor = (flags & TENON_DLPACK_COPY) != 0 ? contiguous_copy(*source) : TensorRef(source);
  const tenon_tensor_view& view = given->tensor->view;
  tenon_dl_tensor& tensor = given->managed.tensor;
  tensor.data = view.data;
  tensor.device = {TENON_DL_CPU, 0};
  tensor.rank = static_cast<int32_t>(view.rank);
  tensor.dtype = dl_dtype(view.dtype);
  tensor.shape = given->shape;
  tensor.strides = given->strides;
  for (size_t i = 0; i < view.rank; ++i) {
    given->shape[i] = view.shape[i];
    given->strides[i] = view.strides[i];
  }
  given->managed.manager = given.get();
  given->managed.deleter = [](Managed* self) {
    delete static_cast<Given<Managed>*>(self->manager);
  };
  return &given.release()->managed;
}

// ---- taking ----

void check_device(tenon_dl_device device) {
  if (device.type == TENON_DL_CPU || device.type == TENON_DL_CUDA_HOST ||
      device.type == TENON_DL_ROCM_HOST)
    return;
  throw Error(TENON_ERROR_VALUE,
              "a DLPack tensor is on device {}:{}, whose memory the CPU does not read: copy it to "
              "the CPU where it was made",
              device.type, device.id);
}

template <class Managed>
TensorRef take_tensor(Managed* managed, uint32_t flags) {
  require_flags("a DLPack tensor", flags, TENON_DLPACK_COPY);
  const tenon_dl_tensor& tensor = managed->tensor;
  check_device(tensor.device);
  const tenon_dtype dtype = find_dtype(tensor.dtype);
  const Shape shape = shape_of(tensor.shape, tensor.rank);
  if (tensor.rank > 0) require_not_null(tensor.shape, "the shape of a DLPack tensor");
  const Shape strides = tensor.strides == nullptr ? Shape() : shape_of(tensor.strides, tensor.rank);
  const bool copies = (flags & TENON_DLPACK_COPY) != 0;
  for (size_t i = 0; i < strides.size() && !copies; ++i) {
    if (strides[i] < 0 && shape[i] > 1)
      throw Error(TENON_ERROR_VALUE,
                  "a DLPack tensor has the negative stride {} in dimension {}: take a copy of it",
                  strides[i], i);
  }
  const uintptr_t address = reinterpret_cast<uintptr_t>(tensor.data) + tensor.byte_offset;
  const int64_t width = dtype_complex(dtype) ? dtype_bytes(dtype) / 2 : dtype_bytes(dtype);
  if (address % static_cast<uintptr_t>(width) != 0 && element_count(shape) != 0)
    throw Error(
        TENON_ERROR_VALUE,
        "the data of a DLPack tensor is not aligned to its elements of {}: copy it where it "
        "was made",
        dtype_text(dtype));
  void* const data = tensor.data == nullptr ? nullptr : reinterpret_cast<void*>(address);
  if (copies) {
    TensorRef copy = contiguous_copy(*make_wrapped(dtype, shape, strides, data, nullptr, nullptr));
    if (managed->deleter != nullptr) managed->deleter(managed);
    return copy;
  }
  return make_wrapped(dtype, shape, strides, data, managed, [](void* owner) {
    auto* const released = static_cast<Managed*>(owner);
    if (released->deleter != nullptr) released->deleter(released);
  });
}

}  // namespace

constinit const tenon_dlpack_service dlpack_service{
    .head = {},
    .give = slot([](tenon_tensor* tensor, uint32_t flags) {
      auto* const managed = give_tensor<tenon_dl_managed_versioned>(tensor, flags);
      managed->version = {TENON_DL_MAJOR, TENON_DL_MINOR};
      const bool copied = (flags & TENON_DLPACK_COPY) != 0;
      managed->flags =
          (copied ? uint64_t{TENON_DL_IS_COPIED} : 0) |
          (!copied && tensor->has_flag(TENON_TENSOR_READ_ONLY) ? uint64_t{TENON_DL_READ_ONLY} : 0) |
          (is_subbyte(tensor->view.dtype) ? uint64_t{TENON_DL_SUBBYTE_PADDED} : 0);
      return managed;
    }),
    .give_legacy = slot([](tenon_tensor* tensor, uint32_t flags) {
      require_data(tensor, "a tensor for DLPack");
      if (tensor->has_flag(TENON_TENSOR_READ_ONLY) && (flags & TENON_DLPACK_COPY) == 0)
        throw Error(TENON_ERROR_VALUE,
                    "a read-only tensor cannot be given by the struct before DLPack 1.0, which has "
                    "no flag for it: give a copy");
      if (is_subbyte(tensor->view.dtype))
        throw Error(TENON_ERROR_TYPE,
                    "{} cannot be given by the struct before DLPack 1.0, which has no flag for "
                    "elements of a byte each: convert the tensor with to(float32)",
                    dtype_text(tensor->view.dtype));
      return give_tensor<tenon_dl_managed>(tensor, flags);
    }),
    .take = slot([](tenon_dl_managed_versioned* managed, uint32_t flags) {
      if (checked(managed, "the DLPack tensor").version.major != TENON_DL_MAJOR)
        throw Error(TENON_ERROR_VALUE,
                    "a DLPack tensor is of version {}.{}; 1.x is read: ask its producer for 1.3",
                    managed->version.major, managed->version.minor);
      if (managed->tensor.dtype.bits < 8 && (managed->flags & TENON_DL_SUBBYTE_PADDED) == 0)
        throw Error(TENON_ERROR_TYPE,
                    "a DLPack tensor has packed elements of {} bits; elements of a byte each are "
                    "read: unpack them where they were made",
                    managed->tensor.dtype.bits);
      TensorRef taken = take_tensor(managed, flags);
      if ((flags & TENON_DLPACK_COPY) == 0 && (managed->flags & TENON_DL_READ_ONLY) != 0)
        taken->view.flags |= TENON_TENSOR_READ_ONLY;
      return taken;
    }),
    .take_legacy = slot([](tenon_dl_managed* managed, uint32_t flags) {
      if (checked(managed, "the DLPack tensor").tensor.dtype.bits < 8)
        throw Error(TENON_ERROR_TYPE, "a DLPack tensor before 1.0 has packed elements of {} bits",
                    managed->tensor.dtype.bits);
      return take_tensor(managed, flags);
    }),
};

}  // namespace tenon::core
