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

SIZE(tenon_elementwise, 24);
AT(tenon_elementwise, size, 0);
AT(tenon_elementwise, promotion, 4);
AT(tenon_elementwise, loops, 8);
AT(tenon_elementwise, complex_loops, 16);

SIZE(tenon_op_descriptor, 120);
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
AT(tenon_op_descriptor, shape_rule, 96);
AT(tenon_op_descriptor, multiply_adds, 104);
AT(tenon_op_descriptor, declines, 112);

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

SIZE(tenon_module_descriptor, 88);
AT(tenon_module_descriptor, size, 0);
AT(tenon_module_descriptor, flags, 4);
AT(tenon_module_descriptor, schema, 8);
AT(tenon_module_descriptor, forward_schema, 16);
AT(tenon_module_descriptor, doc, 24);
AT(tenon_module_descriptor, self, 32);
AT(tenon_module_descriptor, create, 40);
AT(tenon_module_descriptor, forward, 48);
AT(tenon_module_descriptor, destroy, 56);
AT(tenon_module_descriptor, extra_repr, 64);
AT(tenon_module_descriptor, tenon_function, 72);
AT(tenon_module_descriptor, clone, 80);

SIZE(tenon_module_settings, 32);
AT(tenon_module_settings, count, 4);
AT(tenon_module_settings, keys, 8);
AT(tenon_module_settings, self, 16);
AT(tenon_module_settings, apply, 24);

SIZE(tenon_json_events, 48);
AT(tenon_json_events, self, 8);
AT(tenon_json_events, begin, 16);
AT(tenon_json_events, end, 24);
AT(tenon_json_events, key, 32);
AT(tenon_json_events, value, 40);

SIZE(tenon_module_hook_call, 56);
AT(tenon_module_hook_call, size, 0);
AT(tenon_module_hook_call, kind, 4);
AT(tenon_module_hook_call, module, 8);
AT(tenon_module_hook_call, inputs, 16);
AT(tenon_module_hook_call, input_count, 24);
AT(tenon_module_hook_call, outputs, 32);
AT(tenon_module_hook_call, output_count, 40);
AT(tenon_module_hook_call, input_names, 48);

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

SIZE(tenon_plugin, 136);
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

/* ---- the host table: its head, and every slot by position ---- */

AT(tenon_host, magic, 0);
AT(tenon_host, size, 4);
AT(tenon_host, abi_major, 8);
AT(tenon_host, abi_minor, 12);

