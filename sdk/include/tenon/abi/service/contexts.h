/* Contexts: one call as its run function and its gradient rules see it.
 *
 * A slot: reads or writes what the host keeps for one call between run, backward and jvp. Not a
 * slot: anything that is possible without a context.
 *
 *   // in backward: the gradient of a sum is the given one, for both inputs
 *   tenon_tensor* gradients[2] = {given[0], given[0]};
 *   tenon_tensors->retain(given[0]);
 *   tenon_tensors->retain(given[0]);
 *   return tenon_contexts->give(context, gradients, 2, error);
 *
 * Calling thread only: a context is valid during its callback, on the thread that runs it. It is
 * borrowed from the host. */
#ifndef TENON_ABI_SERVICE_CONTEXTS_H
#define TENON_ABI_SERVICE_CONTEXTS_H

#include "service.h"
#include "tenon/abi/op.h"

#define TENON_CONTEXTS_VERSION 1 /* newest version of the table; grows with its slots */

/* Named "tenon.contexts". */
typedef struct tenon_contexts_service {
  tenon_service head; /* size and version */

  /* The call's arguments, one for each parameter. In a rule a tensor that was not saved reads as
   * none. Borrowed; valid during the callback. Calling thread only. */
  const tenon_value*(TENON_CALL* arguments)(const tenon_context* context);
  /* Argument `index`. IndexError when there is no such parameter; in a rule, RuntimeError for a
   * tensor that was not saved. Borrowed; valid during the callback. Calling thread only. */
  tenon_status(TENON_CALL* argument)(const tenon_context* context, int64_t index,
                                     const tenon_value** value, tenon_error** error);
  /* Result `index`, when the op's `saves` names it; null otherwise, and in run. Borrowed; valid
   * during the callback. Calling thread only. */
  tenon_tensor*(TENON_CALL* result)(const tenon_context* context, int64_t index);
  /* The result `index` of the call that the context belongs to, as `saves` kept it; in backward
   * and jvp only. Null when it is not a tensor. IndexError beyond the results; RuntimeError where
   * `saves` does not name it. Borrowed; valid as long as the context. Calling thread only. */
  tenon_status(TENON_CALL* kept_result)(const tenon_context* context, int64_t index,
                                        tenon_tensor** result, tenon_error** error);
  /* Input slots of the call: one for each tensor parameter, a list counts as many as it has
   * tensors. Calling thread only. */
  int64_t(TENON_CALL* slot_count)(const tenon_context* context);
  /* 1 when the gradient of the slot is needed. Calling thread only. */
  int32_t(TENON_CALL* needs_gradient)(const tenon_context* context, int64_t slot);
  /* Saves tensors for backward, replacing those of an earlier call; entries may be null. The host
   * retains them. In run only. Calling thread only. */
  tenon_status(TENON_CALL* save)(tenon_context* context, tenon_tensor* const* tensors,
                                 int64_t count, tenon_error** error);
  /* Saves tensors for the jvp, replacing those of an earlier call; entries may be null. The host
   * retains them. In run only. Calling thread only. */
  tenon_status(TENON_CALL* save_for_forward)(tenon_context* context, tenon_tensor* const* tensors,
                                             int64_t count, tenon_error** error);
  /* How many tensors were saved; 0 in run. Calling thread only. */
  int64_t(TENON_CALL* saved_count)(const tenon_context* context);
  /* Saved tensor `index`: of save in backward, of save_for_forward in jvp; null where null was
   * saved. InplaceError when it was changed since. New reference. In rules only. Calling thread
   * only. */
  tenon_status(TENON_CALL* saved)(tenon_context* context, int64_t index, tenon_tensor** result,
                                  tenon_error** error);
  /* Declares inputs that run changes in place. In run only. Calling thread only. */
  tenon_status(TENON_CALL* mark_dirty)(tenon_context* context, tenon_tensor* const* tensors,
                                       int64_t count, tenon_error** error);
  /* Declares tensors, results among them, that have no gradient. In run only. Calling thread only.
   * */
  tenon_status(TENON_CALL* mark_non_differentiable)(tenon_context* context,
                                                    tenon_tensor* const* tensors, int64_t count,
                                                    tenon_error** error);
  /* 0: absent gradients and tangents reach the rules as null instead of zeros. In run only.
   * Calling thread only. */
  tenon_status(TENON_CALL* set_materialize_grads)(tenon_context* context, int32_t enabled,
                                                  tenon_error** error);
  /* Takes the attribute; one of the same name is destroyed. In run and jvp. Calling thread only. */
  tenon_status(TENON_CALL* set_attribute)(tenon_context* context, tenon_attribute* attribute,
                                          tenon_error** error);
  /* The attribute of that name. RuntimeError when there is none, TypeError when its type is
   * another one. Borrowed; valid until it is erased or replaced, or its node is gone. Calling
   * thread only. */
  tenon_status(TENON_CALL* attribute)(const tenon_context* context, const tenon_string* name,
                                      const tenon_string* type, tenon_attribute** attribute,
                                      tenon_error** error);
  /* Tensor `index` of an attribute. In a rule that is itself recorded it has a history that
   * refuses to be differentiated. New reference; null where the entry is null. Calling thread
   * only. */
  tenon_status(TENON_CALL* attribute_tensor)(const tenon_context* context,
                                             const tenon_attribute* attribute, int64_t index,
                                             tenon_tensor** result, tenon_error** error);
  /* Destroys the attribute of that name. RuntimeError when there is none. In run and jvp. Calling
   * thread only. */
  tenon_status(TENON_CALL* erase_attribute)(tenon_context* context, const tenon_string* name,
                                            tenon_error** error);
  /* TENON_BACKWARD_ bits of the backward that runs this rule. In backward only. Calling thread
   * only. */
  tenon_status(TENON_CALL* backward_options)(const tenon_context* context, uint32_t* options,
                                             tenon_error** error);
  /* Makes the rule the owner of the gradients that it was called with, so that it can release each
   * as early as possible. `gradients` has `count` entries. New references. Once, in backward only.
   * Calling thread only. */
  tenon_status(TENON_CALL* take_gradients)(tenon_context* context, int64_t count,
                                           tenon_tensor** gradients, tenon_error** error);
  /* Returns the gradients of a backward, or the tangents of a jvp, to the host: once. Takes the
   * tensors; entries may be null. In rules only. Calling thread only. */
  tenon_status(TENON_CALL* give)(tenon_context* context, tenon_tensor* const* tensors,
                                 int64_t count, tenon_error** error);
} tenon_contexts_service;

#endif
