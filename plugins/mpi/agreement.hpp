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
  int32_t reduce = 0;                        // the reduction of all_reduce
  int64_t where = 0;                         // the root of broadcast, the dim of the others
  int32_t dtype = 0;
  int32_t dim = 0;
  int64_t shape[TENON_MAX_RANK] = {};
};

// "all_reduce() #12 (sum of f32 [64, 10])"
std::string text(const Call& call);

// Counts a call and returns when all ranks have come to it: what follows then waits for none of them
// for long, so that blocking MPI calls can move the elements. The first call of a kind, or each, as
// the world's setting says, is compared as a whole; the others by a hash. DistributedError when ranks
// make different calls, have not come within the world's timeout, have ended, or have waited for
// this rank in vain; the text names them and what each waits for. Waiting gives the processor to
// others. With the lock held.
Call meet(World& world, Collective collective, const tenon::Tensor* tensor, int reduce = 0,
          int64_t where = 0);

// Ends the waits of another thread in `meet`, and all to come.
void stop_waiting();

// Reports to the others that this rank comes to no further call and waits until each of them says so,
// too; false when one does not within the timeout.
bool part(World& world);

}  // namespace mpi
