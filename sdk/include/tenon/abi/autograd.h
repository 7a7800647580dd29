/* What the boundary shows of recorded graphs: hooks and nodes. */
#ifndef TENON_ABI_AUTOGRAD_H
#define TENON_ABI_AUTOGRAD_H

#include <stdint.h>

#include "attributes.h"
#include "error.h"
#include "tensor.h"

/* Where a hook hangs, and so what it is shown. */
enum {
  TENON_HOOK_TENSOR = 0,          /* a tensor: its gradient, which it may replace */
  TENON_HOOK_POST_ACCUMULATE = 1, /* a leaf: the leaf itself, once its .grad has been added to */
  TENON_HOOK_NODE_BEFORE = 2,     /* a node: the gradients of its results, which it may replace */
  TENON_HOOK_NODE_AFTER = 3 /* a node: the gradients of its inputs, which it may replace; `incoming`
                               has those of its results */
};

/* A function of the user's that the engine runs. `gradients` (null: none) and `incoming` are
 * borrowed. `replacements` has `count` nulls: what is put there is taken in the place of the
 * gradient; shape and dtype must be the same. Failing makes backward fail with that error. Runs in
 * the thread of the backward; recording is on when that creates a graph. [backward] */
typedef tenon_status(TENON_CALL* tenon_hook_function)(void* state, tenon_tensor* const* gradients,
                                                      int64_t count, tenon_tensor* const* incoming,
                                                      int64_t incoming_count,
                                                      tenon_tensor** replacements,
                                                      tenon_error** error);

/* A registered hook, by which it can be removed. Releasing it removes nothing. */
typedef struct tenon_hook tenon_hook;

/* A recorded call. */
typedef struct tenon_node tenon_node;

/* Growable: the caller sets `size`. Strings live as long as the node. */
typedef struct tenon_node_info {
  uint32_t size;
  uint32_t edges;   /* inputs of the call that can hold tensors */
  uint32_t outputs; /* its results */
  uint32_t saved_tensors;
  int64_t saved_bytes;
  uint64_t sequence;    /* in the order of recording; the largest for accumulators */
  const char* name;     /* "MulBackward0" */
  const char* op;       /* null for nodes of the engine itself, such as accumulators */
  const char* provider; /* the op's plugin */
  int32_t released;     /* what it saved has been freed */
  int32_t stashed;      /* it keeps memory of the plugin's own */
} tenon_node_info;

#endif
