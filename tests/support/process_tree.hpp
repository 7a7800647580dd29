// A child process and what it starts, until all of it has ended.
#pragma once

#include <cerrno>
#include <csignal>
#include <unistd.h>

#include <doctest/doctest.h>
#include <sys/wait.h>

namespace tenon_test {

// Each process of it has the end of a pipe, so that orphans are waited for as well.
class ProcessTree {
 public:
  // Runs `body` in the child, which ends when it returns.
  template <class Body>
  explicit ProcessTree(Body&& body) {
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    first_ = ::fork();
    if (first_ == 0) {
      ::close(ends[0]);
      body();
      ::_exit(0);
    }
    ::close(ends[1]);
    alive_ = ends[0];
    REQUIRE(first_ > 0);
  }
  ~ProcessTree() { ::close(alive_); }
  ProcessTree(const ProcessTree&) = delete;
  ProcessTree& operator=(const ProcessTree&) = delete;

  // The child alone.
  void kill(int signal) const { ::kill(first_, signal); }
  // The child's exit code, or 128 and the signal that ended it, once all have ended.
  int end() const {
    int status = 0;
    REQUIRE(::waitpid(first_, &status, 0) == first_);
    char none = 0;  // which is never written
    while (::read(alive_, &none, 1) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  pid_t first_ = -1;
  int alive_ = -1;
};

}  // namespace tenon_test
