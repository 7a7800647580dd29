/* Modules: trees of named tensors with a forward.
 *
 * A slot: makes a module, changes or lists its members, runs it. Not a slot: what follows from
 * members and forward (files, summaries, training loops); a single type of module.
 *
 *   tenon_module* layer = NULL;
 *   tenon_status status =
 *       tenon_modules->create("Linear", sizes, 2, NULL, NULL, 0, &layer, error);
 *   if (status == TENON_OK)
 *     status = tenon_modules->call(layer, &input, 1, NULL, NULL, 0, results, 1, error);
 *
 * Any thread; threads that change one module synchronize themselves. `create` and `clone` return
 * new references. */
#ifndef TENON_ABI_SERVICE_MODULES_H
#define TENON_ABI_SERVICE_MODULES_H

#include "service.h"
#include "tenon/abi/module.h"
#include "tenon/abi/module_hooks.h"

#define TENON_MODULES_VERSION 1 /* newest version of the table; grows with its slots */

/* Named "tenon.modules". */
typedef struct tenon_modules_service {
  tenon_service head; /* size and version */

  /* Makes a module of a type; loads the plugin that declares it. Attributes are bound as the
   * arguments of a call. New reference. Any thread. */
  tenon_status(TENON_CALL* create)(const char* type, const tenon_value* attributes, int64_t count,
                                   const tenon_string* keywords, const tenon_value* keyword_values,
                                   int64_t keyword_count, tenon_module** module,
                                   tenon_error** error);
  /* Makes a module from {"type": "Linear", attribute: value, ...}, or the name of a type; an
   * attribute that is a module is such a document itself. `settings` are keys that documents have
   * beside attributes; null: those of the creation that runs on this thread, if any. ConfigError
   * names all faults with their places. New reference. Any thread. */
  tenon_status(TENON_CALL* create_json)(const tenon_json* document,
                                        const tenon_module_settings* settings,
                                        tenon_module** module, tenon_error** error);
  /* Adds a reference. Any thread. */
  void(TENON_CALL* retain)(tenon_module* module);
  /* Drops a reference; the last one destroys the module. May be null. Any thread. */
  void(TENON_CALL* release)(tenon_module* module);
  /* Full name of the type. Borrowed; valid as long as the module. Any thread. */
  const char*(TENON_CALL* type)(const tenon_module* module);
  /* One value for each parameter of the type's schema. Borrowed; valid as long as the module. Any
   * thread. */
  const tenon_value*(TENON_CALL* attributes)(const tenon_module* module);
  /* The attribute that is named so in the module's schema. IndexError when no attribute is.
   * Borrowed; valid as long as the module. Any thread. */
  tenon_status(TENON_CALL* attribute)(const tenon_module* module, const char* name, int64_t length,
                                      const tenon_value** value, tenon_error** error);
  /* Registers a parameter, which requires grad. A tensor that does not is left as it is: the
   * parameter is another tensor on its memory, see tensor. One that does is registered itself, so
   * that modules can share it. `tensor` may be null: a known name without a value. TypeError for a
   * dtype that is not floating point. Any thread. */
  tenon_status(TENON_CALL* register_parameter)(tenon_module* module, const char* name,
                                               tenon_tensor* tensor, tenon_error** error);
  /* Registers a buffer: a tensor that is not trained. `persistent` 0 keeps it out of files. The
   * host retains it. `tensor` may be null. Any thread. */
  tenon_status(TENON_CALL* register_buffer)(tenon_module* module, const char* name,
                                            tenon_tensor* tensor, int32_t persistent,
                                            tenon_error** error);
  /* Registers a child module, which the host retains. `child` may be null. Any thread. */
  tenon_status(TENON_CALL* register_child)(tenon_module* module, const char* name,
                                           tenon_module* child, tenon_error** error);
  /* A parameter or buffer by name, dotted below: "0.weight". Null when it has no value. Borrowed;
   * valid as long as the module. Any thread. */
  tenon_status(TENON_CALL* tensor)(tenon_module* module, const char* name, tenon_tensor** tensor,
                                   tenon_error** error);
  /* A child by name, dotted below. Null when it has no value. Borrowed; valid as long as the
   * module. Any thread. */
  tenon_status(TENON_CALL* child)(tenon_module* module, const char* name, tenon_module** child,
                                  tenon_error** error);
  /* Lists members in registration order. `what`: 0 parameters, 1 buffers, 2 children, 3 modules,
   * the module itself first under the name ""; with TENON_WALK_DUPLICATES added, a member that is
   * registered several times comes under each of its names instead of the first, and with
   * TENON_WALK_ABSENT added to children, names without a value come too, as null. `recurse` 1 goes
   * below children. `names` receives a string list and may be null, `items` a tensor or module
   * list. Owned. Any thread. */
  tenon_status(TENON_CALL* walk)(tenon_module* module, int32_t what, int32_t recurse,
                                 int64_t* count, tenon_value* names, tenon_value* items,
                                 tenon_error** error);
  /* Gives a registered name another value: none, a tensor, or a module, as its kind asks. `flags`:
   * TENON_ASSIGN_ bits. TypeError for a value of another kind. Any thread. */
  tenon_status(TENON_CALL* assign)(tenon_module* module, const char* name, int64_t length,
                                   const tenon_value* value, uint32_t flags, tenon_error** error);
  /* From now on *location, a tenon_tensor* or tenon_module*, follows the value of the name. It is
   * null or another reference before and after, which its owner releases in the end, after unbind.
   * One location for each name. Any thread. */
  tenon_status(TENON_CALL* bind)(tenon_module* module, const char* name, int64_t length,
                                 void** location, tenon_error** error);
  /* Ends that. Any thread. */
  void(TENON_CALL* unbind)(tenon_module* module, const char* name, int64_t length);
  /* Gives an instance of a type with TENON_MODULE_OWN_FORWARD its forward schema. In create. Any
   * thread. */
  tenon_status(TENON_CALL* set_forward)(tenon_module* module, const char* schema, int64_t length,
                                        tenon_error** error);
  /* The forward schema's text, and how many results it has; both may be null. Borrowed; valid as
   * long as the module. TypeError where there is none. Any thread. */
  tenon_status(TENON_CALL* forward)(const tenon_module* module, tenon_string* schema,
                                    int64_t* results, tenon_error** error);
  /* Binds arguments to the forward schema as an op's are bound, and runs forward. `results` has
   * room for eight values; one is written for each result of the schema. TypeError, before forward
   * runs, when these are not `result_count`; -1: any number. Owned. Any thread. */
  tenon_status(TENON_CALL* call)(tenon_module* module, const tenon_value* arguments, int64_t count,
                                 const tenon_string* keywords, const tenon_value* keyword_values,
                                 int64_t keyword_count, tenon_value* results, int64_t result_count,
                                 tenon_error** error);
  /* 1 in training mode, which modules start in. Any thread. */
  int32_t(TENON_CALL* training)(const tenon_module* module);
  /* Sets training mode of the module and all below it. Any thread. */
  void(TENON_CALL* train)(tenon_module* module, int32_t training);
  /* Converts floating-point parameters, buffers and their gradients in place: all or none. Any
   * thread. */
  tenon_status(TENON_CALL* to)(tenon_module* module, tenon_dtype dtype, tenon_error** error);
  /* A copy with its own tensors; what is shared inside stays shared. RuntimeError names a type
   * that cannot copy its state. New reference. Any thread. */
  tenon_status(TENON_CALL* clone)(tenon_module* module, tenon_module** copy, tenon_error** error);
  /* Parameters and persistent buffers under each of their names: a string list and a tensor list.
   * Runs no hooks. Owned. Any thread. */
  tenon_status(TENON_CALL* state)(tenon_module* module, tenon_value* names, tenon_value* tensors,
                                  tenon_error** error);
  /* Runs the hooks of one of the kinds around saving and loading, those of all modules first.
   * `values` are the inputs of that kind, owned by the caller: a list that a hook gives takes the
   * place of the list that was there, so that the next hook sees it. TypeError for a list of
   * another kind. Calling thread only. */
  tenon_status(TENON_CALL* run_hooks)(tenon_module* module, int32_t kind, tenon_value* values,
                                      int64_t count, tenon_error** error);
  /* Registers a hook of a kind of module_hooks.h on a module, or on all modules when `module` is
   * null. `flags`: TENON_HOOK_PREPEND, TENON_HOOK_ALWAYS_CALL; ArgumentError for others, and for
   * an unknown kind. Takes `state`: `destroy(state)` runs once, on any thread, when the hook was
   * removed or its module is gone, and it no longer runs. `destroy` may be null. `hook` receives a
   * new reference to its handle; it may be null. Any thread, also while the module is called: a
   * call sees the hooks that are there when their turn comes. */
  tenon_status(TENON_CALL* add_hook)(tenon_module* module, int32_t kind, uint32_t flags,
                                     tenon_module_hook_function function, void* state,
                                     void(TENON_CALL* destroy)(void* state), tenon_hook** hook,
                                     tenon_error** error);
  /* 1 where the module has hooks of one of the kinds, its own or those of all modules; 0 for null.
   * `kinds`: a bit 1 << kind for each. Any thread. */
  int32_t(TENON_CALL* has_hooks)(const tenon_module* module, uint32_t kinds);
  /* A number of the instance, by which nodes know the module that recorded them: from 1 in the order of
   * creation; behind 4,294,967,295 modules 0 once, then they repeat. 0 for null. Any thread. */
  uint64_t(TENON_CALL* number)(const tenon_module* module);
} tenon_modules_service;

#endif
