// The mpi plugin: ops between the ranks of a job that mpirun started.
#include <tenon/plugin.hpp>

TENON_PLUGIN(mpi, "1.0.0")
