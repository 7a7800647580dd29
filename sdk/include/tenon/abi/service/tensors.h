/* Tensors: storage, layout and counting.
 *
 * A slot: needs the inside of a tensor (its storage, its count, its version), so that no op could
 * compute it. Not a slot: what an op can do; what tenon_tensor_view shows; gradients (autograd.h);
 * file formats.
 *
 *   const int64_t shape[2] = {2, 3};
 *   tenon_tensor* matrix = NULL;
 *   tenon_status status = tenon_tensors->empty(TENON_F32, 2, shape, &matrix, error);
 *   if (status != TENON_OK) return status;
 *   ...
 *   tenon_tensors->release(matrix);
 *
 * Any thread; threads that write the elements of one tensor synchronize themselves. A result is a
 * new reference, which the caller releases. */
#ifndef TENON_ABI_SERVICE_TENSORS_H
#define TENON_ABI_SERVICE_TENSORS_H

#include "service.h"
#include "tenon/abi/type.h"

#define TENON_TENSORS_VERSION 1 /* newest version of the table; grows with its slots */

/* Named "tenon.tensors". */
typedef struct tenon_tensors_service {
  tenon_service head; /* size and version */

  /* An uninitialized, contiguous tensor. New reference. Any thread. */
  tenon_status(TENON_CALL* empty)(tenon_dtype dtype, int64_t rank, const int64_t* shape,
                                  tenon_tensor** result, tenon_error** error);
  /* A tensor over memory of the caller: `data` is the first element, `strides` count elements. New
   * reference. `release(owner)` runs once, on any thread, when no tensor uses the memory any more;
   * on failure it does not run. `release` may be null. Any thread. */
  tenon_status(TENON_CALL* wrap)(tenon_dtype dtype, int64_t rank, const int64_t* shape,
                                 const int64_t* strides, void* data, void* owner,
                                 void(TENON_CALL* release)(void* owner), tenon_tensor** result,
                                 tenon_error** error);
  /* A tensor that shares the storage of `base`; its first element is `offset` elements after the
   * first of `base`. ValueError when it would reach outside of the storage. Not recorded. New
   * reference. Any thread. */
  tenon_status(TENON_CALL* alias)(tenon_tensor* base, int64_t rank, const int64_t* shape,
                                  const int64_t* strides, int64_t offset, tenon_tensor** result,
                                  tenon_error** error);
  /* alias with elements of another dtype, in which strides and offset count: complex ones as their
   * parts (c64 as f32, c128 as f64), and the reverse. TypeError for any other pair of dtypes,
   * ValueError as alias. New reference. Any thread. */
  tenon_status(TENON_CALL* alias_as)(tenon_tensor* base, tenon_dtype dtype, int64_t rank,
                                     const int64_t* shape, const int64_t* strides, int64_t offset,
                                     tenon_tensor** result, tenon_error** error);
  /* Adds a reference. Any thread. */
  void(TENON_CALL* retain)(tenon_tensor* tensor);
  /* Drops a reference; the last one destroys the tensor. May be null. Any thread. */
  void(TENON_CALL* release)(tenon_tensor* tensor);
  /* References to this handle; a snapshot when other threads hold some. Any thread. */
  int64_t(TENON_CALL* use_count)(const tenon_tensor* tensor);
  /* How often the tensor's storage was changed in place; 0 for null. Any thread. */
  int64_t(TENON_CALL* version)(const tenon_tensor* tensor);
  /* A number of the tensor's storage that no other storage of the process has or had, so that a
   * cache knows its contents by number and version. 0: they must not be kept, because the memory
   * is the caller's (wrap) and may change unseen, or there are no more numbers (2^32), or the
   * tensor is null or without data. A write through a pointer, outside of an op, changes neither.
   * Any thread. */
  uint32_t(TENON_CALL* storage_number)(const tenon_tensor* tensor);
  /* 1 when both have the same storage, even where their elements do not overlap. Any thread. */
  int32_t(TENON_CALL* shares_storage)(const tenon_tensor* a, const tenon_tensor* b);
  /* Copies element by element, converts the dtype and broadcasts `source`. Not recorded. Any
   * thread. */
  tenon_status(TENON_CALL* copy)(tenon_tensor* destination, const tenon_tensor* source,
                                 tenon_error** error);
  /* Sets every element to a BOOL, INT or FLOAT. Not recorded. Any thread. */
  tenon_status(TENON_CALL* fill)(tenon_tensor* destination, const tenon_value* number,
                                 tenon_error** error);
  /* The only element of a tensor, as BOOL, INT or FLOAT. Any thread. */
  tenon_status(TENON_CALL* item)(const tenon_tensor* tensor, tenon_value* result,
                                 tenon_error** error);
  /* The printed form, "tensor([1., 2.])", as a string. Owned. Any thread. */
  tenon_status(TENON_CALL* text)(const tenon_tensor* tensor, tenon_value* result,
                                 tenon_error** error);
  /* The common shape under broadcasting. `shape` has room for TENON_MAX_RANK sizes. Any thread. */
  tenon_status(TENON_CALL* broadcast_shapes)(const tenon_tensor* const* tensors, int64_t count,
                                             int64_t* shape, int64_t* rank, tenon_error** error);
  /* The dtype of what mixes both; TENON_DTYPE_NONE where there is none (u16, u32 and u64 mix with
   * floating and complex dtypes alone). Any thread. */
  tenon_dtype(TENON_CALL* promote_dtypes)(tenon_dtype a, tenon_dtype b);
  /* Gives a tensor the elements of `value`, which has its shape: `share` 0 copies and converts them,
   * 1 has it use the memory of `value`, which has its dtype. Not recorded, but counts as a change
   * in place. ValueError where shape or dtype differ. Any thread. */
  tenon_status(TENON_CALL* set_data)(tenon_tensor* tensor, const tenon_tensor* value, int32_t share,
                                     tenon_error** error);
} tenon_tensors_service;

#endif
