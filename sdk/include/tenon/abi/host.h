/* The host's services: one append-only table of functions, headed by its versions and size.
 *
 * Rules for every slot:
 * - Slots are appended at the end; none is removed, retyped or moved.
 * - A slot that can fail returns a status. It fills `error` when `error` is not null; the caller
 *   then owns the error. On failure no out parameter owns anything.
 * - Pointers must not be null unless the slot says "may be null". Names and paths given as one
 *   `const char*` are NUL-terminated; text with a length is not. All text is UTF-8.
 * - Arguments are borrowed for the call unless the slot says "takes".
 *
 * Phrases:
 *   "New reference."         the caller owns it and releases it with the matching _release slot
 *   "Owned."                 of a value: the caller calls value_release
 *   "Borrowed; valid ..."    the caller must not release it, and retains it to keep it longer
 *   "Takes X."               the callee owns X from then on, on failure too
 *   "Any thread."            several threads may call it at the same time. Threads that change one
 *                            object (a tensor's data, a module's entries) synchronize themselves.
 *   "Calling thread only."   acts on state of the thread that calls: its modes, its scopes, or a
 *                            context, which is valid on the thread that runs the callback */
#ifndef TENON_ABI_HOST_H
#define TENON_ABI_HOST_H

#include <stdint.h>

#include "attributes.h"
#include "autograd.h"
#include "error.h"
#include "json.h"
#include "module.h"
#include "module_hooks.h"
#include "op.h"
#include "saved_hooks.h"
#include "tensor.h"
#include "type.h"
#include "value.h"
#include "version.h"

#define TENON_HOST_MAGIC 0x6f6e6574u /* "teno" */

/* What plugin_unload does while something holds the plugin. */
enum {
  TENON_UNLOAD_REFUSE = 0, /* fails, and changes nothing */
  TENON_UNLOAD_WAIT = 1,   /* withdraws it, and waits until nothing does */
  TENON_UNLOAD_FORCE = 2   /* withdraws it, and returns: it goes when nothing holds it */
};

/* One table per process, the same for every plugin and application; it never changes. A slot past
 * `size` does not exist in this host: check before calling one that is newer than your minor. */
