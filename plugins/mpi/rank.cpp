// Who this process is, and how long it waits for the others.
#include <mutex>
#include <string>

#include "agreement.hpp"

namespace {

struct Rank {
  static constexpr auto schema = "distributed.rank() -> int";
  static constexpr auto doc = "The number of this process in its job, from 0; 0 without mpirun.";
  static int64_t forward() { return mpi::own_rank(); }
};

struct Size {
  static constexpr auto schema = "distributed.size() -> int";
  static constexpr auto doc = "How many processes the job has; 1 without mpirun.";
  static int64_t forward() { return mpi::rank_count(); }
};

struct Configure {
  static constexpr auto schema =
      "distributed.configure(*, float timeout=600, str check='first') -> ()";
  static constexpr auto samples = R"([{}, {"timeout": 60, "check": "always"}])";
  static constexpr auto doc =
      "How long a collective waits for the other ranks, in seconds, and when the ranks compare "
      "what "
      "they call: the first time that a rank makes a call of the kind ('first'), in each call "
      "('always'), or 'never'. The same on each rank.";
  static void forward(double timeout, std::string_view check) {
    if (!(timeout > 0)) {
      throw tenon::ValueError("configure(): timeout must be above 0 seconds, got " +
                              std::to_string(timeout));
    }
    if (check != "first" && check != "always" && check != "never") {
      throw tenon::ValueError("configure(): check must be first, always or never, got '" +
                              std::string(check) + "'");
    }
    const std::lock_guard hold(mpi::lock());
    mpi::World& world = mpi::world();
    world.timeout = timeout;
    world.checks = check == "first"    ? mpi::Check::first
                   : check == "always" ? mpi::Check::always
                                       : mpi::Check::never;
  }
};

}  // namespace
TENON_OPS(Rank, Size, Configure)
