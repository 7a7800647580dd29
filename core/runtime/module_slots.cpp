// Service modules.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <boost/container/small_vector.hpp>

#include "core/dispatch/binding/value.hpp"
#include "core/dispatch/call/running_calls.hpp"
#include "core/nn/hooks.hpp"
#include "core/nn/module.hpp"
#include "core/runtime/runtime.hpp"
#include "core/runtime/slots.hpp"

namespace tenon::core {

namespace {

template <class Module>
Module& checked(Module* module) {
  return core::checked(module, "the module");
}
std::string_view text_of(const char* text, int64_t length) {
  return {text, static_cast<size_t>(length)};
}

tenon_status add_module_hook(tenon_module* module, int32_t kind, uint32_t flags,
                             tenon_module_hook_function function, void* state,
                             void (*destroy)(void* state), tenon_hook** hook, tenon_error** error) {
  return add_hook(
      function, state, destroy, hook, error, [&](std::shared_ptr<ModuleHooks::Body> body) {
        ModuleHooks& hooks = module == nullptr ? ModuleHooks::of_all() : module->hooks.make();
        const HookHandle added = hooks.add(kind, flags, std::move(body));
        note_module_change();
        return added;
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
void list_walk(tenon_module& module, int32_t kind, int32_t recurse, int64_t* count,
               tenon_value* names, tenon_value* items) {
  const bool duplicates = (kind & TENON_WALK_DUPLICATES) != 0;
  const bool absent = (kind & TENON_WALK_ABSENT) != 0;
  const int32_t what = kind & ~(TENON_WALK_DUPLICATES | TENON_WALK_ABSENT);
  if (what < 0 || what > 3 || (absent && (what != 2 || recurse != 0)))
    throw Error(TENON_ERROR_ARGUMENT,
                "walks are of parameters, buffers, children or modules (0 to 3), not {}", kind);
  if (names == nullptr && what == 2 && recurse == 0 && duplicates && !absent) {
    *items = list_children(module);
    *count = items->length;
    return;
  }
  const std::vector<WalkItem> found = walk(module, static_cast<Walk>(what),
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
}

}  // namespace

constinit const tenon_modules_service modules_service{
    .head = {},
    .create = slot([](const char* type, const tenon_value* attributes, int64_t count,
                      const tenon_string* keywords, const tenon_value* keyword_values,
                      int64_t keyword_count) {
      index_plugins();
      const OuterCall running;  // the type is not freed between being found and having a module
      return create_module(ModuleTable::process().require(type), span_of(attributes, count),
                           span_of(keywords, keyword_count), span_of(keyword_values, keyword_count))
          .give();
    }),
    .create_json = slot([](const tenon_json* document, const tenon_module_settings* settings) {
      index_plugins();
      const OuterCall running;
      return create_module(checked(document, "the module's description"), settings).give();
    }),
    .retain = [](tenon_module* module) { module->retain(); },
    .release = [](tenon_module* module) -> void {
      if (module != nullptr) module->release();
    },
    .type = [](const tenon_module* module) { return module->type->schema.name.c_str(); },
    .attributes = [](const tenon_module* module) -> const tenon_value* {
      return module->attributes.data();
    },
    .attribute = slot([](const tenon_module* module, const char* name, int64_t length) {
      const Schema& schema = checked(module).type->schema;
      return module->attributes.data() + parameter_place(schema, text_of(name, length));
    }),
    .register_parameter = slot([](tenon_module* module, const char* name, tenon_tensor* tensor) {
      register_parameter(checked(module), name, tensor);
      note_module_change();
    }),
    .register_buffer =
        slot([](tenon_module* module, const char* name, tenon_tensor* tensor, int32_t persistent) {
          register_buffer(checked(module), name, tensor, persistent != 0);
          note_module_change();
        }),
    .register_child = slot([](tenon_module* module, const char* name, tenon_module* child) {
      register_child(checked(module), name, child);
      note_module_change();
    }),
    .tensor = slot(
        [](tenon_module* module, const char* name) { return find_tensor(checked(module), name); }),
    .child = slot(
        [](tenon_module* module, const char* name) { return find_child(checked(module), name); }),
    .walk = slot(
        [](tenon_module* module, int32_t kind, int32_t recurse, int64_t* count, tenon_value* names,
           tenon_value* items) { list_walk(checked(module), kind, recurse, count, names, items); }),
    .assign = slot([](tenon_module* module, const char* name, int64_t length,
                      const tenon_value* value, uint32_t flags) {
      assign_member(checked(module), text_of(name, length), *value, flags);
      note_module_change();
    }),
    .bind = slot([](tenon_module* module, const char* name, int64_t length, void** location) {
      bind_member(checked(module), text_of(name, length), location);
    }),
    .unbind = [](tenon_module* module, const char* name, int64_t length) -> void {
      unbind_member(*module, text_of(name, length));
    },
    .set_forward = slot([](tenon_module* module, const char* schema, int64_t length) {
      set_forward_schema(checked(module), text_of(schema, length));
    }),
    .forward = slot([](const tenon_module* module, tenon_string* schema, int64_t* results) {
      const Schema& forward = forward_schema(checked(module));
      if (schema != nullptr)
        *schema = {forward.text.data(), static_cast<int64_t>(forward.text.size())};
      if (results != nullptr) *results = static_cast<int64_t>(forward.returns.size());
    }),
    .call = slot([](tenon_module* module, const tenon_value* arguments, int64_t count,
                    const tenon_string* keywords, const tenon_value* keyword_values,
                    int64_t keyword_count, tenon_value* results, int64_t result_count) {
      call_module(checked(module), span_of(arguments, count), span_of(keywords, keyword_count),
                  span_of(keyword_values, keyword_count), results, result_count);
    }),
    .training = [](const tenon_module* module) { return module->training ? 1 : 0; },
    .train = [](tenon_module* module, int32_t training) -> void {
      set_training(*module, training != 0);
      note_module_change();
    },
    .to = slot([](tenon_module* module, tenon_dtype dtype) { convert(checked(module), dtype); }),
    .clone = slot([](tenon_module* module) { return clone_module(checked(module)).give(); }),
    .state = slot([](tenon_module* module, tenon_value* names, tenon_value* tensors) {
      std::vector<std::string> texts;
      std::vector<TensorRef> list;
      for (const WalkItem& item : walk(checked(module), Walk::State, {.duplicates = true})) {
        texts.push_back(item.name);
        list.emplace_back(item.tensor);
      }
      *names = make_string_list(texts);
      *tensors = make_tensor_list(std::move(list));
    }),
    .run_hooks = slot([](tenon_module* module, int32_t kind, tenon_value* values, int64_t count) {
      run_state_hooks(checked(module), kind, {values, static_cast<size_t>(count)});
    }),
    .add_hook = add_module_hook,
    .has_hooks = [](const tenon_module* module, uint32_t kinds) -> int32_t {
      return module != nullptr && has_hooks(*module, kinds) ? 1 : 0;
    },
    .number = [](const tenon_module* module) -> uint64_t {
      return module == nullptr ? 0 : module->number;
    },
};

}  // namespace tenon::core
