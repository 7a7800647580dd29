// DLPack: memory shared with other array libraries, such as NumPy and PyTorch, without a copy.
//
//   tenon_dl_managed_versioned* given = tenon::to_dlpack(tensor);     // for another library
//   const tenon::Tensor taken = tenon::from_dlpack(received);         // from another library
#pragma once

#include <cstdint>

#include "tenon/abi/dlpack.h"
#include "tenon/tensor.hpp"

TENON_NAMESPACE_BEGIN

// The memory of a tensor for another library, which calls the deleter once, on any thread; the memory
// lives until then, also where this plugin is unloaded. TypeError for a tensor without data, ValueError
// for one that requires grad. Any thread.
inline tenon_dl_managed_versioned* to_dlpack(const Tensor& tensor, bool copy = false) {
  tenon_dl_managed_versioned* managed = nullptr;
  detail::check(service::dlpack().give, tensor.handle(),
                copy ? uint32_t{TENON_DLPACK_COPY} : uint32_t{0}, &managed);
  return managed;
}
// to_dlpack for libraries before DLPack 1.0. ValueError also for a read-only tensor. Any thread.
inline tenon_dl_managed* to_dlpack_legacy(const Tensor& tensor, bool copy = false) {
  tenon_dl_managed* managed = nullptr;
  detail::check(service::dlpack().give_legacy, tensor.handle(),
                copy ? uint32_t{TENON_DLPACK_COPY} : uint32_t{0}, &managed);
  return managed;
}

// A tensor over the memory of another library, whose deleter runs with the last tensor that uses it.
// `copy`: the elements are copied, which negative strides need, and the deleter runs now. What it throws
// leaves `managed` to the caller, who calls its deleter: ValueError for another major version, memory
// that the CPU does not read, broken sizes, data that is not aligned and negative strides, TypeError for
// elements that no dtype has. Any thread.
inline Tensor from_dlpack(tenon_dl_managed_versioned* managed, bool copy = false) {
  tenon_tensor* tensor = nullptr;
  detail::check(service::dlpack().take, managed, copy ? uint32_t{TENON_DLPACK_COPY} : uint32_t{0},
                &tensor);
  return Tensor::take(tensor);
}
// from_dlpack for structs before DLPack 1.0. Any thread.
inline Tensor from_dlpack(tenon_dl_managed* managed, bool copy = false) {
  tenon_tensor* tensor = nullptr;
  detail::check(service::dlpack().take_legacy, managed,
                copy ? uint32_t{TENON_DLPACK_COPY} : uint32_t{0}, &tensor);
  return Tensor::take(tensor);
}

TENON_NAMESPACE_END
