/* Ops as plugins describe them: schema, kernel or forward, and gradient rules. */
#ifndef TENON_ABI_OP_H
#define TENON_ABI_OP_H

#include <stdint.h>

#include "attributes.h"
#include "elementwise.h"
#include "error.h"
#include "tensor.h"
#include "value.h"

/* A registered op, resolved once by name and kept. Lives as long as the process. */
typedef struct tenon_op tenon_op;

/* One call on its way through forward, backward and jvp. Host-owned; valid during the callback. */
typedef struct tenon_context tenon_context;

/* Computes the results of a call. `arguments` has one value for each schema parameter, defaults
 * filled in, borrowed. `results` has one slot for each schema return, to be given; the host checks
 * each against the schema. `context` serves the context_ slots. [any-thread] */
typedef tenon_status(TENON_CALL* tenon_run_function)(void* self, tenon_context* context,
                                                     const tenon_value* arguments,
                                                     tenon_value* results, tenon_error** error);

/* Vector-Jacobian or Jacobian-vector product of a recorded call.
 * backward: `given` has one gradient for each result; the rule answers with context_give, one
 * gradient for each input slot. jvp: `given` has one tangent for each input slot; the rule answers
 * with one tangent for each result. Null stands for "none". Slots are the schema parameters in
 * order, where a tensor list takes as many slots as it has tensors. [any-thread] */
typedef tenon_status(TENON_CALL* tenon_rule_function)(void* self, tenon_context* context,
                                                      tenon_tensor* const* given,
                                                      int64_t given_count, tenon_error** error);

/* How an op is differentiated. */
enum {
  TENON_DIFFERENTIABLE_NONE =
      0, /* results never require grad, or calling it recorded is an error */
  TENON_DIFFERENTIABLE_FORMULA = 1,  /* by its backward rule */
  TENON_DIFFERENTIABLE_COMPOSITE = 2 /* through the ops that its run function calls */
};

/* Where the jvp comes from. */
enum {
  TENON_JVP_NONE = 0,
  TENON_JVP_RULE = 1,      /* the jvp function */
  TENON_JVP_POINTWISE = 2, /* elementwise: the sum of backward applied to each input's tangent */
  TENON_JVP_LINEAR = 3,    /* jointly linear in all operands: the op applied to the tangents */
  TENON_JVP_MULTILINEAR =
      4 /* linear in each operand: the sum over operands of op(.., tangent, ..) */
};

enum {
  TENON_OP_ONCE_DIFFERENTIABLE = 1 << 0, /* differentiating its backward is an error */
  TENON_OP_NOT_OVERRIDABLE = 1 << 1,     /* `not_overridable` says why */
  TENON_OP_FUNCTION = 1 << 3,            /* run saves by itself what the rules need */
  TENON_OP_ZERO_GRADIENT =
      1 << 2, /* piecewise constant: with NONE, results simply carry no history */
  TENON_OP_TWICE_DIFFERENTIABLE = 1 << 4, /* its backward may be differentiated; neither this nor
                                             ONCE on a Function: unknown */
  TENON_OP_JVP_ONCE = 1 << 5,             /* its jvp must not be differentiated */
  TENON_OP_CLEAR_SAVED = 1 << 6,          /* what backward reads of save_for_backward is let go */
  /* How a Function is written, for listings. */
  TENON_OP_INSTANCE = 1 << 7, /* keyword-only parameters configure an instance */
  TENON_OP_SETUP = 1 << 8,    /* forward sees no context; a separate setup does */
  TENON_OP_RESIDUAL = 1 << 9, /* forward returns what the rules get, beside its results */
  /* A `Tensor(a)` result is a copy where no view is possible, as of reshape. */
  TENON_OP_MAY_COPY = 1 << 10
};

/* A named value on a context: memory of the plugin that lives as long as the node, or until it is
 * erased or replaced. The plugin fills all but `next`, mostly as the head of a larger struct;
 * context_set_attribute takes it. Growable. */
typedef struct tenon_attribute {
  uint32_t size;
  uint32_t reserved;
  struct tenon_attribute* next; /* the host's */
  tenon_string name;            /* "" for the one without a name */
  tenon_string type;            /* whoever reads it says the same */
  int64_t bytes;                /* for listings; tensors are counted by the host */
  tenon_tensor* const* tensors; /* those in it, which the host guards; may be null */
  int64_t tensor_count;
  void(TENON_CALL* destroy)(struct tenon_attribute* attribute);
} tenon_attribute;

/* What a backward may ask of the call that runs it. */
enum { TENON_BACKWARD_RETAIN_GRAPH = 1 << 0, TENON_BACKWARD_CREATE_GRAPH = 1 << 1 };

/* Growable: begins with its size; fields past `size` read as zero. Everything pointed to lives as
 * long as the plugin is loaded. Exactly one of `run` and `elementwise` is set. */
typedef struct tenon_op_descriptor {
  uint32_t size;
  uint32_t flags;
  const char*
      schema;      /* name(Type parameter=default, ...) -> Type: the only place of the signature */
  const char* doc; /* one or two plain sentences, for listings */
  uint32_t differentiable;
  uint32_t jvp_kind;
  void* self; /* handed to every function */
  tenon_run_function run;
  const tenon_elementwise* elementwise;
  tenon_rule_function backward;
  tenon_rule_function jvp;
  /* What the host keeps for the rules, by parameter name: "input, other", "result" or "result0" for
   * results, "shape(input)" for shape and dtype alone, "other for input" when only the gradient of
   * `input` reads it. Non-tensor arguments are always kept. Null or "": nothing, or saved by run.
   */
  const char* saves;
  const char* not_overridable;
  tenon_rule_function vjp; /* another name for `backward`: one of them, never both */
} tenon_op_descriptor;

#endif
