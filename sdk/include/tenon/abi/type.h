/* Tensor types as plugins describe them, and overrides of ops for sets of types. */
#ifndef TENON_ABI_TYPE_H
#define TENON_ABI_TYPE_H

#include <stdint.h>

#include "attributes.h"
#include "error.h"
#include "op.h"
#include "tensor.h"
#include "value.h"

/* How a program spelled a call, see tenon_call. */
enum {
  TENON_SPELLING_FUNCTION = 0, /* add(a, b): a typed function */
  TENON_SPELLING_METHOD = 1,   /* a.add(b) */
  TENON_SPELLING_OPERATOR = 2, /* a + b, -a, a += b */
  TENON_SPELLING_HANDLE = 3    /* through a handle of the op, or with keywords */
};

/* One call as handlers, overrides and modes see it. Growable: begins with its size. Owned by the
 * host; it and everything it points to is borrowed, valid during the callback, on its thread. */
typedef struct tenon_call {
  uint32_t size;         /* bytes of this struct */
  uint32_t type;         /* the type whose handler or override runs; 0 in a mode */
  const tenon_op* op;    /* op that was called */
  const uint32_t* types; /* the distinct types that are asked, in the order of asking */
  int64_t type_count;    /* entries of `types` */
  /* One value for each parameter, converted, defaults filled in: of the op's schema for handlers
   * and modes, of the override's schema for an override. */
  const tenon_value* arguments;
  int64_t argument_count; /* entries of `arguments` */
  /* The arguments as the caller wrote them, before conversions, for handlers and modes: values by
   * position in `positional`, then values by name, also where one equals its default. */
  int64_t positional_count;
  const tenon_string* keywords;      /* names of the values by name */
  const tenon_value* keyword_values; /* the values by name */
  int64_t keyword_count;             /* entries of `keywords` and `keyword_values` */
  const tenon_value* positional;     /* may be null: in an override */
  uint32_t spelling;                 /* TENON_SPELLING_ */
  uint32_t reserved;                 /* 0 */
} tenon_call;

/* Bits for the types and modes that calls of a thread skip, see modes.disable of the host. */
enum {
  TENON_DISABLE_TYPES = 1 << 0, /* types of operands: subclasses of Tensor count as Tensor */
  TENON_DISABLE_MODES = 1 << 1  /* modes above autograd */
};

/* Handles a call: fills one entry of `results` for each result of the op with an owned value of any
 * kind, or declines by setting the first to TENON_VALUE_NOT_IMPLEMENTED. `self` is the
 * descriptor's, or the one that modes.enter got. Any thread. */
typedef tenon_status(TENON_CALL* tenon_handler_function)(void* self, const tenon_call* call,
                                                         tenon_value* results, tenon_error** error);

/* A registered override. Valid for the life of the process; calls raise PluginError once its plugin
 * is unloaded or reloaded. Any thread. */
typedef struct tenon_override tenon_override;

/* An entered mode, trace or watch, valid until it is left. Calling thread only. */
typedef struct tenon_mode tenon_mode;
typedef struct tenon_trace tenon_trace; /* an entered trace */
typedef struct tenon_watch tenon_watch; /* an entered watch of modules, see module_watch.h */

/* The host's treatment of operands of a type when all overrides and handlers have declined. */
enum {
  TENON_FALLBACK_INHERIT = 0,      /* the parent's fallback; DECLINE when there is no parent */
  TENON_FALLBACK_DECLINE = 1,      /* TypeError */
  TENON_FALLBACK_TO_TENSOR = 2,    /* converts the operands with to_tensor, calls the op again */
  TENON_FALLBACK_UNWRAP_REWRAP = 3 /* also converts tensor results back with from_tensor */
};

/* The payload of a result that the default handler or UNWRAP_REWRAP makes. */
enum {
  TENON_METADATA_KEEP = 0, /* the payload of the first operand that has one */
  TENON_METADATA_DROP = 1, /* a default payload, see merge */
  TENON_METADATA_MERGE = 2 /* made by the type's merge function */
};

