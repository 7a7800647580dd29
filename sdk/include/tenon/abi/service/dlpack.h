/* DLPack: tensors given to other array libraries, and taken from them, without a copy.
 *
 * A slot: what needs code that outlives every plugin, as the deleter of a tensor that another library
 * holds. Not a slot: capsules of Python, which a caller makes of the structs.
 *
 *   tenon_dl_managed_versioned* given = NULL;
 *   tenon_status status = tenon_dlpack->give(tensor, 0, &given, error);
 *   if (status != TENON_OK) return status;
 *   other_library_takes(given);   // which calls given->deleter(given) once, on any thread
 *
 * Any thread. A deleter and a tensor may be used on another thread than the slot. */
#ifndef TENON_ABI_SERVICE_DLPACK_H
#define TENON_ABI_SERVICE_DLPACK_H

#include "service.h"
#include "tenon/abi/dlpack.h"
#include "tenon/abi/tensor.h"

#define TENON_DLPACK_VERSION 1 /* newest version of the table; grows with its slots */

/* Bit of the flags below: the elements are copied. A tensor given so has TENON_DL_IS_COPIED; one taken
 * so may have negative strides, and its deleter runs before the slot returns. */
enum { TENON_DLPACK_COPY = 1 };

/* Named "tenon.dlpack". */
typedef struct tenon_dlpack_service {
  tenon_service head; /* size and version */

  /* The memory of a tensor for another library, which calls the deleter once. Strides are always set.
   * A read-only tensor has TENON_DL_READ_ONLY. TypeError for a tensor without data, ValueError for one
   * that requires grad: give detach() of it. The tensor's memory lives until the deleter has run, also
   * when every plugin is unloaded. Any thread. */
  tenon_status(TENON_CALL* give)(tenon_tensor* tensor, uint32_t flags,
                                 tenon_dl_managed_versioned** result, tenon_error** error);
  /* give for libraries before DLPack 1.0. ValueError for a read-only tensor, which that struct cannot
   * say, unless it is copied. Any thread. */
  tenon_status(TENON_CALL* give_legacy)(tenon_tensor* tensor, uint32_t flags,
                                        tenon_dl_managed** result, tenon_error** error);
  /* A tensor over the memory of another library, whose deleter runs when no tensor uses it any more, on
   * the thread that released the last. New reference. On failure `managed` stays the caller's, who
   * calls the deleter. ValueError for another major version, a device whose memory the CPU does not
   * read, sizes that are negative or beyond the address space, data that is not aligned to its
   * elements, and negative strides without TENON_DLPACK_COPY; TypeError for elements that no dtype
   * has. Any thread. */
  tenon_status(TENON_CALL* take)(tenon_dl_managed_versioned* managed, uint32_t flags,
                                 tenon_tensor** result, tenon_error** error);
  /* take for structs before DLPack 1.0. Any thread. */
  tenon_status(TENON_CALL* take_legacy)(tenon_dl_managed* managed, uint32_t flags,
                                        tenon_tensor** result, tenon_error** error);
} tenon_dlpack_service;

#endif
