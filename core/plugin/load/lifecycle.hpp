// Life of each plugin that the catalogue found: its state, the thread that changes it, and the
// generation of its code that is active. It knows neither policies nor names; who provides what is
// the resolver's. One mutex protects it, and is never held while code of a plugin runs:
//
//     indexed -> loading -> active -> loading (reload) -> active
//        ^          |         |
//        |          v         v
//        +------ failed   loading (unload) -> excluded, until it is asked for by name
//     no code of it ran
//
// Code that is unloaded or replaced is drained in retirement.hpp.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "core/base/fork.hpp"
#include "core/plugin/load/library.hpp"
#include "core/plugin/resolve/known_plugin.hpp"
#include "core/plugin/unload/unmap_verdict.hpp"

namespace tenon::core {

struct LivePlugin : KnownPlugin, std::enable_shared_from_this<LivePlugin> {
  // The failure of the last load: not tried again while its file is the same, unless it is asked
  // for by name.
  std::optional<PluginFailure> attempt;
  uint64_t generation = 0;  // generation of the code that was loaded last
  UnmapVerdict verdict;     // verdict about that code
  LoadedPlugin loaded;      // the active plugin; without a table: none is
  std::thread::id changer;  // thread that loads the plugin
};

class Lifecycle {
 public:
  using Lock = std::unique_lock<std::mutex>;
  class Change;
  class Unlocked;

  // All else is done by who holds it.
  Lock lock() { return Lock(mutex_); }

  // Takes over what a scan has found. What has run stays first, whatever the files say now, and stands
  // for its id; requests, failed attempts and generations stay with their files.
  void renew(std::span<const FoundPlugin> found);
  const std::vector<std::shared_ptr<LivePlugin>>& plugins() const { return plugins_; }
  KnownPlugins known() const;
  // The one that is known so; null for null.
  LivePlugin* live(const KnownPlugin* plugin) const;

  // Waits until no other thread changes the plugin. Throws PluginError where this thread does, or one
  // that waits for what this thread changes.
  void wait(Lock& lock, LivePlugin& plugin, const std::string& asked_by);
  // Whether this thread changes a plugin. It then must not wait for others that may wait for it.
  bool is_changing() const;

 private:
  // In the child of a fork: what threads of the parent were loading for the first time has failed.
  void forget_threads();

  std::mutex mutex_;
  const HeldAcrossFork held_{mutex_, [this] { forget_threads(); }};
  std::condition_variable changed_;  // some plugin has left Loading
  std::vector<std::shared_ptr<LivePlugin>> plugins_;
  std::map<std::thread::id, LivePlugin*> waiting_;  // who waits for whom, to see cycles
};

// This thread alone changes the plugin, from when nothing else did, while the lock is free. It begins and
// ends under the lock. At its end the plugin is as it was, unless it is ended otherwise.
class Lifecycle::Change {
 public:
  Change(Lifecycle& lifecycle, LivePlugin& plugin);
  ~Change();
  Change(const Change&) = delete;
  Change& operator=(const Change&) = delete;

  // The next generation is active, in place of what was.
  void activate(const LoadedPlugin& loaded, UnmapVerdict& verdict);
  // No code is active any more, by unload().
  void deactivate();
  // Ends it as active, or as excluded.
  void end();
  // Ends it as failed, whether code of it may have run or not.
  void fail(PluginFailure failure, bool opened);

 private:
  void leave(PluginState state) noexcept;

  Lifecycle& lifecycle_;
  LivePlugin& plugin_;
  const std::shared_ptr<LivePlugin> keep_;  // a scan may drop it
  PluginState end_;
  bool ended_ = false;
};

// Code of plugins, the tables and the log run while the lock is free.
class Lifecycle::Unlocked {
 public:
  explicit Unlocked(Lock& lock) : lock_(lock) { lock_.unlock(); }
  ~Unlocked() { lock_.lock(); }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  Lock& lock_;
};

}  // namespace tenon::core