/* Flags of a type. A plugin with one that the host does not know is refused from its file. */
enum {
  TENON_TYPE_PARTIAL = 1 << 0,       /* handles some ops on purpose: no warning about the others */
  TENON_TYPE_NEVER_OPERAND = 1 << 1, /* no op accepts an operand of it */
  /* a type unrelated to Tensor: where its handler calls call_parent for an op that is made of
   * ops, that op runs on the operands as they are, and the ops that it calls are asked for */
  TENON_TYPE_DECOMPOSES = 1 << 2,
  /* a subclass of Tensor whose elements are in memory that only its own code reads, such as that
   * of a device: its overrides and its handler run in place of kernels, below autograd, so that
   * calls are recorded by the rules of the op; ops that are made of ops and views run as they are;
   * whatever else reads elements refuses its objects. Holds for types that derive from it */
  TENON_TYPE_OWN_MEMORY = 1 << 3
};

/* A tensor type. Growable: begins with its size; fields past `size` read as zero. Owned by the
 * plugin; it and everything it points to must stay valid as long as the plugin is loaded.
 *
 * A payload is an object's own data: zeroed memory of the host, in which the plugin constructs a
 * struct, and which the objects that share it keep alive.
 *
 * Every pointer except `name` may be null. Any thread may call the functions, several at the same
 * time. Their tensors and payloads are borrowed, valid during the call. */
typedef struct tenon_type_descriptor {
  uint32_t size;        /* bytes of this struct */
  uint32_t flags;       /* TENON_TYPE_ bits */
  const char* name;     /* name in schemas and listings */
  const char* parent;   /* "Tensor" or another type that it derives from; null: derives from none */
  const char* doc;      /* one or two plain sentences, for listings */
  uint32_t fallback;    /* TENON_FALLBACK_ */
  uint32_t metadata;    /* TENON_METADATA_ */
  int64_t payload_size; /* in bytes; 0: objects have no payload */
  void* self;           /* first argument of every function; owned by the plugin */
  /* Called for every op that no override handles. Null: for a subclass of Tensor the default
   * handler, which runs the op and makes results the type; other types have overrides and a
   * fallback only. */
  tenon_handler_function handler;
  /* Destroys a payload, once; the host frees its memory. */
  void(TENON_CALL* destroy)(void* payload);
  /* Constructs the payload of a result from the operands of this type, in order; a default payload
   * when `count` is 0. Null: there is no default payload, and MERGE gives none. */
  tenon_status(TENON_CALL* merge)(void* self, tenon_tensor* const* operands, int64_t count,
                                  void* payload, tenon_error** error);
  /* The printed form, as a string value; owned. Null: the parent's, or the host's. */
  tenon_status(TENON_CALL* text)(void* self, tenon_tensor* tensor, tenon_value* text,
                                 tenon_error** error);
  /* Converts to a plain Tensor. New reference. Null for a subclass of Tensor: the same data. */
  tenon_status(TENON_CALL* to_tensor)(void* self, tenon_tensor* tensor, tenon_tensor** result,
                                      tenon_error** error);
  /* Makes an object of the type from a plain Tensor. `like` is an operand whose payload it should
   * resemble; may be null. New reference. Null for a subclass of Tensor: see `metadata`. */
  tenon_status(TENON_CALL* from_tensor)(void* self, tenon_tensor* plain, tenon_tensor* like,
                                        tenon_tensor** result, tenon_error** error);
  /* Projects a gradient, which has the shape of its tensor and any type, onto the structure of this
   * type. New reference. Null: the parent's, or gradients stay as they are. */
  tenon_status(TENON_CALL* project_gradient)(void* self, tenon_tensor* gradient,
                                             tenon_tensor** result, tenon_error** error);
  /* Names of the tensors in a payload. A type with a single one that does not derive from Tensor
   * needs no conversions: to_tensor is that one, from_tensor a copy of `like` with it replaced. */
  const char* const* components;
  int64_t component_count; /* entries of `components` */
  /* Address of one of them in a payload. */
  tenon_tensor**(TENON_CALL* component)(void* payload, int64_t index);
  /* Constructs in `copy` a payload like `payload`. */
  tenon_status(TENON_CALL* copy)(void* self, const void* payload, void* copy, tenon_error** error);
  /* The payload's layout, which other binaries that read it must share, see tenon_payload_layout;
   * 0: not known. */
  int64_t payload_alignment;
  uint32_t payload_fingerprint; /* hash of the layout; 0: not known */
  uint32_t reserved;            /* 0 */
  /* Writes the part of a payload that is not in its components as text for a file, as a string
   * value; owned. Null, like `restore`: a payload has no other part. */
  tenon_status(TENON_CALL* attributes)(void* self, const void* payload, tenon_value* text,
                                       tenon_error** error);
  /* Constructs a payload from such a text, its components null. */
  tenon_status(TENON_CALL* restore)(void* self, const char* text, int64_t length, void* payload,
                                    tenon_error** error);
} tenon_type_descriptor;

