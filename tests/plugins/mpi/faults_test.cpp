// A rank that is out of step is named by the others, and the job ends with exit code 75.
#include <array>
#include <cstdio>
#include <string>

#include <doctest/doctest.h>
#include <sys/wait.h>

namespace {

struct Job {
  int code = 0;
  std::string text;
  bool says(const std::string& part) const { return text.find(part) != std::string::npos; }
};

// Three ranks, of which rank 1 has the fault.
Job job_with(const std::string& fault) {
  const std::string command = std::string(TENON_MPIEXEC) +
                              " --oversubscribe -n 3 '" TENON_FAULT "' '" + fault + "' 2>/dev/null";
  FILE* pipe = popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  Job job;
  std::array<char, 4096> block{};
  while (const size_t count = fread(block.data(), 1, block.size(), pipe))
    job.text.append(block.data(), count);
  const int status = pclose(pipe);
  job.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return job;
}

}  // namespace

TEST_SUITE("mpi") {
  TEST_CASE("calls of another kind are named with what each rank calls") {
    const std::string others = "ranks 0 and 2 are at all_reduce() #2 (sum of f32 [8])";
    const std::array<std::array<const char*, 2>, 4> faults = {{
        {"shape", "rank 1 is at all_reduce() #2 (sum of f32 [2, 4])"},
        {"dtype", "rank 1 is at all_reduce() #2 (sum of f64 [8])"},
        {"op", "rank 1 is at barrier() #2"},
        {"reduce", "rank 1 is at all_reduce() #2 (max of f32 [8])"},
    }};
    for (const auto& [fault, place] : faults) {
      const Job job = job_with(fault);
      CAPTURE(job.text);
      CHECK(job.code == 75);
      CHECK(job.says("rank 0: DistributedError: all_reduce(): the ranks are out of step"));
      CHECK(job.says(others + "; " + place));
    }
  }

  TEST_CASE("calls that all ranks made before, but not now, do not mix up their elements") {
    const Job op = job_with("known op");
    CAPTURE(op.text);
    CHECK(op.code == 75);
    CHECK(op.says("rank 1 is at all_gather() #4 (f32 [8], dim 0)"));
    const Job size = job_with("known size");
    CAPTURE(size.text);
    CHECK(size.code == 75);
    CHECK(size.says("rank 1 is at all_reduce() #4 (sum of f32 [80000])"));
  }

  TEST_CASE("with check=always other calls are named at once") {
    const Job job = job_with("always shape");
    CAPTURE(job.text);
    CHECK(job.code == 75);
    CHECK(
        job.says("all_reduce(): the ranks make different calls: ranks 0 and 2 call all_reduce() #2 "
                 "(sum of f32 [8]); rank 1 calls all_reduce() #2 (sum of f32 [2, 4])"));
  }

  TEST_CASE("a rank that does not come, or is stopped, is named after the timeout") {
    for (const char* fault : {"missing", "stopped"}) {
      const Job job = job_with(fault);
      CAPTURE(job.text);
      CHECK(job.code == 75);
      CHECK(job.says(
          "the ranks are out of step after 2 s: ranks 0 and 2 are at all_reduce() #2 (sum of "
          "f32 [8]); rank 1 is missing (dead, stopped, or still computing)"));
    }
  }

  TEST_CASE("a rank that ends early is named without waiting for the timeout") {
    for (const char* fault : {"end", "error"}) {
      const Job job = job_with(fault);
      CAPTURE(job.text);
      CHECK(job.code != 0);
      CHECK(job.says("rank 1 is at the end, after #1"));
      CHECK(job.says("rank 1 has no more input") == (std::string(fault) == "error"));
    }
  }

  TEST_CASE("a call that the others do not make is named by the rank that makes it") {
    const Job job = job_with("extra call");
    CAPTURE(job.text);
    CHECK(job.code == 75);
    CHECK(job.says("ranks 0 and 2 are at the end, after #2; rank 1 is at all_reduce() #3"));
  }

  TEST_CASE("a killed rank ends the job") {
    const Job job = job_with("killed");
    CHECK(job.code == 137);
    CHECK_FALSE(job.says("ends"));
  }

  TEST_CASE("the child of a fork cannot act as a rank, and its parent continues") {
    const Job job = job_with("child");
    CAPTURE(job.text);
    CHECK(job.code == 0);
    for (const char* rank : {"rank 0 ends", "rank 1 ends", "rank 2 ends"}) CHECK(job.says(rank));
  }
}
