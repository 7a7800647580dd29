/* Autograd: gradients of tensors, the engine, and the settings of recording.
 *
 * A slot: reads or changes what the recorder or the engine keeps of tensors and threads. Not a
 * slot: what is put together from backward and gradients (jacobians, checks of gradients); nodes
 * and hooks (graph.h); one call's own state (contexts.h).
 *
 *   tenon_status status = tenon_autograd->backward(&loss, NULL, 1, NULL, -1, 0, 0, error);
 *   if (status != TENON_OK) return status;
 *   tenon_tensor* grad = tenon_autograd->grad(weight); // a new reference, or null
 *
 * Any thread for tensors; settings and levels are of the calling thread. */
#ifndef TENON_ABI_SERVICE_AUTOGRAD_H
#define TENON_ABI_SERVICE_AUTOGRAD_H

#include "service.h"
#include "tenon/abi/autograd.h"
#include "tenon/abi/saved_hooks.h"

#define TENON_AUTOGRAD_VERSION 1 /* newest version of the table; grows with its slots */

/* Named "tenon.autograd". */
typedef struct tenon_autograd_service {
  tenon_service head; /* size and version */

  /* 1 when the tensor requires grad; a view of a base that was changed in place gets its new
   * history first. May be null. Any thread. */
  int32_t(TENON_CALL* requires_grad)(tenon_tensor* tensor);
  /* Makes a leaf require grad, or stops that. Any thread. */
  tenon_status(TENON_CALL* set_requires_grad)(tenon_tensor* tensor, int32_t requires_grad,
                                              tenon_error** error);
  /* The accumulated gradient (.grad). New reference; null when there is none. Any thread. */
  tenon_tensor*(TENON_CALL* grad)(tenon_tensor* tensor);
  /* Replaces the accumulated gradient, which is retained. `grad` may be null, to clear it. Any
   * thread. */
  tenon_status(TENON_CALL* set_grad)(tenon_tensor* tensor, tenon_tensor* grad, tenon_error** error);
  /* 1 when no recorded op made the tensor. Any thread. */
  int32_t(TENON_CALL* is_leaf)(const tenon_tensor* tensor);
  /* Has backward keep the gradient of a tensor that is not a leaf in its .grad. Any thread. */
  tenon_status(TENON_CALL* retain_grad)(tenon_tensor* tensor, tenon_error** error);
  /* A tensor with the same storage and without history. New reference. Any thread. */
  tenon_status(TENON_CALL* detach)(tenon_tensor* tensor, tenon_tensor** result,
                                   tenon_error** error);
  /* 1 when recording is on. Calling thread only. */
  int32_t(TENON_CALL* grad_mode)(void);
  /* Turns recording on or off; returns the previous setting. Calling thread only. */
  int32_t(TENON_CALL* grad_mode_set)(int32_t enabled);
  /* 1 in inference mode. Calling thread only. */
  int32_t(TENON_CALL* inference_mode)(void);
  /* In inference mode nothing is recorded, and tensors made in it cannot be recorded later.
   * Calling thread only. */
  int32_t(TENON_CALL* inference_mode_set)(int32_t enabled);
  /* The level. Calling thread only. */
  int32_t(TENON_CALL* anomaly_mode)(void);
  /* 1: nodes remember where they were recorded, and errors of backward say so; 2: backward also
   * fails at the first gradient with a NaN; 0: off. Calling thread only. */
  int32_t(TENON_CALL* anomaly_mode_set)(int32_t level);
  /* 1: a gradient of a Function that is broadcast-larger than its input is an error, instead of
   * being summed. Returns the previous setting. Calling thread only. */
  int32_t(TENON_CALL* strict_gradients_set)(int32_t enabled);
  /* Runs backward and adds the gradients to the .grad of all leaves, or of `inputs` alone when
   * `input_count` >= 0. `seeds` has one gradient for each root; it may be null, or hold nulls,
   * where the root has a single element. Any thread; hooks and rules run on the calling thread. */
  tenon_status(TENON_CALL* backward)(tenon_tensor* const* roots, tenon_tensor* const* seeds,
                                     int64_t root_count, tenon_tensor* const* inputs,
                                     int64_t input_count, int32_t retain_graph,
                                     int32_t create_graph, tenon_error** error);
  /* Computes one gradient for each input and leaves .grad as it is. `seeds` as for backward.
   * `create_graph`: 1 records the rules; 2 does so, too, and has the gradient of an op that may be
   * differentiated once refuse a further derivative whatever the seeds, as it does for seeds that
   * require gradients: otherwise it is a constant.
   * `allow_unused`: 0 makes an input that the roots do not depend on an error, 1 gives it null, 2
   * zeros. `results` has `input_count` entries. New references. Any thread; hooks and rules run on
   * the calling thread. */
  tenon_status(TENON_CALL* gradients)(tenon_tensor* const* roots, tenon_tensor* const* seeds,
                                      int64_t root_count, tenon_tensor* const* inputs,
                                      int64_t input_count, int32_t retain_graph,
                                      int32_t create_graph, int32_t allow_unused,
                                      tenon_tensor** results, tenon_error** error);
  /* Opens a level of forward mode, inside of the open one if there is one; its tangents live until
   * it is left. A tangent may carry tangents of the levels around its own. Calling thread only. */
  tenon_status(TENON_CALL* dual_level_enter)(tenon_error** error);
  /* Leaves the innermost level: tensors lose its tangents. Calling thread only. */
  tenon_status(TENON_CALL* dual_level_exit)(tenon_error** error);
  /* A tensor with the data and history of `primal`, and its tangents of outer levels, that carries
   * `tangent`, of the same shape, at the innermost level. New reference. Calling thread only. */
  tenon_status(TENON_CALL* dual_make)(tenon_tensor* primal, tenon_tensor* tangent,
                                      tenon_tensor** result, tenon_error** error);
  /* Both parts of a dual tensor at the innermost level; `*tangent` is null when it carries none
   * there. New references. Calling thread only. */
  tenon_status(TENON_CALL* dual_unpack)(tenon_tensor* dual, tenon_tensor** primal,
                                        tenon_tensor** tangent, tenon_error** error);
  /* Opens a scope of saved-tensor hooks on this thread. Copies the struct, and owns its state from
   * then on; on failure it calls none of its functions. Calling thread only. */
  tenon_status(TENON_CALL* saved_hooks_push)(const tenon_saved_hooks* hooks, tenon_error** error);
  /* Opens a scope in which saved_hooks_push fails with this message. Calling thread only. */
  tenon_status(TENON_CALL* saved_hooks_disable)(const char* message, int64_t length,
                                                tenon_error** error);
  /* Closes the innermost scope of either kind. Calling thread only. */
  tenon_status(TENON_CALL* saved_hooks_pop)(tenon_error** error);
} tenon_autograd_service;

#endif
