/* Status codes and error objects: how a call reports what failed. */
#ifndef TENON_ABI_ERROR_H
#define TENON_ABI_ERROR_H

#include <stdint.h>

/* X(name, code, text, remedy). `text` is the kind in messages, `remedy` what the caller can do.
 * Codes are frozen; new ones are appended. */
#define TENON_ERROR_KINDS(X)                                                            \
  X(TYPE, 1, "TypeError", "pass arguments of a type that the op takes")                 \
  X(VALUE, 2, "ValueError", "pass values, shapes or dtypes that fit")                   \
  X(INDEX, 3, "IndexError", "pass an index or dimension inside the range")              \
  X(ARGUMENT, 4, "ArgumentError", "call the function with the arguments it documents")  \
  X(NOT_IMPLEMENTED, 5, "NotImplementedError", "implement the rule, or avoid the call") \
  X(GRAPH, 6, "GraphError", "build the graph again, or retain it")                      \
  X(INPLACE, 7, "InplaceError", "clone before the in-place change")                     \
  X(GRADCHECK, 8, "GradcheckError", "fix the gradient rule named in the report")        \
  X(PLUGIN, 9, "PluginError", "fix or replace the plugin file named in the message")    \
  X(CONFIG, 10, "ConfigError", "fix the config at the reported line and column")        \
  X(IO, 11, "IOError", "check the path, its permissions and the free space")            \
  X(MEMORY, 12, "MemoryError", "free memory or ask for less")                           \
  X(RUNTIME, 13, "RuntimeError", "see the message")                                     \
  X(INTERNAL, 14, "InternalError", "report it as a bug of the runtime")                 \
  X(DISTRIBUTED, 15, "DistributedError", "correct the rank that is named, and resume")  \
  X(INTERRUPTED, 16, "InterruptedError", "call it again: its operands are unchanged")

#define TENON_ERROR_CONSTANT(name, code, text, remedy) TENON_ERROR_##name = code,
enum { TENON_OK = 0, TENON_ERROR_KINDS(TENON_ERROR_CONSTANT) TENON_ERROR_KIND_END };
#undef TENON_ERROR_CONSTANT

/* The result of every call that can fail: TENON_OK, or one of the kinds above. */
typedef int32_t tenon_status;

/* An error: kind, message, and where they are known op, provider and cause. Opaque; made and read
 * through the error slots of service/values.h.
 *
 * A function that can fail takes a `tenon_error** error`. It may be null: the caller ignores the
 * details. Otherwise it points to a null pointer. A callee that returns another status than
 * TENON_OK stores an error there, with values.error_set or values.error_pass; the caller then
 * owns it and calls values.error_release. Any thread may read and release an error, one at a
 * time. */
typedef struct tenon_error tenon_error;

#endif
