// The table: op names to handles. Readers never lock; writers publish a new immutable snapshot.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/fork.hpp"
#include "core/dispatch/table/op.hpp"

namespace tenon::core {

class Registry {
 public:
  Registry();
  ~Registry();
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  // The handle of a registered op, or null. Lock-free. [any-thread]
  const tenon_op* find(std::string_view name) const;

  // For names, the providers that may have them registered, best first.
  using Ranked = std::map<std::string, std::vector<std::string>, std::less<>>;
  // Registers all or nothing, in place of what the same plugin has registered before. Throws
  // PluginError for a name that a plugin has defined which `ranked` does not rank with this one.
  // `code`: where the functions are; null: in the program.
  void commit(const std::string& provider, std::span<const tenon_op_descriptor* const> descriptors,
              PluginCode* code = nullptr, const Ranked& ranked = {});
  // No call that begins from now on runs this code; handles of ops that no other code provides
  // become stale. The implementations are kept for running calls and nodes, until `forget`.
  void withdraw(const PluginCode& code);
  void forget(const PluginCode& code);

  // Gives a registered op rules of another plugin (with_rules); null: its own again. Throws
  // ValueError when they do not fit.
  void replace_rules(std::string_view name, const tenon_op_descriptor* rules,
                     const std::string& provider, PluginCode* code = nullptr);

  // The implementation that runs calls which this one declines: registered, or loaded now. Null
  // without one. Throws what loading throws.
  const Implementation* next_provider(const Implementation& declined) const;
  // Sets the function that looks for a provider that is not registered: true if there is one by
  // now.
  void set_next_finder(
      std::function<bool(std::string_view name, const std::string& declined)> finder) {
    next_finder_ = std::move(finder);
  }
  // Sets, by op, the provider that calls try first, in place of what was set before.
  using Preferences = std::map<std::string, std::vector<ProviderPreference>, std::less<>>;
  void set_preferences(Preferences preferences);
  // Why a plugin's implementation has declined its last call; empty: it has not. The text is a
  // copy.
  std::string reason_declined(std::string_view name, const std::string& provider) const;

  // The process's table; defined by runtime/assembly.cpp.
  static Registry& process();

  // The handle, loading the plugin that declares the op when need be. Throws ValueError with
  // suggestions.
  const tenon_op* require(std::string_view name) const;
  // Sets the function that `require` calls for an unknown name: it loads the plugin that declares
  // it, or throws the error that says why not.
  void set_finder(std::function<void(std::string_view name)> finder) {
    finder_ = std::move(finder);
  }

 private:
  struct Snapshot;
  void attach_preferences(tenon_op& op);
  void publish(std::unique_ptr<Snapshot> next);
  const Implementation& ruled(const Implementation& own, const tenon_op_descriptor& rules,
                              const std::string& provider, PluginCode* code);

  std::atomic<const Snapshot*> snapshot_;
  mutable std::mutex writers_;
  const HeldAcrossFork held_{writers_};
  struct Retired {
    std::unique_ptr<const Snapshot> snapshot;
    uint64_t mark;  // mark of running_calls.hpp: freed when the calls that were running have ended
  };
  std::vector<Retired> retired_;
  std::vector<std::unique_ptr<tenon_op>> ops_;
  std::vector<std::unique_ptr<Implementation>> implementations_;
  std::vector<std::unique_ptr<Implementation>> withdrawn_;
  Preferences preferences_;
  // Calls may be reading any.
  std::vector<std::unique_ptr<const ProviderPreferences>> made_preferences_;
  std::set<std::string> withdrawn_providers_;     // named by stale handles
  std::function<void(std::string_view)> finder_;  // these are set once, before calls
  std::function<bool(std::string_view, const std::string&)> next_finder_;
};

}  // namespace tenon::core
