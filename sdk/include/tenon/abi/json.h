/* JSON texts as events, for readers that keep little of a large text. */
#ifndef TENON_ABI_JSON_H
#define TENON_ABI_JSON_H

#include <stdint.h>

#include "error.h"
#include "value.h"

/* What json_scan calls, on its thread. Growable: begins with its size. A function that returns
 * another status than TENON_OK, with an error, ends the scan. */
typedef struct tenon_json_events {
  uint32_t size;
  void* self; /* first argument of every function */
  /* An object (1) or array (0) begins; its members or elements are next. */
  tenon_status(TENON_CALL* begin)(void* self, int32_t is_object, tenon_error** error);
  /* The innermost object or array ends. */
  tenon_status(TENON_CALL* end)(void* self, tenon_error** error);
  /* The key of the next value. Borrowed; valid during the call. */
  tenon_status(TENON_CALL* key)(void* self, const char* text, int64_t length, tenon_error** error);
  /* A scalar: NONE, BOOL, INT, FLOAT or STRING. Borrowed; valid during the call. */
  tenon_status(TENON_CALL* value)(void* self, const tenon_value* scalar, tenon_error** error);
} tenon_json_events;

#endif
