// Registered overrides: to call one from another that wraps it, and to disable them.
//
//   static Results forward(const Tensor& input, const Tensor& other) {
//     static const OverrideEntry original("add[Diagonal]", "diagonals");
//     return original(input, other);
//   }
#pragma once

#include <array>
#include <string>
#include <utility>

#include "tenon/call.hpp"

TENON_NAMESPACE_BEGIN

// Cheap to copy; valid for the life of the process: calls throw PluginError once its plugin is
// unloaded or reloaded. Any thread.
class OverrideEntry {
 public:
  // "add[A, B]", types in any order; from this plugin, or the one that ranks first among several
  // (`ops.prefer`). Loads the plugins of the types. ValueError when there is none.
  explicit OverrideEntry(const std::string& key, const std::string& provider = "")
      : op_(key.substr(0, key.find('['))) {
    detail::check(service::types().override_find, key.c_str(), provider.c_str(), &entry_);
  }
  // Id of the plugin.
  std::string provider() const { return service::types().override_provider(entry_); }
  // For this thread.
  bool enabled() const { return service::types().override_enabled(entry_) != 0; }
  Op op() const { return op_; }                            // the overridden op
  const tenon_override* handle() const { return entry_; }  // borrowed

  // Calls it with arguments of its op, by position and then by name, even when a call of the op
  // would choose another one. It may decline. TypeError when it does not take such operands.
  template <class... Arguments>
  Results operator()(const Arguments&... arguments) const {
    std::array<tenon_value, sizeof...(Arguments) + 1> values{}, named{};
    std::array<tenon_string, sizeof...(Arguments) + 1> names{};
    int64_t v = 0, k = 0;
    const auto place = [&](const auto& given) {
      using Given = std::decay_t<decltype(given)>;
      if constexpr (std::is_same_v<Given, Keyword>) {
        names[static_cast<size_t>(k)] = {given.name.data(),
                                         static_cast<int64_t>(given.name.size())};
        named[static_cast<size_t>(k++)] = given.value.value();
      } else {
        values[static_cast<size_t>(v++)] = Argument(given).value();
      }
    };
    (place(arguments), ...);
    Results results = Results::of_count(service::ops().result_count(op_.handle()));
    detail::check(service::types().override_call, entry_, values.data(), v, names.data(),
                  named.data(), k, results.slots());
    return results;
  }

 private:
  Op op_;
  const tenon_override* entry_ = nullptr;
};

// Disables an override as long as the scope lives, for all threads: calls that begin meanwhile do
// not choose it. Scopes nest. Every change makes the plans of calls again and keeps the old ones:
// for tests and set-up, not for loops.
class OverrideDisabled {
 public:
  explicit OverrideDisabled(OverrideEntry entry) : entry_(entry) {  // the op, without its override
    service::types().override_disable(entry_.handle());
  }
  ~OverrideDisabled() { service::types().override_enable(entry_.handle()); }
  OverrideDisabled(const OverrideDisabled&) = delete;
  OverrideDisabled& operator=(const OverrideDisabled&) = delete;

 private:
  OverrideEntry entry_;
};

TENON_NAMESPACE_END
