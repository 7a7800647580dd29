// Code of plugins on its way out: generations that were unloaded or replaced. Withdrawn, a generation
// drains; when no call and no holder uses it, its shutdown is called and it is unmapped where that is
// safe. There is no thread for it: every look is that of a caller.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/fork.hpp"
#include "core/plugin/load/library.hpp"
#include "core/plugin/load/registration.hpp"
#include "core/plugin/unload/unmap_verdict.hpp"

namespace tenon::core {

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
  std::vector<std::string> recorded;  // places of tracked nodes among these
  std::vector<std::string> kept_by;   // why it is not unmapped
  std::string fault;                  // error of its shutdown; "": none
};
const char* retired_state_text(RetiredPlugin::State state) noexcept;
// "3 nodes of a graph, 1 hook"; "" for none.
std::string holders_text(const std::array<int64_t, kHolders>& holders);

// One generation as it was when it was withdrawn, and how far it has come. Changed by who sweeps.
class RetiredCode {
 public:
  RetiredCode(std::string plugin, std::string file, uint64_t number, UnmapVerdict unmapping,
              LoadedPlugin code)
      : id(std::move(plugin)),
        path(std::move(file)),
        generation(number),
        verdict(std::move(unmapping)),
        loaded(std::move(code)) {}

  const std::string id;
  const std::string path;
  const uint64_t generation;
  const UnmapVerdict verdict;
  LoadedPlugin loaded;
  std::shared_ptr<const void> withdrawn;  // tables that its calls may use

  RetiredPlugin report() const;

 private:
  enum class Step {
    Calls,      // calls that were running when it was withdrawn have not ended
    Holders,    // nodes, modules, hooks... use it
    LastCalls,  // calls that were running when the last of those went
    Done
  };
  // Whether waiting longer changes nothing by what the caller chose.
  bool has_settled(UnloadChoice choice) const;

  uint64_t mark_ = 0;
  bool shut_down_ = false;
  std::string fault_;  // fault of its shutdown; written before the step that follows
  std::atomic<Step> step_{Step::Calls};
  bool unmapped_ = false;

  friend class Retirement;
};

// Thread-safe. Calls the registrar, and the shutdown of plugins, with no lock held.
class Retirement {
 public:
  explicit Retirement(Registrar& registrar) : registrar_(registrar) {}

  // Once it is withdrawn: lets it drain.
  void add(std::shared_ptr<RetiredCode> code);
  // Takes each generation a step on where it is free to go. What that throws leaves it to the next
  // look. Does nothing while another look is under way.
  void sweep();
  // Sweeps until waiting changes nothing any more, or the time is over (< 0: no limit).
  RetiredPlugin wait(const RetiredCode& code, UnloadChoice choice, int64_t timeout_ms);
  // Reloads in a loop do not pile up code that only waits for calls to end.
  void limit();
  // Generations whose code is still there, the oldest first.
  std::vector<RetiredPlugin> reports();

 private:
  using Lock = std::unique_lock<std::mutex>;

  void advance(RetiredCode& code);
  // Waits: memory that a sweep frees must not be read meanwhile.
  void wait_for_sweep(Lock& lock);
  void forget_threads();

  Registrar& registrar_;
  std::mutex mutex_;
  const HeldAcrossFork held_{mutex_, [this] { forget_threads(); }};
  std::condition_variable swept_;
  std::vector<std::shared_ptr<RetiredCode>> codes_;
  std::thread::id sweeper_;  // who takes them on, without the lock
};

}  // namespace tenon::core
