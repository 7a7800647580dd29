/* Tensor types as plugins describe them, and overrides of ops for sets of types. */
#ifndef TENON_ABI_TYPE_H
#define TENON_ABI_TYPE_H

#include <stdint.h>

#include "attributes.h"
#include "error.h"
#include "op.h"
#include "tensor.h"
#include "value.h"

/* One call as handlers, overrides and modes see it. Host-owned, valid during the callback, on its
 * thread. Growable: begins with its size. */
typedef struct tenon_call {
  uint32_t size;
  uint32_t type; /* whose turn it is; 0 in a mode */
  const tenon_op* op;
  const uint32_t* types; /* the distinct types that are asked, in the order of asking */
  int64_t type_count;
  /* One value for each parameter, defaults filled in: of the op's schema for handlers and modes, of
   * its own signature for an override. */
  const tenon_value* arguments;
  int64_t argument_count;
  /* The same as the caller wrote it, before conversions: `positional`, so many values by position,
   * then those by name, a value that equals its default too. For handlers and modes. */
  int64_t positional_count;
  const tenon_string* keywords;
  const tenon_value* keyword_values;
  int64_t keyword_count;
  const tenon_value* positional; /* null for an override */
} tenon_call;

/* What calls of a thread pass over, see dispatch_disable of the host. */
enum {
  TENON_DISABLE_TYPES = 1 << 0, /* operands' types: subclasses of Tensor are plain tensors */
  TENON_DISABLE_MODES = 1 << 1  /* modes above autograd */
};

/* Answers a call: fills as many results as the op has (values of any kind), or puts
 * TENON_VALUE_NOT_IMPLEMENTED into the first to decline. [any-thread] */
typedef tenon_status(TENON_CALL* tenon_handler_function)(void* self, const tenon_call* call,
                                                         tenon_value* results, tenon_error** error);

/* An override that is registered. Lives as long as the process. */
typedef struct tenon_override tenon_override;

/* A mode, and a trace, that was entered. */
typedef struct tenon_mode tenon_mode;
typedef struct tenon_trace tenon_trace;

/* What happens when everybody has declined. */
enum {
  TENON_FALLBACK_INHERIT = 0, /* the parent's; decline where there is none */
  TENON_FALLBACK_DECLINE = 1,
  TENON_FALLBACK_TO_TENSOR = 2,    /* operands of the type are converted, the op is called anew */
  TENON_FALLBACK_UNWRAP_REWRAP = 3 /* the same, and tensor results are made the type again */
};

/* What results made by the default handler carry of their operands' payload. */
enum {
  TENON_METADATA_KEEP = 0, /* that of the first operand that has one */
  TENON_METADATA_DROP = 1, /* none */
  TENON_METADATA_MERGE = 2 /* what the type's merge function makes */
};

enum {
  TENON_TYPE_PARTIAL = 1 << 0,      /* covers some ops on purpose: no warning */
  TENON_TYPE_NEVER_OPERAND = 1 << 1 /* no op takes it */
};

/* Growable: begins with its size; lives as long as the plugin is loaded. Functions may be null
 * where a comment says so. A payload is memory that belongs to the tensor and is shared by what is
 * derived from it: constructed by the plugin, destroyed once, by any thread. */
typedef struct tenon_type_descriptor {
  uint32_t size;
  uint32_t flags;
  const char* name;
  const char* parent; /* null: unrelated to Tensor; "Tensor", or another type */
  const char* doc;
  uint32_t fallback;
  uint32_t metadata;
  int64_t payload_size; /* 0: none */
  void* self;           /* handed to every function */
  /* Asked for every op. Null: children of Tensor run the op and make results their own type, others
   * have overrides and fallback only. */
  tenon_handler_function handler;
  void(TENON_CALL* destroy)(void* payload); /* null: nothing to do */
  /* Makes the payload of a result from the operands of this type, in order. */
  tenon_status(TENON_CALL* merge)(void* self, tenon_tensor* const* operands, int64_t count,
                                  void* payload, tenon_error** error);
  /* The text form, given as a string. Null: the parent's, or the host's own. */
  tenon_status(TENON_CALL* text)(void* self, tenon_tensor* tensor, tenon_value* text,
                                 tenon_error** error);
  /* A plain tensor from one of the type, given. Null for children of Tensor: the same data. */
  tenon_status(TENON_CALL* to_tensor)(void* self, tenon_tensor* tensor, tenon_tensor** result,
                                      tenon_error** error);
  /* One of the type from a plain tensor, given; `like` is the operand that it shall resemble, or
   * null. Null for children of Tensor: the metadata rule. */
  tenon_status(TENON_CALL* from_tensor)(void* self, tenon_tensor* plain, tenon_tensor* like,
                                        tenon_tensor** result, tenon_error** error);
  /* What a gradient, of the shape of its tensor and of any type, is for a tensor of this type:
   * given, in the type's own structure. Null: the parent's, or gradients stay what they are. */
  tenon_status(TENON_CALL* project_gradient)(void* self, tenon_tensor* gradient,
                                             tenon_tensor** result, tenon_error** error);
  /* The tensors that a payload holds, by name. A type unrelated to Tensor that has one needs no
   * conversions: to_tensor is that tensor, from_tensor a copy of `like` with another in its place.
   */
  const char* const* components;
  int64_t component_count;
  /* Where a payload keeps one of them. */
  tenon_tensor**(TENON_CALL* component)(void* payload, int64_t index);
  /* Constructs a payload like another. */
  tenon_status(TENON_CALL* copy)(void* self, const void* payload, void* copy, tenon_error** error);
  /* What other binaries that use the type must agree on; 0: not known. */
  int64_t payload_alignment;
  uint32_t payload_fingerprint;
  uint32_t reserved;
  /* What of a payload is not in its components, as text for a file, given as a string; and a
   * payload from such a text, its components null. Both null: there is nothing else. */
  tenon_status(TENON_CALL* attributes)(void* self, const void* payload, tenon_value* text,
                                       tenon_error** error);
  tenon_status(TENON_CALL* restore)(void* self, const char* text, int64_t length, void* payload,
                                    tenon_error** error);
} tenon_type_descriptor;

/* The payload of a type as one binary knows it. Growable: begins with its size. */
typedef struct tenon_payload_layout {
  uint32_t size;
  uint32_t fingerprint;
  int64_t payload_size;
  int64_t payload_alignment;
  const char* const* components;
  const int64_t* component_offsets;
  int64_t component_count;
  const char* user; /* whose layout it is: a plugin's id; null: the application */
} tenon_payload_layout;

/* An implementation of one op for a set of types. Growable: begins with its size; lives as long as
 * the plugin is loaded. */
typedef struct tenon_override_descriptor {
  uint32_t size;
  uint32_t flags;
  const char* schema; /* its own signature, under the op's full name */
  const char* doc;
  const char* types;   /* "A" or "A, B": a call has an operand of each */
  const char* accepts; /* what else the operands may be: "Tensor, C", "*"; null: "Tensor" */
  void* self;
  tenon_handler_function run;
  /* Instead of `run`: the override as an op of the same signature, with all that an op may have, so
   * that its calls are recorded. Null: what `run` returns has the history that it comes with. */
  const tenon_op_descriptor* rules;
} tenon_override_descriptor;

#endif
