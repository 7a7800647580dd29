// A rank that stops or ends is named by the others.
#include "faulty_job.hpp"

TEST_SUITE("mpi") {
  TEST_CASE("a rank that does not come, or is stopped, is named after the timeout") {
    for (const char* fault : {"missing", "stopped"}) {
      const ShellJob job = job_with(fault);
      CAPTURE(job.text);
      CHECK(job.code == 75);
      CHECK(job.says(
          "the ranks are out of step after 2 s: ranks 0 and 2 are at all_reduce() #2 (sum of "
          "f32 [8]); rank 1 is missing (dead, stopped, or still computing)"));
    }
  }

  TEST_CASE("a rank that does not come to a begun reduction, or leaves one, is named") {
    const ShellJob missing = job_with("begun missing");
    CAPTURE(missing.text);
    CHECK(missing.code == 75);
    CHECK(missing.says("ranks 0 and 2 are at all_reduce() #2 (sum of f32 [8]); rank 1 is missing"));
    const ShellJob other = job_with("begun shape");
    CAPTURE(other.text);
    CHECK(other.code == 75);
    CHECK(other.says("rank 1 is at all_reduce() #2 (sum of f32 [2, 4])"));
    const ShellJob dropped = job_with("dropped");
    CAPTURE(dropped.text);
    CHECK(dropped.code != 0);
    CHECK(dropped.says("rank 1 does not wait for it"));
    CHECK(dropped.says("rank 1 is at the end"));
  }

  TEST_CASE("a rank that stops inside a transfer ends the job after the timeout") {
    const ShellJob job = job_with("transfer");
    CAPTURE(job.text);
    CHECK(job.code == 75);
  }

  TEST_CASE("a rank that ends early is named without waiting for the timeout") {
    for (const char* fault : {"end", "error"}) {
      const ShellJob job = job_with(fault);
      CAPTURE(job.text);
      CHECK(job.code != 0);
      CHECK(job.says("rank 1 is at the end, after #1"));
      CHECK(job.says("rank 1 has no more input") == (std::string(fault) == "error"));
    }
  }

  TEST_CASE("a killed rank is named, whether the launcher ends the job or leaves it running") {
    const ShellJob ended = job_with("killed");
    CAPTURE(ended.text);
    CHECK(ended.code == 137);
    CHECK_FALSE(ended.says("ends\n"));
    CHECK(ended.says("DistributedError: rank 1 has died"));
    // Long before the timeout of 2 s a waiting rank asks for the process.
    const ShellJob left = job_with("killed", "--enable-recovery");
    CAPTURE(left.text);
    CHECK(
        left.says("DistributedError: all_reduce(): the ranks are out of step: ranks 0 and 2 are "
                  "at all_reduce() #2 (sum of f32 [8]); rank 1 is dead"));
  }

  TEST_CASE("the child of a fork cannot act as a rank, and its parent continues") {
    const ShellJob job = job_with("child");
    CAPTURE(job.text);
    CHECK(job.code == 0);
    for (const char* rank : {"rank 0 ends", "rank 1 ends", "rank 2 ends"}) CHECK(job.says(rank));
  }
}
