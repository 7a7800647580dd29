// Modules that a tool does not watch, and the watched ones that they count for.
#pragma once

#include <cstdint>
#include <unordered_map>

#include <tenon/host.hpp>

TENON_NAMESPACE_BEGIN

namespace lib {

constexpr uint32_t no_module = UINT32_MAX;

// A module whose forward runs.
struct RunningModule {
  uint32_t module;   // the watched one that it is or counts for, or no_module
  int64_t backward;  // the backward that it runs in; 0: none
};

// Modules that are not watched, by number, as one thread has called them.
class ModuleCallers {
 public:
  // One begins to run in a backward, 0: in none, within `innermost`, null: within none. It counts for its caller,
  // and for the last one that it had where the backward itself runs it again. Returns no_module for none.
  uint32_t enter(uint64_t number, int64_t backward, const RunningModule* innermost) {
    const auto known = callers_.find(number);
    const bool again = backward != 0 && (innermost == nullptr || innermost->backward != backward);
    if (again && known != callers_.end()) return known->second;
    const uint32_t caller = innermost == nullptr ? no_module : innermost->module;
    if (caller != no_module)
      callers_[number] = caller;
    else if (known != callers_.end())
      callers_.erase(known);
    return caller;
  }
  // The one that it counts for, or no_module.
  uint32_t of(uint64_t number) const {
    const auto known = callers_.find(number);
    return known == callers_.end() ? no_module : known->second;
  }

 private:
  std::unordered_map<uint64_t, uint32_t> callers_;
};

}  // namespace lib

TENON_NAMESPACE_END
