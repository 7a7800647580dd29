/* Layouts of the boundary, pinned. A line that fails here names a change that breaks every plugin
 * in the field: frozen structs never change, growable ones and the tables of services grow at their
 * ends only. */
#include <stddef.h>

#include <tenon/abi/abi.h>
#include <tenon/abi/guard.h>

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

/* Structs of DLPack, which other libraries define. */
SIZE(tenon_dl_tensor, 48);
AT(tenon_dl_tensor, data, 0);
AT(tenon_dl_tensor, device, 8);
AT(tenon_dl_tensor, rank, 16);
AT(tenon_dl_tensor, dtype, 20);
AT(tenon_dl_tensor, shape, 24);
AT(tenon_dl_tensor, strides, 32);
AT(tenon_dl_tensor, byte_offset, 40);
SIZE(tenon_dl_managed, 64);
AT(tenon_dl_managed, manager, 48);
AT(tenon_dl_managed, deleter, 56);
SIZE(tenon_dl_managed_versioned, 80);
AT(tenon_dl_managed_versioned, version, 0);
AT(tenon_dl_managed_versioned, manager, 8);
AT(tenon_dl_managed_versioned, deleter, 16);
AT(tenon_dl_managed_versioned, flags, 24);
AT(tenon_dl_managed_versioned, tensor, 32);

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

SIZE(tenon_saved_hooks, 56);
AT(tenon_saved_hooks, size, 0);
AT(tenon_saved_hooks, state, 8);
AT(tenon_saved_hooks, pack, 16);
AT(tenon_saved_hooks, unpack, 24);
AT(tenon_saved_hooks, drop, 32);
AT(tenon_saved_hooks, destroy, 40);
AT(tenon_saved_hooks, pack_for, 48);

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

SIZE(tenon_module_settings, 40);
AT(tenon_module_settings, count, 4);
AT(tenon_module_settings, keys, 8);
AT(tenon_module_settings, self, 16);
AT(tenon_module_settings, apply, 24);
AT(tenon_module_settings, tensor, 32);

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

SIZE(tenon_module_event, 40);
AT(tenon_module_event, size, 0);
AT(tenon_module_event, kind, 4);
AT(tenon_module_event, module, 8);
AT(tenon_module_event, values, 16);
AT(tenon_module_event, value_count, 24);
AT(tenon_module_event, names, 32);

SIZE(tenon_node_info, 80);
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
AT(tenon_node_info, stashed_tensors, 60);
AT(tenon_node_info, attribute_bytes, 64);
AT(tenon_node_info, module, 72);

SIZE(tenon_plugin, 168);
AT(tenon_plugin, services, 136);
AT(tenon_plugin, uses, 152);
SIZE(tenon_service_descriptor, 32);
AT(tenon_service_descriptor, name, 8);
AT(tenon_service_descriptor, table, 24);
SIZE(tenon_use, 24);
AT(tenon_use, version, 4);
AT(tenon_use, name, 8);
AT(tenon_use, table, 16);
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

SIZE(tenon_call, 96);
AT(tenon_call, type, 4);
AT(tenon_call, op, 8);
AT(tenon_call, types, 16);
AT(tenon_call, arguments, 32);
AT(tenon_call, positional_count, 48);
AT(tenon_call, keywords, 56);
AT(tenon_call, keyword_count, 72);
AT(tenon_call, positional, 80);
AT(tenon_call, spelling, 88);

SIZE(tenon_type_descriptor, 176);
AT(tenon_type_descriptor, name, 8);
AT(tenon_type_descriptor, fallback, 32);
AT(tenon_type_descriptor, payload_size, 40);
AT(tenon_type_descriptor, handler, 56);
AT(tenon_type_descriptor, from_tensor, 96);
AT(tenon_type_descriptor, payload_alignment, 144);
AT(tenon_type_descriptor, attributes, 160);
SIZE(tenon_type_parts, 32);
SIZE(tenon_payload_layout, 56);
AT(tenon_payload_layout, user, 48);

SIZE(tenon_override_descriptor, 64);
AT(tenon_override_descriptor, schema, 8);
AT(tenon_override_descriptor, types, 24);
AT(tenon_override_descriptor, run, 48);

/* ---- the host, and the tables of its services: every slot by position ---- */

AT(tenon_host, magic, 0);
AT(tenon_host, size, 4);
AT(tenon_host, abi_major, 8);
AT(tenon_host, abi_minor, 12);
AT(tenon_host, error_set, 16);
AT(tenon_host, service, 24);
AT(tenon_host, service_release, 32);
SIZE(tenon_host, 40);

SIZE(tenon_service, 8);
AT(tenon_service, size, 0);
AT(tenon_service, version, 4);