#define SLOT(name, position) AT(tenon_host, name, 16 + 8 * (position))
SLOT(error_set, 0);
SLOT(error_kind, 1);
SLOT(error_message, 2);
SLOT(error_op, 3);
SLOT(error_provider, 4);
SLOT(error_cause, 5);
SLOT(error_release, 6);
SLOT(error_pass, 7);
SLOT(allocate, 8);
SLOT(free_memory, 9);
SLOT(value_release, 10);
SLOT(string_create, 11);
SLOT(memory_release_cached, 12);
SLOT(tensor_empty, 13);
SLOT(tensor_wrap, 14);
SLOT(tensor_alias, 15);
SLOT(tensor_retain, 16);
SLOT(tensor_release, 17);
SLOT(tensor_use_count, 18);
SLOT(tensor_version, 19);
SLOT(tensor_shares_storage, 20);
SLOT(tensor_copy, 21);
SLOT(tensor_fill, 22);
SLOT(tensor_item, 23);
SLOT(tensor_text, 24);
SLOT(broadcast_shapes, 25);
SLOT(promote_dtypes, 26);
SLOT(tensor_set_requires_grad, 27);
SLOT(tensor_grad, 28);
SLOT(tensor_set_grad, 29);
SLOT(tensor_is_leaf, 30);
SLOT(tensor_node_name, 31);
SLOT(tensor_retain_grad, 32);
SLOT(tensor_detach, 33);
SLOT(grad_mode_set, 34);
SLOT(grad_mode, 35);
SLOT(backward, 36);
SLOT(gradients, 37);
SLOT(dual_level_enter, 38);
SLOT(dual_level_exit, 39);
SLOT(dual_make, 40);
SLOT(dual_unpack, 41);
SLOT(context_arguments, 42);
SLOT(context_result, 43);
SLOT(context_slot_count, 44);
SLOT(context_needs_gradient, 45);
SLOT(context_save, 46);
SLOT(context_saved_count, 47);
SLOT(context_saved, 48);
SLOT(context_mark_dirty, 49);
SLOT(context_mark_non_differentiable, 50);
SLOT(context_set_materialize_grads, 51);
SLOT(context_set_attribute, 52);
SLOT(context_attribute, 53);
SLOT(context_give, 54);
SLOT(op_find, 55);
SLOT(op_name, 56);
SLOT(op_call, 57);
SLOT(op_call_keywords, 58);
SLOT(op_result_count, 59);
SLOT(parallel_for, 60);
SLOT(thread_count, 61);
SLOT(thread_count_set, 62);
SLOT(generator_reserve, 63);
SLOT(generator_seed, 64);
SLOT(log, 65);
SLOT(json_parse, 66);
SLOT(json_dump, 67);
SLOT(json_retain, 68);
SLOT(json_release, 69);
SLOT(json_value, 70);
SLOT(json_is_object, 71);
SLOT(json_size, 72);
SLOT(json_at, 73);
SLOT(json_find, 74);
SLOT(json_key, 75);
SLOT(describe, 76);
SLOT(op_signature, 77);
SLOT(plugin_path_add, 78);
SLOT(plugin_load, 79);
SLOT(config_read, 80);
SLOT(config_apply, 81);
SLOT(module_create, 82);
SLOT(module_create_json, 83);
SLOT(module_retain, 84);
SLOT(module_release, 85);
SLOT(module_type, 86);
SLOT(module_attributes, 87);
SLOT(module_register_parameter, 88);
SLOT(module_register_buffer, 89);
SLOT(module_register_child, 90);
SLOT(module_tensor, 91);
SLOT(module_child, 92);
SLOT(module_call, 93);
SLOT(module_training, 94);
SLOT(module_train, 95);
SLOT(module_walk, 96);
SLOT(module_to, 97);
SLOT(type_find, 98);
SLOT(type_name, 99);
SLOT(type_is, 100);
SLOT(typed_create, 101);
SLOT(typed_wrap, 102);
SLOT(typed_payload, 103);
SLOT(tensor_to_plain, 104);
SLOT(call_parent, 105);
SLOT(value_text, 106);
SLOT(tensor_add_hook, 107);
SLOT(tensor_remove_hook, 108);
SLOT(node_add_hook, 109);
SLOT(hook_id, 110);
SLOT(hook_remove, 111);
SLOT(hook_retain, 112);
SLOT(hook_release, 113);
SLOT(backward_id, 114);
SLOT(backward_reaches, 115);
SLOT(tensor_requires_grad, 116);
SLOT(tensor_node, 117);
SLOT(node_retain, 118);
SLOT(node_release, 119);
SLOT(node_read, 120);
SLOT(node_edge, 121);
SLOT(graph_describe, 122);
SLOT(inference_mode_set, 123);
SLOT(inference_mode, 124);
SLOT(anomaly_mode_set, 125);
SLOT(anomaly_mode, 126);
SLOT(live_tracking_set, 127);
SLOT(context_argument, 128);
SLOT(context_save_for_forward, 129);
SLOT(context_erase_attribute, 130);
SLOT(context_attribute_tensor, 131);
SLOT(context_backward_options, 132);
SLOT(context_take_gradients, 133);
SLOT(saved_hooks_push, 134);
SLOT(saved_hooks_disable, 135);
SLOT(saved_hooks_pop, 136);
SLOT(strict_gradients_set, 137);
SLOT(op_bind_attributes, 138);
SLOT(mode_enter, 139);
SLOT(mode_leave, 140);
SLOT(mode_count, 141);
SLOT(type_dispatches, 142);
SLOT(op_bind, 143);
SLOT(op_explain, 144);
SLOT(trace_enter, 145);
SLOT(trace_leave, 146);
SLOT(override_find, 147);
SLOT(override_provider, 148);
SLOT(override_call, 149);
SLOT(override_disable, 150);
SLOT(override_enable, 151);
SLOT(override_enabled, 152);
SLOT(mode_enter_module, 153);
SLOT(op_call_filled, 154);
SLOT(dispatch_disable, 155);
SLOT(dispatch_disabled, 156);
SLOT(op_returns_tuple, 157);
SLOT(type_find_layout, 158);
SLOT(json_place, 159);
SLOT(json_create, 160);
SLOT(config_apply_lazily, 161);
SLOT(text_suggestion, 162);
SLOT(text_printable, 163);
SLOT(machine_isa, 164);
SLOT(context_kept_result, 165);
SLOT(op_parameter, 166);
SLOT(module_attribute, 167);
SLOT(module_add_hook, 168);
SLOT(module_assign, 169);
SLOT(module_bind, 170);
SLOT(module_unbind, 171);
SLOT(module_clone, 172);
SLOT(module_set_forward, 173);
SLOT(module_forward, 174);
SLOT(module_state, 175);
SLOT(module_load_state, 176);
SLOT(config_read_sections, 177);
SLOT(config_schema, 178);
SLOT(generator_state_set, 179);
SLOT(tensors_store, 180);
SLOT(tensors_restore, 181);
SLOT(json_scan, 182);
SLOT(json_source, 183);
SLOT(op_schema, 184);
SLOT(shapes_only_set, 185);
SLOT(tensor_alias_as, 186);
SLOT(plugin_unload, 187);
SLOT(plugin_reload, 188);
SLOT(interrupt_word, 189);
SLOT(interrupt_check, 190);
SLOT(interrupts_set, 191);
SLOT(tensor_storage_number, 192);
SIZE(tenon_host, 16 + 8 * 193);

