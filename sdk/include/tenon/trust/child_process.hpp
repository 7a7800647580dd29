// A child process whose output is read while it runs, and that ends within a time.
//
// Boost.Process 1.81 would do for starting one. Its wait with a time limit replaces the handler of SIGCHLD
// for the whole process and waits for the signal of any child, so that it misses the one that it waits for
// when another thread waits as well; it forks, which runs the handlers of every library of the process; and
// it does not report a child that another part of the program has waited for. posix_spawn() and poll()
// change nothing but this child.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tenon/trust/descriptor.hpp>

TENON_NAMESPACE_BEGIN

namespace trust {

struct ChildCommand {                  // a program to start
  std::string program;                 // a path
  std::vector<std::string> arguments;  // the first is the name that it is called by
  std::string folder;                  // its current one; empty: that of this process
  // "NAME=value" in place of an inherited variable, "NAME" without it; the others are inherited.
  std::vector<std::string> environment;
  // Descriptors of this process that the child has as `first`. Standard input is empty, and output and errors
  // are what `output()` reads, unless they are among them.
  std::vector<std::pair<int, int>> descriptors;
  size_t output_kept = size_t{1} << 20;  // bytes; earlier output is dropped
};

// One thread at a time.
class ChildProcess {
 public:
  // Starts it, as the leader of a process group. Throws IOError when it cannot be started.
  explicit ChildProcess(const ChildCommand& command);
  // Kills it, with all that it has started, unless it has been waited for.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  // Whether it has ended. Reads nothing before that.
  bool has_ended();
  // Reads what it prints until it ends. False: it was still running after `seconds`, and was killed. What it
  // has started and left behind is killed, too. Negative: without a limit.
  bool wait(double seconds = -1);

  int number() const { return child_; }  // id of the process
  // As waitpid() returns it; nothing where another part of this program has waited for it, or ignores SIGCHLD.
  std::optional<int> status() const { return status_; }
  // The end of what it has printed, to standard output and standard error.
  const std::string& output() const { return text_; }

 private:
  bool reap(int options);
  void conclude();
  bool read(int milliseconds);

  int child_ = 0;
  Descriptor reading_;
  const size_t kept_;
  bool closed_ = false;  // the other end of the pipe: nothing more is printed
  bool waited_ = false;
  std::optional<int> status_;
  std::string text_;
};

// "exit code 3", "SIGSEGV (Segmentation fault)", from a status of waitpid().
std::string end_text(int status);
// "SIGSEGV (Segmentation fault)"
std::string signal_text(int signal);

}  // namespace trust

TENON_NAMESPACE_END
