// State of a process that all code in it shares.
#include "process_state.hpp"

#include <algorithm>
#include <atomic>
#include <cfenv>
#include <chrono>
#include <clocale>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <thread>
#include <unistd.h>

#include <sys/stat.h>
#include <sys/wait.h>

#include <tenon/host.hpp>
#include <tenon/kernel/floating_mode.hpp>
#include <tenon/parallel.hpp>

#include "format.hpp"
#include "remove_tree.hpp"
#include "text.hpp"

namespace cli {

namespace {

std::vector<std::string> environment_now() {
  std::vector<std::string> list;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry)
    list.emplace_back(*entry);
  std::sort(list.begin(), list.end());
  return list;
}
std::vector<std::string> names_in(const char* folder) {
  std::vector<std::string> list;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored))
    list.push_back(entry.path().filename().string());
  std::sort(list.begin(), list.end());
  return list;
}
std::vector<std::string>& watched_folders() {
  static auto* const folders = new std::vector<std::string>;
  return *folders;
}
std::vector<std::string> files_now() {
  std::vector<std::string> list;
  for (const std::string& folder : watched_folders()) {
    for (const std::string& name : names_in(folder.c_str()))
      list.push_back(format_text("{}/{}", folder, name));
  }
  std::sort(list.begin(), list.end());
  return list;
}
// Children of all threads, those that ended and were not waited for among them.
std::vector<std::string> children_now() {
  std::vector<std::string> list;
  for (const std::string& thread : names_in("/proc/self/task")) {
    std::ifstream file(format_text("/proc/self/task/{}/children", thread));
    for (std::string child; file >> child;) list.push_back(child);
  }
  std::sort(list.begin(), list.end());
  return list;
}
long count_timers() {
  std::ifstream file("/proc/self/timers");
  long count = 0;
  for (std::string line; std::getline(file, line);) count += line.rfind("ID:", 0) == 0 ? 1 : 0;
  return count;
}
unsigned file_mask() {
  const mode_t mask = umask(0);
  umask(mask);
  return mask;
}
bool same_action(const struct sigaction& a, const struct sigaction& b) {
  constexpr int restorer = 0x04000000;  // glibc adds it to what was the default
  return a.sa_handler == b.sa_handler && (a.sa_flags | restorer) == (b.sa_flags | restorer);
}
// Elements of the first list that the second has not.
std::vector<std::string> without(const std::vector<std::string>& list,
                                 const std::vector<std::string>& others) {
  std::vector<std::string> left;
  std::set_difference(list.begin(), list.end(), others.begin(), others.end(),
                      std::back_inserter(left));
  return left;
}

}  // namespace

void ProcessState::watch_files(std::vector<std::string> folders) {
  watched_folders() = std::move(folders);
}

ProcessState ProcessState::now() {
  ProcessState state;
  for (const std::string& name : names_in("/proc/self/fd")) {
    std::error_code gone;  // the one that the folder was read by
    const auto target = std::filesystem::read_symlink(format_text("/proc/self/fd/{}", name), gone);
    if (!gone) state.descriptors_.push_back({std::atoi(name.c_str()), target.string()});
  }
  std::error_code ignored;
  state.folder_ = std::filesystem::current_path(ignored).string();
  state.locale_ = std::setlocale(LC_ALL, nullptr);
  state.thread_locale_ = uselocale(nullptr);
  state.environment_ = environment_now();
  state.mask_ = file_mask();
  for (int signal = 1; signal < kSignals; ++signal)
    sigaction(signal, nullptr, &state.handlers_[static_cast<size_t>(signal)]);
  pthread_sigmask(SIG_BLOCK, nullptr, &state.blocked_);
  stack_t stack{};
  if (sigaltstack(nullptr, &stack) == 0 && (stack.ss_flags & SS_DISABLE) == 0)
    state.signal_stack_ = stack.ss_sp;
  state.rounding_ = std::fegetround();
  state.floating_mode_ = tenon::kernel::floating_mode();
  for (size_t resource = 0; resource < state.limits_.size(); ++resource)
    getrlimit(static_cast<__rlimit_resource>(resource), &state.limits_[resource]);
  for (size_t which = 0; which < state.timers_.size(); ++which)
    getitimer(static_cast<__itimer_which_t>(which), &state.timers_[which]);
  state.created_timers_ = count_timers();
  sched_getaffinity(0, sizeof state.processors_, &state.processors_);
  state.priority_ = getpriority(PRIO_PROCESS, 0);
  state.threads_ = names_in("/proc/self/task");
  state.children_ = children_now();
  state.files_ = files_now();
  state.thread_count_ = tenon::service::threads().count();
  state.recording_ = tenon::service::autograd().grad_mode();
  return state;
}

