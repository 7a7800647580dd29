/* Recorded graphs at the boundary: hooks and nodes. */
#ifndef TENON_ABI_AUTOGRAD_H
#define TENON_ABI_AUTOGRAD_H

#include <stdint.h>

#include "attributes.h"
#include "error.h"
#include "tensor.h"

/* Kinds of places where hooks are registered, which decide what they receive. */
enum {
  TENON_HOOK_TENSOR = 0,          /* a tensor: its gradient, which it may replace */
  TENON_HOOK_POST_ACCUMULATE = 1, /* a leaf: the leaf itself, once its .grad has been added to */
  TENON_HOOK_NODE_BEFORE = 2,     /* a node: the gradients of its results, which it may replace */
  /* a node: the gradients of its inputs, which it may replace; `incoming`: those of its results */
  TENON_HOOK_NODE_AFTER = 3
};

/* A user's function that the engine calls during backward. `gradients` has `count` entries and
 * `incoming` `incoming_count`; both are borrowed, valid during the call, and may hold nulls, where
 * there is no gradient. `replacements` has `count` nulls: the engine takes a reference stored there
 * and uses it instead of the gradient; shape and dtype must be the same. A status other than
 * TENON_OK makes backward fail with the error. Called on the thread that runs backward; recording
 * is on when that backward creates a graph. */
typedef tenon_status(TENON_CALL* tenon_hook_function)(void* state, tenon_tensor* const* gradients,
                                                      int64_t count, tenon_tensor* const* incoming,
                                                      int64_t incoming_count,
                                                      tenon_tensor** replacements,
                                                      tenon_error** error);

/* A counted handle of a registered hook, to remove it with. Releasing the handle does not remove
 * the hook. Any thread. */
typedef struct tenon_hook tenon_hook;

/* A counted handle of a node: one recorded call of a graph. Any thread. */
typedef struct tenon_node tenon_node;

/* The properties that graph.node_read reports. Growable: the caller sets `size`, the host fills
 * that many bytes. Strings are borrowed; valid as long as the node. */
typedef struct tenon_node_info {
  uint32_t size;            /* bytes of this struct */
  uint32_t edges;           /* inputs of the call that can hold tensors */
  uint32_t outputs;         /* its results */
  uint32_t saved_tensors;   /* tensors kept for backward */
  int64_t saved_bytes;      /* their elements, in bytes */
  uint64_t sequence;        /* order of recording; the largest number for accumulators */
  const char* name;         /* "MulBackward0" */
  const char* op;           /* null for nodes of the engine itself, such as accumulators */
  const char* provider;     /* the op's plugin */
  int32_t released;         /* 1 once what it saved has been freed */
  uint32_t stashed_tensors; /* tensors among the attributes that it keeps */
  int64_t attribute_bytes;  /* attributes in bytes: memory of the plugin, and tensors */
  uint64_t module;          /* number of the module that recorded it; 0: none */
} tenon_node_info;

#endif
