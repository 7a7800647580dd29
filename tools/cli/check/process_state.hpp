// What a process shares among all that runs in it: noted before plugin code runs, compared after.
#pragma once

#include <array>
#include <csignal>
#include <functional>
#include <string>
#include <vector>

#include <sys/resource.h>
#include <sys/time.h>

namespace cli {

class ProcessState {
 public:
  // Gets the kind and the message of a difference.
  using Report = std::function<void(const std::string&, const std::string&)>;

  static ProcessState now();
  // Reports each difference to the state now, and undoes it where that is
  // possible: a later comparison begins from the old state.
  void restore(const Report& report) const;

 private:
  struct Descriptor {
    int number;
    std::string target;
  };
  static constexpr int kSignals = 65;

  void compare_descriptors(const ProcessState& now, const Report& report) const;

  std::vector<Descriptor> descriptors_;
  std::string folder_, locale_;
  std::vector<std::string> environment_;
  unsigned mask_ = 0;
  std::array<struct sigaction, kSignals> handlers_{};
  sigset_t blocked_{};
  int rounding_ = 0;
  unsigned vector_mode_ = 0;
  std::array<rlimit, RLIM_NLIMITS> limits_{};
  std::array<itimerval, 3> timers_{};
  long created_timers_ = 0;
  std::vector<std::string> threads_, children_;
  int thread_count_ = 0, recording_ = 0;
};

// What was printed to stdout since the last call; the descriptor of stdout has to be a file.
std::string take_output();

}  // namespace cli
