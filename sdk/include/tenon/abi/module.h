/* Modules as plugins describe them: named attributes, a constructor, a forward. */
#ifndef TENON_ABI_MODULE_H
#define TENON_ABI_MODULE_H

#include <stdint.h>

#include "attributes.h"
#include "error.h"
#include "type.h"
#include "value.h"

/* Added to what module_walk is asked for: what is shared comes under each of its names. */
#define TENON_WALK_DUPLICATES 4

/* Growable: begins with its size. The host owns parameters, buffers, children, attributes, the
 * training flag, saving and loading; the plugin owns `state`. */
typedef struct tenon_module_descriptor {
  uint32_t size;
  uint32_t flags;
  const char* schema; /* Linear(int in_features, int out_features, bool bias=True) */
  const char* doc;
  void* self;
  /* Registers parameters, buffers and children on `module` through the module_ slots. `attributes`
   * has one value for each schema parameter, borrowed. *state is handed to forward and destroy; may
   * stay null. [any-thread, once per instance] */
  tenon_status(TENON_CALL* create)(void* self, tenon_module* module, const tenon_value* attributes,
                                   void** state, tenon_error** error);
  /* Computes one result from `count` inputs; recorded through the ops that it calls. [any-thread]
   */
  tenon_status(TENON_CALL* forward)(void* self, void* state, tenon_module* module,
                                    const tenon_value* inputs, int64_t count, tenon_value* result,
                                    tenon_error** error);
  void(TENON_CALL* destroy)(void* self, void* state); /* null when there is no state */
  /* Null: the printed form lists the attributes as name=value. Else gives a string. */
  tenon_status(TENON_CALL* extra_repr)(void* self, void* state, tenon_module* module,
                                       tenon_value* text, tenon_error** error);
  /* A module that has it can be entered as a mode (mode_enter_module), and needs no forward: asked
   * for every op as handlers of modes are. [the thread that entered it] */
  tenon_status(TENON_CALL* tenon_function)(void* self, void* state, tenon_module* module,
                                           const tenon_call* call, tenon_value* results,
                                           tenon_error** error);
} tenon_module_descriptor;

#endif
