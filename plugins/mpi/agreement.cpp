// Ranks compare their calls, before the first of a kind and when they wait too long.
#include "agreement.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <sched.h>
#include <set>
#include <thread>
#include <vector>

#include <tenon/kernel/shape.hpp>
#include <tenon/ops.hpp>

#include "processes.hpp"
#include "reduce.hpp"

namespace mpi {

namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr const char* kNames[] = {"",          "all_reduce", "all_gather", "reduce_scatter",
                                  "broadcast", "barrier"};
constexpr int kTag = 1;
// How long ranks that gave up wait for an answer of the others.
constexpr double kGrace = 1.0;
// How often a rank that waits asks whether the processes of the others still run.
constexpr std::chrono::milliseconds kRollCall{100};

std::atomic<bool> stopping{false};  // this process ends

std::string rank_list(const std::vector<int>& ranks) {
  std::string list = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < ranks.size(); ++i)
    list += (i == 0 ? "" : i + 1 == ranks.size() ? " and " : ", ") + std::to_string(ranks[i]);
  return list;
}

// Same but for its number.
bool same_kind(const Call& a, const Call& b) {
  Call other = b;
  other.sequence = a.sequence;
  return std::memcmp(&a, &other, sizeof(Call)) == 0;
}

// Gives the processor away the longer the longer it lasts: a rank whose peer needs this core must not
// spin on it.
class Pause {
 public:
  void operator()() {
    ++turns_;
    if (turns_ < 64) return;
    if (turns_ < 4096)
      sched_yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(turns_ < 8192 ? 50 : 500));
  }

 private:
  int turns_ = 0;
};

// Messages of the other ranks about themselves, each at most once: they gave up at a call, or
// ended.
class Peers {
 public:
  explicit Peers(const World& world)
      : calls_(static_cast<size_t>(world.size)), heard_(calls_.size()) {}

  // Takes a message, when there is one.
  bool take(const World& world) {
    int there = 0;
    MPI_Status status;
    if (MPI_Iprobe(MPI_ANY_SOURCE, kTag, world.control, &there, &status) != MPI_SUCCESS ||
        there == 0)
      return false;
    Call call;
    MPI_Recv(&call, sizeof call, MPI_BYTE, status.MPI_SOURCE, kTag, world.control,
             MPI_STATUS_IGNORE);
    calls_[static_cast<size_t>(status.MPI_SOURCE)] = call;
    heard_[static_cast<size_t>(status.MPI_SOURCE)] = true;
    return true;
  }
  bool heard(int rank) const { return heard_[static_cast<size_t>(rank)]; }
  const Call& call(int rank) const { return calls_[static_cast<size_t>(rank)]; }
  bool ended(int rank) const { return heard(rank) && call(rank).collective == Collective::none; }
  bool all(const World& world) const {
    for (int rank = 0; rank < world.size; ++rank)
      if (rank != world.rank && !heard(rank)) return false;
    return true;
  }
  // Whether one has died: before it could say anything.
  bool lost_one() const {
    const int dead = find_dead_rank();
    return dead >= 0 && !heard(dead);
  }
  // One that this call waits for in vain: it gave up, or has ended before the call.
  bool in_vain(const World& world, const Call& own) const {
    for (int rank = 0; rank < world.size; ++rank)
      if (heard(rank) && (!ended(rank) || call(rank).sequence < own.sequence)) return true;
    return false;
  }

 private:
  std::vector<Call> calls_;
  std::vector<char> heard_;
};

Peers& peers(const World& world) {
  static auto* const instance = new Peers(world);  // read at exit
  return *instance;
}

// Sends without waiting.
void send_to_all(const World& world, const Call& call) {
  static auto& sent = *new std::vector<Call*>;  // kept: MPI reads them later
  sent.push_back(new Call(call));
  for (int rank = 0; rank < world.size; ++rank) {
    if (rank == world.rank) continue;
    MPI_Request request;
    MPI_Isend(sent.back(), sizeof(Call), MPI_BYTE, rank, kTag, world.control, &request);
    MPI_Request_free(&request);
  }
}

