// Children by posix_spawn(), watched by poll().
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <iterator>
#include <poll.h>
#include <spawn.h>
#include <string_view>
#include <unistd.h>

#include <sys/wait.h>

#include <tenon/error.hpp>
#include <tenon/trust/child_process.hpp>

#include "lib/base/format.hpp"

TENON_NAMESPACE_BEGIN

namespace trust {

namespace {

using lib::format_text;

// Above the numbers that a child's descriptors are placed at, so that placing one does not overwrite
// another that comes later.
constexpr int kLowest = 64;

[[noreturn]] void fail(int code, const char* what) {
  throw IOError(format_text("{}: {}", what, std::strerror(code)));
}

Descriptor moved_up(int number) {
  Descriptor moved(::fcntl(number, F_DUPFD_CLOEXEC, kLowest));
  if (moved.number() < 0) fail(errno, "cannot pass a descriptor to a child process");
  return moved;
}

std::string_view name_of(std::string_view variable) {
  return variable.substr(0, std::min(variable.find('='), variable.size()));
}

std::vector<std::string> environment_with(const std::vector<std::string>& given) {
  std::vector<std::string> variables;
  std::copy_if(given.begin(), given.end(), std::back_inserter(variables),
               [](const std::string& one) { return one.find('=') != one.npos; });
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (std::none_of(given.begin(), given.end(), [&](const std::string& other) {
          return name_of(other) == name_of(*variable);
        }))
      variables.emplace_back(*variable);
  }
  return variables;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> list;
  list.reserve(words.size() + 1);
  for (std::string& word : words) list.push_back(word.data());
  list.push_back(nullptr);
  return list;
}

// Steps of posix_spawn() in the child before the program, and its attributes.
class SpawnPlan {
 public:
  SpawnPlan() {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawnattr_init(&attributes_);
    // A separate group: what the child starts ends with it, and Ctrl-C reaches this program alone.
    ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETPGROUP);
  }
  ~SpawnPlan() {
    ::posix_spawnattr_destroy(&attributes_);
    ::posix_spawn_file_actions_destroy(&actions_);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;

  void place(int number, int as) { ::posix_spawn_file_actions_adddup2(&actions_, number, as); }
  int spawn(const ChildCommand& command, int& child) {
    if (!command.folder.empty())
      ::posix_spawn_file_actions_addchdir_np(&actions_, command.folder.c_str());
    std::vector<std::string> arguments = command.arguments;
    std::vector<std::string> variables = environment_with(command.environment);
    return ::posix_spawn(&child, command.program.c_str(), &actions_, &attributes_,
                         pointers(arguments).data(), pointers(variables).data());
  }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

}  // namespace

ChildProcess::ChildProcess(const ChildCommand& command) : kept_(command.output_kept) {
  Pipe printed;
  reading_ = moved_up(printed.reading.number());
  SpawnPlan plan;
  std::vector<Descriptor> given;
  const auto place = [&](int number, int as) {
    given.push_back(moved_up(number));
    plan.place(given.back().number(), as);
  };
  const Descriptor nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  place(nothing.number(), STDIN_FILENO);
  place(printed.writing.number(), STDOUT_FILENO);
  place(printed.writing.number(), STDERR_FILENO);
  for (const auto& [as, number] : command.descriptors) place(number, as);
  if (const int code = plan.spawn(command, child_); code != 0)
    fail(code, "cannot start a child process");
}

ChildProcess::~ChildProcess() {
  if (!waited_) wait(0);
}

bool ChildProcess::reap(int options) {
  int status = 0;
  const pid_t done = ::waitpid(child_, &status, options);
  if (done == child_) status_ = status;
  // The child is gone when SIGCHLD is ignored, or another part of the program has waited for it.
  waited_ = done == child_ || (done < 0 && errno == ECHILD);
  return waited_;
}

// It has ended: processes that it has left behind do, too, and what all have printed is read.
void ChildProcess::conclude() {
  ::kill(-child_, SIGKILL);
  while (read(0)) {
  }
}

bool ChildProcess::has_ended() {
  if (waited_) return true;
  if (!reap(WNOHANG)) return false;
  conclude();
  return true;
}

bool ChildProcess::wait(double seconds) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(
                         std::chrono::duration<double>(std::max(seconds, 0.0)));
  while (!has_ended()) {
    if (seconds >= 0 && Clock::now() >= end) {
      ::kill(-child_, SIGKILL);
      while (!reap(0)) {
      }
      return false;
    }
    if (!closed_)
      read(10);
    else if (seconds >= 0)
      ::usleep(1000);
    else if (reap(0))
      conclude();
  }
  return true;
}

bool ChildProcess::read(int milliseconds) {
  pollfd polled{reading_.number(), POLLIN, 0};
  if (::poll(&polled, 1, milliseconds) <= 0) return false;
  if ((polled.revents & POLLIN) == 0) {
    closed_ = true;
    return false;
  }
  std::array<char, 1 << 16> block;
  const ssize_t count = ::read(reading_.number(), block.data(), block.size());
  if (count <= 0) return false;
  text_.append(block.data(), static_cast<size_t>(count));
  if (text_.size() > kept_) text_.erase(0, text_.size() - kept_);
  return true;
}

std::string signal_text(int signal) {
  const char* name = ::sigabbrev_np(signal);
  const char* words = ::sigdescr_np(signal);
  if (name == nullptr || words == nullptr) return format_text("signal {}", signal);
  return format_text("SIG{} ({})", name, words);
}

std::string end_text(int status) {
  if (WIFSIGNALED(status)) return signal_text(WTERMSIG(status));
  return format_text("exit code {}", WEXITSTATUS(status));
}

}  // namespace trust

TENON_NAMESPACE_END
