/* Hooks that decide how saved tensors are kept: packed once when saved, unpacked at each use. */
#ifndef TENON_ABI_SAVED_HOOKS_H
#define TENON_ABI_SAVED_HOOKS_H

#include <stdint.h>

#include "attributes.h"
#include "error.h"
#include "tensor.h"

/* Growable. Functions may be called from any thread, as long as a graph holds something packed. */
typedef struct tenon_saved_hooks {
  uint32_t size;
  uint32_t flags; /* 0 */
  void* state;
  /* `tensor` has no history and must not be changed; retain it to keep it. */
  tenon_status(TENON_CALL* pack)(void* state, tenon_tensor* tensor, void** packed,
                                 tenon_error** error);
  /* Gives a tensor of the shape and dtype that was packed. */
  tenon_status(TENON_CALL* unpack)(void* state, void* packed, tenon_tensor** tensor,
                                   tenon_error** error);
  void(TENON_CALL* drop)(void* state, void* packed); /* once for everything packed */
  void(TENON_CALL* destroy)(void* state); /* once, when the scope and all packed is gone */
} tenon_saved_hooks;

#endif