#define SLOT(service, name, position) AT(tenon_##service##_service, name, 8 + 8 * (position))
#define SLOTS(service, count) SIZE(tenon_##service##_service, 8 + 8 * (count))

SLOT(values, error_set, 0);
SLOT(values, error_kind, 1);
SLOT(values, error_message, 2);
SLOT(values, error_op, 3);
SLOT(values, error_provider, 4);
SLOT(values, error_cause, 5);
SLOT(values, error_release, 6);
SLOT(values, error_pass, 7);
SLOT(values, allocate, 8);
SLOT(values, free_memory, 9);
SLOT(values, release_cached_memory, 10);
SLOT(values, string_create, 11);
SLOT(values, release, 12);
SLOT(values, text, 13);
SLOT(values, suggestion, 14);
SLOT(values, printable, 15);
SLOT(values, memory_in_use, 16);
SLOTS(values, 17);

SLOT(tensors, empty, 0);
SLOT(tensors, wrap, 1);
SLOT(tensors, alias, 2);
SLOT(tensors, alias_as, 3);
SLOT(tensors, retain, 4);
SLOT(tensors, release, 5);
SLOT(tensors, use_count, 6);
SLOT(tensors, version, 7);
SLOT(tensors, storage_number, 8);
SLOT(tensors, shares_storage, 9);
SLOT(tensors, copy, 10);
SLOT(tensors, fill, 11);
SLOT(tensors, item, 12);
SLOT(tensors, text, 13);
SLOT(tensors, broadcast_shapes, 14);
SLOT(tensors, promote_dtypes, 15);
SLOT(tensors, set_data, 16);
SLOTS(tensors, 17);

SLOT(ops, find, 0);
SLOT(ops, name, 1);
SLOT(ops, call, 2);
SLOT(ops, call_filled, 3);
SLOT(ops, call_keywords, 4);
SLOT(ops, bind, 5);
SLOT(ops, bind_attributes, 6);
SLOT(ops, result_count, 7);
SLOT(ops, returns_tuple, 8);
SLOT(ops, parameter, 9);
SLOT(ops, schema, 10);
SLOT(ops, explain, 11);
SLOT(ops, explain_types, 12);
SLOT(ops, call_method, 13);
SLOT(ops, call_operator, 14);
SLOTS(ops, 15);

SLOT(contexts, arguments, 0);
SLOT(contexts, argument, 1);
SLOT(contexts, result, 2);
SLOT(contexts, kept_result, 3);
SLOT(contexts, slot_count, 4);
SLOT(contexts, needs_gradient, 5);
SLOT(contexts, save, 6);
SLOT(contexts, save_for_forward, 7);
SLOT(contexts, saved_count, 8);
SLOT(contexts, saved, 9);
SLOT(contexts, mark_dirty, 10);
SLOT(contexts, mark_non_differentiable, 11);
SLOT(contexts, set_materialize_grads, 12);
SLOT(contexts, set_attribute, 13);
SLOT(contexts, attribute, 14);
SLOT(contexts, attribute_tensor, 15);
SLOT(contexts, erase_attribute, 16);
SLOT(contexts, backward_options, 17);
SLOT(contexts, take_gradients, 18);
SLOT(contexts, give, 19);
SLOTS(contexts, 20);

SLOT(autograd, requires_grad, 0);
SLOT(autograd, set_requires_grad, 1);
SLOT(autograd, grad, 2);
SLOT(autograd, set_grad, 3);
SLOT(autograd, is_leaf, 4);
SLOT(autograd, retain_grad, 5);
SLOT(autograd, detach, 6);
SLOT(autograd, grad_mode, 7);
SLOT(autograd, grad_mode_set, 8);
SLOT(autograd, inference_mode, 9);
SLOT(autograd, inference_mode_set, 10);
SLOT(autograd, anomaly_mode, 11);
SLOT(autograd, anomaly_mode_set, 12);
SLOT(autograd, strict_gradients_set, 13);
SLOT(autograd, backward, 14);
SLOT(autograd, gradients, 15);
SLOT(autograd, dual_level_enter, 16);
SLOT(autograd, dual_level_exit, 17);
SLOT(autograd, dual_make, 18);
SLOT(autograd, dual_unpack, 19);
SLOT(autograd, saved_hooks_push, 20);
SLOT(autograd, saved_hooks_disable, 21);
SLOT(autograd, saved_hooks_pop, 22);
SLOTS(autograd, 23);

