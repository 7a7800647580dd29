/* Hooks on saved tensors: a tensor is packed once when it is saved, and unpacked at each use. */
#ifndef TENON_ABI_SAVED_HOOKS_H
#define TENON_ABI_SAVED_HOOKS_H

#include <stdint.h>

#include "attributes.h"
#include "error.h"
#include "tensor.h"

/* The functions of one scope, see autograd.saved_hooks_push. Growable: begins with its size. The
 * host copies the struct. `state` stays the plugin's until `destroy` is called: after the scope
 * was closed and everything packed was dropped. `destroy` may be null, and one of `pack` and
 * `pack_for`; the others must not be. Any thread, several at the same time. */
typedef struct tenon_saved_hooks {
  uint32_t size;  /* bytes of this struct */
  uint32_t flags; /* 0 */
  void* state;    /* first argument of every function */
  /* Stores something in *packed from which the tensor can be made again. `tensor` has no history
   * and must not be changed. Borrowed; valid during the call: retain it to keep it. */
  tenon_status(TENON_CALL* pack)(void* state, tenon_tensor* tensor, void** packed,
                                 tenon_error** error);
  /* Makes a tensor of the shape and dtype that were packed. New reference. Called once for each
   * use; `packed` stays valid. The tensor has to carry the tangent that the packed one had, while
   * its dual level is open; history is not read. */
  tenon_status(TENON_CALL* unpack)(void* state, void* packed, tenon_tensor** tensor,
                                   tenon_error** error);
  /* Frees `packed`. Called once for each. */
  void(TENON_CALL* drop)(void* state, void* packed);
  /* Frees `state`. Called once. */
  void(TENON_CALL* destroy)(void* state);
  /* Called in place of `pack` unless it is null. `op` names the op that saves the tensor,
   * "mul"; borrowed, valid during the call. */
  tenon_status(TENON_CALL* pack_for)(void* state, const char* op, tenon_tensor* tensor,
                                     void** packed, tenon_error** error);
} tenon_saved_hooks;

#endif