void ProcessState::compare_descriptors(const ProcessState& now, const Report& report) const {
  for (const Descriptor& descriptor : now.descriptors_) {
    const auto same = [&](const Descriptor& other) {
      return other.number == descriptor.number && other.target == descriptor.target;
    };
    if (std::any_of(descriptors_.begin(), descriptors_.end(), same)) continue;
    report("descriptor",
           format_text("descriptor {} is left open: {}", descriptor.number, descriptor.target));
  }
  for (const Descriptor& descriptor : descriptors_) {
    const auto same = [&](const Descriptor& other) { return other.number == descriptor.number; };
    if (std::none_of(now.descriptors_.begin(), now.descriptors_.end(), same))
      report("descriptor",
             format_text("descriptor {} is closed: {}", descriptor.number, descriptor.target));
  }
}

void ProcessState::remove_files(const ProcessState& now, const Report& report) const {
  for (const std::string& file : without(now.files_, files_)) {
    const std::filesystem::path path = file;
    // By name: the way there may lead over links.
    const bool current = path.parent_path().filename() == ".current";
    report("file", format_text("'{}' is left in the {}", path.filename().string(),
                               current ? "current folder" : "folder for temporary files"));
    std::error_code ignored;
    remove_tree(path, ignored);
  }
}

void ProcessState::restore_locales(const ProcessState& now, const Report& report) const {
  if (now.locale_ != locale_) {
    report("locale", format_text("the locale is {}, and was {}", now.locale_, locale_));
    std::setlocale(LC_ALL, locale_.c_str());
  }
  if (now.thread_locale_ != thread_locale_) {
    report("locale", "the thread has another locale than before, by uselocale");
    uselocale(thread_locale_);
  }
  if (now.cpp_locale_ != cpp_locale_) {
    report("locale", format_text("the global std::locale is {}, and was {}", now.cpp_locale_.name(),
                                 cpp_locale_.name()));
    std::locale::global(cpp_locale_);
  }
}

void ProcessState::restore_signals(const ProcessState& now, const Report& report) const {
  for (int signal = 1; signal < kSignals; ++signal) {
    const auto at = static_cast<size_t>(signal);
    if (same_action(handlers_[at], now.handlers_[at])) continue;
    report("signal-handler",
           format_text("the handler of signal {} is another one than before", signal));
    sigaction(signal, &handlers_[at], nullptr);
  }
  for (int signal = 1; signal < kSignals; ++signal) {
    if (sigismember(&blocked_, signal) == sigismember(&now.blocked_, signal)) continue;
    const bool blocked = sigismember(&now.blocked_, signal) != 0;
    report("signal-handler",
           format_text("signal {} is {}, and was {}", signal, blocked ? "blocked" : "not blocked",
                       blocked ? "not" : "blocked"));
    pthread_sigmask(SIG_SETMASK, &blocked_, nullptr);
  }
  if (now.signal_stack_ != signal_stack_) {
    report("signal-handler", "the stack of signal handlers is another one than before");
    stack_t off{};
    off.ss_flags = SS_DISABLE;
    if (signal_stack_ == nullptr) sigaltstack(&off, nullptr);
  }
}

void ProcessState::restore_arithmetic(const ProcessState& now, const Report& report) const {
  if (now.rounding_ == rounding_ && now.floating_mode_ == floating_mode_) return;
  report("floating-point-mode",
         format_text("the modes of floating-point arithmetic are {:#x} with rounding {:#x}, and "
                     "were {:#x} with rounding {:#x}",
                     now.floating_mode_, now.rounding_, floating_mode_, rounding_));
  std::fesetround(rounding_);
  tenon::kernel::set_floating_mode(floating_mode_);
}

void ProcessState::restore_limits(const ProcessState& now, const Report& report) const {
  for (size_t resource = 0; resource < limits_.size(); ++resource) {
    const rlimit &before = limits_[resource], &after = now.limits_[resource];
    if (after.rlim_cur == before.rlim_cur && after.rlim_max == before.rlim_max) continue;
    report("resource-limit",
           format_text("the limit of resource {} is {} of at most {}, and was {} of at most {}",
                       resource, after.rlim_cur, after.rlim_max, before.rlim_cur, before.rlim_max));
    setrlimit(static_cast<__rlimit_resource>(resource), &before);
  }
}

void ProcessState::restore_timers(const ProcessState& now, const Report& report) const {
  for (size_t which = 0; which < timers_.size(); ++which) {
    if (timerisset(&now.timers_[which].it_value) == timerisset(&timers_[which].it_value)) continue;
    const bool runs = timerisset(&now.timers_[which].it_value);
    report("timer", format_text("interval timer {} is {}, and was {}", which,
                                runs ? "set" : "not set", runs ? "not" : "set"));
    setitimer(static_cast<__itimer_which_t>(which), &timers_[which], nullptr);
  }
  if (now.created_timers_ != created_timers_)
    report("timer",
           format_text("there are {} timers, and were {}", now.created_timers_, created_timers_));
}

