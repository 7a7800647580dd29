// Cleaning up before a signal ends the program.
#pragma once

#include <functional>
#include <thread>

namespace cli {

// While it lives, the first SIGINT, SIGTERM or SIGHUP runs `cleanup` on a separate thread and
// then ends the process as that signal does. Signals that are ignored stay ignored. One at a time.
// `cleanup` runs while other threads run, plugin code among them, and must not throw.
class SignalCleanup {
 public:
  explicit SignalCleanup(std::function<void()> cleanup);
  ~SignalCleanup();
  SignalCleanup(const SignalCleanup&) = delete;
  SignalCleanup& operator=(const SignalCleanup&) = delete;

 private:
  std::thread thread_;
};

}  // namespace cli
