/* Status codes and error objects: how a fallible call says what went wrong. */
#ifndef TENON_ABI_ERROR_H
#define TENON_ABI_ERROR_H

#include <stdint.h>

/* X(name, code, text, what the caller can do). Codes are frozen; new ones are appended. */
#define TENON_ERROR_KINDS(X)                                                            \
  X(TYPE, 1, "TypeError", "pass operands or arguments of a type that the op takes")     \
  X(VALUE, 2, "ValueError", "pass values, shapes or dtypes that fit")                   \
  X(INDEX, 3, "IndexError", "pass an index or dimension inside the range")              \
  X(ARGUMENT, 4, "ArgumentError", "call the function with the arguments it documents")  \
  X(NOT_IMPLEMENTED, 5, "NotImplementedError", "implement the rule, or avoid the call") \
  X(GRAPH, 6, "GraphError", "build the graph anew, or retain it")                       \
  X(INPLACE, 7, "InplaceError", "clone before the in-place change, or record it")       \
  X(GRADCHECK, 8, "GradcheckError", "mend the gradient rule that the report names")     \
  X(PLUGIN, 9, "PluginError", "mend or replace the plugin file that the message names") \
  X(CONFIG, 10, "ConfigError", "mend the config at the line and column given")          \
  X(IO, 11, "IOError", "check the path, its rights and the space left")                 \
  X(MEMORY, 12, "MemoryError", "free memory or ask for less")                           \
  X(RUNTIME, 13, "RuntimeError", "see the message")                                     \
  X(INTERNAL, 14, "InternalError", "report it: a promise of the runtime was broken")

#define TENON_ERROR_CONSTANT(name, code, text, remedy) TENON_ERROR_##name = code,
enum { TENON_OK = 0, TENON_ERROR_KINDS(TENON_ERROR_CONSTANT) TENON_ERROR_KIND_END };
#undef TENON_ERROR_CONSTANT

/* TENON_OK, or one of the kinds above. */
typedef int32_t tenon_status;

/* An error with kind, message, op, provider and cause. Opaque; owned by whoever holds it.
 * Fallible functions take a `tenon_error** error`: null to ignore the details, else the address of
 * a slot that the callee fills, through the host, with an error that the caller must release. */
typedef struct tenon_error tenon_error;

#endif
