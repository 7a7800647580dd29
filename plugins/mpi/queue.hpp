// The collectives of a rank, one at a time, in the order of its calls. Those that were begun run on a
// thread while the rank computes, where it has a core for that, else when one is waited for.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>

#include "world.hpp"

namespace mpi {

// The right to make a collective: waits until all that were begun have ended, and holds the lock.
class Turn {
 public:
  Turn();
  World& world() const { return world_; }

 private:
  std::unique_lock<std::mutex> hold_;
  World& world_;
};

// Whether begun collectives run on a thread, before the first is begun; undefined: where each rank
// has a core for it.
void set_overlap(std::optional<bool> overlap);

// Runs a collective later, after those begun before, with the lock held. Returns the handle that
// `finish` takes, which then calls `after`, if there is one.
int64_t begin(std::function<void(World&)> collective, std::function<void()> after = {});

// Waits until it has ended; throws what it has thrown. IndexError for a handle that is not running.
void finish(int64_t handle);

// At exit: gives up what was begun and ends the thread.
void stop_queue();

}  // namespace mpi
