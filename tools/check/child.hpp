// A child process of this program that answers in lines: with limits, and classified by its end.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace cli {

struct ChildEnd {
  bool timed_out = false;
  bool complete = false;  // it exited as it does at its own end, by the code that it alone knows
  int signal = 0;         // signal that ended it; 0: none
  int code = 0;           // when it exited
  std::string output;     // the last of what it wrote to stdout and stderr
  std::string printed;    // contents of stdout at the end
};

// The ends of the channel in a child that is started with the arguments of a worker: descriptors of
// its answers and of its status, and the secret on its standard input.
inline constexpr int kAnswers = 3, kStatus = 4;

// Receives the messages of a child. `line` gets its answers and returns true to restart the clock;
// `intruder` is called for what is not an answer: something else wrote to the channel.
struct ChildListener {
  std::function<bool(const std::string&)> line;
  std::function<void()> intruder;
};

// Runs this program with `arguments`. It is killed, with all that it started, when the clock
// reaches `seconds`. Throws std::system_error when it cannot be started.
ChildEnd run_child(const std::vector<std::string>& arguments, double seconds,
                   const ChildListener& listener);

// Kills the child that another thread's run_child waits for. That waits on, and no other child can
// be started: for a process that is about to end. Any thread, once.
void end_children();

}  // namespace cli
