// The load guard that enforces what configs say of plugins: bytes that are pinned (`sha256`), signatures
// (`keys`), lock files (`frozen`), and quarantine for plugins that end the process that loads them.
//
//   trust::install();
//   config::apply(config::read("app.json"));
//
// The command line and tenon::training install it. Without it the host refuses configs that pin or restrict
// plugins, and keeps no plugin in quarantine.
#pragma once

#include <string>

#include <tenon/trust/trial.hpp>

TENON_NAMESPACE_BEGIN

namespace trust {

// $XDG_STATE_HOME/tenon or ~/.local/state/tenon. Empty where TENON_QUARANTINE is 0, and in programs with
// elevated rights, which read no variable.
std::string state_folder_of_user();

struct GuardOptions {  // checks of a guard, and the folder of its records
  std::string state_folder = state_folder_of_user();   // folder of quarantine; empty: no quarantine
  std::string trial_program = trust::trial_program();  // program that loads suspected plugins
};

// Sets the guard of this process. False: one is set already, which stays. Throws the fault of a policy that is
// active and cannot be enforced. Any thread.
bool install(const GuardOptions& options = {});
// Removes the guard of this process, also one that another library has set. Calls in flight end with it. Any thread.
void uninstall();

}  // namespace trust

TENON_NAMESPACE_END
