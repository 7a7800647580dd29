// The end of a process that is stuck inside a transfer.
//
// Blocking MPI calls have no deadline. They begin when all ranks are there, so that only a rank that
// stops during a transfer can keep the others in it.
#pragma once

#include "agreement.hpp"

namespace mpi {

// While it exists, the process ends with exit code 75 after the world's timeout, with a line on
// stderr that names the call. One at a time, with the lock held.
class Watched {
 public:
  Watched(const World& world, const Call& call);
  ~Watched();
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;
};

}  // namespace mpi
