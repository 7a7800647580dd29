// Checks of one module, stage by stage: it is made, called, saved and loaded, and its parameters get
// gradients.
#include <algorithm>
#include <array>
#include <limits>

#include "module_check.hpp"

namespace cli {

CheckedModule checked_module(const tenon::Json& declaration) {
  CheckedModule module;
  module.name = declaration["name"].text();
  module.attributes = declared_types(declaration["parameters"]);
  module.samples = declaration["samples"].text();
  module.inputs = declared_types(declaration["forward"]["parameters"]);
  module.own_forward = declaration["forward"].is_null();
  module.mode = declaration["mode"].as_bool();
  return module;
}

namespace {

bool always(const ModuleCheck&) { return true; }
bool is_sound(const ModuleCheck& check) { return check.found.empty(); }

struct Stage {
  const char* name;
  bool (*applies)(const ModuleCheck&);
  void (*check)(ModuleCheck&, const ModuleCall&);
  size_t most;  // number of calls: all, or the first
};
constexpr size_t kAll = std::numeric_limits<size_t>::max();
constexpr std::array kStages{Stage{"values", always, check_module_values, kAll},
                             Stage{"gradient", always, check_module_gradient, kAll},
                             Stage{"state", always, check_module_state, kAll},
                             Stage{"threads", is_sound, check_module_threads, 1},
                             Stage{"leaks", is_sound, check_module_leaks, 1}};

void run(const Stage& stage, ModuleCheck& check) {
  for (size_t c = 0; c < std::min(stage.most, check.calls.size()); ++c) {
    const Sample report = check.calls[c].report();
    check.listener.trying(report);
    try {
      stage.check(check, check.calls[c]);
    } catch (const tenon::Error& error) {
      check.find("module", error.what(), &report);
    }
  }
}

}  // namespace

Sample ModuleCall::report() const {
  Sample result = attributes;
  result.inputs = tenon::Json::parse(inputs.dump());
  return result;
}

void check_module(const CheckedModule& module, const CheckSettings& settings,
                  CheckListener& listener) {
  if (module.mode) return listener.skip("it is a mode: its effects depend on the calls inside");
  ModuleCheck check(module, settings, listener);
  check.run_stage("create", [&] { find_module_samples(check); });
  if (check.samples.empty()) return;
  check.run_stage("call", [&] { find_module_calls(check); });
  if (check.calls.empty()) return;
  for (const Stage& stage : kStages) {
    if (stage.applies(check)) check.run_stage(stage.name, [&] { run(stage, check); });
  }
  listener.samples(static_cast<int64_t>(check.calls.size()));
}

}  // namespace cli
