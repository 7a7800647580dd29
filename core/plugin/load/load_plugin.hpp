// From a plugin's file to code that other code may call. `open_plugin` has the steps on the file alone;
// PluginManager::Load makes these and all others happen, or none. Private to the plugin manager.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "core/plugin/load/library.hpp"
#include "core/plugin/plugin_manager.hpp"
#include "core/plugin/unload/unmap_verdict.hpp"

namespace tenon::core {

// Words of policies about one load.
struct LoadTerms {
  PluginPolicy::Plugin pinned;
  PathTrust trust;
  GuardTerms guard;
};
// `folders`: where a trial of the plugin, alone in a process, finds what it may need in its init.
LoadTerms terms_of(const KnownPlugin& plugin, const PolicyStack& policies,
                   std::span<const SearchFolder> folders);

// A request to open a file, copied from data that a lock protects.
struct Opening {
  std::string plugin;  // id
  FoundPlugin found;   // as it was indexed
  uint64_t generation = 1;
  LoadTerms terms;
  LoadedPlugin before;  // the code that this takes the place of, if any
  std::string asked_by;
};

struct OpenedPlugin {
  std::shared_ptr<const PluginFacts> facts;  // facts of the bytes that are mapped
  FileStamp stamp;
  UnmapVerdict verdict;
  // Has a library as soon as code of the plugin may have run, also when opening fails.
  LoadedPlugin loaded;
};

// The bytes are judged as they are now, mapped, entered and initialized; other code cannot see the plugin
// yet. Takes no lock, since code of the plugin runs. Throws PluginError; `opened` has what is there by
// then.
void open_plugin(const Opening& opening, const tenon_host& host, OpenedPlugin& opened);

// More: what belongs in the tables by now and is not there. First: overrides with it. Again: in place of
// what is there.
enum class Due { More, First, Again };
// The part of a plugin's table that belongs in the tables, by what the resolver says.
ResolvedLoad due_registrations(const KnownPlugin& plugin, const tenon_plugin& table,
                               const Registrations& registered, const Resolver& resolver, Due what);

// Loads a plugin unless that is done, and registers what of it is chosen and not there yet: all of it
// after a load, some of it when a policy has changed since. A load that replaces puts new code in the
// place of the code that is active. The lock is held at the beginning and at the end of `run`.
class PluginManager::Load {
 public:
  Load(PluginManager& manager, Lock& lock, LivePlugin& plugin, const std::string& asked_by,
       bool replaces = false);
  void run();

 private:
  using Change = Lifecycle::Change;

  void ask();
  void open();
  void resolve();
  void commit();
  void activate(Change& change);
  void retire_before();
  void end_failed(Change& change, PluginFailure failure);
  [[noreturn]] void fail(Change& change, PluginFailure failure,
                         std::shared_ptr<const tenon_error> cause);
  void retire(const LoadedPlugin& loaded, uint64_t generation);
  bool is_complete() const;
  Due due() const;

  PluginManager& manager_;
  Lock& lock_;
  LivePlugin& plugin_;
  const std::string& asked_by_;
  const bool replaces_;
  const bool opens_;  // the file was not opened before, or is again
  Opening opening_;
  OpenedPlugin opened_;  // code of a plugin that is active already, or of this load
  ResolvedLoad load_;
  ItemNames names_before_;  // names of the code that is replaced
};

}  // namespace tenon::core
