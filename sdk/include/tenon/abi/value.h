/* Tagged values: the one representation of arguments and results at the boundary. */
#ifndef TENON_ABI_VALUE_H
#define TENON_ABI_VALUE_H

#include <stdint.h>

#include "dtype.h"
#include "tensor.h"

/* The tag says which member of `as` is valid. Lists are flat arrays of `length` elements. Tags are
 * frozen; new ones are appended. */
enum {
  TENON_VALUE_NONE = 0,
  TENON_VALUE_BOOL = 1,             /* integer: 0 or 1 */
  TENON_VALUE_INT = 2,              /* integer */
  TENON_VALUE_FLOAT = 3,            /* number */
  TENON_VALUE_DTYPE = 4,            /* integer: a tenon_dtype */
  TENON_VALUE_STRING = 5,           /* string: UTF-8, `length` bytes, not NUL-terminated */
  TENON_VALUE_TENSOR = 6,           /* tensor */
  TENON_VALUE_INT_LIST = 7,         /* integers */
  TENON_VALUE_FLOAT_LIST = 8,       /* numbers */
  TENON_VALUE_BOOL_LIST = 9,        /* booleans: one byte each, 0 or 1 */
  TENON_VALUE_STRING_LIST = 10,     /* strings */
  TENON_VALUE_TENSOR_LIST = 11,     /* tensors; entries may be null */
  TENON_VALUE_JSON = 12,            /* json: a JSON-like document, see service/documents.h */
  TENON_VALUE_MODULE = 13,          /* module */
  TENON_VALUE_NOT_IMPLEMENTED = 14, /* an override or handler declines the call */
  TENON_VALUE_MODULE_LIST = 15,     /* modules */
  TENON_VALUE_MODULE_DICT = 16,     /* named_modules: `length` entries */
  TENON_VALUE_TAG_COUNT = 17
};

/* UTF-8 text that is not NUL-terminated. Frozen. Borrowed from what it was read from. */
typedef struct tenon_string {
  const char* data; /* may be null where `length` is 0 */
  int64_t length;   /* in bytes */
} tenon_string;

/* A node of an immutable JSON-like document, counted together with its document:
 * service/documents.h. Any thread. */
typedef struct tenon_json tenon_json;
/* A counted handle of a module: service/modules.h. Any thread; threads that change one module
 * synchronize themselves. */
typedef struct tenon_module tenon_module;

/* An entry of a dictionary of modules. Frozen. Names are unique in it; the order is kept. */
typedef struct tenon_named_module {
  tenon_string name;    /* key in the dictionary */
  tenon_module* module; /* the module; owned as the list is */
} tenon_named_module;

/* One argument or result. Frozen: 16 bytes; unused bits are zero.
 * - As an argument, everything in it is borrowed, and valid during the call.
 * - As a result, everything in it is owned by the receiver: tensors, JSON documents and modules
 *   are new references, and lists and strings are memory from the host's `allocate`.
 *   values.release of the host releases all of it. */
typedef struct tenon_value {
  uint32_t tag;    /* a TENON_VALUE_ tag: which member of `as` is set */
  uint32_t length; /* length of strings and lists */
  union {
    int64_t integer;
    double number;
    const char* string;
    tenon_tensor* tensor;
    const int64_t* integers;
    const double* numbers;
    const uint8_t* booleans;
    const tenon_string* strings;
    tenon_tensor* const* tensors;
    tenon_json* json;
    tenon_module* module;
    tenon_module* const* modules;
    const tenon_named_module* named_modules;
    void* pointer;
  } as; /* the member that `tag` names */
} tenon_value;

#endif
