// The world is started once, at the first collective, and left at exit.
#include "world.hpp"

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <sched.h>
#include <string>
#include <thread>
#include <unistd.h>

#include <tenon/plugin.hpp>

#include "agreement.hpp"
#include "processes.hpp"
#include "queue.hpp"

namespace mpi {

namespace {

pid_t starter = 0;
World the_world;

// Without a launcher MPI_Init would start one: slow, and pointless for one rank.
bool launched() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_SIZE", "PMI_RANK"})
    if (secure_getenv(name) != nullptr) return true;
  return false;
}

// At exit: reports to the others that this rank comes to no further call, and waits until they do.
// Ends the job with exit code 75 when they do not, or when ranks were out of step.
void leave() noexcept {
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (starter != getpid() || finalized != 0) return;
  World& world = the_world;
  if (world.size > 1) {
    stop_queue();
    bool in_step = !world.failed;
    if (in_step) {
      try {
        in_step = part(world);
      } catch (...) {
        in_step = false;
      }
    }
    if (!in_step) {
      // The others print what they know first.
      std::fflush(nullptr);
      std::this_thread::sleep_for(std::chrono::milliseconds(500));
      MPI_Abort(MPI_COMM_WORLD, 75);
    }
  }
  MPI_Finalize();
}

// A copy of the communicator of all ranks, of which errors are returned.
MPI_Comm own_communicator() {
  MPI_Comm made;
  check_status("distributed", MPI_Comm_dup(MPI_COMM_WORLD, &made));
  MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN);
  return made;
}

// A launcher binds each rank to its own cores, or to none. None where a second thread must not call
// MPI, though one at a time.
double cores_of_rank() {
  MPI_Comm machine;
  check_status("distributed", MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0,
                                                  MPI_INFO_NULL, &machine));
  int ranks = 1;
  MPI_Comm_size(machine, &ranks);
  MPI_Comm_free(&machine);
  int threads = MPI_THREAD_SINGLE;
  MPI_Query_thread(&threads);
  if (threads < MPI_THREAD_SERIALIZED) return 0;
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  sched_getaffinity(0, sizeof allowed, &allowed);
  const double cores = CPU_COUNT(&allowed);
  return cores < static_cast<double>(sysconf(_SC_NPROCESSORS_ONLN)) ? cores : cores / ranks;
}

void start() {
  int initialized = 0;
  MPI_Initialized(&initialized);
  if (initialized == 0) {
    if (!launched()) return;
    int provided = MPI_THREAD_SINGLE;
    check_status("distributed",
                 MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided));
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &the_world.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &the_world.size);
  std::atexit(leave);
  if (the_world.size == 1) return;
  the_world.cores = cores_of_rank();
  the_world.data = own_communicator();
  the_world.check = own_communicator();
  the_world.control = own_communicator();
  watch_processes(the_world);
}

}  // namespace

std::mutex& lock() {
  static std::mutex mutex;
  return mutex;
}

World& world() {
  if (starter == 0) {
    start();
    starter = getpid();
  } else if (the_world.size > 1 && starter != getpid()) {
    throw tenon::RuntimeError(
        "distributed: this process is the child of a fork and no rank; start ranks with mpirun");
  }
  return the_world;
}

int64_t own_rank() {
  const std::lock_guard hold(lock());
  return world().rank;
}

int64_t rank_count() {
  const std::lock_guard hold(lock());
  return world().size;
}

void check_status(const char* op, int status) {
  if (status == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(status, text, &length);
  throw tenon::RuntimeError(std::string(op) + "(): MPI reports " +
                            std::string(text, static_cast<size_t>(length)));
}

}  // namespace mpi
