// A child process of this program that answers in lines.
#include "child.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <mutex>
#include <optional>
#include <poll.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <sys/mman.h>
#include <sys/wait.h>

#include <tenon/trust/child_process.hpp>

#include "seal.hpp"

namespace cli {

namespace {

using tenon::trust::ChildCommand;
using tenon::trust::ChildProcess;
using tenon::trust::Descriptor;
using tenon::trust::Pipe;

constexpr size_t kOutputKept = 2000;
constexpr size_t kLongestLine = 1 << 22;

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

// The child that runs. Two threads use it, each with the lock: one waits, another may end it.
std::mutex child_lock;
ChildProcess* running_child = nullptr;

class LockedChild {
 public:
  explicit LockedChild(const ChildCommand& command) {
    const std::lock_guard lock(child_lock);
    running_child = &child_.emplace(command);
  }
  ~LockedChild() {
    const std::lock_guard lock(child_lock);
    child_.reset();
    running_child = nullptr;
  }
  LockedChild(const LockedChild&) = delete;
  LockedChild& operator=(const LockedChild&) = delete;

  bool has_ended() {
    const std::lock_guard lock(child_lock);
    return child_->has_ended();
  }
  // Kills it, unless it has ended.
  void end() {
    const std::lock_guard lock(child_lock);
    child_->wait(0);
  }

 private:
  std::optional<ChildProcess> child_;
};

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
    LockedChild child = start(arguments);
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

  // Starts this program with its ends of the channels, which this process has no longer.
  LockedChild start(const std::vector<std::string>& arguments) {
    Pipe answers, errors, status, secret;
    output_ = Descriptor(memfd_create("tenon-check", MFD_CLOEXEC));
    if (output_.number() < 0) fail("cannot make a file in memory");
    if (write(secret.writing.number(), &secret_, sizeof secret_) != sizeof secret_)
      fail("cannot write to a pipe");
    answers_ = std::move(answers.reading);
    errors_ = std::move(errors.reading);
    status_ = std::move(status.reading);
    ChildCommand command;
    command.program = "/proc/self/exe";
    command.arguments = {"tenon-check"};
    command.arguments.insert(command.arguments.end(), arguments.begin(), arguments.end());
    command.descriptors = {{STDIN_FILENO, secret.reading.number()},
                           {STDOUT_FILENO, output_.number()},
                           {STDERR_FILENO, errors.writing.number()},
                           {kAnswers, answers.writing.number()},
                           {kStatus, status.writing.number()}};
    return LockedChild(command);
  }

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
  void finish(LockedChild& child) {
    for (int i = 0; i < 2000 && !end_.timed_out && !child.has_ended(); ++i) usleep(500);
    child.end();
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
  if (running_child != nullptr) running_child->wait(0);
}

ChildEnd run_child(const std::vector<std::string>& arguments, double seconds,
                   const ChildListener& listener) {
  return ChildRun(seconds, listener).run(arguments);
}

}  // namespace cli
