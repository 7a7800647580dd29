// State of a process that all code in it shares: noted before plugin code runs, compared after.
#pragma once

#include <array>
#include <csignal>
#include <cstdint>
#include <functional>
#include <locale.h>
#include <locale>
#include <sched.h>
#include <string>
#include <vector>

#include <sys/resource.h>
#include <sys/time.h>

namespace cli {

class ProcessState {
 public:
  // Gets the kind and the message of a difference.
  using Report = std::function<void(const std::string&, const std::string&)>;

  // New files in these folders, which are this process's alone, are differences from now on.
  static void watch_files(std::vector<std::string> folders);
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
  void remove_files(const ProcessState& now, const Report& report) const;
  void restore_locales(const ProcessState& now, const Report& report) const;
  void restore_signals(const ProcessState& now, const Report& report) const;
  void restore_arithmetic(const ProcessState& now, const Report& report) const;
  void restore_limits(const ProcessState& now, const Report& report) const;
  void restore_timers(const ProcessState& now, const Report& report) const;
  void restore_scheduling(const ProcessState& now, const Report& report) const;
  void compare_threads(const ProcessState& now, const Report& report) const;
  void restore_host(const ProcessState& now, const Report& report) const;

  std::vector<Descriptor> descriptors_;
  std::string folder_, locale_;
  locale_t thread_locale_ = nullptr;
  std::locale cpp_locale_;
  std::vector<std::string> environment_;
  unsigned mask_ = 0;
  std::array<struct sigaction, kSignals> handlers_{};
  sigset_t blocked_{};
  void* signal_stack_ = nullptr;
  int rounding_ = 0;
  uint64_t floating_mode_ = 0;
  std::array<rlimit, RLIM_NLIMITS> limits_{};
  std::array<itimerval, 3> timers_{};
  long created_timers_ = 0;
  cpu_set_t processors_{};
  int priority_ = 0;
  std::vector<std::string> threads_, children_, files_;
  int thread_count_ = 0, recording_ = 0;
};

// A mode of floating-point arithmetic that a thread of kernels has and this one has not, as text; empty:
// none. It is undone.
std::string restore_kernel_threads();

// Text that was printed to stdout since the last call; the descriptor of stdout has to be a file.
std::string take_output();

}  // namespace cli
