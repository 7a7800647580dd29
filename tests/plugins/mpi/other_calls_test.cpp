// A rank that makes another call is named by the others, and the job ends with exit code 75.
#include <array>

#include "faulty_job.hpp"

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
      const ShellJob job = job_with(fault);
      CAPTURE(job.text);
      CHECK(job.code == 75);
      CHECK(job.says("rank 0: DistributedError: all_reduce(): the ranks are out of step"));
      CHECK(job.says(others + "; " + place));
    }
  }

  TEST_CASE("calls that all ranks made before, but not now, do not mix up their elements") {
    const ShellJob op = job_with("known op");
    CAPTURE(op.text);
    CHECK(op.code == 75);
    CHECK(op.says("rank 1 is at all_gather() #4 (f32 [8], dim 0)"));
    const ShellJob size = job_with("known size");
    CAPTURE(size.text);
    CHECK(size.code == 75);
    CHECK(size.says("rank 1 is at all_reduce() #4 (sum of f32 [80000])"));
  }

  TEST_CASE("with check=always other calls are named at once") {
    const ShellJob job = job_with("always shape");
    CAPTURE(job.text);
    CHECK(job.code == 75);
    CHECK(
        job.says("all_reduce(): the ranks make different calls: ranks 0 and 2 call all_reduce() #2 "
                 "(sum of f32 [8]); rank 1 calls all_reduce() #2 (sum of f32 [2, 4])"));
  }

  TEST_CASE("a call that the others do not make is named by the rank that makes it") {
    const ShellJob job = job_with("extra call");
    CAPTURE(job.text);
    CHECK(job.code == 75);
    CHECK(job.says("ranks 0 and 2 are at the end, after #2; rank 1 is at all_reduce() #3"));
  }
}
