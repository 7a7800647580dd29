// Children by posix_spawn(), watched by poll().
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <string_view>
#include <unistd.h>

#include <sys/wait.h>

#include <tenon/error.hpp>
#include <tenon/trust/child_process.hpp>

#include "file.hpp"
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

// The reading end, and the writing one.
std::pair<Descriptor, Descriptor> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) fail(errno, "cannot make a pipe");
  const Descriptor reading(ends[0]), writing(ends[1]);
  return {moved_up(reading.number()), moved_up(writing.number())};
}

std::string_view name_of(std::string_view variable) {
  return variable.substr(0, std::min(variable.find('='), variable.size()));
}

std::vector<std::string> environment_with(const std::vector<std::string>& given) {
  std::vector<std::string> variables = given;
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
  auto [reading, writing] = make_pipe();
  SpawnPlan plan;
  const Descriptor nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const Descriptor input = moved_up(nothing.number());
  plan.place(input.number(), STDIN_FILENO);
  plan.place(writing.number(), STDOUT_FILENO);
  plan.place(writing.number(), STDERR_FILENO);
  std::vector<Descriptor> given;
  for (const auto& [as, number] : command.descriptors) {
    given.push_back(moved_up(number));
    plan.place(given.back().number(), as);
  }
  reading_ = ::fcntl(reading.number(), F_DUPFD_CLOEXEC, kLowest);
  if (reading_ < 0) fail(errno, "cannot make a pipe");
  if (const int code = plan.spawn(command, child_); code != 0) {
    ::close(reading_);
    fail(code, "cannot start a child process");
  }
}

ChildProcess::~ChildProcess() {
  if (!waited_) wait(0);
  ::close(reading_);
}

bool ChildProcess::wait(double seconds) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(
                         std::chrono::duration<double>(std::max(seconds, 0.0)));
  int status = 0;
  for (;;) {
    const pid_t done = ::waitpid(child_, &status, WNOHANG);
    if (done == child_) status_ = status;
    // The child is gone when SIGCHLD is ignored, or another part of the program has waited for it.
    if (done == child_ || (done < 0 && errno == ECHILD)) break;
    if (seconds >= 0 && Clock::now() >= end) {
      ::kill(-child_, SIGKILL);
      while (::waitpid(child_, &status, 0) < 0 && errno == EINTR) {
      }
      status_ = status;
      waited_ = true;
      return false;
    }
    read(10);
  }
  waited_ = true;
  ::kill(-child_, SIGKILL);  // processes that it has left behind
  while (read(0)) {
  }
  return true;
}

bool ChildProcess::read(int milliseconds) {
  pollfd polled{reading_, POLLIN, 0};
  if (::poll(&polled, 1, milliseconds) <= 0 || (polled.revents & POLLIN) == 0) {
    if (polled.revents != 0 && milliseconds > 0) ::usleep(1000);  // closed, but it lives
    return false;
  }
  std::array<char, 1 << 16> block;
  const ssize_t count = ::read(reading_, block.data(), block.size());
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
