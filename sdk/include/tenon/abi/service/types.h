/* Tensor types and overrides: finding types, making their objects, calling overrides.
 *
 * A slot: reads the table of types, or makes and reads an object with a payload. Not a slot: what a
 * descriptor of type.h declares; what an op can compute on a typed tensor.
 *
 *   uint32_t unit = 0;
 *   void* payload = NULL;
 *   tenon_status status = tenon_types->find("Unit", &unit, error);
 *   if (status == TENON_OK) status = tenon_types->wrap(unit, plain, &payload, &result, error);
 *
 * Any thread; call_parent is for the thread that runs the handler. Types and overrides are valid
 * for the life of the process. */
#ifndef TENON_ABI_SERVICE_TYPES_H
#define TENON_ABI_SERVICE_TYPES_H

#include "service.h"
#include "tenon/abi/type.h"

#define TENON_TYPES_VERSION 1 /* newest version of the table; grows with its slots */

/* Named "tenon.types". */
typedef struct tenon_types_service {
  tenon_service head; /* size and version */

  /* The id of a type, 0 for Tensor; loads the plugin that declares it. Valid for the life of the
   * process. Any thread. */
  tenon_status(TENON_CALL* find)(const char* name, uint32_t* type, tenon_error** error);
  /* find for a binary that reads payloads: TypeError when the plugin that registered the type has
   * another layout. A layout of size 0 says that the caller reads none, and always fits. Any
   * thread. */
  tenon_status(TENON_CALL* find_layout)(const char* name, const tenon_payload_layout* layout,
                                        uint32_t* type, tenon_error** error);
  /* Name of a type; "" when there is no such id. Borrowed; valid for the life of the process. Any
   * thread. */
  const char*(TENON_CALL* name)(uint32_t type);
  /* 1 when `type` is `ancestor` or derives from it. Any thread. */
  int32_t(TENON_CALL* is)(uint32_t type, uint32_t ancestor);
  /* 1 when calls ask operands of the type: it has a handler, an override or a fallback, or derives
   * from Tensor. 0 for Tensor itself. Any thread. */
  int32_t(TENON_CALL* dispatches)(uint32_t type);
  /* An object without data of a type that does not derive from Tensor. `*payload` receives the
   * address of zeroed memory of the type's payload size, in which the caller must construct the
   * payload before anything else; null when that size is 0. `payload` may be null: the host makes
   * a default payload; TypeError where the type has none. `shape` may be null when `rank` is 0.
   * New reference. Any thread. */
  tenon_status(TENON_CALL* create)(uint32_t type, tenon_dtype dtype, int64_t rank,
                                   const int64_t* shape, void** payload, tenon_tensor** result,
                                   tenon_error** error);
  /* An object of a subclass of Tensor that shares data and history with `tensor`. `payload` as for
   * create; null shares the tensor's payload where it has one of the type. New reference. Any
   * thread. */
  tenon_status(TENON_CALL* wrap)(uint32_t type, tenon_tensor* tensor, void** payload,
                                 tenon_tensor** result, tenon_error** error);
  /* The payload; null when there is none. Borrowed; valid as long as the tensor. Any thread. */
  void*(TENON_CALL* payload)(const tenon_tensor* tensor);
  /* The tensor as a plain Tensor: itself when it is one, else converted by its type. New
   * reference. Any thread. */
  tenon_status(TENON_CALL* to_plain)(tenon_tensor* tensor, tenon_tensor** result,
                                     tenon_error** error);
  /* Inside a handler, override or mode: runs what comes next for the parent of its type, or
   * outside of the mode. After the last parent the op runs and its results become the type.
   * `arguments` has one value for each parameter of the op; may be null: those of the call.
   * Results are owned. Calling thread only. */
  tenon_status(TENON_CALL* call_parent)(const tenon_call* call, const tenon_value* arguments,
                                        tenon_value* results, tenon_error** error);
  /* An override by key, "add[A, B]", types in any order; loads the plugins of the types.
   * `provider` is a plugin's id; null or "": the one that ranks first. ValueError when there is
   * none. Borrowed; valid for the life of the process. Any thread. */
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
  /* A component of the tensor's payload, which may be null. IndexError when its type has none of the
   * name. Borrowed; valid as long as the tensor. Any thread. */
  tenon_status(TENON_CALL* component)(const tenon_tensor* tensor, const char* name, int64_t length,
                                      tenon_tensor** component, tenon_error** error);
  /* Gives the tensor a payload of other attributes, the text that its type has made of them; its
   * components stay. TypeError where the type makes none. Any thread. */
  tenon_status(TENON_CALL* set_attributes)(tenon_tensor* tensor, const char* text, int64_t length,
                                           tenon_error** error);
  /* Fills the first `parts->size` bytes of `parts`, and sets `size` to what it has filled. ValueError
   * when there is no such id, ArgumentError for a size that has no room. Any thread. */
  tenon_status(TENON_CALL* parts)(uint32_t type, tenon_type_parts* parts, tenon_error** error);
  /* Text that the tensor's type makes of the attributes of its payload, a string; none where it makes
   * none. Owned. Any thread. */
  tenon_status(TENON_CALL* attributes)(const tenon_tensor* tensor, tenon_value* text,
                                       tenon_error** error);
  /* An object from its parts: `attributes` is a text of `attributes`, null where the type reads
   * none; `components` have the names of `names`, and the others are null. A subclass of Tensor
   * shares the memory of `data`, not its history; for other types that is null, and dtype and shape
   * are given. ValueError where the type is made of other parts. New reference. Any thread. */
  tenon_status(TENON_CALL* compose)(uint32_t type, tenon_tensor* data, tenon_dtype dtype,
                                    int64_t rank, const int64_t* shape,
                                    const tenon_string* attributes, const tenon_string* names,
                                    tenon_tensor* const* components, int64_t count,
                                    tenon_tensor** result, tenon_error** error);
  /* An object of the type made of a plain tensor by its from_tensor, with the history of `plain`.
   * `like` is an object that it should resemble, such as one on the device of its type; may be
   * null. TypeError when the type has no from_tensor. New reference. Any thread. */
  tenon_status(TENON_CALL* from_plain)(uint32_t type, tenon_tensor* plain, tenon_tensor* like,
                                       tenon_tensor** result, tenon_error** error);
} tenon_types_service;

#endif
