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

}  // namespace

void end_children() {
  child_lock.lock();
  if (running_child == 0) return;
  kill(-running_child, SIGKILL);
  waitpid(running_child, nullptr, 0);
}

ChildEnd run_child(const std::vector<std::string>& arguments, double seconds,
                   const std::function<bool(const std::string&)>& line) {
  using Clock = std::chrono::steady_clock;
  Descriptor answers, answers_end, output, output_end;
  make_pipe(answers, answers_end);
  make_pipe(output, output_end);
  const pid_t child = start(arguments, answers_end.number(), output_end.number());
  answers_end.close();
  output_end.close();

  ChildEnd end;
  std::string pending;
  const auto span =
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  Clock::time_point deadline = Clock::now() + span;
  std::array<char, 1 << 14> block;
  // The answers' pipe closes with the child; what it started itself may keep the other open.
  while (answers.number() >= 0) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) {
      end.timed_out = true;
      break;
    }
    std::array<pollfd, 2> polled{pollfd{answers.number(), POLLIN, 0},
                                 pollfd{output.number(), POLLIN, 0}};
    if (poll(polled.data(), polled.size(), static_cast<int>(std::min<long>(left, 1000))) < 0) {
      if (errno == EINTR) continue;
      break;
    }
    if (polled[1].revents != 0) {
      const ssize_t count = read(output.number(), block.data(), block.size());
      if (count <= 0) {
        output.close();
      } else {
        end.output.append(block.data(), static_cast<size_t>(count));
        if (end.output.size() > kOutputKept) end.output.erase(0, end.output.size() - kOutputKept);
      }
    }
    if (polled[0].revents == 0) continue;
    const ssize_t count = read(answers.number(), block.data(), block.size());
    if (count <= 0) {
      answers.close();
      break;
    }
    pending.append(block.data(), static_cast<size_t>(count));
    for (size_t stop = pending.find('\n'); stop != std::string::npos; stop = pending.find('\n')) {
      if (line(pending.substr(0, stop))) deadline = Clock::now() + span;
      pending.erase(0, stop + 1);
    }
    if (pending.size() > kLongestLine) pending.clear();
  }

  // It may have closed its pipe and live on.
  int status = 0;
  for (;;) {
    if (end.timed_out) kill(-child, SIGKILL);
    if (reap(end.timed_out ? 0 : WNOHANG, &status)) break;
    if (Clock::now() >= deadline) end.timed_out = true;
    usleep(500);
  }
  while (output.number() >= 0) {
    pollfd polled{output.number(), POLLIN, 0};
    if (poll(&polled, 1, 0) <= 0 || (polled.revents & POLLIN) == 0) break;
    const ssize_t count = read(output.number(), block.data(), block.size());
    if (count <= 0) break;
    end.output.append(block.data(), static_cast<size_t>(count));
    if (end.output.size() > kOutputKept) end.output.erase(0, end.output.size() - kOutputKept);
  }
  if (WIFSIGNALED(status)) end.signal = WTERMSIG(status);
  if (WIFEXITED(status)) end.code = WEXITSTATUS(status);
  return end;
}

std::string signal_text(int signal) {
  const char* name = sigabbrev_np(signal);
  const char* text = sigdescr_np(signal);
  std::string found =
      name == nullptr ? format_text("signal {}", signal) : format_text("SIG{}", name);
  return text == nullptr ? found : format_text("{} ({})", found, text);
}

}  // namespace cli
