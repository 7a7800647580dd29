/* Ops as plugins describe them: schema, kernel or forward, and gradient rules. */
#ifndef TENON_ABI_OP_H
#define TENON_ABI_OP_H

#include <stdint.h>

#include "attributes.h"
#include "elementwise.h"
#include "error.h"
#include "tensor.h"
#include "value.h"

/* A handle of an op: look it up once by name and keep it. Valid for the life of the process; calls
 * raise PluginError once its plugin is unloaded, until the op is provided again. Any thread. */
typedef struct tenon_op tenon_op;

/* One call, in run, backward or jvp: service/contexts.h reads and writes it. Owned by the host;
 * valid during the callback, on its thread. */
typedef struct tenon_context tenon_context;

/* Computes the results of a call. `arguments` has one value for each parameter of the schema,
 * defaults filled in; borrowed, valid during the call. `results` has one entry for each result of
 * the schema, none at first; the function fills them with owned values, and the host checks them
 * against the schema. On failure the host releases what was filled. Any thread. */
typedef tenon_status(TENON_CALL* tenon_run_function)(void* self, tenon_context* context,
                                                     const tenon_value* arguments,
                                                     tenon_value* results, tenon_error** error);

/* Vector-Jacobian or Jacobian-vector product of a recorded call.
 * - backward: `given` has one gradient for each result; the rule returns one gradient for each
 *   input slot, with contexts.give.
 * - jvp: `given` has one tangent for each input slot; the rule returns one tangent for each result,
 *   with contexts.give.
 * Null means that there is none. `given` is borrowed; valid during the call. Slots are the
 * parameters of the schema in order; a tensor list has as many slots as tensors. Any thread. */
typedef tenon_status(TENON_CALL* tenon_rule_function)(void* self, tenon_context* context,
                                                      tenon_tensor* const* given,
                                                      int64_t given_count, tenon_error** error);

/* How an op is differentiated. */
enum {
  TENON_DIFFERENTIABLE_NONE = 0,     /* no gradient: see TENON_OP_ZERO_GRADIENT */
  TENON_DIFFERENTIABLE_FORMULA = 1,  /* by its backward rule */
  TENON_DIFFERENTIABLE_COMPOSITE = 2 /* through the ops that its run function calls */
};

/* How the host computes a jvp. */
enum {
  TENON_JVP_NONE = 0,       /* there is none: forward mode raises NotImplementedError */
  TENON_JVP_RULE = 1,       /* the jvp function */
  TENON_JVP_POINTWISE = 2,  /* elementwise: the sum of backward applied to each input's tangent */
  TENON_JVP_LINEAR = 3,     /* jointly linear in all operands: the op applied to the tangents */
  TENON_JVP_MULTILINEAR = 4 /* linear in each operand: the sum over them of op(.., tangent, ..) */
};

/* Flags of an op. A plugin with one that the host does not know is refused from its file. */
enum {
  TENON_OP_ONCE_DIFFERENTIABLE = 1 << 0, /* differentiating its backward is an error */
  TENON_OP_NOT_OVERRIDABLE = 1 << 1,     /* `not_overridable` has the reason */
  /* with DIFFERENTIABLE_NONE: piecewise constant, so that results have no history; without this
   * flag a recorded call is an error */
  TENON_OP_ZERO_GRADIENT = 1 << 2,
  TENON_OP_FUNCTION = 1 << 3, /* run saves what the rules need, through its context */
  /* differentiating its backward is allowed; a Function with neither this flag nor
   * ONCE_DIFFERENTIABLE is listed as unknown */
  TENON_OP_TWICE_DIFFERENTIABLE = 1 << 4,
  TENON_OP_JVP_ONCE = 1 << 5,    /* differentiating its jvp is an error */
  TENON_OP_CLEAR_SAVED = 1 << 6, /* a saved tensor is released once backward has read it */
  /* how a Function is written, for listings */
  TENON_OP_INSTANCE = 1 << 7, /* keyword-only parameters configure an instance */
  TENON_OP_SETUP = 1 << 8,    /* a separate setup function has the context, forward does not */
  TENON_OP_RESIDUAL = 1 << 9, /* forward also returns what the rules need */
  /* a `Tensor(a)` result is a copy where no view is possible, as in reshape */
  TENON_OP_MAY_COPY = 1 << 10,
  /* run and the rules take operands of every dtype; without it those of f16 and bf16 arrive as f32,
   * and what results in f32 is converted back */
  TENON_OP_ANY_DTYPE = 1 << 11,
  /* the shape of a result depends on elements of the operands, as that of nonzero does */
  TENON_OP_DATA_DEPENDENT_SHAPE = 1 << 12,
  /* `declines` is set: the op ranks above the same op of plugins that take every call */
  TENON_OP_MAY_DECLINE = 1 << 13,
  /* `run` reads elements itself: operands in separate memory (TENON_TYPE_OWN_MEMORY) arrive as
   * plain copies, which are written back; without it Functions get them as they are */
  TENON_OP_READS_ELEMENTS = 1 << 14
};

