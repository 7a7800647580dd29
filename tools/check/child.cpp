// A child process of this program that answers in lines.
#include "child.hpp"

#include <algorithm>
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

#include <sys/mman.h>
#include <sys/wait.h>

#include "seal.hpp"

namespace cli {

namespace {

constexpr int kHighest = kStatus;  // descriptor of a child
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
    const int higher = fcntl(end, F_DUPFD_CLOEXEC, kHighest + 1);
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

// The child's side of each descriptor.
struct ChildEnds {
  int secret, output, errors, answers, status;
};

pid_t spawn(const std::vector<std::string>& arguments, const ChildEnds& ends) {
  std::vector<char*> list;
  std::string program = "tenon-check";
  list.push_back(program.data());
  std::vector<std::string> copies = arguments;
  for (std::string& argument : copies) list.push_back(argument.data());
  list.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends.secret, 0);
  posix_spawn_file_actions_adddup2(&actions, ends.output, 1);
  posix_spawn_file_actions_adddup2(&actions, ends.errors, 2);
  posix_spawn_file_actions_adddup2(&actions, ends.answers, kAnswers);
  posix_spawn_file_actions_adddup2(&actions, ends.status, kStatus);
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

pid_t start(const std::vector<std::string>& arguments, const ChildEnds& ends) {
  const std::lock_guard lock(child_lock);
  return running_child = spawn(arguments, ends);
}

// True when it has ended, or can not be waited for.
bool reap(int options, int* status) {
  const std::lock_guard lock(child_lock);
  const pid_t done = waitpid(running_child, status, options);
  if (done == 0 || (done < 0 && errno == EINTR)) return false;
  running_child = 0;
  return true;
}

// One child from its start to its end: reads what it answers and prints until its status is known,
// or it is silent for too long. What it started may keep its descriptors open for longer.
class ChildRun {
 public:
  ChildRun(double seconds, const ChildListener& listener)
      : span_(std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds))),
        listener_(listener),
        secret_(Secret::make()),
        seal_(secret_) {}

  ChildEnd run(const std::vector<std::string>& arguments) {
    Descriptor answers_end, errors_end, status_end, secret, secret_end;
    make_pipe(answers_, answers_end);
    make_pipe(errors_, errors_end);
    make_pipe(status_, status_end);
    make_pipe(secret, secret_end);
    output_.set(memfd_create("tenon-check", MFD_CLOEXEC));
    if (output_.number() < 0) fail(errno, "cannot make a file in memory");
    if (write(secret_end.number(), &secret_, sizeof secret_) != sizeof secret_)
      fail(errno, "cannot write to a pipe");
    const pid_t child = start(arguments, {secret.number(), output_.number(), errors_end.number(),
                                          answers_end.number(), status_end.number()});
    for (Descriptor* end : {&answers_end, &errors_end, &status_end, &secret, &secret_end})
      end->close();
    deadline_ = Clock::now() + span_;
    while (read_once()) {
    }
    while (poll_one(answers_) && read_answers()) {
    }
    while (poll_one(errors_) && read_errors()) {
    }
    finish(child);
    return std::move(end_);
  }

 private:
  using Clock = std::chrono::steady_clock;

  static bool poll_one(const Descriptor& from) {
    pollfd polled{from.number(), POLLIN, 0};
    return from.number() >= 0 && poll(&polled, 1, 0) > 0 && (polled.revents & POLLIN) != 0;
  }

  // False when its status is known, or it is silent for too long.
  bool read_once() {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline_ - Clock::now()).count();
    if (left <= 0) {
      end_.timed_out = true;
      return false;
    }
    std::array<pollfd, 3> polled{pollfd{answers_.number(), POLLIN, 0},
                                 pollfd{errors_.number(), POLLIN, 0},
                                 pollfd{status_.number(), POLLIN, 0}};
    if (poll(polled.data(), polled.size(), static_cast<int>(std::min<long>(left, 1000))) < 0)
      return errno == EINTR;
    if (polled[1].revents != 0 && !read_errors()) errors_.close();
    if (polled[0].revents != 0 && !read_answers()) answers_.close();
    return polled[2].revents == 0 || !read_status();
  }

  void keep(size_t count) {
    end_.output.append(block_.data(), count);
    if (end_.output.size() > kOutputKept) end_.output.erase(0, end_.output.size() - kOutputKept);
  }
  bool read_errors() {
    const ssize_t count = read(errors_.number(), block_.data(), block_.size());
    if (count > 0) keep(static_cast<size_t>(count));
    return count > 0;
  }

  bool read_answers() {
    const ssize_t count = read(answers_.number(), block_.data(), block_.size());
    if (count <= 0) return false;
    pending_.append(block_.data(), static_cast<size_t>(count));
    for (size_t stop = pending_.find('\n'); stop != std::string::npos; stop = pending_.find('\n')) {
      if (stop > 0) take(pending_.substr(0, stop));
      pending_.erase(0, stop + 1);
    }
    if (pending_.size() > kLongestLine) pending_.clear();
    return true;
  }
  void take(const std::string& line) {
    if (const auto text = seal_.opened(line)) {
      if (listener_.line(*text)) deadline_ = Clock::now() + span_;
    } else {
      listener_.intruder();
    }
  }

  // Written by the process that waits for the one with the plugin. Without it the watch was ended.
  bool read_status() {
    int status = 0;
    if (read(status_.number(), &status, sizeof status) != sizeof status) {
      end_.signal = SIGKILL;
      return true;
    }
    if (WIFSIGNALED(status)) end_.signal = WTERMSIG(status);
    if (WIFEXITED(status)) end_.code = WEXITSTATUS(status);
    end_.complete = WIFEXITED(status) && end_.code == secret_.exit_code;
    return true;
  }

  // The watch ends by its own account, all that it watches before it; or it is ended.
  void finish(pid_t child) {
    int status = 0;
    bool ended = false;
    for (int i = 0; i < 2000 && !end_.timed_out && !ended; ++i) {
      ended = reap(WNOHANG, &status);
      if (!ended) usleep(500);
    }
    if (!ended) kill(-child, SIGKILL);
    while (!ended) ended = reap(0, &status);
    const ssize_t count = pread(output_.number(), block_.data(), block_.size(), 0);
    if (count <= 0) return;
    keep(static_cast<size_t>(count));
    end_.printed.assign(block_.data(), std::min<size_t>(static_cast<size_t>(count), kOutputKept));
  }

  const Clock::duration span_;
  const ChildListener& listener_;
  const Secret secret_;
  Seal seal_;
  Descriptor answers_, errors_, status_, output_;
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
                   const ChildListener& listener) {
  return ChildRun(seconds, listener).run(arguments);
}

}  // namespace cli
