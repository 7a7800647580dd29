// The host's slots on modules.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <boost/container/small_vector.hpp>

#include "core/dispatch/binding/value.hpp"
#include "core/dispatch/call/running_calls.hpp"
#include "core/nn/create.hpp"
#include "core/nn/hooks.hpp"
#include "core/nn/module_call.hpp"
#include "core/nn/walk.hpp"
#include "core/runtime/add_hook.hpp"
#include "core/runtime/runtime.hpp"
#include "core/runtime/slots.hpp"

namespace tenon::core {

namespace {

template <class Body>
tenon_status on_module(const tenon_module* module, tenon_error** error, Body&& body) {
  return guarded(error, [&] {
    require_not_null(module, "the module");
    body();
  });
}

tenon_status module_create(const char* type, const tenon_value* attributes, int64_t count,
                           const tenon_string* keywords, const tenon_value* keyword_values,
                           int64_t keyword_count, tenon_module** module, tenon_error** error) {
  return guarded(error, [&] {
    plugin_manager();
    const OuterCall running;  // the type is not freed between being found and having a module
    *module = create_module(ModuleTable::process().require(type),
                            {attributes, static_cast<size_t>(count)},
                            {keywords, static_cast<size_t>(keyword_count)},
                            {keyword_values, static_cast<size_t>(keyword_count)})
                  .give();
  });
}
tenon_status module_create_json(const tenon_json* document, const tenon_module_settings* settings,
                                tenon_module** module, tenon_error** error) {
  return guarded(error, [&] {
    require_not_null(document, "the module's description");
    plugin_manager();
    const OuterCall running;
    *module = create_module(*document, settings).give();
  });
}
void module_retain(tenon_module* module) { module->retain(); }
void module_release(tenon_module* module) {
  if (module != nullptr) module->release();
}
const char* module_type(const tenon_module* module) { return module->type->schema.name.c_str(); }
const tenon_value* module_attributes(const tenon_module* module) {
  return module->attributes.data();
}
tenon_status module_attribute(const tenon_module* module, const char* name, int64_t length,
                              const tenon_value** value, tenon_error** error) {
  return on_module(module, error, [&] {
    const int64_t place =
        parameter_place(module->type->schema, {name, static_cast<size_t>(length)});
    *value = module->attributes.data() + place;
  });
}
tenon_status module_register_parameter(tenon_module* module, const char* name, tenon_tensor* tensor,
                                       tenon_error** error) {
  return on_module(module, error, [&] { register_parameter(*module, name, tensor); });
}
tenon_status module_register_buffer(tenon_module* module, const char* name, tenon_tensor* tensor,
                                    int32_t persistent, tenon_error** error) {
  return on_module(module, error, [&] { register_buffer(*module, name, tensor, persistent != 0); });
}
tenon_status module_register_child(tenon_module* module, const char* name, tenon_module* child,
                                   tenon_error** error) {
  return on_module(module, error, [&] { register_child(*module, name, child); });
}
tenon_status module_tensor(tenon_module* module, const char* name, tenon_tensor** tensor,
                           tenon_error** error) {
  return on_module(module, error, [&] { *tensor = find_tensor(*module, name); });
}
tenon_status module_child(tenon_module* module, const char* name, tenon_module** child,
                          tenon_error** error) {
  return on_module(module, error, [&] { *child = find_child(*module, name); });
}
tenon_status module_call(tenon_module* module, const tenon_value* arguments, int64_t count,
                         const tenon_string* keywords, const tenon_value* keyword_values,
                         int64_t keyword_count, tenon_value* results, int64_t result_count,
                         tenon_error** error) {
  return on_module(module, error, [&] {
    call_module(*module, {arguments, static_cast<size_t>(count)},
                {keywords, static_cast<size_t>(keyword_count)},
                {keyword_values, static_cast<size_t>(keyword_count)}, results, result_count);
  });
}
int32_t module_training(const tenon_module* module) { return module->training ? 1 : 0; }
void module_train(tenon_module* module, int32_t training) { set_training(*module, training != 0); }
int32_t module_has_hooks(const tenon_module* module, uint32_t kinds) {
  return module != nullptr && has_hooks(*module, kinds) ? 1 : 0;
}
tenon_status module_run_hooks(tenon_module* module, int32_t kind, tenon_value* values,
                              int64_t count, tenon_error** error) {
  return on_module(module, error, [&] {
    run_state_hooks(*module, kind, {values, static_cast<size_t>(count)});
  });
}
tenon_status module_add_hook(tenon_module* module, int32_t kind, uint32_t flags,
                             tenon_module_hook_function function, void* state,
                             void (*destroy)(void* state), tenon_hook** hook, tenon_error** error) {
  return add_hook(
      function, state, destroy, hook, error, [&](std::shared_ptr<ModuleHooks::Body> body) {
        ModuleHooks& hooks = module == nullptr ? ModuleHooks::of_all() : module->hooks.make();
        return hooks.add(kind, flags, std::move(body));
      });
}
// Containers ask for it at each call.
tenon_value list_children(const tenon_module& module) {
  boost::container::small_vector<tenon_module*, 16> present;
  for (const tenon_module::Child& child : module.children) {
    if (child.module != nullptr) present.push_back(child.module);
  }
  return make_module_list(present);
}
tenon_status module_walk(tenon_module* module, int32_t kind, int32_t recurse, int64_t* count,
                         tenon_value* names, tenon_value* items, tenon_error** error) {
  return on_module(module, error, [&] {
    const bool duplicates = (kind & TENON_WALK_DUPLICATES) != 0;
    const bool absent = (kind & TENON_WALK_ABSENT) != 0;
    const int32_t what = kind & ~(TENON_WALK_DUPLICATES | TENON_WALK_ABSENT);
    if (what < 0 || what > 3 || (absent && (what != 2 || recurse != 0)))
      throw Error(TENON_ERROR_ARGUMENT,
                  "walks are of parameters, buffers, children or modules (0 to 3), not {}", kind);
    if (names == nullptr && what == 2 && recurse == 0 && duplicates && !absent) {
      *items = list_children(*module);
      *count = items->length;
      return;
    }
    const std::vector<WalkItem> found = walk(*module, static_cast<Walk>(what),
                                             {.recurse = recurse != 0,
                                              .names = names != nullptr,
                                              .duplicates = duplicates,
                                              .absent = absent});
    std::vector<std::string> texts;
    std::vector<TensorRef> tensors;
    std::vector<tenon_module*> modules;
    for (const WalkItem& item : found) {
      texts.push_back(item.name);
      if (what <= 1)
        tensors.emplace_back(item.tensor);
      else
        modules.push_back(item.module);
    }
    if (names != nullptr) *names = make_string_list(texts);
    *items = what <= 1 ? make_tensor_list(std::move(tensors)) : make_module_list(modules);
    *count = static_cast<int64_t>(found.size());
  });
}
tenon_status module_to(tenon_module* module, tenon_dtype dtype, tenon_error** error) {
  return on_module(module, error, [&] { convert(*module, dtype); });
}
tenon_status module_assign(tenon_module* module, const char* name, int64_t length,
                           const tenon_value* value, uint32_t flags, tenon_error** error) {
  return on_module(module, error, [&] {
    assign_member(*module, {name, static_cast<size_t>(length)}, *value,
                  (flags & TENON_ASSIGN_MAKE_PARAMETER) != 0);
  });
}
tenon_status module_bind(tenon_module* module, const char* name, int64_t length, void** location,
                         tenon_error** error) {
  return on_module(module, error, [&] {
    bind_member(*module, {name, static_cast<size_t>(length)}, location);
  });
}
void module_unbind(tenon_module* module, const char* name, int64_t length) {
  unbind_member(*module, {name, static_cast<size_t>(length)});
}
tenon_status module_clone(tenon_module* module, tenon_module** copy, tenon_error** error) {
  return on_module(module, error, [&] { *copy = clone_module(*module).give(); });
}
tenon_status module_set_forward(tenon_module* module, const char* schema, int64_t length,
                                tenon_error** error) {
  return on_module(module, error, [&] {
    set_forward_schema(*module, {schema, static_cast<size_t>(length)});
  });
}
tenon_status module_forward(const tenon_module* module, tenon_string* schema, int64_t* results,
                            tenon_error** error) {
  return on_module(module, error, [&] {
    const Schema& forward = forward_schema(*module);
    if (schema != nullptr)
      *schema = {forward.text.data(), static_cast<int64_t>(forward.text.size())};
    if (results != nullptr) *results = static_cast<int64_t>(forward.returns.size());
  });
}
tenon_status module_state(tenon_module* module, tenon_value* names, tenon_value* tensors,
                          tenon_error** error) {
  return on_module(module, error, [&] {
    std::vector<std::string> texts;
    std::vector<TensorRef> list;
    for (const WalkItem& item : walk(*module, Walk::State, {.duplicates = true})) {
      texts.push_back(item.name);
      list.emplace_back(item.tensor);
    }
    *names = make_string_list(texts);
    *tensors = make_tensor_list(std::move(list));
  });
}

}  // namespace

void add_module_slots(Services& services) {
  services.modules.create = module_create;
  services.modules.create_json = module_create_json;
  services.modules.retain = module_retain;
  services.modules.release = module_release;
  services.modules.type = module_type;
  services.modules.attributes = module_attributes;
  services.modules.register_parameter = module_register_parameter;
  services.modules.register_buffer = module_register_buffer;
  services.modules.register_child = module_register_child;
  services.modules.tensor = module_tensor;
  services.modules.child = module_child;
  services.modules.call = module_call;
  services.modules.training = module_training;
  services.modules.train = module_train;
  services.modules.walk = module_walk;
  services.modules.has_hooks = module_has_hooks;
  services.modules.to = module_to;
  services.modules.attribute = module_attribute;
  services.modules.assign = module_assign;
  services.modules.bind = module_bind;
  services.modules.unbind = module_unbind;
  services.modules.clone = module_clone;
  services.modules.set_forward = module_set_forward;
  services.modules.forward = module_forward;
  services.modules.state = module_state;
  services.modules.add_hook = module_add_hook;
  services.modules.run_hooks = module_run_hooks;
}

}  // namespace tenon::core
