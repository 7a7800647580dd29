/* Layouts of the boundary, pinned. A line that fails here names a change that breaks every plugin
 * in the field: frozen structs never change, growable ones and the host table grow at their ends
 * only. */
#include <stddef.h>

#include <tenon/abi/abi.h>

#define SIZE(type, bytes) _Static_assert(sizeof(type) == (bytes), "size of " #type)
#define AT(type, member, bytes) \
  _Static_assert(offsetof(type, member) == (bytes), "offset of " #type "." #member)

_Static_assert(sizeof(void*) == 8, "the boundary is defined for 64-bit machines");

/* ---- frozen ---- */

SIZE(tenon_value, 16);
AT(tenon_value, tag, 0);
AT(tenon_value, length, 4);
AT(tenon_value, as, 8);

SIZE(tenon_string, 16);
AT(tenon_string, data, 0);
AT(tenon_string, length, 8);

SIZE(tenon_tensor_view, 48);
AT(tenon_tensor_view, data, 0);
AT(tenon_tensor_view, shape, 8);
AT(tenon_tensor_view, strides, 16);
AT(tenon_tensor_view, count, 24);
AT(tenon_tensor_view, flags, 32);
AT(tenon_tensor_view, type, 36);
AT(tenon_tensor_view, dtype, 40);
AT(tenon_tensor_view, rank, 41);
AT(tenon_tensor_view, device, 42);
AT(tenon_tensor_view, reserved, 43);

SIZE(tenon_facts_header, 32);
AT(tenon_facts_header, name_size, 0);
AT(tenon_facts_header, descriptor_size, 4);
AT(tenon_facts_header, type, 8);
AT(tenon_facts_header, owner, 12);
AT(tenon_facts_header, format, 20);
AT(tenon_facts_header, payload_length, 24);
AT(tenon_facts_header, checksum, 28);

/* ---- growable, as of ABI 1.0 ---- */

SIZE(tenon_elementwise, 16);
AT(tenon_elementwise, size, 0);
AT(tenon_elementwise, promotion, 4);
AT(tenon_elementwise, loops, 8);

SIZE(tenon_op_descriptor, 96);
AT(tenon_op_descriptor, size, 0);
AT(tenon_op_descriptor, flags, 4);
AT(tenon_op_descriptor, schema, 8);
AT(tenon_op_descriptor, doc, 16);
AT(tenon_op_descriptor, differentiable, 24);
AT(tenon_op_descriptor, jvp_kind, 28);
AT(tenon_op_descriptor, self, 32);
AT(tenon_op_descriptor, run, 40);
AT(tenon_op_descriptor, elementwise, 48);
AT(tenon_op_descriptor, backward, 56);
AT(tenon_op_descriptor, jvp, 64);
AT(tenon_op_descriptor, saves, 72);
AT(tenon_op_descriptor, not_overridable, 80);
AT(tenon_op_descriptor, vjp, 88);

SIZE(tenon_attribute, 80);
AT(tenon_attribute, size, 0);
AT(tenon_attribute, next, 8);
AT(tenon_attribute, name, 16);
AT(tenon_attribute, type, 32);
AT(tenon_attribute, bytes, 48);
AT(tenon_attribute, tensors, 56);
AT(tenon_attribute, tensor_count, 64);
AT(tenon_attribute, destroy, 72);

SIZE(tenon_saved_hooks, 48);
AT(tenon_saved_hooks, size, 0);
AT(tenon_saved_hooks, state, 8);
AT(tenon_saved_hooks, pack, 16);
AT(tenon_saved_hooks, unpack, 24);
AT(tenon_saved_hooks, drop, 32);
AT(tenon_saved_hooks, destroy, 40);

SIZE(tenon_module_descriptor, 72);
AT(tenon_module_descriptor, size, 0);
AT(tenon_module_descriptor, flags, 4);
AT(tenon_module_descriptor, schema, 8);
AT(tenon_module_descriptor, doc, 16);
AT(tenon_module_descriptor, self, 24);
AT(tenon_module_descriptor, create, 32);
AT(tenon_module_descriptor, forward, 40);
AT(tenon_module_descriptor, destroy, 48);
AT(tenon_module_descriptor, extra_repr, 56);
AT(tenon_module_descriptor, tenon_function, 64);

SIZE(tenon_node_info, 64);
AT(tenon_node_info, size, 0);
AT(tenon_node_info, edges, 4);
AT(tenon_node_info, outputs, 8);
AT(tenon_node_info, saved_tensors, 12);
AT(tenon_node_info, saved_bytes, 16);
AT(tenon_node_info, sequence, 24);
AT(tenon_node_info, name, 32);
AT(tenon_node_info, op, 40);
AT(tenon_node_info, provider, 48);
AT(tenon_node_info, released, 56);
AT(tenon_node_info, stashed, 60);

SIZE(tenon_plugin, 112);
AT(tenon_plugin, size, 0);
AT(tenon_plugin, flags, 4);
AT(tenon_plugin, abi_major, 8);
AT(tenon_plugin, abi_minor, 12);
AT(tenon_plugin, id, 16);
AT(tenon_plugin, version, 24);
AT(tenon_plugin, ops, 32);
AT(tenon_plugin, op_count, 40);
AT(tenon_plugin, modules, 48);
AT(tenon_plugin, module_count, 56);
AT(tenon_plugin, init, 64);
AT(tenon_plugin, shutdown, 72);
AT(tenon_plugin, types, 80);
AT(tenon_plugin, overrides, 96);
AT(tenon_plugin, override_count, 104);

SIZE(tenon_call, 88);
AT(tenon_call, type, 4);
AT(tenon_call, op, 8);
AT(tenon_call, types, 16);
AT(tenon_call, arguments, 32);
AT(tenon_call, positional_count, 48);
AT(tenon_call, keywords, 56);
AT(tenon_call, keyword_count, 72);
AT(tenon_call, positional, 80);

SIZE(tenon_type_descriptor, 176);
AT(tenon_type_descriptor, name, 8);
AT(tenon_type_descriptor, fallback, 32);
AT(tenon_type_descriptor, payload_size, 40);
AT(tenon_type_descriptor, handler, 56);
AT(tenon_type_descriptor, from_tensor, 96);
AT(tenon_type_descriptor, payload_alignment, 144);
AT(tenon_type_descriptor, attributes, 160);
SIZE(tenon_payload_layout, 56);
AT(tenon_payload_layout, user, 48);

SIZE(tenon_override_descriptor, 64);
AT(tenon_override_descriptor, schema, 8);
AT(tenon_override_descriptor, types, 24);
AT(tenon_override_descriptor, run, 48);

/* ---- the host table: its head for ever, its slots by position ---- */

AT(tenon_host, magic, 0);
AT(tenon_host, size, 4);
AT(tenon_host, abi_major, 8);
AT(tenon_host, abi_minor, 12);

#define SLOT(name, position) AT(tenon_host, name, 16 + 8 * (position))
SLOT(error_set, 0);
SLOT(error_release, 6);
SLOT(allocate, 8);
SLOT(memory_release_cached, 12);
SLOT(tensor_empty, 13);
SLOT(tensor_text, 24);
SLOT(backward, 36);
SLOT(context_saved, 48);
SLOT(op_call, 57);
SLOT(parallel_for, 60);
SLOT(tree_parse, 66);
SLOT(module_create, 82);
SLOT(module_walk, 96);
SLOT(file_write, 103);
SLOT(type_find, 104);
SLOT(typed_create, 107);
SLOT(call_parent, 111);
SLOT(value_text, 112);
SLOT(tensor_add_hook, 113);
SLOT(graph_describe, 128);
SLOT(live_tracking_set, 133);
SLOT(context_argument, 134);
SLOT(saved_hooks_push, 140);
SLOT(op_bind_attributes, 144);
SLOT(mode_enter, 145);
SLOT(mode_count, 147);
SLOT(op_explain, 150);
SLOT(override_find, 153);
SLOT(mode_enter_module, 159);
SLOT(op_call_filled, 160);
SLOT(dispatch_disable, 161);
SLOT(op_returns_tuple, 163);
SLOT(type_find_layout, 164);
SLOT(tree_place, 165);
SLOT(text_printable, 169);
SLOT(machine_isa, 170);
SLOT(context_kept_result, 171);
SLOT(op_parameter, 172);
SLOT(module_attribute, 173);
SIZE(tenon_host, 16 + 8 * 174);

/* ---- codes that are written into files and plugins ---- */

_Static_assert(TENON_BOOL == 1 && TENON_U8 == 2 && TENON_I8 == 3 && TENON_I16 == 4, "dtype codes");
_Static_assert(TENON_I32 == 5 && TENON_I64 == 6 && TENON_F32 == 7 && TENON_F64 == 8, "dtype codes");
_Static_assert(TENON_VALUE_NONE == 0 && TENON_VALUE_TENSOR == 6, "value tags");
_Static_assert(TENON_VALUE_NOT_IMPLEMENTED == 14, "value tags");
_Static_assert(TENON_OK == 0 && TENON_ERROR_TYPE == 1 && TENON_ERROR_INTERNAL == 14, "error kinds");
_Static_assert(TENON_HOOK_TENSOR == 0 && TENON_HOOK_NODE_AFTER == 3, "hook kinds");
_Static_assert(TENON_DIFFERENTIABLE_COMPOSITE == 2 && TENON_JVP_MULTILINEAR == 4, "op codes");
_Static_assert(TENON_FACTS_TYPE == 0x544e0001u && TENON_FACTS_FORMAT == 1, "facts codes");
