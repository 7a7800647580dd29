// A runtime of a test's own: tables, and a manager over a throwaway folder whose plugins fill them.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/dispatch/types/plan.hpp"
#include "core/runtime/runtime.hpp"
#include "core/runtime/table_registrar.hpp"
#include "tests/core/plugin/support.hpp"

namespace tenon::core::test {

struct World {
  World() {
    SearchEnvironment environment;
    environment.plugin_path = folder.path();
    manager = std::make_unique<PluginManager>(host_table(), registrar, environment);
    registrar.connect(*manager);
  }
  Runtime runtime() { return {{ops, types, modules, &plans}, *manager}; }

  TemporaryFolder folder;
  Registry ops;
  TypeTable types;
  ModuleTable modules;
  PlanCache plans{types};
  TableRegistrar registrar{{ops, types, modules}};
  std::unique_ptr<PluginManager> manager;
};

inline std::string message_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.message;
  }
  return "";
}

}  // namespace tenon::core::test
