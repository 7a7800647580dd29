/* Errors, memory and values: what every call at the boundary passes.
 *
 * A slot: makes, reads or frees what crosses the boundary and belongs to the host, and the two
 * text rules that all messages share. Not a slot: what a struct of error.h or value.h shows to its
 * reader already; formatting, parsing, containers.
 *
 *   tenon_value text = {0};
 *   tenon_status status = tenon_values->string_create("done", 4, &text, error);
 *   if (status != TENON_OK) return status;
 *   results[0] = text; // the caller releases it by tenon_values->release
 *
 * Any thread. Errors, strings and memory are owned by the caller that receives them. */
#ifndef TENON_ABI_SERVICE_VALUES_H
#define TENON_ABI_SERVICE_VALUES_H

#include "service.h"

#define TENON_VALUES_VERSION 1 /* newest version of the table; grows with its slots */

/* Named "tenon.values". */
typedef struct tenon_values_service {
  tenon_service head; /* size and version */

  /* Stores kind and message in `*error`, replacing what is there; returns `kind`. A kind out of
   * range becomes TENON_ERROR_RUNTIME. `error` may be null. Any thread. */
  tenon_status(TENON_CALL* error_set)(tenon_error** error, tenon_status kind, const char* message,
                                      int64_t length);
  /* TENON_OK for null. Any thread. */
  tenon_status(TENON_CALL* error_kind)(const tenon_error* error);
  /* NUL-terminated; "" for null. Borrowed; valid as long as the error. Any thread. */
  const char*(TENON_CALL* error_message)(const tenon_error* error);
  /* Full name of the op that failed; "" when it is not known. Borrowed; valid as long as the
   * error. Any thread. */
  const char*(TENON_CALL* error_op)(const tenon_error* error);
  /* Id of that op's plugin; "" when it is not known. Borrowed; valid as long as the error. Any
   * thread. */
  const char*(TENON_CALL* error_provider)(const tenon_error* error);
  /* The error that caused this one; null when there is none. Borrowed; valid as long as the error.
   * Any thread. */
  const tenon_error*(TENON_CALL* error_cause)(const tenon_error* error);
  /* Frees the error. May be null. Any thread. */
  void(TENON_CALL* error_release)(tenon_error* error);
  /* Stores a copy of `error`, with its op, provider and cause, in `*slot`. The caller keeps
   * `error`. Both may be null. Any thread. */
  void(TENON_CALL* error_pass)(tenon_error** slot, const tenon_error* error);
  /* Uninitialized memory, aligned to 64 bytes; null when there is not enough. Owned: free it with
   * free_memory, or put it into a result value. Any thread. */
  void*(TENON_CALL* allocate)(int64_t bytes);
  /* `bytes` as given to allocate. May be null. Any thread, also another than allocated it. */
  void(TENON_CALL* free_memory)(void* memory, int64_t bytes);
  /* Returns unused blocks that the allocator keeps for reuse to the system, and sets how many
   * bytes it may keep from now on; a negative limit leaves it as it is. Any thread. */
  void(TENON_CALL* release_cached_memory)(int64_t keep_limit);
  /* `result` becomes a string value with a copy of the bytes. Owned. Any thread. */
  tenon_status(TENON_CALL* string_create)(const char* data, int64_t length, tenon_value* result,
                                          tenon_error** error);
  /* Releases what an owned value owns, and sets it to none. Any thread. */
  void(TENON_CALL* release)(tenon_value* value);
  /* A value as it is printed: None, True, 0.4, 'text', tensor(1.), [1, 2]; as a string. Owned. Any
   * thread. */
  tenon_status(TENON_CALL* text)(const tenon_value* value, tenon_value* text, tenon_error** error);
  /* " (did you mean 'add'?)" for the candidate that a mistyped word most likely means, or "". A
   * string. Owned. Any thread. */
  tenon_status(TENON_CALL* suggestion)(const char* word, int64_t length,
                                       const tenon_string* candidates, int64_t count,
                                       tenon_value* text, tenon_error** error);
  /* The text for a terminal: control characters, and bytes that are not UTF-8, as escapes; line
   * breaks and tabs stay. A string. Owned. Any thread. */
  tenon_status(TENON_CALL* printable)(const char* bytes, int64_t length, tenon_value* text,
                                      tenon_error** error);
  /* Bytes of the host's allocator: of blocks up to 4 KiB that are in use, where free ones that other
   * threads keep count as well; and of large blocks that are kept for reuse. Any thread. */
  void(TENON_CALL* memory_in_use)(int64_t* small_in_use, int64_t* large_kept);
} tenon_values_service;

#endif
