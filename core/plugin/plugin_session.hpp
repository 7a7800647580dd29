// The lock of a plugin manager. Private to its files.
#pragma once

#include "core/base/log.hpp"
#include "core/plugin/plugin_manager.hpp"

namespace tenon::core {

// Holds the lock, with the folders read, or as they are for what scans once it has said more. What a
// scan has to report is logged when the lock is free.
class PluginManager::Session {
 public:
  enum class Folders { Current, Any };
  explicit Session(PluginManager& manager, Folders folders = Folders::Current)
      : lock(manager.lifecycle_.lock()), manager_(manager) {
    if (folders == Folders::Current && !manager.catalogue_.is_current()) manager.scan();
  }
  ~Session() {
    if (!lock.owns_lock()) lock.lock();
    const std::vector<std::string> notes = std::exchange(manager_.notes_, {});
    lock.unlock();
    for (const std::string& note : notes) log(LogLevel::warning, "", note);
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  Lock lock;

 private:
  PluginManager& manager_;
};

}  // namespace tenon::core