/* Bits of tenon_type_parts. */
enum {
  TENON_PARTS_DATA = 1 << 0,      /* objects have data: the type is Tensor or derives from it */
  TENON_PARTS_PAYLOAD = 1 << 1,   /* objects have a payload */
  TENON_PARTS_WRITES = 1 << 2,    /* the type writes attributes of a payload as text */
  TENON_PARTS_READS = 1 << 3,     /* it makes a payload from such a text */
  TENON_PARTS_COMPLETE = 1 << 4,  /* components are all of a payload, made without a text */
  TENON_PARTS_OWN_MEMORY = 1 << 5 /* TENON_TYPE_OWN_MEMORY holds for it: saved as a plain Tensor */
};

/* Parts that the objects of a type are made of, for a library that stores them. Growable: the caller
 * sets `size`, the host fills that many bytes. Borrowed; valid as long as the plugin of the type is
 * loaded. */
typedef struct tenon_type_parts {
  uint32_t size;                 /* bytes of this struct */
  uint32_t flags;                /* TENON_PARTS_ bits */
  const char* provider;          /* id of the plugin; "tenon" for Tensor */
  const char* const* components; /* names, component_count of them */
  int64_t component_count;       /* entries of `components` */
} tenon_type_parts;

/* The payload's struct as one binary was compiled with it, so that another layout is an error
 * instead of a wrong read. Growable: begins with its size. Borrowed; valid during the call. */
typedef struct tenon_payload_layout {
  uint32_t size;                    /* bytes of this struct */
  uint32_t fingerprint;             /* hash of the layout */
  int64_t payload_size;             /* in bytes */
  int64_t payload_alignment;        /* in bytes */
  const char* const* components;    /* names of the tensors in it */
  const int64_t* component_offsets; /* and where each is, in bytes */
  int64_t component_count;          /* entries of `components` */
  const char* user; /* id of the plugin that was compiled with it; null: the application */
} tenon_payload_layout;

/* An override: an implementation of one op for a set of types. Growable: begins with its size;
 * fields past `size` read as zero. Owned by the plugin; it and everything it points to must stay
 * valid as long as the plugin is loaded. */
typedef struct tenon_override_descriptor {
  uint32_t size;       /* bytes of this struct */
  uint32_t flags;      /* 0 */
  const char* schema;  /* its own parameters and results, under the op's full name */
  const char* doc;     /* one or two plain sentences, for listings; may be null */
  const char* types;   /* "A" or "A, B": the call has an operand of each */
  const char* accepts; /* types of other operands: "Tensor, C", "*" for any; null: "Tensor" */
  void* self;          /* first argument of `run`; owned by the plugin */
  tenon_handler_function run; /* implements the op */
  /* Instead of `run`: the override as an op of the same schema, with its gradient rules, so that
   * its calls are recorded. Null: results have the history of the ops that `run` calls. */
  const tenon_op_descriptor* rules;
} tenon_override_descriptor;

#endif
