// All plugins of a process: which are known, what each provides, and loading them when they are
// needed.
#pragma once

#include <array>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/fork.hpp"
#include "core/base/json.hpp"
#include "core/plugin/discovery.hpp"
#include "core/plugin/loader.hpp"
#include "core/plugin/policy.hpp"
#include "core/plugin/quarantine.hpp"
#include "core/plugin/resolver.hpp"
#include "core/plugin/unmap_verdict.hpp"

namespace tenon::core {

// What of a plugin is to be registered. The descriptors were checked and live as long as their
// code.
struct RegistrationRequest {
  std::string provider;                  // the plugin's id
  PluginCode* code = nullptr;            // where the functions are
  const PluginCode* replaced = nullptr;  // the code of the same plugin that this takes the place of
  std::vector<const tenon_op_descriptor*> ops;
  std::vector<const tenon_module_descriptor*> modules;
  std::vector<const tenon_type_descriptor*> types;
  std::vector<const tenon_override_descriptor*> overrides;
  // Of ops that other plugins have registered: those plugins and this, by id, best first.
  std::map<std::string, std::vector<std::string>, std::less<>> ranked{};

  bool empty() const {
    return ops.empty() && modules.empty() && types.empty() && overrides.empty();
  }
  // The order in a plugin's table is that of its link, which decides nothing.
  void sort_by_name();
};

// Where it goes: the tables, behind an interface because plugins come before them.
class Registrar {
 public:
  virtual ~Registrar() = default;
  // All or nothing: throws without having changed anything. Called from one thread at a time for
  // each plugin, never with a lock of the manager held.
  virtual void commit(const RegistrationRequest& registration) = 0;
  // What a policy says of a type that is registered, or will be. Under the same terms.
  virtual void configure(const std::string& type, const TypeSettings& settings) = 0;
  // What all policies say of which provider is asked first for some calls of an op. Under the same
  // terms.
  using Rules = std::map<std::string, std::vector<ProviderRule>, std::less<>>;
  virtual void set_rules(Rules rules) = 0;

  // Nothing that begins from now on uses this code. What running calls may still use is freed with the
  // result and by `forget`, for the caller to do when they have ended.
  virtual std::shared_ptr<const void> withdraw(const PluginCode& code) = 0;
  // Once nothing holds the code.
  virtual void forget(const PluginCode& code) = 0;
  // Other plugins that build on its types, sorted.
  virtual std::vector<std::string> users_of(const PluginCode& code) = 0;
};

const char* plugin_state_text(PluginState state) noexcept;

// One line of a listing.
struct PluginListing {
  std::string id;  // empty when the file does not say it
  std::string version;
  std::string path;
  PluginOrigin origin = PluginOrigin::Path;
  PluginState state = PluginState::Indexed;
  std::string reason;                        // why failed, excluded or shadowed
  std::optional<PluginFailure> failure;      // the parts of that, when failed
  std::shared_ptr<const PluginFacts> facts;  // null when unreadable
  uint64_t generation = 0;                   // grows with each load of its code; 0: never loaded
  std::array<int64_t, kHolders> holders{};   // of its code, when active
};

// How unload treats a plugin that nodes, modules and the like still hold.
enum class UnloadChoice { Refuse, Wait, Force };

// A generation of a plugin that is unloaded, or was replaced.
struct RetiredPlugin {
  // Draining: calls or holders use its code still. Drained: nothing does, but it stays mapped.
  enum class State { Draining, Drained, Unmapped };
  std::string id;
  std::string path;
  uint64_t generation = 0;
  State state = State::Draining;
  std::array<int64_t, kHolders> holders{};
  std::vector<std::string> recorded;  // where, of nodes among these that are tracked
  std::vector<std::string> kept_by;   // why it is not unmapped
};
const char* retired_state_text(RetiredPlugin::State state) noexcept;
// "3 nodes of a graph, 1 hook"; "" for none.
std::string holders_text(const std::array<int64_t, kHolders>& holders);

struct ProviderListing {
  std::string plugin;
  ProviderStanding standing = ProviderStanding::Chosen;
  std::string reason;
  bool may_decline = false;
};

// Thread-safe. Folders are read at the first need, not before. The resolver decides who provides
// what.
class PluginManager {
 public:
  PluginManager(const tenon_host& host, Registrar& registrar,
                SearchEnvironment environment = SearchEnvironment::of_process());
  ~PluginManager();
  PluginManager(const PluginManager&) = delete;
  PluginManager& operator=(const PluginManager&) = delete;

