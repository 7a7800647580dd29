/* Tagged values: the one form in which arguments and results cross the boundary. */
#ifndef TENON_ABI_VALUE_H
#define TENON_ABI_VALUE_H

#include <stdint.h>

#include "dtype.h"
#include "tensor.h"

/* Tags are frozen; new ones are appended. Lists are flat arrays of `length` elements. */
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
  TENON_VALUE_TREE = 12,            /* tree: a JSON-like document, see tree slots */
  TENON_VALUE_MODULE = 13,          /* module */
  TENON_VALUE_NOT_IMPLEMENTED = 14, /* an override declines */
  TENON_VALUE_MODULE_LIST = 15,     /* modules */
  TENON_VALUE_TAG_COUNT = 16
};

typedef struct tenon_string {
  const char* data;
  int64_t length;
} tenon_string;

typedef struct tenon_tree tenon_tree;
typedef struct tenon_module tenon_module;

/* Frozen: 16 bytes. As an argument everything in it is borrowed for the call. As a result
 * everything in it is given: tensors come with a reference, lists and strings with memory from the
 * host's allocate; `value_release` of the host undoes all of that. Unused bits are zero. */
typedef struct tenon_value {
  uint32_t tag;
  uint32_t length;
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
    tenon_tree* tree;
    tenon_module* module;
    tenon_module* const* modules;
    void* pointer;
  } as;
} tenon_value;

#endif
