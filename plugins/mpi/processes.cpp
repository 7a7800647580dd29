// MPI 3.1 reports no failed process: a signal that is not sent asks the kernel.
#include "processes.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <poll.h>
#include <unistd.h>
#include <vector>

#include <sys/types.h>

namespace mpi {

namespace {

struct Process {
  int rank;
  pid_t id;  // 0: not visible from here
};

// Never freed: a signal handler and the exit read them.
const std::vector<Process>* processes = nullptr;
const World* watched = nullptr;
struct sigaction previous {};

bool is_gone(const Process& process) {
  return process.id != 0 && kill(process.id, 0) != 0 && errno == ESRCH;
}

// A line without memory or locks.
struct Line {
  char text[256] = "";
  size_t length = 0;
  void add(const char* words) {
    for (; *words != 0 && length < sizeof text; ++words) text[length++] = *words;
  }
  void add(int number) {
    char digits[12] = "";
    int at = 11;
    do digits[--at] = static_cast<char>('0' + number % 10);
    while ((number /= 10) > 0);
    add(digits + at);
  }
};

// One of those that are left names the dead; all let the others look before they end, too. Ranks that
// ended since all were out of step are not dead.
void name_the_dead(int signal) {
  const int kept = errno;
  Line line;
  int dead = 0, speaker = watched->rank;
  for (const Process& process : *processes) {
    if (is_gone(process)) {
      line.add(dead++ == 0 ? "DistributedError: rank " : " and rank ");
      line.add(process.rank);
    } else if (process.rank < speaker) {
      speaker = process.rank;
    }
  }
  if (dead > 0 && (!watched->failed || watched->lost)) {
    line.add(dead == 1 ? " has died" : " have died");
    line.add(": killed, or ended without reporting it; the launcher ends the job\n");
    if (speaker == watched->rank) static_cast<void>(!write(STDERR_FILENO, line.text, line.length));
    poll(nullptr, 0, 200);
  }
  sigaction(signal, &previous, nullptr);
  raise(signal);  // once this handler returns
  errno = kept;
}

}  // namespace

void watch_processes(const World& world) {
  MPI_Comm machine;
  check_status("distributed", MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0,
                                                  MPI_INFO_NULL, &machine));
  int count = 1;
  MPI_Comm_size(machine, &count);
  const Process own{world.rank, getpid()};
  std::vector<Process> found(static_cast<size_t>(count));
  check_status("distributed", MPI_Allgather(&own, sizeof own, MPI_BYTE, found.data(), sizeof own,
                                            MPI_BYTE, machine));
  MPI_Comm_free(&machine);
  // Ranks in other containers have other ids.
  for (Process& process : found)
    if (is_gone(process)) process.id = 0;
  processes = new std::vector<Process>(std::move(found));
  watched = &world;
  struct sigaction action {};
  action.sa_handler = name_the_dead;
  sigaction(SIGTERM, nullptr, &previous);
  if (previous.sa_handler != SIG_IGN) sigaction(SIGTERM, &action, nullptr);
}

int find_dead_rank() {
  if (processes == nullptr) return -1;
  for (const Process& process : *processes)
    if (is_gone(process)) return process.rank;
  return -1;
}

bool is_dead(int rank) {
  if (processes == nullptr) return false;
  for (const Process& process : *processes)
    if (process.rank == rank) return is_gone(process);
  return false;
}

}  // namespace mpi
