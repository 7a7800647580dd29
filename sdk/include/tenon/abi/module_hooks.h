/* Hooks of modules: functions that run around forward, in backward, and around saving and loading.
 */
#ifndef TENON_ABI_MODULE_HOOKS_H
#define TENON_ABI_MODULE_HOOKS_H

#include <stdint.h>

#include "attributes.h"
#include "autograd.h"
#include "error.h"
#include "value.h"

/* When a hook runs, which decides what it receives in `inputs` and `outputs` of its call. Those of
 * tensors and nodes are 0 to 3. */
enum {
  /* Before forward. Inputs: its arguments, which may be replaced. */
  TENON_HOOK_FORWARD_PRE = 4,
  /* After forward. Inputs: its arguments; outputs: its results, which may be replaced. */
  TENON_HOOK_FORWARD = 5,
  /* In backward, when the gradients of the results are there. Outputs: those gradients, none
   * beside results that are not tensors or do not require grad; may be replaced. */
  TENON_HOOK_BACKWARD_PRE = 6,
  /* In backward, when the gradients of the arguments are there. Inputs: those gradients, which may
   * be replaced, none beside arguments that are not tensors or do not require grad; outputs: the
   * gradients of the results. Where no argument requires grad: every input is none and stays it. */
  TENON_HOOK_BACKWARD = 7,
  /* Before the state is collected. Inputs: the prefix of the module's names (a string). */
  TENON_HOOK_STATE_SAVE_PRE = 8,
  /* After the state of the module and its children was collected. Inputs: the prefix; names (list
   * of strings) and tensors (list of Tensors) of the whole state so far, which may be replaced. */
  TENON_HOOK_STATE_SAVE_POST = 9,
  /* Before a state is loaded. Inputs as for STATE_SAVE_POST, then whether loading is strict. */
  TENON_HOOK_STATE_LOAD_PRE = 10,
  /* After loading. Inputs: the prefix; the missing and the unexpected keys (lists of strings),
   * which may be replaced: loading fails for those that are left when it is strict. */
  TENON_HOOK_STATE_LOAD_POST = 11
};

/* Flags of a registration. */
enum {
  TENON_HOOK_PREPEND = 1,    /* before those of the same list that are there already */
  TENON_HOOK_ALWAYS_CALL = 2 /* TENON_HOOK_FORWARD: also when the call failed; outputs are none */
};

/* One run of a hook. Growable: begins with its size. Everything is borrowed, valid during the run.
 */
typedef struct tenon_module_hook_call {
  uint32_t size;                   /* bytes of this struct */
  int32_t kind;                    /* a TENON_MODULE_HOOK_ */
  tenon_module* module;            /* module that the hook was registered on */
  const tenon_value* inputs;       /* values that the hook is shown first */
  int64_t input_count;             /* entries of `inputs` */
  const tenon_value* outputs;      /* results, in hooks behind the call */
  int64_t output_count;            /* entries of `outputs` */
  const tenon_string* input_names; /* parameters of forward; null where it has no names */
} tenon_module_hook_call;

/* A user's function. `replacements` has an entry for each value that the kind lets it replace, all
 * TENON_VALUE_NOT_IMPLEMENTED, which keeps the value; an owned value stored there replaces it, none
 * too. A status other than TENON_OK makes the call, the backward, the saving or the loading fail
 * with the error. Called on the thread that does these, several at the same time. */
typedef tenon_status(TENON_CALL* tenon_module_hook_function)(void* state,
                                                             const tenon_module_hook_call* call,
                                                             tenon_value* replacements,
                                                             tenon_error** error);

#endif
