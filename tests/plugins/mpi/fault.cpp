// A rank of a job in which rank 1 does something else than the others: fault NAME.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <unistd.h>

#include <sys/wait.h>

#include <tenon/mpi_ops.hpp>
#include <tenon/tenon.hpp>

namespace {

using tenon::Tensor;
namespace distributed = tenon::distributed;

void meet(const Tensor& tensor) { distributed::all_reduce(tensor); }

// Calls of which each takes long, until a rank stops.
[[noreturn]] void meet_for_ever(bool stops) {
  if (stops) {
    const pid_t rank = getpid();
    if (fork() == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      kill(rank, SIGSTOP);
      _exit(0);
    }
  }
  const Tensor large = tenon::full({4000000}, 1.0);
  for (;;) distributed::all_reduce_(large);
}

// With a thread that runs what was begun.
void meet_later(const Tensor& tensor) { distributed::wait(distributed::begin_all_reduce_(tensor)); }

// The action of rank 1 when the others make one call, after all have made it once.
void differ(const std::string& fault) {
  const Tensor tensor = tenon::full({8}, 1.0);
  if (fault == "shape") meet(tenon::full({2, 4}, 1.0));
  if (fault == "dtype") meet(tenon::full({8}, 1.0).to(tenon::f64));
  if (fault == "op") distributed::barrier();
  if (fault == "reduce") distributed::all_reduce(tensor, "max");
  if (fault == "known op") distributed::all_gather(tensor);
  if (fault == "known size") meet(tenon::full({80000}, 1.0));
  if (fault == "missing") std::this_thread::sleep_for(std::chrono::seconds(60));
  if (fault == "stopped") raise(SIGSTOP);
  if (fault == "killed") raise(SIGKILL);
  if (fault == "error") throw tenon::ValueError("rank 1 has no more input");
  if (fault == "dropped") {
    distributed::begin_all_reduce_(tensor);
    throw tenon::ValueError("rank 1 does not wait for it");
  }
  if (fault == "extra call") {
    meet(tensor);
    meet(tensor);
  }
  if (fault == "child") {
    if (fork() == 0) {
      try {
        meet(tensor);
        _exit(1);
      } catch (const tenon::RuntimeError& error) {
        _exit(std::string(error.what()).find("child of a fork") == std::string::npos ? 2 : 0);
      }
    }
    int status = -1;
    wait(&status);
    if (status != 0) throw tenon::ValueError("the child of a fork has made a call");
    meet(tensor);
  }
}

}  // namespace

int main(int count, char** arguments) {
  std::string fault = count > 1 ? arguments[1] : "";
  const bool always = fault.rfind("always ", 0) == 0;
  if (always) fault.erase(0, 7);
  int64_t rank = -1;
  try {
    const bool begun = fault.rfind("begun ", 0) == 0;
    if (begun) fault.erase(0, 6);
    distributed::configure(2, always ? "always" : "first");
    distributed::overlap(begun);
    rank = distributed::rank();
    const Tensor tensor = tenon::full({8}, 1.0);
    meet(tensor);
    if (fault.rfind("known", 0) == 0) {
      distributed::all_gather(tensor);
      meet(tenon::full({80000}, 1.0));
    }
    if (fault == "transfer") meet_for_ever(rank == 1);
    if (rank == 1)
      differ(fault);
    else if (begun)
      meet_later(tensor);
    else
      meet(tensor);
    std::printf("rank %d ends\n", static_cast<int>(rank));
    return 0;
  } catch (const tenon::Error& error) {
    std::printf("rank %d: %s: %s\n", static_cast<int>(rank), error.kind_name(), error.what());
    return error.kind() == TENON_ERROR_DISTRIBUTED ? 75 : 1;
  }
}
