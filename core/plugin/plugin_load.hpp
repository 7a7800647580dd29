// One load of a plugin, step by step. Private to the plugin manager.
#pragma once

#include <memory>
#include <string>

#include "core/plugin/opening.hpp"
#include "core/plugin/plugin_manager.hpp"

namespace tenon::core {

// Loads a plugin unless that is done, and registers what of it is chosen and not there yet: all of it
// after a load, some of it when a policy has changed since. A load that replaces puts new code in the
// place of the code that is active. The lock is held at the beginning and at the end of `run`, and not
// while code of the plugin or the tables run.
class PluginManager::Load {
 public:
  Load(PluginManager& manager, Lock& lock, LivePlugin& plugin, const std::string& asked_by,
       bool replaces = false);
  void run();

 private:
  using Change = Lifecycle::Change;

  void refuse_users();
  void open();
  void register_items(Change& change);
  void retire_before();
  void discard();
  void end_failed(Change& change, PluginFailure failure);
  [[noreturn]] void fail(Change& change, PluginFailure failure,
                         std::shared_ptr<const tenon_error> cause);
  void retire(const LoadedPlugin& loaded, uint64_t generation);

  PluginManager& manager_;
  Lock& lock_;
  LivePlugin& plugin_;
  const std::string& asked_by_;
  const bool replaces_;
  const bool opens_;  // the file was not opened before, or is again
  Opening opening_;
  OpenedPlugin opened_;
  RegistrationRequest request_;
  ItemNames names_before_;  // names of the code that is replaced
};

}  // namespace tenon::core
