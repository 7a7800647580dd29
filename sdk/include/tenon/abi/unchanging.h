/* Tensors over memory of an application that no other code writes: a private mapping of a file that stays
 * as it is, say. As tensors.wrap, but the storage has a number (tensors.storage_number), so that kernels
 * keep what they make of the elements: weights in the layout of a library.
 *
 * A function of libtenon, not a slot of the table that plugins get: whether another program writes a file is
 * for the application to know. tenon::prepare (<tenon/prepare/prepare.hpp>) opens its files by it. */
#ifndef TENON_ABI_UNCHANGING_H
#define TENON_ABI_UNCHANGING_H

#include <stdint.h>

#include "attributes.h"
#include "dtype.h"
#include "error.h"
#include "tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* tensors.wrap of memory that changes by ops on the tensor and its views alone, as long as one of them is
 * used. New reference. Any thread. */
TENON_EXPORT tenon_status tenon_wrap_unchanging(tenon_dtype dtype, int64_t rank,
                                                const int64_t* shape, const int64_t* strides,
                                                void* data, void* owner,
                                                void(TENON_CALL* release)(void*),
                                                tenon_tensor** result, tenon_error** error);

#ifdef __cplusplus
}
#endif

#endif