SLOT(graph, tensor_node, 0);
SLOT(graph, tensor_node_name, 1);
SLOT(graph, node_retain, 2);
SLOT(graph, node_release, 3);
SLOT(graph, node_read, 4);
SLOT(graph, node_edge, 5);
SLOT(graph, gradient_node, 6);
SLOT(graph, tensor_add_hook, 7);
SLOT(graph, tensor_remove_hook, 8);
SLOT(graph, node_add_hook, 9);
SLOT(graph, hook_id, 10);
SLOT(graph, hook_remove, 11);
SLOT(graph, hook_retain, 12);
SLOT(graph, hook_release, 13);
SLOT(graph, backward_id, 14);
SLOT(graph, backward_reaches, 15);
SLOT(graph, tracking_set, 16);
SLOT(graph, running_module, 17);
SLOTS(graph, 18);

SLOT(types, find, 0);
SLOT(types, find_layout, 1);
SLOT(types, name, 2);
SLOT(types, is, 3);
SLOT(types, dispatches, 4);
SLOT(types, create, 5);
SLOT(types, wrap, 6);
SLOT(types, payload, 7);
SLOT(types, to_plain, 8);
SLOT(types, call_parent, 9);
SLOT(types, override_find, 10);
SLOT(types, override_provider, 11);
SLOT(types, override_call, 12);
SLOT(types, override_disable, 13);
SLOT(types, override_enable, 14);
SLOT(types, override_enabled, 15);
SLOT(types, component, 16);
SLOT(types, set_attributes, 17);
SLOT(types, parts, 18);
SLOT(types, attributes, 19);
SLOT(types, compose, 20);
SLOT(types, from_plain, 21);
SLOTS(types, 22);

SLOT(modes, enter, 0);
SLOT(modes, enter_module, 1);
SLOT(modes, leave, 2);
SLOT(modes, count, 3);
SLOT(modes, disable, 4);
SLOT(modes, disabled, 5);
SLOT(modes, shapes_only_set, 6);
SLOT(modes, trace_enter, 7);
SLOT(modes, trace_leave, 8);
SLOT(modes, watch_enter, 9);
SLOT(modes, watch_leave, 10);
SLOT(modes, watches, 11);
SLOTS(modes, 12);

SLOT(modules, create, 0);
SLOT(modules, create_json, 1);
SLOT(modules, retain, 2);
SLOT(modules, release, 3);
SLOT(modules, type, 4);
SLOT(modules, attributes, 5);
SLOT(modules, attribute, 6);
SLOT(modules, register_parameter, 7);
SLOT(modules, register_buffer, 8);
SLOT(modules, register_child, 9);
SLOT(modules, tensor, 10);
SLOT(modules, child, 11);
SLOT(modules, walk, 12);
SLOT(modules, assign, 13);
SLOT(modules, bind, 14);
SLOT(modules, unbind, 15);
SLOT(modules, set_forward, 16);
SLOT(modules, forward, 17);
SLOT(modules, call, 18);
SLOT(modules, training, 19);
SLOT(modules, train, 20);
SLOT(modules, to, 21);
SLOT(modules, clone, 22);
SLOT(modules, state, 23);
SLOT(modules, run_hooks, 24);
SLOT(modules, add_hook, 25);
SLOT(modules, has_hooks, 26);
SLOT(modules, number, 27);
SLOTS(modules, 28);

SLOT(threads, parallel_for, 0);
SLOT(threads, count, 1);
SLOT(threads, count_set, 2);
SLOT(threads, machine_isa, 3);
SLOT(threads, generator_reserve, 4);
SLOT(threads, generator_seed, 5);
SLOT(threads, generator_state_set, 6);
SLOT(threads, interrupt_word, 7);
SLOT(threads, interrupt_check, 8);
SLOT(threads, interrupts_set, 9);
SLOT(threads, log, 10);
SLOTS(threads, 11);

SLOT(documents, parse, 0);
SLOT(documents, dump, 1);
SLOT(documents, build, 2);
SLOT(documents, retain, 3);
SLOT(documents, release, 4);
SLOT(documents, value, 5);
SLOT(documents, is_object, 6);
SLOT(documents, size, 7);
SLOT(documents, at, 8);
SLOT(documents, find, 9);
SLOT(documents, key, 10);
SLOT(documents, place, 11);
SLOT(documents, document, 12);
SLOT(documents, facts_read, 13);
SLOT(documents, providers, 14);
SLOT(documents, schema_parse, 15);
SLOT(documents, position, 16);
SLOT(documents, scan, 17);
SLOT(documents, source, 18);
SLOTS(documents, 19);

SLOT(plugins, path_add, 0);
SLOT(plugins, load, 1);
SLOT(plugins, unload, 2);
SLOT(plugins, reload, 3);
SLOT(plugins, policy_apply, 4);
SLOTS(plugins, 5);

SLOT(calls, prepare, 0);
SLOT(calls, release, 1);
SLOT(calls, run, 2);
SLOT(calls, provider, 3);
SLOT(calls, writes_into, 4);
SLOT(calls, run_into, 5);
SLOT(calls, ops_generation, 6);
SLOT(calls, modules_generation, 7);
SLOT(calls, watched, 8);
SLOT(calls, stand_in, 9);
SLOT(calls, run_placed, 10);
SLOT(calls, hold, 11);
SLOTS(calls, 12);