typedef struct tenon_host {
  uint32_t magic; /* TENON_HOST_MAGIC */
  uint32_t size;  /* bytes of this table in the running host */
  uint32_t abi_major;
  uint32_t abi_minor;

  /* ---- errors ---- */

  /* Stores kind and message in `*error`, replacing what is there; returns `kind`. A kind out of
   * range becomes TENON_ERROR_RUNTIME. `error` may be null. Any thread. */
  tenon_status(TENON_CALL* error_set)(tenon_error** error, tenon_status kind, const char* message,
                                      int64_t length);
  /* TENON_OK for null. Any thread. */
  tenon_status(TENON_CALL* error_kind)(const tenon_error* error);
  /* NUL-terminated; "" for null. Borrowed; valid as long as the error. Any thread. */
  const char*(TENON_CALL* error_message)(const tenon_error* error);
  /* Full name of the op that failed; "" when it is not known. Borrowed; valid as long as the error.
   * Any thread. */
  const char*(TENON_CALL* error_op)(const tenon_error* error);
  /* Id of that op's plugin; "" when it is not known. Borrowed; valid as long as the error.
   * Any thread. */
  const char*(TENON_CALL* error_provider)(const tenon_error* error);
  /* The error that caused this one; null when there is none. Borrowed; valid as long as the error.
   * Any thread. */
  const tenon_error*(TENON_CALL* error_cause)(const tenon_error* error);
  /* Frees the error. May be null. Any thread. */
  void(TENON_CALL* error_release)(tenon_error* error);
  /* Stores a copy of `error`, with its op, provider and cause, in `*slot`. The caller keeps
   * `error`. Both may be null. Any thread. */
  void(TENON_CALL* error_pass)(tenon_error** slot, const tenon_error* error);

  /* ---- memory and values ---- */

  /* Uninitialized memory, aligned to 64 bytes; null when there is not enough. Owned: free it with
   * free_memory, or put it into a result value. Any thread. */
  void*(TENON_CALL* allocate)(int64_t bytes);
  /* `bytes` as given to allocate. May be null. Any thread, also another than allocated it. */
  void(TENON_CALL* free_memory)(void* memory, int64_t bytes);
  /* Releases what an owned value owns, and sets it to none. Any thread. */
  void(TENON_CALL* value_release)(tenon_value* value);
  /* `result` becomes a string value with a copy of the bytes. Owned. Any thread. */
  tenon_status(TENON_CALL* string_create)(const char* data, int64_t length, tenon_value* result,
                                          tenon_error** error);
  /* Returns unused blocks that the allocator keeps for reuse to the system, and sets how many bytes
   * it may keep from now on; a negative limit leaves it as it is. Any thread. */
  void(TENON_CALL* memory_release_cached)(int64_t keep_limit);

  /* ---- tensors ---- */

  /* An uninitialized, contiguous tensor. New reference. Any thread. */
  tenon_status(TENON_CALL* tensor_empty)(tenon_dtype dtype, int64_t rank, const int64_t* shape,
                                         tenon_tensor** result, tenon_error** error);
  /* A tensor over memory of the caller: `data` is the first element, `strides` count elements.
   * New reference. `release(owner)` runs once, on any thread, when no tensor uses the memory any
   * more; on failure it does not run. `release` may be null. Any thread. */
  tenon_status(TENON_CALL* tensor_wrap)(tenon_dtype dtype, int64_t rank, const int64_t* shape,
                                        const int64_t* strides, void* data, void* owner,
                                        void (*release)(void* owner), tenon_tensor** result,
                                        tenon_error** error);
  /* A tensor that shares the storage of `base`; its first element is `offset` elements after the
   * first of `base`. ValueError when it would reach outside of the storage. Not recorded.
   * New reference. Any thread. */
  tenon_status(TENON_CALL* tensor_alias)(tenon_tensor* base, int64_t rank, const int64_t* shape,
                                         const int64_t* strides, int64_t offset,
                                         tenon_tensor** result, tenon_error** error);
  /* Adds a reference. Any thread. */
  void(TENON_CALL* tensor_retain)(tenon_tensor* tensor);
  /* Drops a reference; the last one destroys the tensor. May be null. Any thread. */
  void(TENON_CALL* tensor_release)(tenon_tensor* tensor);
  /* References to this handle; a snapshot when other threads hold some. Any thread. */
  int64_t(TENON_CALL* tensor_use_count)(const tenon_tensor* tensor);
  /* How often the tensor's storage was changed in place; 0 for null. Any thread. */
  int64_t(TENON_CALL* tensor_version)(const tenon_tensor* tensor);
  /* 1 when both have the same storage, even where their elements do not overlap. Any thread. */
  int32_t(TENON_CALL* tensor_shares_storage)(const tenon_tensor* a, const tenon_tensor* b);
  /* Copies element by element, converts the dtype and broadcasts `source`. Not recorded.
   * Any thread. */
  tenon_status(TENON_CALL* tensor_copy)(tenon_tensor* destination, const tenon_tensor* source,
                                        tenon_error** error);
  /* Sets every element to a BOOL, INT or FLOAT. Not recorded. Any thread. */
  tenon_status(TENON_CALL* tensor_fill)(tenon_tensor* destination, const tenon_value* number,
                                        tenon_error** error);
  /* The only element of a tensor, as BOOL, INT or FLOAT. Any thread. */
  tenon_status(TENON_CALL* tensor_item)(const tenon_tensor* tensor, tenon_value* result,
                                        tenon_error** error);
  /* The printed form, "tensor([1., 2.])", as a string. Owned. Any thread. */
  tenon_status(TENON_CALL* tensor_text)(const tenon_tensor* tensor, tenon_value* result,
                                        tenon_error** error);
  /* The common shape under broadcasting. `shape` has room for TENON_MAX_RANK sizes. Any thread. */
  tenon_status(TENON_CALL* broadcast_shapes)(const tenon_tensor* const* tensors, int64_t count,
                                             int64_t* shape, int64_t* rank, tenon_error** error);
  /* The dtype of what mixes both; TENON_DTYPE_NONE where there is none (u16, u32 and u64 mix with
   * floating and complex dtypes alone). Any thread. */
  tenon_dtype(TENON_CALL* promote_dtypes)(tenon_dtype a, tenon_dtype b);

  /* ---- autograd: tensors ---- */

  /* Makes a leaf require grad, or stops that. Any thread. */
  tenon_status(TENON_CALL* tensor_set_requires_grad)(tenon_tensor* tensor, int32_t requires_grad,
                                                     tenon_error** error);
  /* The accumulated gradient (.grad). New reference; null when there is none. Any thread. */
  tenon_tensor*(TENON_CALL* tensor_grad)(tenon_tensor* tensor);
  /* Replaces the accumulated gradient, which is retained. `grad` may be null, to clear it.
   * Any thread. */
  tenon_status(TENON_CALL* tensor_set_grad)(tenon_tensor* tensor, tenon_tensor* grad,
                                            tenon_error** error);
  /* 1 when no recorded op made the tensor. Any thread. */
  int32_t(TENON_CALL* tensor_is_leaf)(const tenon_tensor* tensor);
  /* Name of the node that made the tensor, "AddBackward0"; null on leaves. Borrowed; valid as long
   * as the tensor. Any thread. */
  const char*(TENON_CALL* tensor_node_name)(const tenon_tensor* tensor);
  /* Has backward keep the gradient of a tensor that is not a leaf in its .grad. Any thread. */
  tenon_status(TENON_CALL* tensor_retain_grad)(tenon_tensor* tensor, tenon_error** error);
  /* A tensor with the same storage and without history. New reference. Any thread. */
  tenon_status(TENON_CALL* tensor_detach)(tenon_tensor* tensor, tenon_tensor** result,
                                          tenon_error** error);

  /* ---- autograd: engine ---- */

  /* Turns recording on or off; returns the previous setting. Calling thread only. */
  int32_t(TENON_CALL* grad_mode_set)(int32_t enabled);
  /* 1 when recording is on. Calling thread only. */
  int32_t(TENON_CALL* grad_mode)(void);
  /* Runs backward and adds the gradients to the .grad of all leaves, or of `inputs` alone when
   * `input_count` >= 0. `seeds` has one gradient for each root; it may be null, or hold nulls,
   * where the root has a single element. Any thread; hooks and rules run on the calling thread. */
  tenon_status(TENON_CALL* backward)(tenon_tensor* const* roots, tenon_tensor* const* seeds,
                                     int64_t root_count, tenon_tensor* const* inputs,
                                     int64_t input_count, int32_t retain_graph,
                                     int32_t create_graph, tenon_error** error);
  /* Computes one gradient for each input and leaves .grad as it is. `seeds` as for backward.
   * `allow_unused`: 0 makes an input that the roots do not depend on an error, 1 gives it null, 2
   * zeros. `results` has `input_count` entries. New references. Any thread; hooks and rules run on
   * the calling thread. */
  tenon_status(TENON_CALL* gradients)(tenon_tensor* const* roots, tenon_tensor* const* seeds,
                                      int64_t root_count, tenon_tensor* const* inputs,
                                      int64_t input_count, int32_t retain_graph,
                                      int32_t create_graph, int32_t allow_unused,
                                      tenon_tensor** results, tenon_error** error);

  /* ---- autograd: forward mode ---- */

  /* Opens a level of forward mode; tangents live until it is left. Calling thread only. */
  tenon_status(TENON_CALL* dual_level_enter)(tenon_error** error);
  /* Leaves the level: tensors lose their tangents. Calling thread only. */
  tenon_status(TENON_CALL* dual_level_exit)(tenon_error** error);
  /* A tensor with the data and history of `primal` that carries `tangent`, of the same shape.
   * New reference. Calling thread only. */
  tenon_status(TENON_CALL* dual_make)(tenon_tensor* primal, tenon_tensor* tangent,
                                      tenon_tensor** result, tenon_error** error);
  /* Both parts of a dual tensor; `*tangent` is null when it carries none. New references.
   * Calling thread only. */
  tenon_status(TENON_CALL* dual_unpack)(tenon_tensor* dual, tenon_tensor** primal,
                                        tenon_tensor** tangent, tenon_error** error);

  /* ---- contexts: in run, backward and jvp; the context is valid during the callback ---- */

  /* The call's arguments, one for each parameter. In a rule a tensor that was not saved reads as
   * none. Borrowed; valid during the callback. Calling thread only. */
  const tenon_value*(TENON_CALL* context_arguments)(const tenon_context* context);
  /* Result `index`, when the op's `saves` names it; null otherwise, and in run. Borrowed; valid
   * during the callback. Calling thread only. */
  tenon_tensor*(TENON_CALL* context_result)(const tenon_context* context, int64_t index);
  /* Input slots of the call: one for each tensor parameter, a list counts as many as it has
   * tensors. Calling thread only. */
  int64_t(TENON_CALL* context_slot_count)(const tenon_context* context);
  /* 1 when the gradient of the slot is needed. Calling thread only. */
  int32_t(TENON_CALL* context_needs_gradient)(const tenon_context* context, int64_t slot);
  /* Saves tensors for backward, replacing those of an earlier call; entries may be null. The host
   * retains them. In run only. Calling thread only. */
  tenon_status(TENON_CALL* context_save)(tenon_context* context, tenon_tensor* const* tensors,
                                         int64_t count, tenon_error** error);
  /* How many tensors were saved; 0 in run. Calling thread only. */
  int64_t(TENON_CALL* context_saved_count)(const tenon_context* context);
  /* Saved tensor `index`: of context_save in backward, of context_save_for_forward in jvp; null
   * where null was saved. InplaceError when it was changed since. New reference. In rules only.
   * Calling thread only. */
  tenon_status(TENON_CALL* context_saved)(tenon_context* context, int64_t index,
                                          tenon_tensor** result, tenon_error** error);
  /* Declares inputs that run changes in place. In run only. Calling thread only. */
  tenon_status(TENON_CALL* context_mark_dirty)(tenon_context* context, tenon_tensor* const* tensors,
                                               int64_t count, tenon_error** error);
  /* Declares tensors, results among them, that have no gradient. In run only.
   * Calling thread only. */
  tenon_status(TENON_CALL* context_mark_non_differentiable)(tenon_context* context,
                                                            tenon_tensor* const* tensors,
                                                            int64_t count, tenon_error** error);
  /* 0: absent gradients and tangents reach the rules as null instead of zeros. In run only.
   * Calling thread only. */
  tenon_status(TENON_CALL* context_set_materialize_grads)(tenon_context* context, int32_t enabled,
                                                          tenon_error** error);
  /* Takes the attribute; one of the same name is destroyed. In run and jvp. Calling thread only. */
  tenon_status(TENON_CALL* context_set_attribute)(tenon_context* context,
                                                  tenon_attribute* attribute, tenon_error** error);
  /* The attribute of that name. RuntimeError when there is none, TypeError when its type is another
   * one. Borrowed; valid until it is erased or replaced, or its node is gone.
   * Calling thread only. */
  tenon_status(TENON_CALL* context_attribute)(const tenon_context* context,
                                              const tenon_string* name, const tenon_string* type,
                                              tenon_attribute** attribute, tenon_error** error);
  /* Returns the gradients of a backward, or the tangents of a jvp, to the host: once. Takes the
   * tensors; entries may be null. In rules only. Calling thread only. */
  tenon_status(TENON_CALL* context_give)(tenon_context* context, tenon_tensor* const* tensors,
                                         int64_t count, tenon_error** error);

  /* ---- ops ---- */

  /* The op of a full name; loads the plugin that declares it. Borrowed; valid for the life of the
   * process: once its plugin is unloaded, calls raise PluginError. Any thread. */
  tenon_status(TENON_CALL* op_find)(const char* name, int64_t length, const tenon_op** op,
                                    tenon_error** error);
  /* Full name, "nn.functional.linear". Borrowed; valid for the life of the process. Any thread. */
  const char*(TENON_CALL* op_name)(const tenon_op* op);
  /* Calls the op with its first `count` parameters in schema order; the others have their defaults.
   * `results` has op_result_count entries. Owned. Any thread. */
  tenon_status(TENON_CALL* op_call)(const tenon_op* op, const tenon_value* arguments, int64_t count,
                                    tenon_value* results, tenon_error** error);
  /* Calls the op with positional and keyword arguments, bound and checked as Python binds them.
   * `results` has op_result_count entries. Owned. Any thread. */
  tenon_status(TENON_CALL* op_call_keywords)(const tenon_op* op, const tenon_value* arguments,
                                             int64_t count, const tenon_string* keywords,
                                             const tenon_value* keyword_values,
                                             int64_t keyword_count, tenon_value* results,
                                             tenon_error** error);
  /* How many results the schema has; 0 while no plugin implements the op. Any thread. */
  int64_t(TENON_CALL* op_result_count)(const tenon_op* op);

  /* ---- threads, randomness, log ---- */

  /* Calls `body` for chunks of at least `grain` that cover [begin, end) once, on the threads of the
   * pool, with the modes of the caller; returns when all have ended. The first chunk that fails
   * gives its status and error. Within a chunk it runs serially. Between chunks, and pieces of long
   * ones, it looks at interrupt_word. Any thread. */
  tenon_status(TENON_CALL* parallel_for)(int64_t begin, int64_t end, int64_t grain,
                                         tenon_status (*body)(void* state, int64_t begin,
                                                              int64_t end, tenon_error** error),
                                         void* state, tenon_error** error);
  /* Threads that parallel_for may use, the caller among them. Any thread. */
  int32_t(TENON_CALL* thread_count)(void);
  /* Sets that number for the process; below 1 restores the default. Any thread. */
  void(TENON_CALL* thread_count_set)(int32_t count);
  /* Reserves `count` 64-bit draws of the process's counter-based generator: draw i is a pure
   * function of *seed and *offset + i. With a count below 1 it reserves none. Any thread. */
  void(TENON_CALL* generator_reserve)(int64_t count, uint64_t* seed, uint64_t* offset);
  /* Starts the sequence of a random seed from its first draw, for the process. Any thread. */
  void(TENON_CALL* generator_seed)(uint64_t seed);
  /* Writes a line to the log. `level`: 0 trace, 1 debug, 2 info, 3 warning, 4 error. `source` is
   * the logger's name, mostly a plugin's id; may be null. Any thread. */
  void(TENON_CALL* log)(int32_t level, const char* source, const char* message, int64_t length);

  /* ---- JSON documents, immutable ---- */

  /* Parses JSON; ValueError with line and column. New reference. Any thread. */
  tenon_status(TENON_CALL* json_parse)(const char* json, int64_t length, tenon_json** document,
                                       tenon_error** error);
  /* Writes JSON, on one line when `indent` is 0, as a string. Owned. Any thread. */
  tenon_status(TENON_CALL* json_dump)(const tenon_json* document, int32_t indent, tenon_value* text,
                                      tenon_error** error);
  /* Adds a reference to the document of the node. Any thread. */
  void(TENON_CALL* json_retain)(tenon_json* document);
  /* Drops a reference; the last one destroys the document. May be null. Any thread. */
  void(TENON_CALL* json_release)(tenon_json* document);
  /* A scalar as NONE, BOOL, INT, FLOAT or STRING; an array or object as JSON. Borrowed; valid as
   * long as the document. Any thread. */
  tenon_value(TENON_CALL* json_value)(const tenon_json* document);
  /* 1 for an object, 0 for an array or scalar. Any thread. */
  int32_t(TENON_CALL* json_is_object)(const tenon_json* document);
  /* Children of an array or object; 0 for a scalar. Any thread. */
  int64_t(TENON_CALL* json_size)(const tenon_json* document);
  /* Child by position; null when there is none. Borrowed; valid as long as the document. Any thread. */
  const tenon_json*(TENON_CALL* json_at)(const tenon_json* document, int64_t index);
  /* Child of an object by key; null when there is none. Borrowed; valid as long as the document.
   * Any thread. */
  const tenon_json*(TENON_CALL* json_find)(const tenon_json* document, const char* key,
                                           int64_t length);
  /* Key of child `index` of an object; empty otherwise. Borrowed; valid as long as the document.
   * Any thread. */
  tenon_string(TENON_CALL* json_key)(const tenon_json* document, int64_t index);

  /* ---- listings and configuration ---- */

  /* A listing as a document. `what` is "runtime", "plugins", "plugin", "declarations", "ops", "op",
   * "overridable", "ignored", "modules", "module", "types", "type", "coverage", "ambiguities",
   * "why" or "live"; `name` chooses or filters, and may be null. share/tenon/documents.md has
   * the shapes. New reference. Any thread. */
  tenon_status(TENON_CALL* describe)(const char* what, const char* name, tenon_json** document,
                                     tenon_error** error);
  /* Parameters of an op, "(input, other, *, alpha=1, out=None)", as a string. Owned. Any thread. */
  tenon_status(TENON_CALL* op_signature)(const char* name, tenon_value* text, tenon_error** error);
  /* Puts a folder in front of those that are searched for plugins. Any thread. */
  tenon_status(TENON_CALL* plugin_path_add)(const char* folder, tenon_error** error);
  /* Loads a plugin now; nothing happens when it is loaded already. Any thread. */
  tenon_status(TENON_CALL* plugin_load)(const char* id_or_path, tenon_error** error);
  /* Reads and checks a config file; ConfigError lists every fault. `config` is normalized:
   * defaults filled in, short forms expanded. Runs no plugin code. New reference. Any thread. */
  tenon_status(TENON_CALL* config_read)(const char* path, tenon_json** config, tenon_error** error);
  /* Applies the plugin part of a config that config_read returned. Any thread. */
  tenon_status(TENON_CALL* config_apply)(const tenon_json* config, tenon_error** error);

  /* ---- modules ---- */

  /* Makes a module of a type; loads the plugin that declares it. Attributes are bound as the
   * arguments of a call. New reference. Any thread. */
  tenon_status(TENON_CALL* module_create)(const char* type, const tenon_value* attributes,
                                          int64_t count, const tenon_string* keywords,
                                          const tenon_value* keyword_values, int64_t keyword_count,
                                          tenon_module** module, tenon_error** error);
  /* Makes a module from {"type": "Linear", attribute: value, ...}, or the name of a type; an
   * attribute that is a module is such a document itself. `settings` are keys that documents have
   * beside attributes; null: those of the creation that runs on this thread, if any. ConfigError
   * names all faults with their places. New reference. Any thread. */
  tenon_status(TENON_CALL* module_create_json)(const tenon_json* document,
                                               const tenon_module_settings* settings,
                                               tenon_module** module, tenon_error** error);
  /* Adds a reference. Any thread. */
  void(TENON_CALL* module_retain)(tenon_module* module);
  /* Drops a reference; the last one destroys the module. May be null. Any thread. */
  void(TENON_CALL* module_release)(tenon_module* module);
  /* Full name of the type. Borrowed; valid as long as the module. Any thread. */
  const char*(TENON_CALL* module_type)(const tenon_module* module);
  /* One value for each parameter of the type's schema. Borrowed; valid as long as the module.
   * Any thread. */
  const tenon_value*(TENON_CALL* module_attributes)(const tenon_module* module);
  /* Registers a parameter, which requires grad. A tensor that does not is left as it is: the
   * parameter is another tensor on its memory, see module_tensor. One that does is registered
   * itself, so that modules can share it. `tensor` may be null: a known name without a value.
   * TypeError for a dtype that is not floating point. Any thread. */
  tenon_status(TENON_CALL* module_register_parameter)(tenon_module* module, const char* name,
                                                      tenon_tensor* tensor, tenon_error** error);
  /* Registers a buffer: a tensor that is not trained. `persistent` 0 keeps it out of files. The
   * host retains it. `tensor` may be null. Any thread. */
  tenon_status(TENON_CALL* module_register_buffer)(tenon_module* module, const char* name,
                                                   tenon_tensor* tensor, int32_t persistent,
                                                   tenon_error** error);
  /* Registers a child module, which the host retains. `child` may be null. Any thread. */
  tenon_status(TENON_CALL* module_register_child)(tenon_module* module, const char* name,
                                                  tenon_module* child, tenon_error** error);
  /* A parameter or buffer by name, dotted below: "0.weight". Null when it has no value. Borrowed;
   * valid as long as the module. Any thread. */
  tenon_status(TENON_CALL* module_tensor)(tenon_module* module, const char* name,
                                          tenon_tensor** tensor, tenon_error** error);
  /* A child by name, dotted below. Null when it has no value. Borrowed; valid as long as the
   * module. Any thread. */
  tenon_status(TENON_CALL* module_child)(tenon_module* module, const char* name,
                                         tenon_module** child, tenon_error** error);
  /* Binds arguments to the forward schema as an op's are bound, and runs forward. `results` has
   * room for eight values; one is written for each result of the schema. TypeError, before forward
   * runs, when these are not `result_count`; -1: any number. Owned. Any thread. */
  tenon_status(TENON_CALL* module_call)(tenon_module* module, const tenon_value* arguments,
                                        int64_t count, const tenon_string* keywords,
                                        const tenon_value* keyword_values, int64_t keyword_count,
                                        tenon_value* results, int64_t result_count,
                                        tenon_error** error);
  /* 1 in training mode, which modules start in. Any thread. */
  int32_t(TENON_CALL* module_training)(const tenon_module* module);
  /* Sets training mode of the module and all below it. Any thread. */
  void(TENON_CALL* module_train)(tenon_module* module, int32_t training);
  /* Lists members in registration order. `what`: 0 parameters, 1 buffers, 2 children, 3 modules,
   * the module itself first under the name ""; with TENON_WALK_DUPLICATES added, a member that is
   * registered several times comes under each of its names instead of the first, and with
   * TENON_WALK_ABSENT added to children, names without a value come too, as null. `recurse` 1 goes
   * below children. `names` receives a string list and may be null, `items` a tensor or module
   * list. Owned. TENON_WALK_HOOKS lists nothing: *count is 1 where a call runs hooks. Any thread. */
  tenon_status(TENON_CALL* module_walk)(tenon_module* module, int32_t what, int32_t recurse,
                                        int64_t* count, tenon_value* names, tenon_value* items,
                                        tenon_error** error);
  /* Converts floating-point parameters, buffers and their gradients in place: all or none.
   * Any thread. */
  tenon_status(TENON_CALL* module_to)(tenon_module* module, tenon_dtype dtype, tenon_error** error);
  /* ---- tensor types ---- */

  /* The id of a type, 0 for Tensor; loads the plugin that declares it. Valid for the life of the
   * process. Any thread. */
  tenon_status(TENON_CALL* type_find)(const char* name, uint32_t* type, tenon_error** error);
  /* Name of a type; "" when there is no such id. Borrowed; valid for the life of the process.
   * Any thread. */
  const char*(TENON_CALL* type_name)(uint32_t type);
  /* 1 when `type` is `ancestor` or derives from it. Any thread. */
  int32_t(TENON_CALL* type_is)(uint32_t type, uint32_t ancestor);
  /* An object without data of a type that does not derive from Tensor. `*payload` receives the
   * address of zeroed memory of the type's payload size, in which the caller must construct the
   * payload before anything else; null when that size is 0. `payload` may be null: the host makes a
   * default payload; TypeError where the type has none. `shape` may be null when `rank` is 0. New
   * reference. Any thread. */
  tenon_status(TENON_CALL* typed_create)(uint32_t type, tenon_dtype dtype, int64_t rank,
                                         const int64_t* shape, void** payload,
                                         tenon_tensor** result, tenon_error** error);
  /* An object of a subclass of Tensor that shares data and history with `tensor`. `payload` as for
   * typed_create; null shares the tensor's payload where it has one of the type. New reference.
   * Any thread. */
  tenon_status(TENON_CALL* typed_wrap)(uint32_t type, tenon_tensor* tensor, void** payload,
                                       tenon_tensor** result, tenon_error** error);
  /* The payload; null when there is none. Borrowed; valid as long as the tensor. Any thread. */
  void*(TENON_CALL* typed_payload)(const tenon_tensor* tensor);
  /* The tensor as a plain Tensor: itself when it is one, else converted by its type. New reference.
   * Any thread. */
  tenon_status(TENON_CALL* tensor_to_plain)(tenon_tensor* tensor, tenon_tensor** result,
                                            tenon_error** error);
  /* Inside a handler, override or mode: runs what comes next for the parent of its type, or outside
   * of the mode. After the last parent the op runs and its results become the type. `arguments` has
   * one value for each parameter of the op; may be null: those of the call. Results are owned.
   * Calling thread only. */
  tenon_status(TENON_CALL* call_parent)(const tenon_call* call, const tenon_value* arguments,
                                        tenon_value* results, tenon_error** error);
  /* A value as it is printed: None, True, 0.4, 'text', tensor(1.), [1, 2]; as a string. Owned.
   * Any thread. */
  tenon_status(TENON_CALL* value_text)(const tenon_value* value, tenon_value* text,
                                       tenon_error** error);

  /* ---- hooks ---- */

  /* Registers a hook of kind TENON_HOOK_TENSOR or TENON_HOOK_POST_ACCUMULATE on a tensor that
   * requires grad. It stays with the node that made the tensor when the tensor is changed in place
   * later. Takes `state`: `destroy(state)` runs once, on any thread, when the hook was removed or
   * its graph is gone, and it no longer runs. `destroy` may be null. `hook` receives a new
   * reference; may be null. Any thread. */
  tenon_status(TENON_CALL* tensor_add_hook)(tenon_tensor* tensor, int32_t kind,
                                            tenon_hook_function function, void* state,
                                            void (*destroy)(void* state), tenon_hook** hook,
                                            tenon_error** error);
  /* Removes the hook with that id from the tensor. ArgumentError when it has no such hook.
   * Any thread. */
  tenon_status(TENON_CALL* tensor_remove_hook)(tenon_tensor* tensor, int64_t id,
                                               tenon_error** error);
  /* Registers a hook of kind TENON_HOOK_NODE_BEFORE or TENON_HOOK_NODE_AFTER on a node; everything
   * else as tensor_add_hook. Any thread. */
  tenon_status(TENON_CALL* node_add_hook)(tenon_node* node, int32_t kind,
                                          tenon_hook_function function, void* state,
                                          void (*destroy)(void* state), tenon_hook** hook,
                                          tenon_error** error);
  /* A number that no other hook of the process has; 0 for null. Any thread. */
  int64_t(TENON_CALL* hook_id)(const tenon_hook* hook);
  /* Removes the hook: it does not run again, not even in a backward already in progress. Does
   * nothing when it was removed, or its graph is gone. May be null. Any thread. */
  void(TENON_CALL* hook_remove)(tenon_hook* hook);
  /* Adds a reference to the handle. Any thread. */
  void(TENON_CALL* hook_retain)(tenon_hook* hook);
  /* Drops a reference to the handle; the hook stays registered. May be null. Any thread. */
  void(TENON_CALL* hook_release)(tenon_hook* hook);
  /* A number for the backward that runs on this thread; 0 when none does. Calling thread only. */
  int64_t(TENON_CALL* backward_id)(void);
  /* 1 when the backward that runs on this thread reaches the hook's node. Calling thread only. */
  int32_t(TENON_CALL* backward_reaches)(const tenon_hook* hook);

  /* ---- nodes and graphs ---- */

  /* 1 when the tensor requires grad; a view of a base that was changed in place gets its new
   * history first. May be null. Any thread. */
  int32_t(TENON_CALL* tensor_requires_grad)(tenon_tensor* tensor);
  /* The node that made the tensor. New reference; null on leaves. Any thread. */
  tenon_node*(TENON_CALL* tensor_node)(tenon_tensor* tensor);
  /* Adds a reference. Any thread. */
  void(TENON_CALL* node_retain)(tenon_node* node);
  /* Drops a reference; the last one destroys the node. May be null. Any thread. */
  void(TENON_CALL* node_release)(tenon_node* node);
  /* Fills the first `info->size` bytes of `info`, and sets `size` to what it has filled.
   * Any thread. */
  void(TENON_CALL* node_read)(tenon_node* node, tenon_node_info* info);
  /* The node that gets the gradient of input `index`, and which of its outputs that is; null when
   * the input needs none. `output` may be null. New reference. Any thread. */
  tenon_node*(TENON_CALL* node_edge)(tenon_node* node, int64_t index, uint32_t* output);
  /* The graph of the roots as a document:
   *   {"roots": [{"node", "output"}...],
   *    "nodes": [{"id", "name", "op", "plugin", "sequence", "saved_tensors", "saved_bytes",
   *               "released", "ctx-stashed", "stashed_tensors", "attribute_bytes",
   *               "edges": [{"input", "node", "output"}...]}...]}
   * where "node" is an id, and the id of a node is its position. New reference. Any thread. */
  tenon_status(TENON_CALL* graph_describe)(tenon_tensor* const* roots, int64_t count,
                                           tenon_json** document, tenon_error** error);

  /* ---- settings of the calling thread; each setter returns the previous setting ---- */

  /* In inference mode nothing is recorded, and tensors made in it cannot be recorded later.
   * Calling thread only. */
  int32_t(TENON_CALL* inference_mode_set)(int32_t enabled);
  /* 1 in inference mode. Calling thread only. */
  int32_t(TENON_CALL* inference_mode)(void);
  /* 1: nodes remember where they were recorded, and errors of backward say so; 2: backward also
   * fails at the first gradient with a NaN; 0: off. Calling thread only. */
  int32_t(TENON_CALL* anomaly_mode_set)(int32_t level);
  /* The level. Calling thread only. */
  int32_t(TENON_CALL* anomaly_mode)(void);
  /* Counts nodes by provider from now on, for describe("live"). A setting of the process.
   * Any thread. */
  int32_t(TENON_CALL* live_tracking_set)(int32_t enabled);

  /* ---- contexts, continued ---- */

  /* Argument `index`. IndexError when there is no such parameter; in a rule, RuntimeError for a
   * tensor that was not saved. Borrowed; valid during the callback. Calling thread only. */
  tenon_status(TENON_CALL* context_argument)(const tenon_context* context, int64_t index,
                                             const tenon_value** value, tenon_error** error);
  /* Saves tensors for the jvp, replacing those of an earlier call; entries may be null. The host
   * retains them. In run only. Calling thread only. */
  tenon_status(TENON_CALL* context_save_for_forward)(tenon_context* context,
                                                     tenon_tensor* const* tensors, int64_t count,
                                                     tenon_error** error);
  /* Destroys the attribute of that name. RuntimeError when there is none. In run and jvp.
   * Calling thread only. */
  tenon_status(TENON_CALL* context_erase_attribute)(tenon_context* context,
                                                    const tenon_string* name, tenon_error** error);
  /* Tensor `index` of an attribute. In a rule that is itself recorded it has a history that refuses
   * to be differentiated. New reference; null where the entry is null. Calling thread only. */
  tenon_status(TENON_CALL* context_attribute_tensor)(const tenon_context* context,
                                                     const tenon_attribute* attribute,
                                                     int64_t index, tenon_tensor** result,
                                                     tenon_error** error);
  /* TENON_BACKWARD_ bits of the backward that runs this rule. In backward only.
   * Calling thread only. */
  tenon_status(TENON_CALL* context_backward_options)(const tenon_context* context,
                                                     uint32_t* options, tenon_error** error);
  /* Makes the rule the owner of the gradients that it was called with, so that it can release each
   * as early as possible. `gradients` has `count` entries. New references. Once, in backward only.
   * Calling thread only. */
  tenon_status(TENON_CALL* context_take_gradients)(tenon_context* context, int64_t count,
                                                   tenon_tensor** gradients, tenon_error** error);

  /* ---- autograd: saved tensors and gradients ---- */

  /* Opens a scope of saved-tensor hooks on this thread. Copies the struct, and owns its state from
   * then on; on failure it calls none of its functions. Calling thread only. */
  tenon_status(TENON_CALL* saved_hooks_push)(const tenon_saved_hooks* hooks, tenon_error** error);
  /* Opens a scope in which saved_hooks_push fails with this message. Calling thread only. */
  tenon_status(TENON_CALL* saved_hooks_disable)(const char* message, int64_t length,
                                                tenon_error** error);
  /* Closes the innermost scope of either kind. Calling thread only. */
  tenon_status(TENON_CALL* saved_hooks_pop)(tenon_error** error);
  /* 1: a gradient of a Function that is broadcast-larger than its input is an error, instead of
   * being summed. Returns the previous setting. Calling thread only. */
  int32_t(TENON_CALL* strict_gradients_set)(int32_t enabled);

  /* ---- ops, continued ---- */

  /* Binds the keyword-only parameters of an op alone: one that is missing without a default, or not
   * known, is an error. `names` receives a string list, `values` (room for 32) the values in schema
   * order, `positional` how many parameters come before them. Owned. Any thread. */
  tenon_status(TENON_CALL* op_bind_attributes)(const tenon_op* op, const tenon_string* keywords,
                                               const tenon_value* keyword_values,
                                               int64_t keyword_count, int64_t* positional,
                                               tenon_value* names, tenon_value* values,
                                               tenon_error** error);

  /* ---- modes ---- */

  /* Calls `handler` for every op that this thread calls, factories included, until the mode is
   * left: the innermost mode first, all modes before types. While the handler runs, its own mode is
   * off, and call_parent continues outside of it. `below` 1: for every op that runs below autograd
   * instead. `name` is copied and may be null; `self` is borrowed until the mode is left. `mode` is
   * valid until then. Calling thread only. */
  tenon_status(TENON_CALL* mode_enter)(const char* name, tenon_handler_function handler, void* self,
                                       int32_t below, tenon_mode** mode, tenon_error** error);
  /* Leaves the mode: it is inactive and must not be used any more, on failure too. RuntimeError
   * when it was not the innermost, or was entered on another thread. Calling thread only. */
  tenon_status(TENON_CALL* mode_leave)(tenon_mode* mode, tenon_error** error);
  /* Modes above autograd that are active on this thread. Calling thread only. */
  int64_t(TENON_CALL* mode_count)(void);

  /* ---- explanations and traces ---- */

  /* 1 when calls ask operands of the type: it has a handler, an override or a fallback, or derives
   * from Tensor. 0 for Tensor itself. Any thread. */
  int32_t(TENON_CALL* type_dispatches)(uint32_t type);
  /* Binds as op_call_keywords does, with the same errors, and calls nothing. Any thread. */
  tenon_status(TENON_CALL* op_bind)(const tenon_op* op, const tenon_value* arguments, int64_t count,
                                    const tenon_string* keywords, const tenon_value* keyword_values,
                                    int64_t keyword_count, tenon_error** error);
  /* What op_call_keywords would do now, and why, as a document; calls nothing. A call that would
   * fail is explained by its error. share/tenon/documents.md has the shape. New reference.
   * Calling thread only: modes and settings of this thread are part of the answer. */
  tenon_status(TENON_CALL* op_explain)(const tenon_op* op, const tenon_value* arguments,
                                       int64_t count, const tenon_string* keywords,
                                       const tenon_value* keyword_values, int64_t keyword_count,
                                       tenon_json** document, tenon_error** error);
  /* Calls `write` with a line for each event of this thread's calls until trace_leave: text
   * indented by nesting, or JSON when `json` is 1. `line` is borrowed for the call; `write` must
   * not call ops. `self` is borrowed until trace_leave. `trace` is valid until then. Calling thread
   * only. */
  tenon_status(TENON_CALL* trace_enter)(int32_t json,
                                        void (*write)(void* self, const char* line, int64_t length),
                                        void* self, tenon_trace** trace, tenon_error** error);
  /* Ends the trace and frees it. Calling thread only. */
  tenon_status(TENON_CALL* trace_leave)(tenon_trace* trace, tenon_error** error);

  /* ---- registered overrides ---- */

  /* An override by key, "add[A, B]", types in any order; loads the plugins of the types. `provider`
   * is a plugin's id; null or "": the one that ranks first. ValueError when there is none.
   * Borrowed; valid for the life of the process. Any thread. */
  tenon_status(TENON_CALL* override_find)(const char* key, const char* provider,
                                          const tenon_override** entry, tenon_error** error);
  /* Id of its plugin. Borrowed; valid for the life of the process. Any thread. */
  const char*(TENON_CALL* override_provider)(const tenon_override* entry);
  /* Calls this override with arguments of its op, even when a call of the op would choose another
   * one, or it is disabled. It may decline. TypeError when it does not take such operands. Results
   * are owned. Any thread. */
  tenon_status(TENON_CALL* override_call)(const tenon_override* entry, const tenon_value* arguments,
                                          int64_t count, const tenon_string* keywords,
                                          const tenon_value* keyword_values, int64_t keyword_count,
                                          tenon_value* results, tenon_error** error);
  /* Disables the override for the process, until override_enable was called as often; calls that
   * are running continue. May be null. Any thread. */
  void(TENON_CALL* override_disable)(const tenon_override* entry);
  /* Undoes one override_disable; does nothing when it is enabled. May be null. Any thread. */
  void(TENON_CALL* override_enable)(const tenon_override* entry);
  /* 1 when it is enabled; 0 for null. Any thread. */
  int32_t(TENON_CALL* override_enabled)(const tenon_override* entry);

  /* ---- appended later ---- */

  /* mode_enter with the tenon_function of a module's type; the module is retained until the mode is
   * left. TypeError when the type has none. Calling thread only. */
  tenon_status(TENON_CALL* mode_enter_module)(tenon_module* module, int32_t below,
                                              tenon_mode** mode, tenon_error** error);
  /* op_call for typed wrappers, which pass their C++ default arguments too: handlers and modes see
   * a value that equals its default, at the end or after '*', as not given. Any thread. */
  tenon_status(TENON_CALL* op_call_filled)(const tenon_op* op, const tenon_value* arguments,
                                           int64_t count, tenon_value* results,
                                           tenon_error** error);
  /* Sets what calls of this thread skip, as TENON_DISABLE_ bits; returns the previous bits.
   * Calling thread only. */
  uint32_t(TENON_CALL* dispatch_disable)(uint32_t what);
  /* The bits. Calling thread only. */
  uint32_t(TENON_CALL* dispatch_disabled)(void);
  /* 1 when the schema writes the results in parentheses: "(Tensor y)" is a tuple of one, "Tensor"
   * is not. Any thread. */
  int32_t(TENON_CALL* op_returns_tuple)(const tenon_op* op);
  /* type_find for a binary that reads payloads: TypeError when the plugin that registered the type
   * has another layout. A layout of size 0 says that the caller reads none, and always fits.
   * Any thread. */
  tenon_status(TENON_CALL* type_find_layout)(const char* name, const tenon_payload_layout* layout,
                                             uint32_t* type, tenon_error** error);

  /* Place of a node of a config, as messages say it: "FILE:3:14: /plugins/0/name"; without a file
   * the JSON pointer alone; empty for a root that was made by code. A string. Owned. Any thread. */
  tenon_status(TENON_CALL* json_place)(const tenon_json* document, tenon_value* text,
                                       tenon_error** error);
  /* Makes an object of `count` members, or an array when `keys` is null (may be null). Values are
   * numbers, strings, none, and documents, whose nodes are copied; TypeError for others. New reference.
   * Any thread. */
  tenon_status(TENON_CALL* json_create)(const tenon_string* keys, const tenon_value* values,
                                        int64_t count, tenon_json** document, tenon_error** error);
  /* config_apply that runs no plugin code: plugins with "load": "eager" wait for their first use.
   * Any thread. */
  tenon_status(TENON_CALL* config_apply_lazily)(const tenon_json* config, tenon_error** error);
  /* " (did you mean 'add'?)" for the candidate that a mistyped word most likely means, or "". A
   * string. Owned. Any thread. */
  tenon_status(TENON_CALL* text_suggestion)(const char* word, int64_t length,
                                            const tenon_string* candidates, int64_t count,
                                            tenon_value* text, tenon_error** error);
  /* The text for a terminal: control characters, and bytes that are not UTF-8, as escapes; line
   * breaks and tabs stay. A string. Owned. Any thread. */
  tenon_status(TENON_CALL* text_printable)(const char* bytes, int64_t length, tenon_value* text,
                                           tenon_error** error);
  /* TENON_ISA_ number of the loops that run: the best that the machine supports, or less where the
   * environment variable TENON_ISA says so. Any thread. */
  uint32_t(TENON_CALL* machine_isa)(void);

  /* The result `index` of the call that the context belongs to, as `saves` kept it; in backward
   * and jvp only. Null when it is not a tensor. IndexError beyond the results; RuntimeError where
   * `saves` does not name it. Borrowed; valid as long as the context. Calling thread only. */
  tenon_status(TENON_CALL* context_kept_result)(const tenon_context* context, int64_t index,
                                                tenon_tensor** result, tenon_error** error);
  /* Position of the parameter that is named so in the op's schema. IndexError when no parameter
   * is. Any thread. */
  tenon_status(TENON_CALL* op_parameter)(const tenon_op* op, const char* name, int64_t length,
                                         int64_t* index, tenon_error** error);
  /* The attribute that is named so in the module's schema. IndexError when no attribute is.
   * Borrowed; valid as long as the module. Any thread. */
  tenon_status(TENON_CALL* module_attribute)(const tenon_module* module, const char* name,
                                             int64_t length, const tenon_value** value,
                                             tenon_error** error);
  /* Registers a hook of a kind of module_hooks.h on a module, or on all modules when `module` is
   * null. `flags`: TENON_HOOK_PREPEND, TENON_HOOK_ALWAYS_CALL; ArgumentError for others, and for an
   * unknown kind. Takes `state`: `destroy(state)` runs once, on any thread, when the hook was
   * removed or its module is gone, and it no longer runs. `destroy` may be null. `hook` receives a
   * new reference to its handle; it may be null. Any thread, also while the module is called: a
   * call sees the hooks that are there when their turn comes. */
  tenon_status(TENON_CALL* module_add_hook)(tenon_module* module, int32_t kind, uint32_t flags,
                                            tenon_module_hook_function function, void* state,
                                            void (*destroy)(void* state), tenon_hook** hook,
                                            tenon_error** error);

  /* Gives a registered name another value: none, a tensor, or a module, as its kind asks. `flags`:
   * TENON_ASSIGN_ bits. TypeError for a value of another kind. Any thread. */
  tenon_status(TENON_CALL* module_assign)(tenon_module* module, const char* name, int64_t length,
                                          const tenon_value* value, uint32_t flags,
                                          tenon_error** error);
  /* From now on *location, a tenon_tensor* or tenon_module*, follows the value of the name. It is
   * null or another reference before and after, which its owner releases in the end, after
   * module_unbind. One location for each name. Any thread. */
  tenon_status(TENON_CALL* module_bind)(tenon_module* module, const char* name, int64_t length,
                                        void** location, tenon_error** error);
  /* Ends that. Any thread. */
  void(TENON_CALL* module_unbind)(tenon_module* module, const char* name, int64_t length);
  /* A copy with its own tensors; what is shared inside stays shared. RuntimeError names a type
   * that cannot copy its state. New reference. Any thread. */
  tenon_status(TENON_CALL* module_clone)(tenon_module* module, tenon_module** copy,
                                         tenon_error** error);
  /* Gives an instance of a type with TENON_MODULE_OWN_FORWARD its forward schema. In create. Any
   * thread. */
  tenon_status(TENON_CALL* module_set_forward)(tenon_module* module, const char* schema,
                                               int64_t length, tenon_error** error);
  /* The forward schema's text, and how many results it has; both may be null. Borrowed; valid as
   * long as the module. TypeError where there is none. Any thread. */
  tenon_status(TENON_CALL* module_forward)(const tenon_module* module, tenon_string* schema,
                                           int64_t* results, tenon_error** error);
  /* Parameters and persistent buffers under each of their names: a string list and a tensor list.
   * Owned. Any thread. */
  tenon_status(TENON_CALL* module_state)(tenon_module* module, tenon_value* names,
                                         tenon_value* tensors, tenon_error** error);
  /* Copies `count` named tensors into those of the module. `metadata` is the object that
   * tensors_store has made of them; may be null. `source` is the file that they come from, for
   * messages; may be null. `flags`: TENON_LOAD_ bits. Without TENON_LOAD_STRICT missing and
   * unexpected names are accepted, which the two string lists receive; either may be null. A size
   * or type that differs is always an error. All or none. Owned. Any thread. */
  tenon_status(TENON_CALL* module_load_state)(tenon_module* module, const tenon_string* names,
                                              tenon_tensor* const* tensors, int64_t count,
                                              const tenon_json* metadata, const char* source,
                                              uint32_t flags, tenon_value* missing,
                                              tenon_value* unexpected, tenon_error** error);

  /* config_read of a config that has further sections. `sections` describes them as a JSON Schema:
   * its "properties" become keys of the config's top, checked like the host's own, and any other key
   * is a fault. The subset: type (boolean, integer, number, string, array, object), minimum, maximum,
   * exclusiveMinimum, exclusiveMaximum, enum, items, minItems, maxItems, anyOf, properties, required,
   * dependencies, additionalProperties, default, description, and $ref to "#/definitions/NAME". The
   * format of a string may be "name", "input-path" or "output-path"; "shorthand" of an object is the
   * key that a bare string stands for. Without sections (null) keys that the host does not know are
   * left to the application, unless they are nearly a host key. New reference. Any thread. */
  tenon_status(TENON_CALL* config_read_sections)(const char* path, const tenon_json* sections,
                                                 tenon_json** config, tenon_error** error);
  /* JSON Schema (draft 7) of configs with these sections, which may be null. New reference.
   * Any thread. */
  tenon_status(TENON_CALL* config_schema)(const tenon_json* sections, tenon_json** schema,
                                          tenon_error** error);
  /* Continues the generator where generator_reserve(0, ...) has read it: the next draw is the one at
   * `offset` of the sequence of `seed`. For the process. Any thread. */
  void(TENON_CALL* generator_state_set)(uint64_t seed, uint64_t offset);
  /* Named tensors of any type as plain ones: a tensor of another type becomes its data, where it
   * has data, and each of its components as "NAME.component". *metadata receives an object of
   * strings that says what they were. `flags`: TENON_STORE_ bits. `stored_names` receives a string
   * list, `stored` a tensor list of the same length. Owned. TypeError where a type has no components
   * or attributes that describe its tensors. Any thread. */
  tenon_status(TENON_CALL* tensors_store)(const tenon_string* names, tenon_tensor* const* tensors,
                                          int64_t count, uint32_t flags, tenon_value* stored_names,
                                          tenon_value* stored, tenon_json** metadata,
                                          tenon_error** error);
  /* The reverse for what was stored with TENON_STORE_WHOLE; loads the plugins of its types. Other
   * tensors and members of `metadata` are left as they are. `source` is the file that they come
   * from, for messages. ValueError where the metadata does not fit tensors or types. Owned.
   * Any thread. */
  tenon_status(TENON_CALL* tensors_restore)(const char* source, const tenon_string* names,
                                            tenon_tensor* const* tensors, int64_t count,
                                            const tenon_json* metadata, tenon_value* restored_names,
                                            tenon_value* restored, tenon_error** error);
  /* Passes the values of a JSON text to `events` in its order, and keeps none: the document may be
   * of any size. `max_depth` is how deep containers may be nested. ValueError for what is not JSON,
   * with line and column; an event's error ends it. Any thread. */
  tenon_status(TENON_CALL* json_scan)(const char* json, int64_t length, int64_t max_depth,
                                      const tenon_json_events* events, tenon_error** error);
  /* The file that the document was read from; empty for others. Borrowed; valid as long as the
   * document. Any thread. */
  tenon_string(TENON_CALL* json_source)(const tenon_json* document);
  /* The text of an op's schema; loads the plugin that provides the op. Owned. Any thread. */
  tenon_status(TENON_CALL* op_schema)(const tenon_op* op, tenon_value* text, tenon_error** error);
  /* From now on ops compute shapes and dtypes alone: results are zeros, operands are not changed,
   * nothing is recorded or drawn at random, and large new tensors take no memory until they are
   * written. What ops declare in `multiply_adds` is added to *multiply_adds. Null ends it. Returns
   * what was set before. Calling thread only. */
  int64_t*(TENON_CALL* shapes_only_set)(int64_t* multiply_adds);
  /* tensor_alias with elements of another dtype, in which strides and offset count: complex ones as
   * their parts (c64 as f32, c128 as f64), and the reverse. TypeError for any other pair of dtypes,
   * ValueError as tensor_alias. New reference. Any thread. */
  tenon_status(TENON_CALL* tensor_alias_as)(tenon_tensor* base, tenon_dtype dtype, int64_t rank,
                                            const int64_t* shape, const int64_t* strides,
                                            int64_t offset, tenon_tensor** result,
                                            tenon_error** error);
  /* Unloads a plugin: from the return on no call reaches it; handles of its ops raise PluginError, or
   * call the next provider. What was recorded, created or registered with its code continues, and the
   * code with it. `choice`, a TENON_UNLOAD_, says what to do while that is so; `timeout_ms` limits
   * TENON_UNLOAD_WAIT, < 0: no limit. `report`, which may be null, becomes {"id", "path",
   * "generation", "state": "draining", "drained" or "unmapped", "holders": {kind: count}, "kept_by":
   * [text], "fault"?}: why drained code is not unmapped, what its shutdown threw. Loaded again by
   * plugin_load alone. PluginError when it is not loaded, is held (TENON_UNLOAD_REFUSE), when others
   * build on its types, or within a call, but for TENON_UNLOAD_FORCE. New reference. Any thread. */
  tenon_status(TENON_CALL* plugin_unload)(const char* id, uint32_t choice, int64_t timeout_ms,
                                          tenon_json** report, tenon_error** error);
  /* Loads the plugin's file as it is now and puts its code in place of the code that is active: calls
   * that begin after the return run the new code; graphs that were recorded before run the old one,
   * which goes when nothing holds it. On failure the old code stays as it was. A plugin that is not
   * loaded is loaded. `generation`, which may be null: 1 for a first load, one more with each
   * reload. Any thread. */
  tenon_status(TENON_CALL* plugin_reload)(const char* id_or_path, uint64_t* generation,
                                          tenon_error** error);

  /* A word of the process. While it is other than 0, loops of parallel_for stop with an
   * InterruptedError, on all threads. Any thread may set and clear it, by atomic stores, and so may a
   * signal handler. Borrowed; valid for the life of the process. Any thread. */
  int32_t*(TENON_CALL* interrupt_word)(void);
  /* InterruptedError where the word is set and loops of this thread would stop: for kernels that
   * loop long on their own, after a look at the word. Calling thread only. */
  tenon_status(TENON_CALL* interrupt_check)(tenon_error** error);
  /* 0: loops that this thread starts run to their end, whatever the word says. Returns the previous
   * setting. Ops that change an operand run so. Calling thread only. */
  int32_t(TENON_CALL* interrupts_set)(int32_t enabled);
  /* A number of the tensor's storage that no other storage of the process has or had, so that a cache
   * knows its contents by number and tensor_version. 0: they must not be kept, because the memory is
   * the caller's (tensor_wrap) and may change unseen, or there are no more numbers (2^32), or the
   * tensor is null or without data. A write through a pointer, outside of an op, changes neither.
   * Any thread. */
  uint32_t(TENON_CALL* tensor_storage_number)(const tenon_tensor* tensor);

  /* New slots go here. Those of minor 1 are named through a macro, so that code below that target
   * does not compile when it uses one, while the layout stays the same:
   *   #if TENON_TARGET_MINOR >= 1
   *   #define TENON_SINCE_1(name) name
   *   #else
   *   #define TENON_SINCE_1(name) name##_needs_target_minor_1
   *   #endif
   *   int64_t(TENON_CALL* TENON_SINCE_1(new_slot))(void); */
} tenon_host;

#ifdef __cplusplus
extern "C" {
#endif

/* The process's host, for applications, which link libtenon; plugins get it through their entry.
 * Starts the runtime at the first call. Borrowed; valid for the life of the process. Never null.
 * Any thread. */
TENON_EXPORT const tenon_host* tenon_host_get(void);

#ifdef __cplusplus
}
#endif

#endif
