// A child process of this program that answers in lines.
#include "check_child.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <mutex>
#include <poll.h>
#include <spawn.h>
#include <system_error>
#include <unistd.h>

#include <sys/wait.h>

#include "format.hpp"

extern char** environ;

namespace cli {

namespace {

constexpr int kChannel = 3;
constexpr size_t kOutputKept = 2000;
constexpr size_t kLongestLine = 1 << 22;

[[noreturn]] void fail(int code, const char* what) {
  throw std::system_error(code, std::generic_category(), what);
}

class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  ~Descriptor() { close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }
  void set(int number) { number_ = number; }
  void close() {
    if (number_ >= 0) ::close(number_);
    number_ = -1;
  }

 private:
  int number_;
};

// Both ends stay out of other children; the child's end is placed by the file actions.
void make_pipe(Descriptor& reading, Descriptor& writing) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) fail(errno, "cannot make a pipe");
  // Above the numbers that the child's ends are placed at.
  for (int& end : ends) {
    const int higher = fcntl(end, F_DUPFD_CLOEXEC, kChannel + 1);
    if (higher < 0) fail(errno, "cannot make a pipe");
    ::close(end);
    end = higher;
  }
  reading.set(ends[0]);
  writing.set(ends[1]);
}

// The child that runs; locked while it is reaped, so that its number never names another process.
std::mutex child_lock;
pid_t running_child = 0;

pid_t spawn(const std::vector<std::string>& arguments, int channel, int output) {
  std::vector<char*> list;
  std::string program = "tenon";
  list.push_back(program.data());
  std::vector<std::string> copies = arguments;
  for (std::string& argument : copies) list.push_back(argument.data());
  list.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, 1);
  posix_spawn_file_actions_adddup2(&actions, output, 2);
  posix_spawn_file_actions_adddup2(&actions, channel, kChannel);
  // A separate group: Ctrl-C reaches this program alone, which ends all that the child started.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  pid_t child = 0;
  const int code =
      posix_spawn(&child, "/proc/self/exe", &actions, &attributes, list.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (code != 0) fail(code, "cannot start a child process");
  return child;
}

pid_t start(const std::vector<std::string>& arguments, int channel, int output) {
  const std::lock_guard lock(child_lock);
  return running_child = spawn(arguments, channel, output);
}

// True when it has ended, or can not be waited for.
bool reap(int options, int* status) {
  const std::lock_guard lock(child_lock);
  const pid_t done = waitpid(running_child, status, options);
  if (done == 0 || (done < 0 && errno == EINTR)) return false;
  running_child = 0;
  return true;
}

// One child from its start to its end: reads what it answers and prints until it ends, or is silent
// for too long.
class ChildRun {
 public:
  ChildRun(double seconds, const std::function<bool(const std::string&)>& line)
      : span_(std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds))),
        line_(line) {}

  ChildEnd run(const std::vector<std::string>& arguments) {
    Descriptor answers_end, output_end;
    make_pipe(answers_, answers_end);
    make_pipe(output_, output_end);
    const pid_t child = start(arguments, answers_end.number(), output_end.number());
    answers_end.close();
    output_end.close();
    deadline_ = Clock::now() + span_;
    // The answers' pipe closes with the child; what it started itself may keep the other open.
    while (answers_.number() >= 0 && read_once()) {
    }
    const int status = wait(child);
    while (output_.number() >= 0) {
      pollfd polled{output_.number(), POLLIN, 0};
      if (poll(&polled, 1, 0) <= 0 || (polled.revents & POLLIN) == 0 || !read_output()) break;
    }
    if (WIFSIGNALED(status)) end_.signal = WTERMSIG(status);
    if (WIFEXITED(status)) end_.code = WEXITSTATUS(status);
    return std::move(end_);
  }

 private:
  using Clock = std::chrono::steady_clock;

  // False when the child is silent for too long, or cannot be read any more.
  bool read_once() {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline_ - Clock::now()).count();
    if (left <= 0) {
      end_.timed_out = true;
      return false;
    }
    std::array<pollfd, 2> polled{pollfd{answers_.number(), POLLIN, 0},
                                 pollfd{output_.number(), POLLIN, 0}};
    if (poll(polled.data(), polled.size(), static_cast<int>(std::min<long>(left, 1000))) < 0)
      return errno == EINTR;
    if (polled[1].revents != 0 && !read_output()) output_.close();
    return polled[0].revents == 0 || read_answers();
  }

  bool read_output() {
    const ssize_t count = read(output_.number(), block_.data(), block_.size());
    if (count <= 0) return false;
    end_.output.append(block_.data(), static_cast<size_t>(count));
    if (end_.output.size() > kOutputKept) end_.output.erase(0, end_.output.size() - kOutputKept);
    return true;
  }

  bool read_answers() {
    const ssize_t count = read(answers_.number(), block_.data(), block_.size());
    if (count <= 0) {
      answers_.close();
      return false;
    }
    pending_.append(block_.data(), static_cast<size_t>(count));
    for (size_t stop = pending_.find('\n'); stop != std::string::npos; stop = pending_.find('\n')) {
      if (line_(pending_.substr(0, stop))) deadline_ = Clock::now() + span_;
      pending_.erase(0, stop + 1);
    }
    if (pending_.size() > kLongestLine) pending_.clear();
    return true;
  }

  // It may have closed its pipe and live on.
  int wait(pid_t child) {
    int status = 0;
    for (;;) {
      if (end_.timed_out) kill(-child, SIGKILL);
      if (reap(end_.timed_out ? 0 : WNOHANG, &status)) return status;
      if (Clock::now() >= deadline_) end_.timed_out = true;
      usleep(500);
    }
  }

  const Clock::duration span_;
  const std::function<bool(const std::string&)>& line_;
  Descriptor answers_, output_;
  Clock::time_point deadline_;
  std::array<char, 1 << 14> block_;
  std::string pending_;
  ChildEnd end_;
};

}  // namespace

void end_children() {
  child_lock.lock();
  if (running_child == 0) return;
  kill(-running_child, SIGKILL);
  waitpid(running_child, nullptr, 0);
}

ChildEnd run_child(const std::vector<std::string>& arguments, double seconds,
                   const std::function<bool(const std::string&)>& line) {
  return ChildRun(seconds, line).run(arguments);
}

std::string signal_text(int signal) {
  const char* name = sigabbrev_np(signal);
  const char* text = sigdescr_np(signal);
  std::string found =
      name == nullptr ? format_text("signal {}", signal) : format_text("SIG{}", name);
  return text == nullptr ? found : format_text("{} ({})", found, text);
}

}  // namespace cli