/* ---- the load guard, which applications set ---- */

SIZE(tenon_refusal, 128);
AT(tenon_refusal, size, 0);
AT(tenon_refusal, stage, 4);
AT(tenon_refusal, flags, 8);
AT(tenon_refusal, reserved, 12);
AT(tenon_refusal, plugin, 16);
AT(tenon_refusal, path, 32);
AT(tenon_refusal, problem, 48);
AT(tenon_refusal, expected, 64);
AT(tenon_refusal, found, 80);
AT(tenon_refusal, remedy, 96);
AT(tenon_refusal, place, 112);

SIZE(tenon_pinned_library, 32);
AT(tenon_pinned_library, name, 0);
AT(tenon_pinned_library, path, 16);

SIZE(tenon_guard_report, 32);
AT(tenon_guard_report, size, 0);
AT(tenon_guard_report, reserved, 4);
AT(tenon_guard_report, sink, 8);
AT(tenon_guard_report, refuse, 16);
AT(tenon_guard_report, pin_libraries, 24);

SIZE(tenon_file_stamp, 40);
AT(tenon_file_stamp, device, 0);
AT(tenon_file_stamp, inode, 8);
AT(tenon_file_stamp, size, 16);
AT(tenon_file_stamp, modified, 24);
AT(tenon_file_stamp, changed, 32);

SIZE(tenon_guarded_file, 152);
AT(tenon_guarded_file, size, 0);
AT(tenon_guarded_file, occasion, 4);
AT(tenon_guarded_file, plugin, 8);
AT(tenon_guarded_file, path, 24);
AT(tenon_guarded_file, asked_by, 40);
AT(tenon_guarded_file, stamp, 56);
AT(tenon_guarded_file, bytes, 96);
AT(tenon_guarded_file, byte_count, 104);
AT(tenon_guarded_file, facts, 112);
AT(tenon_guarded_file, entry, 120);
AT(tenon_guarded_file, alone, 128);
AT(tenon_guarded_file, policies, 136);
AT(tenon_guarded_file, policy_count, 144);

SIZE(tenon_guarded_library, 72);
AT(tenon_guarded_library, size, 0);
AT(tenon_guarded_library, reserved, 4);
AT(tenon_guarded_library, name, 8);
AT(tenon_guarded_library, path, 24);
AT(tenon_guarded_library, mapped, 40);
AT(tenon_guarded_library, bytes, 56);
AT(tenon_guarded_library, byte_count, 64);

SIZE(tenon_load_guard, 88);
AT(tenon_load_guard, size, 0);
AT(tenon_load_guard, flags, 4);
AT(tenon_load_guard, self, 8);
AT(tenon_load_guard, adopt, 16);
AT(tenon_load_guard, review, 24);
AT(tenon_load_guard, wants, 32);
AT(tenon_load_guard, judge, 40);
AT(tenon_load_guard, judge_library, 48);
AT(tenon_load_guard, before, 56);
AT(tenon_load_guard, entered, 64);
AT(tenon_load_guard, after, 72);
AT(tenon_load_guard, release, 80);

_Static_assert(TENON_STAGE_FIND == 0 && TENON_STAGE_REGISTER == 6, "stages");
_Static_assert(TENON_GUARD_FOUND == 0 && TENON_GUARD_LOAD == 2, "occasions");
_Static_assert(TENON_GUARD_WANTS_BYTES == 1 && TENON_GUARD_WANTS_FACTS == 2, "wants");

/* ---- codes that are written into files and plugins ---- */

_Static_assert(TENON_BOOL == 1 && TENON_U8 == 2 && TENON_I8 == 3 && TENON_I16 == 4, "dtype codes");
_Static_assert(TENON_F16 == 9 && TENON_BF16 == 10 && TENON_U16 == 11 && TENON_U32 == 12, "codes");
_Static_assert(TENON_U64 == 13 && TENON_COMPUTED_DTYPE_COUNT == 9, "dtype codes");
_Static_assert(TENON_C64 == 14 && TENON_C128 == 15 && TENON_COMPLEX_DTYPE_COUNT == 2, "codes");
_Static_assert(TENON_F8_E4M3 == 16 && TENON_F8_E5M2 == 17 && TENON_F8_E8M0 == 18, "codes");
_Static_assert(TENON_F6_E2M3 == 19 && TENON_F6_E3M2 == 20 && TENON_F4_E2M1 == 21, "codes");
_Static_assert(TENON_ISA_COUNT == 3, "a table of loops has an entry for each set and dtype");
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