// Each rank's place in one sentence, equal places together.
std::string places(const World& world, const Call& own, const Peers& others) {
  std::vector<std::pair<std::string, std::vector<int>>> groups;
  for (int rank = 0; rank < world.size; ++rank) {
    const std::string place =
        rank == world.rank    ? "at " + text(own)
        : !others.heard(rank) ? is_dead(rank) ? "dead (its process has ended)"
                                              : "missing (dead, stopped, or still computing)"
        : others.ended(rank)  ? "at the end, after #" + std::to_string(others.call(rank).sequence)
                              : "at " + text(others.call(rank));
    const auto same = std::find_if(groups.begin(), groups.end(),
                                   [&](const auto& group) { return group.first == place; });
    if (same == groups.end())
      groups.push_back({place, {rank}});
    else
      same->second.push_back(rank);
  }
  std::string list;
  for (const auto& [place, ranks] : groups)
    list += (list.empty() ? "" : "; ") + rank_list(ranks) + (ranks.size() == 1 ? " is " : " are ") +
            place;
  return list;
}

[[noreturn]] void give_up(World& world, const Call& own, const std::string& why) {
  Peers& others = peers(world);
  world.lost = others.lost_one();
  world.failed = true;
  send_to_all(world, own);
  const auto end = Clock::now() + Seconds(kGrace);
  Pause pause;
  while (!others.all(world) && Clock::now() < end)
    if (!others.take(world)) pause();
  throw tenon::DistributedError(std::string(kNames[static_cast<int>(own.collective)]) +
                                "(): the ranks are out of step" + why + ": " +
                                places(world, own, others));
}

// Until the requests of a call have ended.
void wait(World& world, MPI_Request* requests, int count, const Call& call) {
  int done = 0;
  const auto test = [&] {
    // A rank that calls another op looks like this from here.
    if (MPI_Testall(count, requests, &done, MPI_STATUSES_IGNORE) != MPI_SUCCESS)
      give_up(world, call, "");
    return done != 0;
  };
  const auto end = Clock::now() + Seconds(world.timeout);
  auto next_look = Clock::now() + std::chrono::milliseconds(1),
       next_roll_call = Clock::now() + kRollCall;
  Peers& others = peers(world);
  Pause pause;
  for (int turn = 1; !test(); ++turn) {
    pause();
    if (turn % 16 != 0) continue;
    if (stopping) throw tenon::DistributedError("the process ends");
    const auto now = Clock::now();
    if (now < next_look) continue;
    next_look = now + std::chrono::milliseconds(1);
    while (others.take(world)) {
    }
    if (others.in_vain(world, call)) give_up(world, call, "");
    if (now >= next_roll_call) {
      if (others.lost_one()) give_up(world, call, "");
      next_roll_call = now + kRollCall;
    }
    if (now >= end)
      give_up(world, call, " after " + std::to_string(static_cast<int64_t>(world.timeout)) + " s");
  }
}

// All ranks' calls side by side; only those of one kind continue.
void compare(World& world, const Call& own) {
  std::vector<Call> calls(static_cast<size_t>(world.size));
  MPI_Request request;
  check_status("all_gather", MPI_Iallgather(&own, sizeof own, MPI_BYTE, calls.data(), sizeof own,
                                            MPI_BYTE, world.check, &request));
  wait(world, &request, 1, own);
  const auto differs = [&](const Call& call) { return !same_kind(own, call); };
  if (std::none_of(calls.begin(), calls.end(), differs)) return;
  world.failed = true;
  std::vector<std::pair<std::string, std::vector<int>>> groups;
  std::string list;
  for (int rank = 0; rank < world.size; ++rank) {
    const std::string call = text(calls[static_cast<size_t>(rank)]);
    const auto same = std::find_if(groups.begin(), groups.end(),
                                   [&](const auto& group) { return group.first == call; });
    if (same == groups.end())
      groups.push_back({call, {rank}});
    else
      same->second.push_back(rank);
  }
  for (const auto& [call, ranks] : groups)
    list += (list.empty() ? "" : "; ") + rank_list(ranks) +
            (ranks.size() == 1 ? " calls " : " call ") + call;
  throw tenon::DistributedError(std::string(kNames[static_cast<int>(own.collective)]) +
                                "(): the ranks make different calls: " + list);
}

