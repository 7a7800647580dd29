// The ranks of the job that this process is one of.
#pragma once

#include <cstdint>
#include <mpi.h>
#include <mutex>

namespace mpi {

enum class Check { first, always, never };

struct World {
  int rank = 0, size = 1;
  double cores = 1;  // cores of this machine for each of its ranks
  // Messages of one of these never meet those of another.
  MPI_Comm data = MPI_COMM_NULL, check = MPI_COMM_NULL, control = MPI_COMM_NULL;
  double timeout = 600;  // seconds that a rank waits for the others
  Check checks = Check::first;
  int64_t sequence = 0;  // collectives so far
  bool failed = false;   // ranks are out of step: the job ends
  bool lost = false;     // since one has died
};

// Held while MPI is called or the world changes: MPI is started for one thread at a time. Collectives
// take a Turn, which holds it.
std::mutex& lock();

// Starts MPI at the first call, where a launcher (mpirun, srun) has started this process as one of
// several; else the world has one rank and MPI is not touched. With the lock held. RuntimeError in
// the child of a fork.
World& world();

// Rank and size of the world, for callers that do not hold the lock.
int64_t own_rank();
int64_t rank_count();

// RuntimeError that names the op when an MPI call has failed.
void check_status(const char* op, int status);

}  // namespace mpi
