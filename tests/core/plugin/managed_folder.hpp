// A manager over one throwaway folder, whose plugins fill a table that only keeps their names.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "tests/core/plugin/support.hpp"

namespace tenon::core::test {

struct ManagedFolder {
  explicit ManagedFolder(bool autoload = true) {
    SearchEnvironment environment;
    environment.autoload = autoload;
    environment.plugin_path = folder.path();
    manager = std::make_unique<PluginManager>(host.table(), registrar, environment);
    FakeHost::find_op = [this](std::string_view name) {
      if (!manager->ensure_op(name)) throw Error(TENON_ERROR_VALUE, "no such op");
    };
  }
  ~ManagedFolder() {
    FakeHost::find_op = [](std::string_view) {};
  }

  PluginListing listing(const std::string& id) const {
    for (PluginListing& one : manager->list()) {
      if (one.id == id && one.state != PluginState::Shadowed) return std::move(one);
    }
    FAIL("no plugin " << id);
    return {};
  }
  PluginState state(const std::string& id) const { return listing(id).state; }
  bool has(const std::string& name) const { return registrar.names.contains(name); }

  TemporaryFolder folder;
  FakeHost host;
  FakeRegistrar registrar;
  std::unique_ptr<PluginManager> manager;
};

}  // namespace tenon::core::test