// The message about a call that ranks have compared before.
struct Token {
  int64_t sequence;
  uint64_t kind;
};

// FNV-1a over words.
uint64_t hash_of(const Call& kind) {
  uint64_t words[sizeof(Call) / sizeof(uint64_t)];
  static_assert(sizeof words == sizeof kind);
  std::memcpy(words, &kind, sizeof kind);
  uint64_t hash = 0xcbf29ce484222325u;
  for (const uint64_t word : words) hash = (hash ^ word) * 0x100000001b3u;
  return hash;
}

// A dissemination barrier (Hensgen, Finkel and Manber, 1988): in round k each rank hears of 2^k more.
// A rank that hears of another call sends no further token, so that no rank leaves it unless all
// make the same call.
void arrive(World& world, const Call& own, uint64_t kind) {
  static Token sent, heard;  // MPI may write until the process ends
  sent = {own.sequence, kind};
  for (int distance = 1, round = 0; distance < world.size; distance *= 2, ++round) {
    const int from = (world.rank - distance + world.size) % world.size,
              to = (world.rank + distance) % world.size;
    MPI_Request requests[2];
    check_status("distributed",
                 MPI_Irecv(&heard, sizeof heard, MPI_BYTE, from, round, world.check, &requests[0]));
    check_status("distributed",
                 MPI_Isend(&sent, sizeof sent, MPI_BYTE, to, round, world.check, &requests[1]));
    wait(world, requests, 2, own);
    if (heard.sequence != sent.sequence || heard.kind != sent.kind) give_up(world, own, "");
  }
}

}  // namespace

std::string text(const Call& call) {
  std::string result = kNames[static_cast<int>(call.collective)];
  result += "() #" + std::to_string(call.sequence);
  if (call.dtype == TENON_DTYPE_NONE) return result;
  result += " (";
  if (call.collective == Collective::all_reduce)
    result += std::string(reduce_name(call.reduce)) + " of ";
  result += tenon::dtype_text(static_cast<tenon::DType>(call.dtype));
  result += " " + tenon::kernel::shape_text(tenon::IntList(call.shape, call.dim));
  if (call.collective == Collective::broadcast) result += ", root " + std::to_string(call.where);
  if (call.collective == Collective::all_gather || call.collective == Collective::reduce_scatter)
    result += ", dim " + std::to_string(call.where);
  return result + ")";
}

Call meet(World& world, Collective collective, const tenon::Tensor* tensor, int reduce,
          int64_t where) {
  if (world.failed) {
    throw tenon::DistributedError(
        std::string(kNames[static_cast<int>(collective)]) +
        "(): the ranks are out of step since an earlier call; end the job");
  }
  Call call;
  std::memset(static_cast<void*>(&call), 0, sizeof call);  // its padding is compared, too
  call.collective = collective;
  call.reduce = reduce;
  call.where = where;
  if (tensor != nullptr) {
    call.dtype = static_cast<int32_t>(tensor->dtype());
    call.dim = static_cast<int32_t>(tensor->dim());
    std::copy(tensor->shape().begin(), tensor->shape().end(), call.shape);
  }
  const uint64_t kind = hash_of(call);
  call.sequence = ++world.sequence;
  static auto& compared = *new std::set<uint64_t>;
  const bool compares =
      world.checks == Check::always || (world.checks == Check::first && compared.count(kind) == 0);
  if (!compares) {
    arrive(world, call, kind);
  } else {
    compare(world, call);
    compared.insert(kind);
  }
  return call;
}

void stop_waiting() { stopping = true; }

bool part(World& world) {
  Call last;
  std::memset(static_cast<void*>(&last), 0, sizeof last);
  last.sequence = world.sequence;
  send_to_all(world, last);
  const auto end = Clock::now() + Seconds(world.timeout);
  Peers& others = peers(world);
  Pause pause;
  while (!others.all(world)) {
    if (others.take(world)) continue;
    if (Clock::now() >= end || others.lost_one()) return false;
    pause();
  }
  for (int rank = 0; rank < world.size; ++rank)
    if (rank != world.rank && !others.ended(rank)) return false;
  return true;
}

}  // namespace mpi
