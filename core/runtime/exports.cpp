// The symbols that libtenon exports, nothing else.
#include <memory>

#include "core/base/error.hpp"
#include "core/plugin/plugin_manager.hpp"
#include "core/runtime/runtime.hpp"
#include "tenon/abi/guard.h"
#include "tenon/abi/host.h"

extern "C" const tenon_host* tenon_host_get(void) { return &tenon::core::host_table(); }

extern "C" tenon_status tenon_guard_set(const tenon_load_guard* guard, tenon_error** error) {
  using namespace tenon::core;
  return guarded(error, [&] {
    host_table();  // starts the runtime
    plugin_manager().set_guard(guard == nullptr ? nullptr : std::make_shared<Guard>(*guard));
  });
}
