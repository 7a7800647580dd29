// A trial: a child process loads a plugin, and is watched.
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <poll.h>
#include <spawn.h>
#include <string_view>
#include <unistd.h>
#include <utility>

#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/text.hpp"
#include "core/plugin/own_file.hpp"
#include "core/plugin/quarantine.hpp"

namespace tenon::core {

namespace {

constexpr size_t kOutputKept = 4096;
constexpr std::string_view kBacktraceLine = "-- backtrace --\n";  // line of `tenon open-plugin`
constexpr std::string_view kStateHome = "XDG_STATE_HOME=";

[[noreturn]] void fail(int code, const char* what) {
  throw Error(TENON_ERROR_IO, "{}: {}", what, std::strerror(code));
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
    if (number_ >= 0) ::close(std::exchange(number_, -1));
  }

 private:
  int number_;
};

// The config, for the child to read.
void fill(const Descriptor& input, const std::string& text) {
  if (input.number() < 0 ||
      ::write(input.number(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    fail(errno, "cannot write its config");
  ::lseek(input.number(), 0, SEEK_SET);
}

// This process's, but for the folder of the state.
std::vector<std::string> child_environment(const std::string& folder) {
  std::vector<std::string> words;
  for (char** word = environ; *word != nullptr; ++word) {
    if (!std::string_view(*word).starts_with(kStateHome)) words.emplace_back(*word);
  }
  words.push_back(format_text("{}{}", kStateHome, folder));
  return words;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> list;
  list.reserve(words.size() + 1);
  for (std::string& word : words) list.push_back(word.data());
  list.push_back(nullptr);
  return list;
}

pid_t spawn(const std::string& program, const std::string& folder, int input, int output) {
  std::vector<std::string> words = {"tenon", "open-plugin"};
  std::vector<std::string> variables = child_environment(folder);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
  // A separate group: what the plugin starts ends with it.
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  pid_t child = 0;
  const int code = ::posix_spawn(&child, program.c_str(), &actions, &attributes,
                                 pointers(words).data(), pointers(variables).data());
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  if (code != 0) fail(code, "cannot start a child process");
  return child;
}

// Collects its output, until it ends or its time is over. True: it has ended.
class Watch {
 public:
  Watch(pid_t child, int output, double seconds)
      : child_(child),
        output_(output),
        deadline_(Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                     std::chrono::duration<double>(seconds))) {}

  bool run() {
    for (;;) {
      const pid_t done = ::waitpid(child_, &status_, WNOHANG);
      if (done == child_) known_ = true;
      // The child is gone when SIGCHLD is ignored, or another part of the program has waited for
      // it.
      if (done == child_ || (done < 0 && errno == ECHILD)) break;
      if (Clock::now() >= deadline_) {
        ::kill(-child_, SIGKILL);
        while (::waitpid(child_, &status_, 0) < 0 && errno == EINTR) {
        }
        return false;
      }
      read(10);
    }
    ::kill(-child_, SIGKILL);  // processes that it has left behind
    while (read(0)) {
    }
    return true;
  }

  std::string& output() { return text_; }
  // By a signal that memory, batch systems and people send, which proves nothing of a plugin.
  bool was_ended() const {
    if (!known_ || !WIFSIGNALED(status_)) return false;
    const int signal = WTERMSIG(status_);
    return signal == SIGKILL || signal == SIGTERM || signal == SIGINT || signal == SIGHUP ||
           signal == SIGXCPU;
  }
  std::string end_text() const {
    if (!known_) return {};
    if (WIFEXITED(status_)) return format_text("exit code {}", WEXITSTATUS(status_));
    const int signal = WTERMSIG(status_);
    const char* name = ::sigabbrev_np(signal);
    const char* words = ::sigdescr_np(signal);
    if (name == nullptr || words == nullptr) return format_text("signal {}", signal);
    return format_text("SIG{} ({})", name, words);
  }

 private:
  using Clock = std::chrono::steady_clock;

  bool read(int milliseconds) {
    pollfd polled{output_, POLLIN, 0};
    if (::poll(&polled, 1, milliseconds) <= 0 || (polled.revents & POLLIN) == 0) {
      if (polled.revents != 0 && milliseconds > 0) ::usleep(1000);  // closed, but it lives
      return false;
    }
    std::array<char, 4096> block;
    const ssize_t count = ::read(output_, block.data(), block.size());
    if (count <= 0) return false;
    text_.append(block.data(), static_cast<size_t>(count));
    if (text_.size() > 4 * kOutputKept) text_.erase(0, text_.size() - 4 * kOutputKept);
    return true;
  }

  const pid_t child_;
  const int output_;
  const Clock::time_point deadline_;
  int status_ = 0;
  bool known_ = false;
  std::string text_;
};

void split_output(std::string output, TrialEnd& end) {
  const size_t begin = output.rfind(kBacktraceLine);
  std::string_view lines = begin == output.npos
                               ? std::string_view()
                               : std::string_view(output).substr(begin + kBacktraceLine.size());
  while (!lines.empty()) {
    const size_t stop = std::min(lines.find('\n'), lines.size());
    if (stop > 0) end.backtrace.push_back(printable(lines.substr(0, stop)));
    lines.remove_prefix(std::min(stop + 1, lines.size()));
  }
  output.resize(std::min(begin, output.size()));
  if (output.size() > kOutputKept) output.erase(0, output.size() - kOutputKept);
  end.output = printable(output);
}

}  // namespace

std::string trial_program() {
  if (own_file().empty()) return {};
  const std::filesystem::path folder = std::filesystem::path(own_file()).parent_path();
  // Libraries may be in a folder for the machine below "lib".
  for (const char* place : {"../bin/tenon", "../../bin/tenon"}) {
    std::string program = (folder / place).lexically_normal().string();
    if (::access(program.c_str(), X_OK) == 0) return program;
  }
  return {};
}

TrialEnd run_trial(const std::string& program, const std::string& folder, const tenon_json& config,
                   double seconds) {
  if (::mkdir(folder.c_str(), 0700) != 0) fail(errno, "cannot make a folder for its state");
  const auto remove = [&] {
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
  };
  TrialEnd end;
  try {
    const Descriptor input(::memfd_create("tenon-trial", MFD_CLOEXEC));
    fill(input, dump(config));
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) fail(errno, "cannot make a pipe");
    const Descriptor reading(ends[0]);
    Descriptor writing(ends[1]);
    const pid_t child = spawn(program, folder, input.number(), writing.number());
    writing.close();
    Watch watch(child, reading.number(), seconds);
    end.finished = watch.run() && !watch.was_ended();
    end.text = watch.end_text();
    split_output(std::move(watch.output()), end);
    end.markers = left_markers(format_text("{}/tenon", folder));
  } catch (...) {
    remove();
    throw;
  }
  remove();
  return end;
}

}  // namespace tenon::core
