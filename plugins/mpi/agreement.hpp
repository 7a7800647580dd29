// Whether all ranks make the same calls, and who does not when they wait for each other.
#pragma once

#include <cstdint>
#include <string>

#include <tenon/plugin.hpp>

#include "world.hpp"

namespace mpi {

enum class Collective : int32_t {
  none,
  all_reduce,
  all_gather,
  reduce_scatter,
  broadcast,
  barrier
};

// One collective call as the other ranks see it. Sent between them as bytes.
struct Call {
  int64_t sequence = 0;                      // from 1
  Collective collective = Collective::none;  // none: this rank comes to no further call
  int32_t reduce = 0;                        // of all_reduce
  int64_t where = 0;                         // the root of broadcast, the dim of the others
  int32_t dtype = 0;
  int32_t dim = 0;
  int64_t shape[TENON_MAX_RANK] = {};
};

// "all_reduce() #12 (sum of f32 [64, 10])"
std::string text(const Call& call);

// A call and where its messages go.
struct Started {
  Call call;
  MPI_Comm communicator;
};

// A call that starts now: counted, and compared with the calls of the other ranks as the world's
// setting says. DistributedError naming ranks and calls when they differ. Each kind of call that was
// compared has its own communicator: a later call of another kind never takes its messages, so
// that ranks out of step wait, and are named, instead of mixing up their elements. With the lock
// held.
Started start(World& world, Collective collective, const tenon::Tensor* tensor, int reduce = 0,
              int64_t where = 0);

// Waits for a request of a call. DistributedError when ranks are out of step: others have not come
// within the world's timeout, have ended, or have waited for this rank in vain. The text names them
// and what each waits for. Waiting gives the processor to others. With the lock held.
void wait(World& world, MPI_Request& request, const Call& call);

// Reports to the others that this rank comes to no further call and waits until each of them says so,
// too; false when one does not within the timeout.
bool part(World& world);

}  // namespace mpi
