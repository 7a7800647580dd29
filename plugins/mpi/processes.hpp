// The processes of the ranks of this machine, and whether they still run.
#pragma once

#include "world.hpp"

namespace mpi {

// Learns which they are, on all ranks alike, when the world starts. From then on a launcher that ends
// this process with SIGTERM because another rank has died makes it name that rank on stderr first.
void watch_processes(const World& world);

// A rank of this machine whose process is gone; -1: none that is known. Any thread.
int find_dead_rank();

// Whether that rank's process is gone.
bool is_dead(int rank);

}  // namespace mpi
