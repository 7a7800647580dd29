/* Prepared calls: a call whose provider is chosen once, and which then runs many times.
 *
 * A slot: what a program that repeats its calls needs of dispatch: the choice of a provider, a run
 * of it, and whether the choice still holds. Not a slot: lists of calls, their memory, rewrites:
 * libraries make these.
 *
 *   tenon_prepared_call* sum = NULL;
 *   tenon_status status = tenon_calls->prepare(add, operands, 4, &sum, error);
 *   while (status == TENON_OK && next_operands(operands))
 *     status = tenon_calls->run(sum, operands, results, error);
 *   tenon_calls->release(sum);
 *
 * Any thread, several at the same time. Arguments are borrowed for the call, results are owned by
 * the caller. */
#ifndef TENON_ABI_SERVICE_CALLS_H
#define TENON_ABI_SERVICE_CALLS_H

#include "service.h"
#include "tenon/abi/op.h"

#define TENON_CALLS_VERSION 1 /* newest version of the table; grows with its slots */

/* It keeps no plugin loaded, unless it is held. */
typedef struct tenon_prepared_call tenon_prepared_call;

/* Named "tenon.calls". */
typedef struct tenon_calls_service {
  tenon_service head; /* size and version */

  /* Chooses the provider that runs a call now. `arguments` has one value for each parameter of the
   * schema, of the kinds that it names, as modes see them; of tensors it reads dtype, shape and
   * strides, so that stand-ins will do. ArgumentError for others. New reference, see release. Any
   * thread. */
  tenon_status(TENON_CALL* prepare)(const tenon_op* op, const tenon_value* arguments, int64_t count,
                                    tenon_prepared_call** call, tenon_error** error);
  /* Frees it. May be null. Any thread, but not while it runs. */
  void(TENON_CALL* release)(tenon_prepared_call* call);
  /* ops.call with all arguments, by the provider that was chosen: their number is not looked at,
   * and no other provider is asked. PluginError once ops_generation is another. `results` has
   * result_count entries. Owned. Any thread. */
  tenon_status(TENON_CALL* run)(const tenon_prepared_call* call, const tenon_value* arguments,
                                tenon_value* results, tenon_error** error);
  /* Id of the plugin that was chosen. Borrowed; valid as long as the call. Any thread. */
  const char*(TENON_CALL* provider)(const tenon_prepared_call* call);
  /* 1 where run_into computes into the memory of the caller. Any thread. */
  int32_t(TENON_CALL* writes_into)(const tenon_prepared_call* call);
  /* run of an op with one result, which goes into `result`: a tensor of its dtype and shape, which
   * shares memory with no operand but one of that dtype, shape and first element. ArgumentError where
   * writes_into is 0. Does not count as a change in place. Any thread. */
  tenon_status(TENON_CALL* run_into)(const tenon_prepared_call* call, const tenon_value* arguments,
                                     tenon_tensor* result, tenon_error** error);
  /* Number of changes to the providers of ops: by plugins that are loaded, unloaded and reloaded,
   * and by policies. Any thread. */
  uint64_t(TENON_CALL* ops_generation)(void);
  /* Number of changes to the members, hooks and training modes of all modules. Changes of elements
   * count as versions of their tensors, removed hooks are not counted. Any thread. */
  uint64_t(TENON_CALL* modules_generation)(void);
  /* 1 where calls of this thread do more than run: modes of either level and traces see them, they
   * compute shapes alone, or a forward-mode level is open. Calling thread only. */
  int32_t(TENON_CALL* watched)(void);
  /* A tensor of the dtype, shape and strides of another, without data, for the calls that a mode
   * handles: to read its elements, and an op that gets it, is a TypeError. New reference. Any
   * thread. */
  tenon_status(TENON_CALL* stand_in)(const tenon_tensor* tensor, tenon_tensor** result,
                                     tenon_error** error);
  /* run, in which the first tensor of the dtype and shape of `*place` that the calling thread makes
   * is `*place`: the memory of a result, as far as the kernel makes that first. It is taken then, and
   * `*place` null; whether it is among the results, and they have its only reference, is up to the
   * kernel. It is contiguous, shares memory with no operand, and has no history. Any thread. */
  tenon_status(TENON_CALL* run_placed)(const tenon_prepared_call* call,
                                       const tenon_value* arguments, tenon_tensor** place,
                                       tenon_value* results, tenon_error** error);
  /* Keeps the code of the provider until `release`, also where its plugin is unloaded or reloaded, or
   * policies prefer another: run and run_into run it whatever ops_generation is. For a call that was
   * begun, and runs later. PluginError once ops_generation is another. Any thread, but not while it
   * runs. */
  tenon_status(TENON_CALL* hold)(tenon_prepared_call* call, tenon_error** error);
} tenon_calls_service;

#endif
