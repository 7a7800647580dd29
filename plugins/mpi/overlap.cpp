// Reductions that run while this rank computes.
#include <map>
#include <string>

#include <tenon/kernel/check.hpp>

#include "transfer.hpp"

namespace {

using namespace mpi;

struct Running {
  MPI_Request request;
  Tensor tensor;
  Reduce reduce;
  Call call;
};

// By handle. With the lock held.
std::map<int64_t, Running>& running() {
  static auto* const table =
      new std::map<int64_t, Running>;  // MPI may write until the process ends
  return *table;
}

// Open MPI moves data only while it is called.
void progress() {
  for (auto& [handle, entry] : running()) {
    int done = 0;
    if (entry.request != MPI_REQUEST_NULL) MPI_Test(&entry.request, &done, MPI_STATUS_IGNORE);
  }
}

struct BeginAllReduce {
  static constexpr auto schema =
      "distributed.begin_all_reduce_(Tensor(a!) input, *, str reduce='sum') -> int";
  static constexpr auto doc =
      "Begins an all_reduce in place and returns the handle that distributed.wait takes. Until "
      "then "
      "the tensor, which is contiguous, is neither read nor written.";
  static int64_t forward(const Tensor& input, std::string_view reduce) {
    constexpr auto op = "begin_all_reduce_";
    tenon::kernel::check_dtype(op, "input", input.dtype(), tenon::computed_dtypes);
    const Reduce how = parse_reduce(op, reduce, input.dtype());
    if (!input.is_contiguous()) {
      throw tenon::ValueError("begin_all_reduce_(): 'input' must be contiguous, got strides " +
                              tenon::kernel::shape_text(input.strides()));
    }
    if (input.numel() > INT32_MAX) {
      throw tenon::ValueError("begin_all_reduce_(): 'input' has " + std::to_string(input.numel()) +
                              " elements, at most 2147483647 are possible; split it");
    }
    const std::lock_guard hold(lock());
    static int64_t handles = 0;
    World& world = mpi::world();
    Running entry{MPI_REQUEST_NULL, input, how, {}};
    if (world.size > 1) {
      progress();
      const Started started = start(world, Collective::all_reduce, &input, how);
      entry.call = started.call;
      check_status(
          op, MPI_Iallreduce(MPI_IN_PLACE, input.view_record().data,
                             static_cast<int>(input.numel()), mpi_type(input.dtype()),
                             mpi_op(how, input.dtype()), started.communicator, &entry.request));
    }
    running().emplace(++handles, entry);
    return handles;
  }
};

struct Wait {
  static constexpr auto schema = "distributed.wait(int handle) -> ()";
  static constexpr auto doc = "Waits until a begun all_reduce has ended; once for each handle.";
  static void forward(int64_t handle) {
    const std::lock_guard hold(lock());
    World& world = mpi::world();
    const auto found = running().find(handle);
    if (found == running().end()) {
      throw tenon::IndexError("wait(): no all_reduce runs under handle " + std::to_string(handle) +
                              "; begin_all_reduce_ gives one, for one wait");
    }
    Running& entry = found->second;
    if (entry.request != MPI_REQUEST_NULL) mpi::wait(world, entry.request, entry.call);
    if (entry.reduce == mean && world.size > 1) divide_by_size(world, entry.tensor);
    running().erase(found);
  }
};

struct Progress {
  static constexpr auto schema = "distributed.progress() -> ()";
  static constexpr auto doc = "Lets begun reductions move data, without waiting.";
  static void forward() {
    const std::lock_guard hold(lock());
    progress();
  }
};

}  // namespace
TENON_OP(BeginAllReduce)
TENON_OP(Wait)
TENON_OP(Progress)
