// Walks over the members of a tree of modules, and what is done to all of them.
#pragma once

#include <string>
#include <vector>

#include "core/nn/module.hpp"

namespace tenon::core {

enum class Walk : int32_t { Parameters = 0, Buffers = 1, Children = 2, Modules = 3, State = 4 };

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
// In registration order, parents first; names are dotted below. Names without a value are omitted
// unless `absent` is set. A state is parameters and persistent buffers, module by module.
std::vector<WalkItem> walk(tenon_module& module, Walk what, WalkOptions options);

void set_training(tenon_module& module, bool training);
// Converts floating parameters and buffers, and gradients with them, where they are: handles of
// them stay good. All of them or, when it throws, none.
void convert(tenon_module& module, tenon_dtype dtype);

}  // namespace tenon::core