  // A folder in front of the search order.
  void add_search_path(const std::string& folder);

  // What would be refused, without running plugin code: all faults, not just the first.
  std::vector<PluginFailure> check(const PluginPolicy& policy);
  // Adds to what earlier policies said; its preferences go before theirs. Throws the first of
  // check()'s failures, then nothing has changed. Loads the eager ones.
  void apply(const PluginPolicy& policy);

  // By id, or by path when the text has a '/' or ends in ".so". No-op when it is active.
  void load(const std::string& id_or_path, const std::string& asked_by = "");

  // Withdraws what the plugin has registered: from the return on, handles of its ops are stale, or lead
  // to the next provider. Its code continues for calls that are running and for what holds it; when
  // nothing does, its shutdown is called and it is unmapped, if the file allows that. Refuse throws,
  // having changed nothing, while something holds it; Wait returns when the code is drained, or after
  // the time (< 0: no limit); Force returns at once. It is loaded again by load() alone. Throws when
  // it is not loaded, when other plugins build on its types, and, but for Force, inside of a call.
  RetiredPlugin unload(const std::string& id, UnloadChoice choice, int64_t timeout_ms = -1);
  // Loads the plugin's file as it is now, from a private copy, and puts its code in place of the code
  // that is there: calls that begin after the return run the new one, graphs that were recorded before
  // run the old one, which drains as after Force. When the file is refused, its init, its restore_state
  // or its self_test fails, the old code stays and the failure is thrown. Loads a plugin that is not
  // loaded. Returns the new generation.
  uint64_t reload(const std::string& id_or_path);
  // Generations whose code is still there, the oldest first.
  std::vector<RetiredPlugin> retired();

  // Makes sure that the plugin which declares the name is loaded. False: none declares it. Throws
  // when it cannot be loaded, is disabled, or several are equally entitled.
  bool ensure_op(std::string_view name) { return ensure(ItemKind::Op, name); }
  bool ensure_module(std::string_view name) { return ensure(ItemKind::Module, name); }
  // Makes sure that what runs an op's call that the plugin `declined` is registered. False: nothing
  // does. Throws as above.
  bool ensure_next_op(std::string_view name, const std::string& declined);
  // With the type's plugin come those that declare overrides for it.
  bool ensure_type(std::string_view name) { return ensure(ItemKind::Type, name); }
  // Waits until the overrides that other plugins declare for a registered type are there. False:
  // they may not be yet, since this thread is loading a plugin, which others may wait for.
  bool complete_type(std::string_view name);
  // Which of two plugins the preferences prefer for an override; "" when they do not say.
  std::string preferred(std::string_view op, std::string_view key, const std::string& a,
                        const std::string& b);
  // The schema of an op and the plugin that would provide it; empty when none declares it.
  struct DeclaredOp {
    std::string schema;
    std::string provider;
    bool overridable = true;
  };
  DeclaredOp declared_op(std::string_view op);
  // Whether a plugin that is not refused declares the override.
  bool declares_override(std::string_view key);
  // Whether some policy is strict, and whether one calls the plugin glue.
  bool strict();
  bool is_glue(const std::string& id);

  // Sorted by id, then path.
  std::vector<PluginListing> list();
  // All that declare the name, sorted by plugin id.
  std::vector<ProviderListing> providers(ItemKind kind, std::string_view name);
  // Names that plugins declare, sorted; for suggestions and listings.
  std::vector<std::string> declared_names(ItemKind kind);
  std::vector<SearchFolder> folders();
  // A lock of every plugin that can be used now, and of what each would provide. A plugin whose
  // libraries are missing is left out with a warning.
  PluginLock lock();

