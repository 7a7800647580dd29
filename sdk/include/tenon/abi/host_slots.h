/* Every host function, once: TENON_HOST_SLOTS(X) calls X(since, result, name, parameters) in slot
 * order.
 *
 * Rules: slots are appended at the end, never removed, retyped or reordered; each carries the ABI
 * minor that brought it. Fallible slots return a status and fill `error` when it is not null.
 * Pointers returned as `const` are borrowed; a tensor, string, list or tree put in an out parameter
 * is given: the caller releases it. "take" in a comment: the callee takes over the caller's
 * reference, on failure too. [any-thread] unless a comment says otherwise. */
#ifndef TENON_ABI_HOST_SLOTS_H
#define TENON_ABI_HOST_SLOTS_H

#define TENON_HOST_SLOTS(X)                                                                        \
  /* ---- errors ---- */                                                                           \
  /* Fills a slot (replacing what is in it) with kind and UTF-8 message; returns kind. */          \
  X(0, tenon_status, error_set,                                                                    \
    (tenon_error * *error, tenon_status kind, const char* message, int64_t length))                \
  X(0, tenon_status, error_kind, (const tenon_error* error))                                       \
  /* NUL-terminated, valid as long as the error. Empty string where the part is not known. */      \
  X(0, const char*, error_message, (const tenon_error* error))                                     \
  X(0, const char*, error_op, (const tenon_error* error))                                          \
  X(0, const char*, error_provider, (const tenon_error* error))                                    \
  /* The error that caused this one, or null. */                                                   \
  X(0, const tenon_error*, error_cause, (const tenon_error* error))                                \
  X(0, void, error_release, (tenon_error * error))                                                 \
  /* Fills a slot with a copy of `error`, its op, provider and cause included. */                  \
  X(0, void, error_pass, (tenon_error * *slot, const tenon_error* error))                          \
  /* ---- memory and values ---- */                                                                \
  /* 64-byte aligned; null when there is none left. Freed by free_memory with the same size. */    \
  X(0, void*, allocate, (int64_t bytes))                                                           \
  X(0, void, free_memory, (void* memory, int64_t bytes))                                           \
  /* Releases what a result value owns and sets it to none. */                                     \
  X(0, void, value_release, (tenon_value * value))                                                 \
  /* Copies bytes into a given string value. */                                                    \
  X(0, tenon_status, string_create,                                                                \
    (const char* data, int64_t length, tenon_value* result, tenon_error** error))                  \
  /* Frees blocks that the allocator keeps for reuse; sets the bytes that it may keep (< 0: same). \
   */                                                                                              \
  X(0, void, memory_release_cached, (int64_t keep_limit))                                          \
  /* ---- tensors ---- */                                                                          \
  /* Uninitialized, contiguous. */                                                                 \
  X(0, tenon_status, tensor_empty,                                                                 \
    (tenon_dtype dtype, int64_t rank, const int64_t* shape, tenon_tensor** result,                 \
     tenon_error** error))                                                                         \
  /* Wraps memory of the caller; `release(owner)` runs once when the last view is gone. */         \
  X(0, tenon_status, tensor_wrap,                                                                  \
    (tenon_dtype dtype, int64_t rank, const int64_t* shape, const int64_t* strides, void* data,    \
     void* owner, void (*release)(void* owner), tenon_tensor** result, tenon_error** error))       \
  /* A view that shares storage: `offset` in elements from base's first element. Bounds-checked.   \
   */                                                                                              \
  X(0, tenon_status, tensor_alias,                                                                 \
    (tenon_tensor * base, int64_t rank, const int64_t* shape, const int64_t* strides,              \
     int64_t offset, tenon_tensor** result, tenon_error** error))                                  \
  X(0, void, tensor_retain, (tenon_tensor * tensor))                                               \
  X(0, void, tensor_release, (tenon_tensor * tensor))                                              \
  /* References to this handle. */                                                                 \
  X(0, int64_t, tensor_use_count, (const tenon_tensor* tensor))                                    \
  X(0, int64_t, tensor_version, (const tenon_tensor* tensor))                                      \
  X(0, int32_t, tensor_shares_storage, (const tenon_tensor* a, const tenon_tensor* b))             \
  /* Elementwise copy with dtype conversion and broadcasting; not recorded. */                     \
  X(0, tenon_status, tensor_copy,                                                                  \
    (tenon_tensor * destination, const tenon_tensor* source, tenon_error** error))                 \
  /* Every element becomes the number; not recorded. */                                            \
  X(0, tenon_status, tensor_fill,                                                                  \
    (tenon_tensor * destination, const tenon_value* number, tenon_error** error))                  \
  /* The single element as BOOL, INT or FLOAT. */                                                  \
  X(0, tenon_status, tensor_item,                                                                  \
    (const tenon_tensor* tensor, tenon_value* result, tenon_error** error))                        \
  /* The text form, given as a string. */                                                          \
  X(0, tenon_status, tensor_text,                                                                  \
    (const tenon_tensor* tensor, tenon_value* result, tenon_error** error))                        \
  /* Common shape under broadcasting, into `shape` (TENON_MAX_RANK entries). */                    \
  X(0, tenon_status, broadcast_shapes,                                                             \
    (const tenon_tensor* const* tensors, int64_t count, int64_t* shape, int64_t* rank,             \
     tenon_error** error))                                                                         \
  /* The dtype that results from mixing two. */                                                    \
  X(0, tenon_dtype, promote_dtypes, (tenon_dtype a, tenon_dtype b))                                \
  /* ---- autograd: tensors ---- */                                                                \
  X(0, tenon_status, tensor_set_requires_grad,                                                     \
    (tenon_tensor * tensor, int32_t requires_grad, tenon_error * *error))                          \
  /* The accumulated gradient, given; null when there is none. */                                  \
  X(0, tenon_tensor*, tensor_grad, (tenon_tensor * tensor))                                        \
  X(0, tenon_status, tensor_set_grad,                                                              \
    (tenon_tensor * tensor, tenon_tensor * grad, tenon_error * *error))                            \
  X(0, int32_t, tensor_is_leaf, (const tenon_tensor* tensor))                                      \
  /* Name of the node that made it ("AddBackward0"), valid as long as the tensor; null on leaves.  \
   */                                                                                              \
  X(0, const char*, tensor_node_name, (const tenon_tensor* tensor))                                \
  X(0, tenon_status, tensor_retain_grad, (tenon_tensor * tensor, tenon_error * *error))            \
  /* Same storage, no history. */                                                                  \
  X(0, tenon_status, tensor_detach,                                                                \
    (tenon_tensor * tensor, tenon_tensor * *result, tenon_error * *error))                         \
  /* ---- autograd: engine ---- */                                                                 \
  /* Turns recording on or off for this thread; returns the previous setting. */                   \
  X(0, int32_t, grad_mode_set, (int32_t enabled))                                                  \
  X(0, int32_t, grad_mode, (void))                                                                 \
  /* Accumulates into leaves, or only into `inputs` when `input_count` >= 0. `seeds` may be null   \
   * or hold nulls where the root is a scalar. */                                                  \
  X(0, tenon_status, backward,                                                                     \
    (tenon_tensor* const* roots, tenon_tensor* const* seeds, int64_t root_count,                   \
     tenon_tensor* const* inputs, int64_t input_count, int32_t retain_graph, int32_t create_graph, \
     tenon_error** error))                                                                         \
  /* Gives one gradient for each input, never touching .grad. allow_unused: 0 an input that is not \
   * used is an error, 1 it gets null, 2 zeros. */                                                 \
  X(0, tenon_status, gradients,                                                                    \
    (tenon_tensor* const* roots, tenon_tensor* const* seeds, int64_t root_count,                   \
     tenon_tensor* const* inputs, int64_t input_count, int32_t retain_graph, int32_t create_graph, \
     int32_t allow_unused, tenon_tensor** results, tenon_error** error))                           \
  /* ---- autograd: forward mode ---- */                                                           \
  X(0, tenon_status, dual_level_enter, (tenon_error * *error))                                     \
  X(0, tenon_status, dual_level_exit, (tenon_error * *error))                                      \
  X(0, tenon_status, dual_make,                                                                    \
    (tenon_tensor * primal, tenon_tensor * tangent, tenon_tensor * *result, tenon_error * *error)) \
  /* Both given; tangent null when there is none. */                                               \
  X(0, tenon_status, dual_unpack,                                                                  \
    (tenon_tensor * dual, tenon_tensor * *primal, tenon_tensor * *tangent, tenon_error * *error))  \
  /* ---- contexts, in run, backward and jvp [this thread, during the callback] ---- */            \
  /* The call's arguments as bound; in rules tensors that were not saved read as none. */          \
  X(0, const tenon_value*, context_arguments, (const tenon_context* context))                      \
  /* A result that the op's `saves` keeps, borrowed; null otherwise. */                            \
  X(0, tenon_tensor*, context_result, (const tenon_context* context, int64_t index))               \
  X(0, int64_t, context_slot_count, (const tenon_context* context))                                \
  X(0, int32_t, context_needs_gradient, (const tenon_context* context, int64_t slot))              \
  /* Keeps tensors (nulls allowed) for the rules; in run only. */                                  \
  X(0, tenon_status, context_save,                                                                 \
    (tenon_context * context, tenon_tensor* const* tensors, int64_t count, tenon_error** error))   \
  X(0, int64_t, context_saved_count, (const tenon_context* context))                               \
  /* Given; null where nothing was saved. Checks the version. In backward reads what               \
   * context_save kept, in jvp what context_save_for_forward kept. */                              \
  X(0, tenon_status, context_saved,                                                                \
    (tenon_context * context, int64_t index, tenon_tensor * *result, tenon_error * *error))        \
  X(0, tenon_status, context_mark_dirty,                                                           \
    (tenon_context * context, tenon_tensor* const* tensors, int64_t count, tenon_error** error))   \
  X(0, tenon_status, context_mark_non_differentiable,                                              \
    (tenon_context * context, tenon_tensor* const* tensors, int64_t count, tenon_error** error))   \
  X(0, tenon_status, context_set_materialize_grads,                                                \
    (tenon_context * context, int32_t enabled, tenon_error * *error))                              \
  /* Takes the attribute; one of the same name is replaced. In run and jvp. */                     \
  X(0, tenon_status, context_set_attribute,                                                        \
    (tenon_context * context, tenon_attribute * attribute, tenon_error * *error))                  \
  /* Borrowed. An error when there is none of the name, or it is of another type. */               \
  X(0, tenon_status, context_attribute,                                                            \
    (const tenon_context* context, const tenon_string* name, const tenon_string* type,             \
     tenon_attribute** attribute, tenon_error** error))                                            \
  /* The answer of a backward or jvp rule. Takes the tensors. */                                   \
  X(0, tenon_status, context_give,                                                                 \
    (tenon_context * context, tenon_tensor* const* tensors, int64_t count, tenon_error** error))   \
  /* ---- ops ---- */                                                                              \
  /* By name; loads the plugin that declares it when need be. */                                   \
  X(0, tenon_status, op_find,                                                                      \
    (const char* name, int64_t length, const tenon_op** op, tenon_error** error))                  \
  X(0, const char*, op_name, (const tenon_op* op))                                                 \
  /* Calls with the first `count` parameters in schema order; the rest take their defaults.        \
   * `results` has as many slots as the schema has returns. */                                     \
  X(0, tenon_status, op_call,                                                                      \
    (const tenon_op* op, const tenon_value* arguments, int64_t count, tenon_value* results,        \
     tenon_error** error))                                                                         \
  /* The same with keyword arguments, bound and checked in Python's way. */                        \
  X(0, tenon_status, op_call_keywords,                                                             \
    (const tenon_op* op, const tenon_value* arguments, int64_t count,                              \
     const tenon_string* keywords, const tenon_value* keyword_values, int64_t keyword_count,       \
     tenon_value* results, tenon_error** error))                                                   \
  X(0, int64_t, op_result_count, (const tenon_op* op))                                             \
  /* ---- threads, randomness, log ---- */                                                         \
  /* Runs body over [begin, end) in chunks of at least `grain`; returns when all are done. The     \
   * first failing chunk's status and error are returned. Nested calls run serially. */            \
  X(0, tenon_status, parallel_for,                                                                 \
    (int64_t begin, int64_t end, int64_t grain,                                                    \
     tenon_status(*body)(void* state, int64_t begin, int64_t end, tenon_error** error),            \
     void* state, tenon_error** error))                                                            \
  X(0, int32_t, thread_count, (void))                                                              \
  X(0, void, thread_count_set, (int32_t count))                                                    \
  /* Reserves `count` 64-bit draws of the process's counter-based generator: draw i of the caller  \
   * is a pure function of *seed and *offset + i. */                                               \
  X(0, void, generator_reserve, (int64_t count, uint64_t * seed, uint64_t * offset))               \
  X(0, void, generator_seed, (uint64_t seed))                                                      \
  /* level: 0 trace, 1 debug, 2 info, 3 warning, 4 error; `source` names the logger. */            \
  X(0, void, log, (int32_t level, const char* source, const char* message, int64_t length))        \
  /* ---- trees: JSON-like documents, immutable ---- */                                            \
  X(0, tenon_status, tree_parse,                                                                   \
    (const char* json, int64_t length, tenon_tree** tree, tenon_error** error))                    \
  /* indent 0: one line. Given as a string. */                                                     \
  X(0, tenon_status, tree_json,                                                                    \
    (const tenon_tree* tree, int32_t indent, tenon_value* text, tenon_error** error))              \
  X(0, void, tree_retain, (tenon_tree * tree))                                                     \
  X(0, void, tree_release, (tenon_tree * tree))                                                    \
  /* Scalars as NONE, BOOL, INT, FLOAT or STRING (borrowed); arrays and objects as TREE. */        \
  X(0, tenon_value, tree_value, (const tenon_tree* tree))                                          \
  X(0, int32_t, tree_is_object, (const tenon_tree* tree))                                          \
  X(0, int64_t, tree_size, (const tenon_tree* tree))                                               \
  /* Child by position or key, borrowed from the tree; null when there is none. */                 \
  X(0, const tenon_tree*, tree_at, (const tenon_tree* tree, int64_t index))                        \
  X(0, const tenon_tree*, tree_find, (const tenon_tree* tree, const char* key, int64_t length))    \
  X(0, tenon_string, tree_key, (const tenon_tree* tree, int64_t index))                            \
  /* ---- listings and configuration ---- */                                                       \
  /* What is known, from facts alone: `what` is "plugins", "ops", "overridable", "ignored",        \
   * "modules", "op", "plugin", "module", "runtime", "live"; `name` filters. tools/README has the  \
   * shapes.                                                                                       \
   */                                                                                              \
  X(0, tenon_status, describe,                                                                     \
    (const char* what, const char* name, tenon_tree** tree, tenon_error** error))                  \
  /* (input, other, *, alpha=1, out=None): given as a string. */                                   \
  X(0, tenon_status, op_signature, (const char* name, tenon_value* text, tenon_error** error))     \
  /* Adds a folder in front of the search order. */                                                \
  X(0, tenon_status, plugin_path_add, (const char* folder, tenon_error** error))                   \
  /* Loads by id or path now. */                                                                   \
  X(0, tenon_status, plugin_load, (const char* id_or_path, tenon_error** error))                   \
  /* Reads and checks a config, reporting every fault; gives it normalized. Runs no plugin code.   \
   */                                                                                              \
  X(0, tenon_status, config_read, (const char* path, tenon_tree** config, tenon_error** error))    \
  /* Applies the plugin part of a config that config_read gave. */                                 \
  X(0, tenon_status, config_apply, (const tenon_tree* config, tenon_error** error))                \
  /* ---- modules ---- */                                                                          \
  X(0, tenon_status, module_create,                                                                \
    (const char* type, const tenon_value* attributes, int64_t count, const tenon_string* keywords, \
     const tenon_value* keyword_values, int64_t keyword_count, tenon_module** module,              \
     tenon_error** error))                                                                         \
  /* From {"type": "Linear", attribute: value, ...}; containers take "layers": [...]. */           \
  X(0, tenon_status, module_create_tree,                                                           \
    (const tenon_tree* tree, tenon_module** module, tenon_error** error))                          \
  X(0, void, module_retain, (tenon_module * module))                                               \
  X(0, void, module_release, (tenon_module * module))                                              \
  X(0, const char*, module_type, (const tenon_module* module))                                     \
  X(0, const tenon_value*, module_attributes, (const tenon_module* module))                        \
  /* Null tensors and modules register a known name without a value. A parameter requires grad: a  \
   * tensor that does not is left as it is, and a tensor on its memory registered, which           \
   * module_tensor gives; one that does is registered itself, so that modules can share it.        \
   * TypeError for dtypes that are not floating point. */                                          \
  X(0, tenon_status, module_register_parameter,                                                    \
    (tenon_module * module, const char* name, tenon_tensor* tensor, tenon_error** error))          \
  X(0, tenon_status, module_register_buffer,                                                       \
    (tenon_module * module, const char* name, tenon_tensor* tensor, int32_t persistent,            \
     tenon_error** error))                                                                         \
  X(0, tenon_status, module_register_child,                                                        \
    (tenon_module * module, const char* name, tenon_module* child, tenon_error** error))           \
  /* Own parameter or buffer, or by dotted name below; borrowed; null when it has no value. */     \
  X(0, tenon_status, module_tensor,                                                                \
    (tenon_module * module, const char* name, tenon_tensor** tensor, tenon_error** error))         \
  X(0, tenon_status, module_child,                                                                 \
    (tenon_module * module, const char* name, tenon_module** child, tenon_error** error))          \
  X(0, tenon_status, module_call,                                                                  \
    (tenon_module * module, const tenon_value* inputs, int64_t count, tenon_value* result,         \
     tenon_error** error))                                                                         \
  X(0, int32_t, module_training, (const tenon_module* module))                                     \
  X(0, void, module_train, (tenon_module * module, int32_t training))                              \
  /* Walks in registration order: names (dotted below; null: not wanted) and values, both given.   \
   * `what`: 0 parameters, 1 buffers, 2 children, 3 modules (self first, name ""). A tensor or     \
   * module that is registered several times comes once, under its first name, unless              \
   * TENON_WALK_DUPLICATES is added. */                                                            \
  X(0, tenon_status, module_walk,                                                                  \
    (tenon_module * module, int32_t what, int32_t recurse, int64_t * count, tenon_value * names,   \
     tenon_value * items, tenon_error * *error))                                                   \
  X(0, tenon_status, module_to, (tenon_module * module, tenon_dtype dtype, tenon_error * *error))  \
  X(0, tenon_status, module_text,                                                                  \
    (tenon_module * module, tenon_value * text, tenon_error * *error))                             \
  /* safetensors; save replaces the file as a whole or leaves the old one. */                      \
  X(0, tenon_status, module_save, (tenon_module * module, const char* path, tenon_error** error))  \
  /* strict 0: missing and unexpected keys are tolerated; sizes never. */                          \
  X(0, tenon_status, module_load,                                                                  \
    (tenon_module * module, const char* path, int32_t strict, tenon_error** error))                \
  /* ---- tensor files ---- */                                                                     \
  X(0, tenon_status, tensors_save,                                                                 \
    (const char* path, const tenon_string* names, tenon_tensor* const* tensors, int64_t count,     \
     tenon_error** error))                                                                         \
  /* Names as a string list, tensors as a tensor list, both given. */                              \
  X(0, tenon_status, tensors_load,                                                                 \
    (const char* path, tenon_value* names, tenon_value* tensors, tenon_error** error))             \
  /* Writes a whole file or leaves the old one. */                                                 \
  X(0, tenon_status, file_write,                                                                   \
    (const char* path, const char* data, int64_t length, tenon_error** error))                     \
  /* ---- tensor types ---- */                                                                     \
  /* By name; loads the plugin that declares it when need be. 0 is Tensor. */                      \
  X(0, tenon_status, type_find, (const char* name, uint32_t* type, tenon_error** error))           \
  /* Valid for the life of the process. */                                                         \
  X(0, const char*, type_name, (uint32_t type))                                                    \
  /* Whether it is the other or descends from it. */                                               \
  X(0, int32_t, type_is, (uint32_t type, uint32_t ancestor))                                       \
  /* A tensor without data, of a type unrelated to Tensor. `payload` points at zeroed memory of    \
   * the type's payload size, for the caller to construct in without fail; null when that is 0.    \
   * `payload` itself null: the payload is one that the type makes from nothing, or, where a       \
   * tensor is wrapped that has one, its own. */                                                   \
  X(0, tenon_status, typed_create,                                                                 \
    (uint32_t type, tenon_dtype dtype, int64_t rank, const int64_t* shape, void** payload,         \
     tenon_tensor** result, tenon_error** error))                                                  \
  /* One of a child type of Tensor, that shares data and history with `tensor`. */                 \
  X(0, tenon_status, typed_wrap,                                                                   \
    (uint32_t type, tenon_tensor * tensor, void** payload, tenon_tensor** result,                  \
     tenon_error** error))                                                                         \
  /* Valid as long as the tensor; null when it has none. */                                        \
  X(0, void*, typed_payload, (const tenon_tensor* tensor))                                         \
  /* Itself when it is a plain Tensor; given. */                                                   \
  X(0, tenon_status, tensor_to_plain,                                                              \
    (tenon_tensor * tensor, tenon_tensor * *result, tenon_error * *error))                         \
  /* From inside a handler or override: runs the next one up its type's line of descent, at the    \
   * end of which a Tensor's op runs and results are made the type. `arguments` null: the call's;  \
   * else one value for each parameter of the op. */                                               \
  X(0, tenon_status, call_parent,                                                                  \
    (const tenon_call* call, const tenon_value* arguments, tenon_value* results,                   \
     tenon_error** error))                                                                         \
  /* A value as it is printed: None, True, 0.4, 'text', tensor(1.), [1, 2]; given as a string. */  \
  X(0, tenon_status, value_text,                                                                   \
    (const tenon_value* value, tenon_value* text, tenon_error** error))                            \
  /* ---- hooks ---- */                                                                            \
  /* Hangs a hook of kind TENON_HOOK_TENSOR or _POST_ACCUMULATE on a tensor that requires grad. It \
   * stays with the node that made the tensor, should the tensor be changed in place. `state` is   \
   * taken; `destroy(state)` runs once the hook is removed, or its graph gone, and no longer       \
   * running. `hook` is given, or null: not wanted. */                                             \
  X(0, tenon_status, tensor_add_hook,                                                              \
    (tenon_tensor * tensor, int32_t kind, tenon_hook_function function, void* state,               \
     void (*destroy)(void* state), tenon_hook** hook, tenon_error** error))                        \
  /* By the id of a hook that was hung on this tensor. ArgumentError when there is none. */        \
  X(0, tenon_status, tensor_remove_hook,                                                           \
    (tenon_tensor * tensor, int64_t id, tenon_error * *error))                                     \
  /* The same on a node, of kind TENON_HOOK_NODE_BEFORE or _NODE_AFTER. */                         \
  X(0, tenon_status, node_add_hook,                                                                \
    (tenon_node * node, int32_t kind, tenon_hook_function function, void* state,                   \
     void (*destroy)(void* state), tenon_hook** hook, tenon_error** error))                        \
  X(0, int64_t, hook_id, (const tenon_hook* hook))                                                 \
  /* It does not run again, in a backward under way neither. Does nothing when it is gone. */      \
  X(0, void, hook_remove, (tenon_hook * hook))                                                     \
  X(0, void, hook_retain, (tenon_hook * hook))                                                     \
  X(0, void, hook_release, (tenon_hook * hook))                                                    \
  /* Of the backward that runs on this thread: a number of its own, 0 when none runs; and whether  \
   * it takes a gradient to where the hook hangs. */                                               \
  X(0, int64_t, backward_id, (void))                                                               \
  X(0, int32_t, backward_reaches, (const tenon_hook* hook))                                        \
  /* ---- nodes and graphs ---- */                                                                 \
  /* Brings a view of a changed base up to date before it answers. */                              \
  X(0, int32_t, tensor_requires_grad, (tenon_tensor * tensor))                                     \
  /* The node that made the tensor, given; null on leaves. */                                      \
  X(0, tenon_node*, tensor_node, (tenon_tensor * tensor))                                          \
  X(0, void, node_retain, (tenon_node * node))                                                     \
  X(0, void, node_release, (tenon_node * node))                                                    \
  X(0, void, node_read, (tenon_node * node, tenon_node_info * info))                               \
  /* Where the gradient of input `index` goes, given, and to which of its outputs; null: nowhere.  \
   */                                                                                              \
  X(0, tenon_node*, node_edge, (tenon_node * node, int64_t index, uint32_t * output))              \
  /* The graph behind the roots: {"roots": [{"node", "output"}...], "nodes": [{"id", "name", "op", \
   * "plugin", "sequence", "saved_tensors", "saved_bytes", "released", "ctx-stashed",              \
   * "stashed_tensors", "attribute_bytes", "edges": [{"input", "node", "output"}...]}...]}; a      \
   * node's id is its position. */                                                                 \
  X(0, tenon_status, graph_describe,                                                               \
    (tenon_tensor* const* roots, int64_t count, tenon_tree** tree, tenon_error** error))           \
  /* ---- modes of this thread; each returns the previous setting ---- */                          \
  /* Tensors made in inference mode never take part in a recording; nothing is recorded in it. */  \
  X(0, int32_t, inference_mode_set, (int32_t enabled))                                             \
  X(0, int32_t, inference_mode, (void))                                                            \
  /* 1: recorded calls remember where they were made, and errors of backward say so; 2: so do      \
   * gradients that are not numbers. */                                                            \
  X(0, int32_t, anomaly_mode_set, (int32_t level))                                                 \
  X(0, int32_t, anomaly_mode, (void))                                                              \
  /* From when it is on, nodes are counted by provider: describe("live"). For the process. */      \
  X(0, int32_t, live_tracking_set, (int32_t enabled))                                              \
  /* ---- contexts, continued ---- */                                                              \
  /* Borrowed. Refuses an index beyond the parameters, and in rules a tensor that nobody kept. */  \
  X(0, tenon_status, context_argument,                                                             \
    (const tenon_context* context, int64_t index, const tenon_value** value, tenon_error** error)) \
  /* Keeps tensors (nulls allowed) for the jvp; in run only. */                                    \
  X(0, tenon_status, context_save_for_forward,                                                     \
    (tenon_context * context, tenon_tensor* const* tensors, int64_t count, tenon_error** error))   \
  /* In run and jvp. An error when there is none of the name. */                                   \
  X(0, tenon_status, context_erase_attribute,                                                      \
    (tenon_context * context, const tenon_string* name, tenon_error** error))                      \
  /* Tensor `index` of an attribute, given. Where its use is being recorded it comes with a        \
   * history that refuses to be differentiated. */                                                 \
  X(0, tenon_status, context_attribute_tensor,                                                     \
    (const tenon_context* context, const tenon_attribute* attribute, int64_t index,                \
     tenon_tensor** result, tenon_error** error))                                                  \
  /* TENON_BACKWARD_ bits of the call that runs this backward; in backward only. */                \
  X(0, tenon_status, context_backward_options,                                                     \
    (const tenon_context* context, uint32_t* options, tenon_error** error))                        \
  /* Hands the gradients that backward was given over to it: once, in backward only. The rule      \
   * releases each as soon as it can. */                                                           \
  X(0, tenon_status, context_take_gradients,                                                       \
    (tenon_context * context, int64_t count, tenon_tensor * *gradients, tenon_error * *error))     \
  /* ---- autograd: saved tensors and gradients [this thread, until the matching pop] ---- */      \
  /* Copies the struct; nothing is called on it when this fails. */                                \
  X(0, tenon_status, saved_hooks_push, (const tenon_saved_hooks* hooks, tenon_error** error))      \
  /* Until the pop, saved_hooks_push fails with this message. */                                   \
  X(0, tenon_status, saved_hooks_disable,                                                          \
    (const char* message, int64_t length, tenon_error** error))                                    \
  X(0, tenon_status, saved_hooks_pop, (tenon_error * *error))                                      \
  /* A Function's gradient that is broadcast-larger than its input is an error instead of summed;  \
   * returns the previous setting of this thread. */                                               \
  X(0, int32_t, strict_gradients_set, (int32_t enabled))                                           \
  /* ---- ops, continued ---- */                                                                   \
  /* Binds keyword-only parameters alone, strictly: gives their names as a string list and their   \
   * values (room for 32) in schema order; `positional` is how many parameters come before. */     \
  X(0, tenon_status, op_bind_attributes,                                                           \
    (const tenon_op* op, const tenon_string* keywords, const tenon_value* keyword_values,          \
     int64_t keyword_count, int64_t* positional, tenon_value* names, tenon_value* values,          \
     tenon_error** error))                                                                         \
  /* ---- modes ---- */                                                                            \
  /* Asks `handler` for every op that this thread calls, factories included, until it is left: the \
   * innermost first, before types; while it runs it is not asked itself, and call_parent goes on  \
   * outside of it. `below`: asked below autograd instead, for what is run. [this-thread] */       \
  X(0, tenon_status, mode_enter,                                                                   \
    (const char* name, tenon_handler_function handler, void* self, int32_t below,                  \
     tenon_mode** mode, tenon_error** error))                                                      \
  /* Takes it out of force, whatever happens; an error when it is not the innermost, or was        \
   * entered on another thread. */                                                                 \
  X(0, tenon_status, mode_leave, (tenon_mode * mode, tenon_error * *error))                        \
  /* Modes above autograd that are in force on this thread. */                                     \
  X(0, int64_t, mode_count, (void))                                                                \
  /* ---- telling ---- */                                                                          \
  /* Whether ops ask operands of the type: it has a handler, an override or a fallback, or it is a \
   * child of Tensor. 0 for Tensor itself. */                                                      \
  X(0, int32_t, type_dispatches, (uint32_t type))                                                  \
  /* Binds as op_call or op_call_keywords does, with its errors, and calls nothing. */             \
  X(0, tenon_status, op_bind,                                                                      \
    (const tenon_op* op, const tenon_value* arguments, int64_t count,                              \
     const tenon_string* keywords, const tenon_value* keyword_values, int64_t keyword_count,       \
     tenon_error** error))                                                                         \
  /* What op_call or op_call_keywords would do now, and why; calls nothing.                        \
   * core/runtime/explain.hpp has the shape; a call that would fail is explained by its error. */  \
  X(0, tenon_status, op_explain,                                                                   \
    (const tenon_op* op, const tenon_value* arguments, int64_t count,                              \
     const tenon_string* keywords, const tenon_value* keyword_values, int64_t keyword_count,       \
     tenon_tree** tree, tenon_error** error))                                                      \
  /* Until trace_leave, `write` is handed a line for each event of this thread's calls: text, its  \
   * indent the nesting, or JSON where `json` is 1. It must not call ops. [this-thread] */         \
  X(0, tenon_status, trace_enter,                                                                  \
    (int32_t json, void (*write)(void* self, const char* line, int64_t length), void* self,        \
     tenon_trace** trace, tenon_error** error))                                                    \
  X(0, tenon_status, trace_leave, (tenon_trace * trace, tenon_error * *error))                     \
  /* ---- overrides that are registered ---- */                                                    \
  /* By key, "add[A, B]", types in any order; loads the plugins of the types. `provider` null or   \
   * empty: the one that ranks first. ValueError when there is none. */                            \
  X(0, tenon_status, override_find,                                                                \
    (const char* key, const char* provider, const tenon_override** entry, tenon_error** error))    \
  /* Id of the plugin that it is from; NUL-terminated. */                                          \
  X(0, const char*, override_provider, (const tenon_override* entry))                              \
  /* Calls it with arguments of its op, whoever would be asked by a call of that, switched off or  \
   * not. It may decline. TypeError when it is not for such operands. */                           \
  X(0, tenon_status, override_call,                                                                \
    (const tenon_override* entry, const tenon_value* arguments, int64_t count,                     \
     const tenon_string* keywords, const tenon_value* keyword_values, int64_t keyword_count,       \
     tenon_value* results, tenon_error** error))                                                   \
  /* Switched off until as many calls have switched it on. For the process; calls that run go on.  \
   * override_enable does nothing when it is on. */                                                \
  X(0, void, override_disable, (const tenon_override* entry))                                      \
  X(0, void, override_enable, (const tenon_override* entry))                                       \
  X(0, int32_t, override_enabled, (const tenon_override* entry))                                   \
  /* mode_enter with a module whose type has a tenon_function; it is kept until the mode is left.  \
   * TypeError for other modules. [this-thread] */                                                 \
  X(0, tenon_status, mode_enter_module,                                                            \
    (tenon_module * module, int32_t below, tenon_mode * *mode, tenon_error * *error))              \
  /* op_call by a typed wrapper, which passes its C++ default arguments as well: handlers and      \
   * modes see as not given what equals its default, at the end or behind '*'. */                  \
  X(0, tenon_status, op_call_filled,                                                               \
    (const tenon_op* op, const tenon_value* arguments, int64_t count, tenon_value* results,        \
     tenon_error** error))                                                                         \
  /* Replaces what calls of this thread do not ask, TENON_DISABLE_ bits; returns the previous      \
   * bits. Calling thread only. */                                                                 \
  X(0, uint32_t, dispatch_disable, (uint32_t what))                                                \
  X(0, uint32_t, dispatch_disabled, (void))                                                        \
  /* 1 where the schema writes the results in parentheses: "(Tensor y)" is a tuple of one,         \
   * "Tensor" is not. [any-thread] */                                                              \
  X(0, int32_t, op_returns_tuple, (const tenon_op* op))                                            \
  /* ---- tensor types, continued ---- */                                                          \
  /* type_find for a caller that reads payloads: TypeError when the plugin that registered the     \
   * type has another layout of them. A layout of size 0 reads nothing and fits. */                \
  X(0, tenon_status, type_find_layout,                                                             \
    (const char* name, const tenon_payload_layout* layout, uint32_t* type, tenon_error** error))   \
  /* ---- documents, continued ---- */                                                             \
  /* Where a node of a config is written, as messages say it: "FILE:3:14: /plugins/0/name".        \
   * Without a file the JSON pointer alone; empty for a root that code made. Gives a string. Any   \
   * thread. */                                                                                    \
  X(0, tenon_status, tree_place, (const tenon_tree* tree, tenon_value* text, tenon_error** error)) \
  /* An object of members, or an array where `keys` is null. Values are numbers, strings, none and \
   * trees, whose nodes are copied; TypeError for others. Gives a new reference. Any thread. */    \
  X(0, tenon_status, tree_create,                                                                  \
    (const tenon_string* keys, const tenon_value* values, int64_t count, tenon_tree** tree,        \
     tenon_error** error))                                                                         \
  /* config_apply that loads nothing: plugins with "load": "eager" wait for their first use. */    \
  X(0, tenon_status, config_apply_lazily, (const tenon_tree* config, tenon_error** error))         \
  /* ---- words in messages ---- */                                                                \
  /* " (did you mean 'add'?)" for the candidate that a mistyped word most likely means, or "".     \
   * Gives a string. Any thread. */                                                                \
  X(0, tenon_status, text_suggestion,                                                              \
    (const char* word, int64_t length, const tenon_string* candidates, int64_t count,              \
     tenon_value* text, tenon_error** error))                                                      \
  /* The text for a terminal: what it would obey, and bytes that are not UTF-8, written as         \
   * escapes; line breaks and tabs stay. Gives a string. Any thread. */                            \
  X(0, tenon_status, text_printable,                                                               \
    (const char* bytes, int64_t length, tenon_value* text, tenon_error** error))                   \
  /* ---- kernels ---- */                                                                          \
  /* The TENON_ISA_ number of the loops that run: the best of the machine, or less where the       \
   * environment variable TENON_ISA says so. [any-thread] */                                       \
  X(0, uint32_t, machine_isa, (void))                                                              \
  /* ---- reads by name or index that are checked ---- */                                          \
  /* Borrowed; null where the result is not a tensor or `saves` does not keep it. IndexError       \
   * beyond the results; in backward and jvp only. Calling thread only. */                         \
  X(0, tenon_status, context_kept_result,                                                          \
    (const tenon_context* context, int64_t index, tenon_tensor** result, tenon_error** error))     \
  /* The place of a parameter of the op. IndexError when it has none of the name. Any thread. */   \
  X(0, tenon_status, op_parameter,                                                                 \
    (const tenon_op* op, const char* name, int64_t length, int64_t* index, tenon_error** error))   \
  /* Borrowed; valid as long as the module. IndexError when its type has no attribute of the name. \
   * Any thread. */                                                                                \
  X(0, tenon_status, module_attribute,                                                             \
    (const tenon_module* module, const char* name, int64_t length, const tenon_value** value,      \
     tenon_error** error))

#endif
