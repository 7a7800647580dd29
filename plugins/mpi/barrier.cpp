// barrier: waits until every rank has come to it.
#include "agreement.hpp"
#include "queue.hpp"

namespace {

struct Barrier {
  static constexpr auto schema = "distributed.barrier() -> ()";
  static constexpr auto doc = "Waits until every rank has come to it.";
  static void forward() {
    const mpi::Turn turn;
    if (turn.world().size > 1) mpi::meet(turn.world(), mpi::Collective::barrier, nullptr);
  }
};

}  // namespace
TENON_OP(Barrier)