/* ---- codes that are written into files and plugins ---- */

_Static_assert(TENON_BOOL == 1 && TENON_U8 == 2 && TENON_I8 == 3 && TENON_I16 == 4, "dtype codes");
_Static_assert(TENON_F16 == 9 && TENON_BF16 == 10 && TENON_U16 == 11 && TENON_U32 == 12, "codes");
_Static_assert(TENON_U64 == 13 && TENON_COMPUTED_DTYPE_COUNT == 9, "dtype codes");
_Static_assert(TENON_C64 == 14 && TENON_C128 == 15 && TENON_COMPLEX_DTYPE_COUNT == 2, "codes");
_Static_assert(sizeof(tenon_c64) == 8 && sizeof(tenon_c128) == 16, "elements");
_Static_assert(sizeof(tenon_f16) == 2 && sizeof(tenon_bf16) == 2, "elements");
_Static_assert(TENON_I32 == 5 && TENON_I64 == 6 && TENON_F32 == 7 && TENON_F64 == 8, "dtype codes");
_Static_assert(TENON_VALUE_NONE == 0 && TENON_VALUE_TENSOR == 6, "value tags");
_Static_assert(TENON_VALUE_NOT_IMPLEMENTED == 14, "value tags");
_Static_assert(TENON_OK == 0 && TENON_ERROR_TYPE == 1 && TENON_ERROR_INTERNAL == 14, "error kinds");
_Static_assert(TENON_HOOK_TENSOR == 0 && TENON_HOOK_NODE_AFTER == 3, "hook kinds");
_Static_assert(TENON_HOOK_FORWARD_PRE == 4 && TENON_HOOK_STATE_LOAD_POST == 11, "hook kinds");
_Static_assert(TENON_DIFFERENTIABLE_COMPOSITE == 2 && TENON_JVP_MULTILINEAR == 4, "op codes");
_Static_assert(TENON_FACTS_TYPE == 0x544e0001u && TENON_FACTS_FORMAT == 1, "facts codes");
