// Modes: handlers that are active in a scope and asked for every op that the thread calls; and the
// bundled ones, to count and to deny ops. To observe calls only: trace.hpp.
//
//   CountMode count;
//   {
//     ModeScope scope(count);
//     model(input);
//   }
//   count.calls();  // {"add": 3, ...}
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "tenon/call.hpp"
#include "tenon/module.hpp"

TENON_NAMESPACE_BEGIN

// Derive from it. Above autograd it sees what is called; below, what is run, the ops of backward
// among it. While tenon_function runs the mode is inactive; call_parent continues outside of it.
// Threads of a parallel loop that was begun under a mode are under it, too: they ask it at once.
class Mode {
 public:
  explicit Mode(std::string mode_name) : name(std::move(mode_name)) {}  // its name
  virtual ~Mode() = default;
  virtual Results tenon_function(const Call& call) = 0;  // called for each op of the thread

  const std::string name;  // for messages
};

// `recorder`: above autograd, for a mode that only lists calls: a module that computes in one step what
// several ops would, unless a mode is there to see them, does so under it, too.
enum class Level : int32_t { above_autograd = 0, below_autograd = 1, recorder = 2 };

// Enters a mode on this thread as long as the scope lives; scopes nest.
class ModeScope {
 public:
  explicit ModeScope(Mode& mode, Level level = Level::above_autograd) {  // enters it
    detail::check(service::modes().enter, mode.name.c_str(), &ModeScope::ask,
                  static_cast<void*>(&mode), static_cast<int32_t>(level), &mode_);
  }
  // One that a plugin ships: a module whose type has a tenon_function.
  explicit ModeScope(const Module& module, Level level = Level::above_autograd) {
    detail::check(service::modes().enter_module, module.handle(),
                  level == Level::below_autograd ? 1 : 0, &mode_);
  }
  // Ignores errors; call leave() to get them.
  ~ModeScope() {
    if (mode_ != nullptr) service::modes().leave(mode_, nullptr);
  }
  ModeScope(const ModeScope&) = delete;
  ModeScope& operator=(const ModeScope&) = delete;

  // RuntimeError when it is not the innermost, or was entered on another thread; the mode is
  // inactive afterwards in any case.
  void leave() {
    if (mode_ != nullptr) detail::check(service::modes().leave, std::exchange(mode_, nullptr));
  }

 private:
  static tenon_status ask(void* self, const tenon_call* call, tenon_value* results,
                          tenon_error** error) {
    return detail::answer(call, results, error,
                          [&] { return static_cast<Mode*>(self)->tenon_function(Call(call)); });
  }
  tenon_mode* mode_ = nullptr;
};

// How often each op is called. Any thread.
class CountMode : public Mode {
 public:
  CountMode() : Mode("count") {}
  Results tenon_function(const Call& call) override {  // calls, and records
    {
      const std::lock_guard lock(mutex_);
      ++calls_[call.name()];
    }
    return call.call_parent();
  }
  std::map<std::string, int64_t> calls() const {  // by full name
    const std::lock_guard lock(mutex_);
    return calls_;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, int64_t> calls_;
};

// Refuses some ops; all when none is named.
class DenyMode : public Mode {
 public:
  // Names of ops, or namespaces; none: all ops are denied.
  explicit DenyMode(std::vector<std::string> ops = {}) : Mode("deny"), ops_(std::move(ops)) {}
  Results tenon_function(const Call& call) override {  // RuntimeError for a denied op
    bool denied = ops_.empty();
    for (const std::string& op : ops_) denied = denied || op == call.name();
    if (denied) throw RuntimeError(call.short_name() + "(): denied by mode deny");
    return call.call_parent();
  }

 private:
  std::vector<std::string> ops_;
};

TENON_NAMESPACE_END
