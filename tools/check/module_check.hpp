// One module under check: what its stages share. Each stage is a function in a file named after it.
#pragma once

#include <string>
#include <vector>

#include <tenon/module.hpp>

#include "item_check.hpp"
#include "sample.hpp"

namespace cli {

// Attributes that a module is made with, and inputs that it takes then.
struct ModuleCall {
  Sample attributes, inputs;

  Sample report() const;  // both
};

class ModuleCheck : public ItemCheck {
 public:
  ModuleCheck(const CheckedModule& module_of, const CheckSettings& settings_of,
              CheckListener& listener_of)
      : ItemCheck(settings_of, listener_of), module(module_of) {}

  const CheckedModule& module;
  std::vector<Sample> samples;  // samples of attributes
  std::vector<ModuleCall> calls;

  // A new instance; `number` varies what it draws.
  tenon::Module make(const Sample& attributes, uint64_t number = 0) const {
    return make_module(module.name, attributes, settings.seed + number);
  }
  // `number` varies the elements of the inputs.
  SampleCall call_of(const tenon::Module& made, const ModuleCall& call, uint64_t number = 0) const {
    return {made, call.inputs, settings.seed + number};
  }
};

// Stages. The first two gather samples and calls, at which the others look one by one; what the
// module throws they let through.
void find_module_samples(ModuleCheck& check);
void find_module_calls(ModuleCheck& check);
void check_module_values(ModuleCheck& check, const ModuleCall& call);
void check_module_gradient(ModuleCheck& check, const ModuleCall& call);
void check_module_state(ModuleCheck& check, const ModuleCall& call);
void check_module_threads(ModuleCheck& check, const ModuleCall& call);
void check_module_leaks(ModuleCheck& check, const ModuleCall& call);

}  // namespace cli
