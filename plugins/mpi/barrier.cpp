// barrier: waits until every rank has come to it.
#include "agreement.hpp"

namespace {

struct Barrier {
  static constexpr auto schema = "distributed.barrier() -> ()";
  static constexpr auto doc = "Waits until every rank has come to it.";
  static void forward() {
    const std::lock_guard hold(mpi::lock());
    mpi::World& world = mpi::world();
    if (world.size == 1) return;
    const mpi::Started started = mpi::start(world, mpi::Collective::barrier, nullptr);
    MPI_Request request;
    mpi::check_status("barrier", MPI_Ibarrier(started.communicator, &request));
    mpi::wait(world, request, started.call);
  }
};

}  // namespace
TENON_OP(Barrier)
