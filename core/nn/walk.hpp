// Walks over the members of a tree of modules, and what is done to all of them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/nn/module.hpp"

namespace tenon::core {

enum class Walk : int32_t { Parameters = 0, Buffers = 1, Children = 2, Modules = 3 };

struct WalkItem {
  std::string name;
  Tensor* tensor = nullptr;
  tenon_module* module = nullptr;
};
struct WalkOptions {
  bool recurse = true;
  bool names = true;  // fill them in
  bool duplicates =
      false;            // under each of its names; else a tensor or module comes once, first name
  bool absent = false;  // of a module's own children: names without a value too
};
// Calls `enter` with the module and, where `recurse` is set, all below it, in registration order,
// parents first; `prefix` is what its members' names begin with: "", "layers.0.".
void visit_modules(tenon_module& root, WalkOptions options,
                   const std::function<void(tenon_module&, const std::string& prefix)>& enter);
// In registration order, parents first; names are dotted below. Names without a value are omitted
// unless `absent` is set.
std::vector<WalkItem> walk(tenon_module& module, Walk what, WalkOptions options);

void set_training(tenon_module& module, bool training);
// Converts floating parameters and buffers, and gradients with them, where they are: handles of
// them stay good. All of them or, when it throws, none.
void convert(tenon_module& module, tenon_dtype dtype);

}  // namespace tenon::core
