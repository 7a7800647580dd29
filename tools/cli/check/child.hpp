// A child process of this program that answers in lines: with limits, and classified by its end.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace cli {

struct ChildEnd {
  bool timed_out = false;
  int signal = 0;      // that ended it; 0: none
  int code = 0;        // when it exited
  std::string output;  // the last of what it wrote to stdout and stderr
};

// Runs this program with `arguments`; its file descriptor 3 is the channel of answers. `line` gets
// each of them and returns true to restart the clock. The child is killed when the clock reaches
// `seconds`. Throws std::system_error when a child cannot be started.
ChildEnd run_child(const std::vector<std::string>& arguments, double seconds,
                   const std::function<bool(const std::string&)>& line);

// Kills the child that another thread's run_child waits for. That waits on, and no other child can
// be started: for a process that is about to end. Any thread, once.
void end_children();

// "SIGSEGV (Segmentation fault)"
std::string signal_text(int signal);

}  // namespace cli