  // Calls the shutdown of every active plugin, last loaded first. For explicit ends of a runtime;
  // never done by the destructor, which may run while the process is being torn down.
  void shutdown();

 private:
  struct Record;
  struct Policies;
  struct Retired;
  class Load;
  class PolicyCheck;
  using Lock = std::unique_lock<std::mutex>;

  bool ensure(ItemKind kind, std::string_view name);
  void ensure_loaded(Lock& lock, Record& record, const std::string& asked_by);
  void load_companions(Lock& lock, const Record& record);
  bool is_loading() const;
  // In the child of a fork: what threads of the parent were loading for the first time has failed.
  void forget_loaders();
  void wait_for(Lock& lock, Record& record, const std::string& asked_by);
  Record* find_path(const std::string& path) const;
  Record* find_id(const std::string& id) const;
  Record& loadable(const std::string& id_or_path, const std::string& asked_by);
  Record& loadable_file(const std::string& path, const std::string& asked_by);
  Record& loadable_id(const std::string& id, const std::string& asked_by);
  PluginFailure missing_version(const std::string& name) const;
  Record& same_plugin(Record& shadowed, const std::string& asked_by) const;
  // Whether nothing but a policy's list or a load by name may use what is found in folders.
  bool is_autoload_off() const;
  // Whether a policy does not require the plugin, and it is missing.
  bool is_left_out(const PluginPolicy::Plugin& plugin, const std::string& asked_by);
  Record& policy_record(const PluginPolicy::Plugin& plugin, const std::string& asked_by);
  void retry(Record& record);
  // The names that were provided only by the record, from now on by the next provider.
  std::vector<std::pair<ItemKind, std::string>> withdraw_names(const Record& record);
  void provide_again(const std::vector<std::pair<ItemKind, std::string>>& names);
  void refuse_unload(const Record& record, UnloadChoice choice);
  static std::shared_ptr<Retired> retire(const Record& record, const LoadedPlugin& loaded,
                                         uint64_t generation, const UnmapVerdict& verdict);
  // Once it is withdrawn.
  void let_drain(std::shared_ptr<Retired> retired);
  // Takes retired code a step on where it is free to go. Calls plugins; without the lock.
  void sweep();
  void advance(Retired& retired);
  // What a sweep frees is not read beside it.
  void wait_for_sweep(Lock& lock);
  void reload_active(Lock& lock, Record& record);
  void limit_retired();
  std::vector<PluginFailure> adopt(const PluginPolicy& policy, bool keep);
  // Of the plugins in `locked` alone when it is given; libraries are looked for only where a plugin
  // has the locked bytes. Plugins whose libraries are missing are left out, with a failure.
  PluginLock lock_now(const PluginLock* locked, std::vector<PluginFailure>& failures) const;
  void scan();
  void renew_records(std::vector<FoundPlugin> discovered);
  void judge(Record& record);
  void renew_resolver();
  Record& record_of(const KnownPlugin& plugin) const;
  // What a trial of the plugin loads; null while quarantine is switched off.
  Json trial_config(const Record& record) const;

  const tenon_host& host_;
  Registrar& registrar_;
  const SearchEnvironment environment_;
  Quarantine quarantine_;

  std::mutex mutex_;
  const HeldAcrossFork held_{mutex_, [this] { forget_loaders(); }};
  std::condition_variable changed_;               // some record has left Loading
  std::vector<std::shared_ptr<Record>> records_;  // in search order
  std::unique_ptr<Policies> policies_;
  std::vector<SearchFolder> folders_;
  bool scanned_ = false;
  RegisteredNames registered_;
  std::unique_ptr<Resolver> resolver_;
  std::vector<Record*> active_;                    // in the order of loading
  std::vector<std::shared_ptr<Retired>> retired_;  // whose code is still there
  std::thread::id sweeper_;                        // who takes them on, without the lock
  std::map<std::thread::id, Record*> waiting_;     // who waits for whom, to see cycles
};

}  // namespace tenon::core
