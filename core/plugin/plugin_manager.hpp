// All plugins of a process, in four rooms, each a type that is given what it needs as plain data:
//
//     facts/catalogue.hpp       which files there are and what they declare
//     resolve/policy_stack.hpp  what was said about them, and what that makes of one plugin
//     resolve/resolver.hpp      who provides each name, from both of these
//     load/lifecycle.hpp        what has become of each: loading, active, failed, and its generations
//
// The manager joins them: it scans, judges and resolves. A load is load/load_plugin.cpp, the way out
// unload/. One lock, the lifecycle's, protects all of it; no code of a plugin, no table and no logger is
// called under it. This is the header of the room; all others are for its own files and for tests.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/plugin/facts/catalogue.hpp"
#include "core/plugin/load/lifecycle.hpp"
#include "core/plugin/load/registration.hpp"
#include "core/plugin/resolve/policy_stack.hpp"
#include "core/plugin/resolve/resolver.hpp"
#include "core/plugin/unload/retirement.hpp"

namespace tenon::core {

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
  std::array<int64_t, kHolders> holders{};   // holders of its code, when active
};

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
                const SearchEnvironment& environment = SearchEnvironment::of_process());
  PluginManager(const PluginManager&) = delete;
  PluginManager& operator=(const PluginManager&) = delete;

  // Has the folders read, unless that was done since the search has changed. Each question does it; slots
  // that look names up in the tables do it before, so that a plugin has only to be loaded then.
  void index() { const Session session(*this); }
  // A folder in front of the search order.
  void add_search_path(const std::string& folder);

  // Everything that would be refused, without running plugin code: all faults, not just the first.
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
  // The table of a plugin's service in this version or a newer one, held. Null: none declares it.
  // Throws as above, and where the version is too new.
  std::unique_ptr<tenon_lease> lease_service(std::string_view name, uint32_t version);
  // Waits until the overrides that other plugins declare for a registered type are there. False:
  // they may not be yet, since this thread is loading a plugin, which others may wait for.
  bool complete_type(std::string_view name);
  // Which of two plugins the preferences prefer for an override; "" when they do not say.
  std::string preferred(std::string_view op, std::string_view key, const std::string& a,
                        const std::string& b);
  // Whether some policy is strict.
  bool strict();

  // Sorted by id, then path.
  std::vector<PluginListing> list();
  // All that declare the name, sorted by plugin id.
  std::vector<ProviderListing> providers(ItemKind kind, std::string_view name);
  // Names that plugins declare, sorted; for suggestions and listings.
  std::vector<std::string> declared_names(ItemKind kind);
  std::vector<SearchFolder> folders();
  // The plugins that can be used now, and what each would provide: loadable.hpp.
  Json loadable();

  // The load guard from now on; null removes it. Policies that are active are adopted again. Throws the
  // guard's error, or RuntimeError while another one is set; then nothing has changed.
  void set_guard(const std::shared_ptr<Guard>& guard);

 private:
  class Load;
  using Lock = Lifecycle::Lock;
  // Holds the lock, with the folders read, or as they are for what scans once it has said more. What a
  // scan has to report is logged when the lock is free.
  class Session {
   public:
    enum class Folders { Current, Any };
    explicit Session(PluginManager& manager, Folders folders = Folders::Current);
    ~Session();
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    Lock lock;

   private:
    PluginManager& manager_;
  };

  // ---- what is known ----
  void scan();
  void judge(LivePlugin& plugin);
  void renew_resolver();
  void note_unknown_preferences();
  std::vector<PluginFailure> adopt(const PluginPolicy& policy, bool keep);

  // ---- which plugin a name means ----
  LivePlugin* find_live(const std::string& id_or_path) const;
  LivePlugin& plugin_to_load(const std::string& id_or_path, const std::string& asked_by);
  LivePlugin& plugin_at(const std::string& path);
  LivePlugin& plugin_with(const std::string& id);
  // Asked for by name, a load that failed before any code ran may succeed by now.
  void retry(LivePlugin& plugin);

  // ---- loads and unloads ----
  bool ensure(ItemKind kind, std::string_view name);
  void ensure_loaded(Lock& lock, LivePlugin& plugin, const std::string& asked_by);
  // Overrides for a type, of any plugin, must be there before ops are called on its objects.
  void load_companions(Lock& lock, const LivePlugin& plugin);
  // Throws where other plugins build on its types.
  void refuse_users(const LivePlugin& plugin);
  void refuse_unload(const LivePlugin& plugin, UnloadChoice choice);
  void refuse_old_provider(std::string_view name, uint32_t version);
  // Plugins that hold services of the code: "service 'x' is used by plugin 'y'".
  std::vector<std::string> service_users(const PluginCode& code);
  // Handles lead to the next provider, where another plugin is; a failure of it is its own.
  void provide_again(const ItemNames& names);

  const tenon_host& host_;
  Registrar& registrar_;
  Lifecycle lifecycle_;
  Retirement retirement_;

  // Under the lifecycle's lock.
  Catalogue catalogue_;
  PolicyStack policies_;
  Registrations registrations_;
  Resolver resolver_;
  // Preferences of the environment, before the first scan.
  std::vector<PluginPolicy::Preference> unchecked_;
  std::vector<std::string> notes_;  // to be logged once the lock is free
};

}  // namespace tenon::core
