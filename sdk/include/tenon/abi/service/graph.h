/* Graphs: nodes, edges, and hooks on tensors and nodes.
 *
 * A slot: walks the recorded graph, or registers a function that the engine calls. Not a slot: what
 * can be read off nodes and edges (pictures, statistics, searches); hooks of modules (modules.h).
 *
 *   tenon_node* node = tenon_graph->tensor_node(loss);
 *   tenon_node_info info = {.size = sizeof info};
 *   tenon_graph->node_read(node, &info);
 *   tenon_graph->node_release(node);
 *
 * Any thread. Nodes and hooks are counted: what a slot returns is a new reference. */
#ifndef TENON_ABI_SERVICE_GRAPH_H
#define TENON_ABI_SERVICE_GRAPH_H

#include "service.h"
#include "tenon/abi/autograd.h"

#define TENON_GRAPH_VERSION 1 /* newest version of the table; grows with its slots */

/* Named "tenon.graph". */
typedef struct tenon_graph_service {
  tenon_service head; /* size and version */

  /* The node that made the tensor. New reference; null on leaves. Any thread. */
  tenon_node*(TENON_CALL* tensor_node)(tenon_tensor* tensor);
  /* Name of the node that made the tensor, "AddBackward0"; null on leaves. Borrowed; valid as long
   * as the tensor. Any thread. */
  const char*(TENON_CALL* tensor_node_name)(const tenon_tensor* tensor);
  /* Adds a reference. Any thread. */
  void(TENON_CALL* node_retain)(tenon_node* node);
  /* Drops a reference; the last one destroys the node. May be null. Any thread. */
  void(TENON_CALL* node_release)(tenon_node* node);
  /* Fills the first `info->size` bytes of `info`, and sets `size` to what it has filled. Any
   * thread. */
  void(TENON_CALL* node_read)(tenon_node* node, tenon_node_info* info);
  /* The node that gets the gradient of input `index`, and which of its outputs that is; null when
   * the input needs none. `output` may be null. New reference. Any thread. */
  tenon_node*(TENON_CALL* node_edge)(tenon_node* node, int64_t index, uint32_t* output);
  /* The node that gets the gradient of the tensor, a leaf's accumulator included, and which of its
   * outputs that is; null when the tensor requires none. New reference. Any thread. */
  tenon_status(TENON_CALL* gradient_node)(tenon_tensor* tensor, tenon_node** node, uint32_t* output,
                                          tenon_error** error);
  /* Registers a hook of kind TENON_HOOK_TENSOR or TENON_HOOK_POST_ACCUMULATE on a tensor that
   * requires grad. It stays with the node that made the tensor when the tensor is changed in place
   * later. Takes `state`: `destroy(state)` runs once, on any thread, when the hook was removed or
   * its graph is gone, and it no longer runs. `destroy` may be null. `hook` receives a new
   * reference; may be null. Any thread. */
  tenon_status(TENON_CALL* tensor_add_hook)(tenon_tensor* tensor, int32_t kind,
                                            tenon_hook_function function, void* state,
                                            void(TENON_CALL* destroy)(void* state),
                                            tenon_hook** hook, tenon_error** error);
  /* Removes the hook with that id from the tensor. ArgumentError when it has no such hook. Any
   * thread. */
  tenon_status(TENON_CALL* tensor_remove_hook)(tenon_tensor* tensor, int64_t id,
                                               tenon_error** error);
  /* Registers a hook of kind TENON_HOOK_NODE_BEFORE or TENON_HOOK_NODE_AFTER on a node; everything
   * else as tensor_add_hook. Any thread. */
  tenon_status(TENON_CALL* node_add_hook)(tenon_node* node, int32_t kind,
                                          tenon_hook_function function, void* state,
                                          void(TENON_CALL* destroy)(void* state), tenon_hook** hook,
                                          tenon_error** error);
  /* A number that no other hook of the process has; 0 for null. Any thread. */
  int64_t(TENON_CALL* hook_id)(const tenon_hook* hook);
  /* Removes the hook: it does not run again, not even in a backward already in progress. Does
   * nothing when it was removed, or its graph is gone. May be null. Any thread. */
  void(TENON_CALL* hook_remove)(tenon_hook* hook);
  /* Adds a reference to the handle. Any thread. */
  void(TENON_CALL* hook_retain)(tenon_hook* hook);
  /* Drops a reference to the handle; the hook stays registered. May be null. Any thread. */
  void(TENON_CALL* hook_release)(tenon_hook* hook);
  /* A number for the backward that runs on this thread; 0 when none does. Calling thread only. */
  int64_t(TENON_CALL* backward_id)(void);
  /* 1 when the backward that runs on this thread reaches the hook's node. Calling thread only. */
  int32_t(TENON_CALL* backward_reaches)(const tenon_hook* hook);
  /* Counts nodes by provider from now on, for TENON_DOCUMENT_LIVE. A setting of the process. Any
   * thread. */
  int32_t(TENON_CALL* tracking_set)(int32_t enabled);
  /* The innermost module whose forward runs on this thread, or around the loop that this thread is part
   * of, by its number (modules.number); 0: none. While a backward runs a node that a module's forward
   * has recorded, that module. Calling thread only. */
  uint64_t(TENON_CALL* running_module)(void);
} tenon_graph_service;

#endif
