// A module type for the tests of modules, in its own table.
#pragma once

#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/nn/module.hpp"
#include "core/runtime/runtime.hpp"
#include "tests/core/dispatch/support.hpp"

namespace tenon::core::test {

// The printed form of a module.
inline std::string module_text(tenon_module& module) {
  tenon_value value{};
  value.tag = TENON_VALUE_MODULE;
  value.as.module = &module;
  return value_text(value);
}

// One parameter, `weight`, of `width` elements 1, 2, ...; gives its first input back. `self` counts
// the states that are destroyed.
inline tenon_module_descriptor block(const char* schema = "Block(int width=2)",
                                     int* destroyed = nullptr) {
  tenon_module_descriptor made{};
  made.size = sizeof made;
  made.schema = schema;
  made.forward_schema = "forward(Tensor input) -> Tensor";
  made.self = destroyed;
  made.create = [](void*, tenon_module* module, const tenon_value* attributes, void** state,
                   tenon_error** error) {
    return guarded(error, [&] {
      const int64_t width = attributes[0].as.integer;
      const TensorRef weight = make_empty(TENON_F32, {&width, 1});
      for (int64_t i = 0; i < width; ++i)
        static_cast<float*>(weight->view.data)[i] = static_cast<float>(i + 1);
      register_parameter(*module, "weight", weight.get());
      *state = module;
    });
  };
  made.forward = [](void*, void*, tenon_module*, const tenon_value* arguments, tenon_value* results,
                    tenon_error** error) {
    return guarded(error,
                   [&] { results[0] = tensor_value(TensorRef(arguments[0].as.tensor).give()); });
  };
  made.clone = [](void*, void*, tenon_module* copy, void** state, tenon_error**) -> tenon_status {
    *state = copy;
    return TENON_OK;
  };
  made.destroy = [](void* self, void*) {
    if (self != nullptr) ++*static_cast<int*>(self);
  };
  return made;
}

using Names = std::vector<std::string>;
// Names of the entries of a walk, in its order.
inline Names names(tenon_module& module, Walk what, WalkOptions options = {}) {
  Names list;
  for (const WalkItem& item : walk(module, what, options)) list.push_back(item.name);
  return list;
}

struct Types {
  Types() {
    const tenon_module_descriptor* one[] = {&descriptor};
    table.commit(table.prepare("test", one));
  }
  Types(const Types&) = delete;
  Types& operator=(const Types&) = delete;
  const ModuleType& operator[](const char* name) const { return *table.find(name); }
  ModuleRef make() const { return create_module((*this)["Block"], {}, {}, {}); }

  mutable int destroyed = 0;
  tenon_module_descriptor descriptor = block("Block(int width=2)", &destroyed);
  ModuleTable table;
};

}  // namespace tenon::core::test
