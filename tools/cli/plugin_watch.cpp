// Looking at files and reloading plugins.
#include "plugin_watch.hpp"

#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include <sys/stat.h>

#include <tenon/listing/listing.hpp>
#include <tenon/runtime.hpp>

#include "text.hpp"

namespace cli {

namespace {

using Clock = std::chrono::steady_clock;

// Properties of a file that a build changes.
struct Stamp {
  ino_t file;
  off_t size;
  time_t seconds;
  long nanoseconds;
  bool operator==(const Stamp&) const = default;
};
std::optional<Stamp> stamp_of(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return std::nullopt;
  return Stamp{status.st_ino, status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
}

struct WatchedFile {
  std::string path;
  std::optional<Stamp> loaded;   // stamp of the file that was loaded or refused
  std::optional<Stamp> changed;  // stamp that was seen since: the file is loaded when it lasts
  bool active = false;
};

}  // namespace

class WatchedFiles {
 public:
  // Also of plugins that are not loaded yet: what changes between the load and a later look is seen.
  void find() {
    const tenon::Json plugins = tenon::listing::plugins();
    for (int64_t i = 0; i < plugins.size(); ++i) {
      const std::string id = plugins[i]["id"].text(), path = plugins[i]["path"].text();
      const bool active = plugins[i]["state"].text() == "active";
      if (id.empty() || plugins[i]["state"].text() == "shadowed") continue;
      files_.try_emplace(id, WatchedFile{path, stamp_of(path), {}, false}).first->second.active =
          active;
    }
  }
  void look() {
    for (auto& [id, file] : files_) {
      const std::optional<Stamp> now = stamp_of(file.path);
      if (!now || now == file.loaded || !file.active) continue;
      if (now != file.changed) {  // a linker may be writing it
        file.changed = now;
        continue;
      }
      file.loaded = now;
      reload(id);
    }
  }

 private:
  static void reload(const std::string& id) {
    const auto begin = Clock::now();
    try {
      const uint64_t generation = tenon::reload(id);
      const auto milliseconds =
          std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begin).count();
      std::fprintf(stderr, "tenon: reloaded plugin '%s' in %d ms: generation %d\n", id.c_str(),
                   static_cast<int>(milliseconds), static_cast<int>(generation));
    } catch (const tenon::Error& error) {
      std::fprintf(stderr, "tenon: plugin '%s' continues as it was: %s\n", id.c_str(),
                   error.what());
    }
  }

  std::map<std::string, WatchedFile> files_;  // by id
};

PluginWatch::PluginWatch(bool watches) {
  if (!watches) return;
  auto files = std::make_shared<WatchedFiles>();
  files->find();
  thread_ = std::thread([this, files] { run(*files); });
}

PluginWatch::~PluginWatch() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void PluginWatch::run(WatchedFiles& files) {
  constexpr auto kPause = std::chrono::milliseconds(25);
  constexpr int kLooks = 20;  // from one listing to the next
  std::unique_lock lock(mutex_);
  for (int look = 0; !ended_; ++look) {
    lock.unlock();
    if (look % kLooks == 0) files.find();
    files.look();
    lock.lock();
    changed_.wait_for(lock, kPause, [&] { return ended_; });
  }
}

}  // namespace cli
