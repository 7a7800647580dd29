// Reloads plugins whose files are built again, while a config runs.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

namespace cli {

class WatchedFiles;

// A thread that looks at the files of plugins, 40 times a second, from the construction on, and reloads
// the active ones. A reload and one that fails are reported on standard error.
class PluginWatch {
 public:
  explicit PluginWatch(bool watches);
  ~PluginWatch();
  PluginWatch(const PluginWatch&) = delete;
  PluginWatch& operator=(const PluginWatch&) = delete;

 private:
  void run(WatchedFiles& files);

  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;
  std::thread thread_;
};

}  // namespace cli
