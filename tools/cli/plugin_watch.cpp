// Looking at files and reloading plugins.
#include "plugin_watch.hpp"

#include <chrono>
#include <cstdio>
#include <map>
#include <optional>
#include <string>

#include <sys/stat.h>

#include <tenon/runtime.hpp>

#include "text.hpp"

namespace cli {

namespace {

using Clock = std::chrono::steady_clock;

// What a build changes of a file.
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
  std::optional<Stamp> loaded;   // of what was loaded, or refused
  std::optional<Stamp> changed;  // what was seen since: loaded when it lasts
};

class WatchedFiles {
 public:
  // Plugins are loaded at their first use: now and then there are more.
  void find() {
    const tenon::Json plugins = tenon::describe("plugins");
    for (int64_t i = 0; i < plugins.size(); ++i) {
      if (plugins[i]["state"].text() != "active") continue;
      const std::string path = plugins[i]["path"].text();
      files_.try_emplace(plugins[i]["id"].text(), WatchedFile{path, stamp_of(path), {}});
    }
  }
  void look() {
    for (auto& [id, file] : files_) {
      const std::optional<Stamp> now = stamp_of(file.path);
      if (!now || now == file.loaded) continue;
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

}  // namespace

PluginWatch::PluginWatch(bool watches) {
  if (watches) thread_ = std::thread([this] { run(); });
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

void PluginWatch::run() {
  constexpr auto kPause = std::chrono::milliseconds(25);
  constexpr int kLooks = 20;  // from one listing to the next
  WatchedFiles files;
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
