/* JSON documents: how a text is read, where a node was in it, the steps that make a document, and events
 * for readers that keep little of a large text. */
#ifndef TENON_ABI_JSON_H
#define TENON_ABI_JSON_H

#include <stdint.h>

#include "attributes.h"
#include "error.h"
#include "value.h"

/* Bits of tenon_json_reading::flags. */
enum {
  TENON_JSON_RELAXED = 1 /* takes comments, and a comma behind the last element */
};

/* How json_parse reads a text that a person or a stranger wrote. Growable: begins with its size. */
typedef struct tenon_json_reading {
  uint32_t size;        /* bytes of this struct */
  uint32_t flags;       /* TENON_JSON_ bits of reading */
  const char* source;   /* file name, for messages and places; may be null */
  tenon_status failure; /* kind of the error for a text that is refused */
  uint32_t reserved;    /* 0 */
  int64_t max_bytes;    /* most bytes of the text */
  /* Memory that the caller takes for each value. A text is refused when its document could take
   * more than the text's size and 256 MiB with it. */
  int64_t value_bytes;
} tenon_json_reading;

/* Line and column count from 1, columns in characters; line 0: code made it. Frozen. */
typedef struct tenon_json_place {
  uint32_t line;   /* from 1; 0: made by code */
  uint32_t column; /* from 1, in characters */
  uint32_t offset; /* bytes from the start of the text */
} tenon_json_place;

/* Place of a node in its text. Frozen. */
typedef struct tenon_json_position {
  tenon_json_place value; /* start of the value */
  tenon_json_place key;   /* for members of an object */
} tenon_json_position;

/* Kinds of steps. Frozen. */
enum {
  TENON_JSON_VALUE = 0,  /* one value */
  TENON_JSON_ARRAY = 1,  /* begins an array */
  TENON_JSON_OBJECT = 2, /* begins an object */
  TENON_JSON_END = 3     /* ends the innermost array or object */
};

/* One step of json_build. Frozen. Borrowed for the call. */
typedef struct tenon_json_step {
  tenon_string key; /* key of the member that begins here */
  tenon_value
      value; /* for TENON_JSON_VALUE: a number, a string, none, or a document, which is copied */
  /* The node whose place what begins here has; may be null. A copied document keeps its places when
   * it has an origin, and loses them without. */
  const tenon_json* origin;
  uint32_t kind;     /* a kind of step, such as TENON_JSON_ARRAY */
  uint32_t reserved; /* 0 */
} tenon_json_step;

/* Functions that documents.scan calls, on its thread. Growable: begins with its size. A function that returns
 * another status than TENON_OK, with an error, ends the scan. */
typedef struct tenon_json_events {
  uint32_t size; /* bytes of this struct */
  void* self;    /* first argument of every function */
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