/* A named value on a context. It is memory of the plugin, usually the head of a larger struct:
 * the plugin fills everything except `next` and passes it to contexts.set_attribute, which takes
 * it. The host calls `destroy` once, on any thread: when the attribute is erased or replaced, or
 * its node is gone. Growable: begins with its size. */
typedef struct tenon_attribute {
  uint32_t size;                /* bytes of this struct */
  uint32_t reserved;            /* 0 */
  struct tenon_attribute* next; /* for the host */
  tenon_string name;            /* "" for the one without a name */
  tenon_string type;            /* any text; readers must name the same type */
  int64_t bytes;                /* for listings, without its tensors */
  tenon_tensor* const* tensors; /* its tensors, so that the host can count and guard them */
  int64_t tensor_count;         /* entries of `tensors` */
  void(TENON_CALL* destroy)(struct tenon_attribute* attribute); /* frees it */
} tenon_attribute;

/* Options of the running backward, see contexts.backward_options. */
enum { TENON_BACKWARD_RETAIN_GRAPH = 1 << 0, TENON_BACKWARD_CREATE_GRAPH = 1 << 1 };

/* An op as a plugin describes it. Growable: begins with its size; fields past `size` read as zero.
 * Owned by the plugin; it and everything it points to must stay valid as long as the plugin is
 * loaded. Exactly one of `run` and `elementwise` is set; every other pointer may be null, except
 * `schema`. Any thread may call the functions, several at the same time. */
typedef struct tenon_op_descriptor {
  uint32_t size;                        /* bytes of this struct */
  uint32_t flags;                       /* TENON_OP_ bits */
  const char* schema;                   /* "name(Type parameter=default, ...) -> Type" */
  const char* doc;                      /* one or two plain sentences, for listings */
  uint32_t differentiable;              /* TENON_DIFFERENTIABLE_ */
  uint32_t jvp_kind;                    /* TENON_JVP_ */
  void* self;                           /* first argument of every function; owned by the plugin */
  tenon_run_function run;               /* computes the results */
  const tenon_elementwise* elementwise; /* loops, in place of `run` */
  tenon_rule_function backward;         /* gradients of the inputs */
  tenon_rule_function jvp;              /* tangents of the results */
  /* Tensors that the host saves for the rules: "input, other" by parameter, "result" or "result0"
   * for results, "shape(input)" for shape and dtype alone, "other for input" when only the gradient
   * of `input` reads it. Arguments that are not tensors are always saved. Null or "": no tensors,
   * or run saves them. */
  const char* saves;
  const char* not_overridable; /* why the op must not be overridden, with that flag */
  tenon_rule_function vjp;     /* another name for `backward`; set at most one of them */
  /* As `run`, but its results have shapes and dtypes alone: it reads no element, and what their
   * memory holds does not matter. Null: where only shapes are computed (modes.shapes_only_set)
   * the host runs `run` on zeros, or knows the shape from the schema. */
  tenon_run_function shape_rule;
  /* Multiplications that are added up in one call, from shapes alone. Null: not counted. */
  int64_t(TENON_CALL* multiply_adds)(void* self, const tenon_value* arguments);
  /* With TENON_OP_MAY_DECLINE, of a specialised implementation: null takes the call; a reason, in
   * a few words ("one input channel"), has the next ranked plugin that provides the op run it. The
   * text is valid until the plugin is unloaded. Asked in every call, on its thread, before
   * gradients are recorded; of arguments it reads shapes, strides and dtypes, and it calls no op.
   * Operands of f16 and bf16 are as the caller gave them. Null, with the flag unset: takes all. */
  const char*(TENON_CALL* declines)(void* self, const tenon_value* arguments);
} tenon_op_descriptor;

#endif