void ProcessState::restore_scheduling(const ProcessState& now, const Report& report) const {
  if (CPU_EQUAL(&now.processors_, &processors_) == 0) {
    report("scheduling", format_text("the thread may run on {} processors, and before on {}",
                                     CPU_COUNT(&now.processors_), CPU_COUNT(&processors_)));
    sched_setaffinity(0, sizeof processors_, &processors_);
  }
  if (now.priority_ != priority_) {
    report("scheduling", format_text("the nice value is {}, and was {}", now.priority_, priority_));
    setpriority(PRIO_PROCESS, 0, priority_);
  }
}

void ProcessState::compare_threads(const ProcessState& now, const Report& report) const {
  // The kernel lists a thread for a moment after it was joined.
  auto left_threads = without(now.threads_, threads_);
  for (int look = 0; look < 200 && !left_threads.empty(); ++look) {
    usleep(1000);
    left_threads = without(names_in("/proc/self/task"), threads_);
  }
  if (!left_threads.empty())
    report("thread", format_text("{} left running",
                                 counted(static_cast<int64_t>(left_threads.size()), "thread")));
  if (const auto left = without(now.children_, children_); !left.empty())
    report("child-process", format_text("{} left, or not waited for",
                                        counted(static_cast<int64_t>(left.size()), "process")));
}

void ProcessState::restore_host(const ProcessState& now, const Report& report) const {
  if (now.thread_count_ != thread_count_) {
    report("thread-count", format_text("the number of threads for kernels is {}, and was {}",
                                       now.thread_count_, thread_count_));
    tenon::service::threads().count_set(thread_count_);
  }
  if (now.recording_ != recording_) {
    report("recording", now.recording_ != 0 ? "recording of gradients is on, and was off"
                                            : "recording of gradients is off, and was on");
    tenon::service::autograd().grad_mode_set(recording_);
  }
}

void ProcessState::restore(const Report& report) const {
  const ProcessState now = ProcessState::now();
  compare_descriptors(now, report);
  if (now.folder_ != folder_) {
    report("folder", format_text("the current folder is {}, and was {}", now.folder_, folder_));
    if (chdir(folder_.c_str()) != 0) return;
  }
  remove_files(now, report);
  restore_locales(now, report);
  if (now.environment_ != environment_)
    report("environment", format_text("the environment has {} for {}",
                                      join(without(now.environment_, environment_), ", "),
                                      join(without(environment_, now.environment_), ", ")));
  if (now.mask_ != mask_) {
    report("file-mask",
           format_text("the mask of new files is {:o}, and was {:o}", now.mask_, mask_));
    umask(mask_);
  }
  restore_signals(now, report);
  restore_arithmetic(now, report);
  restore_limits(now, report);
  restore_timers(now, report);
  restore_scheduling(now, report);
  compare_threads(now, report);
  restore_host(now, report);
}

namespace {

// The modes of one thread that runs kernels, where they are not `mode`, which it gets.
uint64_t other_mode(uint64_t mode) {
  using Clock = std::chrono::steady_clock;
  constexpr int32_t most = 4;
  std::atomic<int> arrived{0};
  std::atomic<uint64_t> other{mode};
  const int32_t count = tenon::thread_count();
  tenon::set_thread_count(most);
  tenon::parallel_for(0, most, 1, [&](int64_t begin, int64_t end) {
    if (const uint64_t found = tenon::kernel::floating_mode(); found != mode) {
      other = found;
      tenon::kernel::set_floating_mode(mode);
    }
    // Each thread is to take one: a moment for the others to begin, on a busy machine, too.
    arrived += static_cast<int>(end - begin);
    const auto until = Clock::now() + std::chrono::milliseconds(5);
    while (arrived < most && Clock::now() < until) std::this_thread::yield();
  });
  tenon::set_thread_count(count);
  return other;
}

}  // namespace

std::string restore_kernel_threads() {
  const uint64_t mode = tenon::kernel::floating_mode();
  const uint64_t found = other_mode(mode);
  if (found == mode) return "";
  for (int quiet = 0; quiet < 20; ++quiet) {  // until none has it: not each takes part each time
    if (other_mode(mode) != mode) quiet = 0;
  }
  return format_text(
      "the modes of floating-point arithmetic are {:#x} on a thread that runs kernels, and {:#x} "
      "elsewhere",
      found, mode);
}

std::string take_output() {
  std::cout.flush();
  std::fflush(stdout);
  struct stat status {};
  if (fstat(STDOUT_FILENO, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size == 0)
    return "";
  std::string text(static_cast<size_t>(std::min<off_t>(status.st_size, 2000)), '\0');
  const ssize_t count = pread(STDOUT_FILENO, text.data(), text.size(), 0);
  text.resize(count < 0 ? 0 : static_cast<size_t>(count));
  if (ftruncate(STDOUT_FILENO, 0) != 0 || lseek(STDOUT_FILENO, 0, SEEK_SET) < 0) return text;
  return text;
}

}  // namespace cli
