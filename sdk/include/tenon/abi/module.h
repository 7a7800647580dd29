/* Modules as plugins describe them: attributes, a constructor, a forward. */
#ifndef TENON_ABI_MODULE_H
#define TENON_ABI_MODULE_H

#include <stdint.h>

#include "attributes.h"
#include "error.h"
#include "type.h"
#include "value.h"

#define TENON_WALK_DUPLICATES 4 /* `what` of modules.walk: shared members under each name */
#define TENON_WALK_ABSENT 16    /* for children: names without a value too, as null */

/* Bits of a descriptor's flags. A plugin with one that the host does not know is refused. */
enum {
  /* The type has no forward_schema: `create` gives each instance its own by modules.set_forward. */
  TENON_MODULE_OWN_FORWARD = 1
};

/* A bit of modules.assign's flags: a tensor becomes a parameter as modules.register_parameter makes
 * one. Without it only a leaf that requires grad is a parameter. */
#define TENON_ASSIGN_MAKE_PARAMETER 1
/* Another bit: any tensor takes a parameter's place, a computed one too. For a call that gets its
 * parameters as arguments; the caller puts the parameter back. */
#define TENON_ASSIGN_ANY_TENSOR 2

/* A module type. Growable: begins with its size. Owned by the plugin; it and everything it points
 * to must stay valid as long as the plugin is loaded. Of each instance the host owns attributes,
 * parameters, buffers, children and the training flag; the plugin owns `state`. Every pointer may
 * be null, except `schema` and `create`, and except `forward` where there is no `tenon_function`. */
typedef struct tenon_module_descriptor {
  uint32_t size;              /* bytes of this struct */
  uint32_t flags;             /* TENON_MODULE_ bits */
  const char* schema;         /* "Linear(int in_features, int out_features, bool bias=True)" */
  const char* forward_schema; /* "forward(Tensor input) -> Tensor" */
  const char* doc;            /* one or two plain sentences, for listings */
  void* self;                 /* first argument of every function; owned by the plugin */
  /* Registers parameters, buffers and children on `module` with the register slots of
   * service/modules.h. `attributes` has one value for each parameter of the schema; borrowed,
   * valid as long as the module. *state becomes the `state` of the other functions; it may stay
   * null. Any thread, once for each instance. */
  tenon_status(TENON_CALL* create)(void* self, tenon_module* module, const tenon_value* attributes,
                                   void** state, tenon_error** error);
  /* Computes the results. `arguments` has one value for each parameter of the forward schema, bound
   * as an op's are; borrowed, valid during the call. `results` receives one owned value for each
   * result of the schema. Gradients come from the ops that it calls. Any thread, several at the
   * same time. */
  tenon_status(TENON_CALL* forward)(void* self, void* state, tenon_module* module,
                                    const tenon_value* arguments, tenon_value* results,
                                    tenon_error** error);
  /* Frees `state`, once for each instance whose `state` is not null. Any thread. */
  void(TENON_CALL* destroy)(void* self, void* state);
  /* The text between the parentheses of the printed form, as a string value; owned. Null: the
   * attributes as name=value. Any thread. */
  tenon_status(TENON_CALL* extra_repr)(void* self, void* state, tenon_module* module,
                                       tenon_value* text, tenon_error** error);
  /* The handler of a mode: modes.enter_module enters an instance, and every op of that thread is
   * passed to this function; see tenon_handler_function. Called on the thread that entered it. */
  tenon_status(TENON_CALL* tenon_function)(void* self, void* state, tenon_module* module,
                                           const tenon_call* call, tenon_value* results,
                                           tenon_error** error);
  /* Makes *copy_state, the state of `copy`, whose members the host has copied already. Needed of
   * types whose instances have a state; without it they cannot be cloned. Any thread. */
  tenon_status(TENON_CALL* clone)(void* self, void* state, tenon_module* copy, void** copy_state,
                                  tenon_error** error);
} tenon_module_descriptor;

/* Settings: keys that a document of modules.create_json may have beside attributes. Growable: begins
 * with its size. Borrowed; valid during the creation. */
typedef struct tenon_module_settings {
  uint32_t size;  /* bytes of this struct */
  uint32_t count; /* entries of `keys` */
  /* In the order in which they are applied. An attribute of the same name takes precedence. */
  const char* const* keys;
  void* self; /* first argument of `apply` */
  /* Applies keys[index] to a module that was just made, and to all below it. Settings of an inner
   * module come before those of the outer. The host adds the place to the error's message.
   * Calling thread of the creation, or one that waits for it. */
  tenon_status(TENON_CALL* apply)(void* self, tenon_module* module, uint32_t index,
                                  const tenon_json* value, tenon_error** error);
  /* Makes *tensor, owned by the caller, for an attribute of type Tensor of what the document has for
   * it. Null: such attributes cannot be given. The host adds the place. Thread as for `apply`. */
  tenon_status(TENON_CALL* tensor)(void* self, const tenon_json* value, tenon_tensor** tensor,
                                   tenon_error** error);
} tenon_module_settings;

#endif
