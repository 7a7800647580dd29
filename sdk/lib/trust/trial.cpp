// The child is `tenon open-plugin`, whose last output and left markers show how far it came.
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <string_view>
#include <unistd.h>

#include <sys/stat.h>
#include <sys/wait.h>

#include <tenon/abi/host.h>
#include <tenon/text.hpp>
#include <tenon/trust/child_process.hpp>
#include <tenon/trust/trial.hpp>

#include "file.hpp"
#include "lib/base/format.hpp"

TENON_NAMESPACE_BEGIN

namespace trust {

namespace {

using lib::format_text;

constexpr size_t kOutputKept = 4096;
constexpr std::string_view kBacktraceLine = "-- backtrace --\n";  // line of `tenon open-plugin`

// The state folder of one trial: it goes with it.
class StateFolder {
 public:
  explicit StateFolder(const std::string& path) : path_(path) {
    if (::mkdir(path_.c_str(), 0700) != 0)
      throw IOError(format_text("cannot make a folder for its state: {}", std::strerror(errno)));
  }
  ~StateFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  StateFolder(const StateFolder&) = delete;
  StateFolder& operator=(const StateFolder&) = delete;

 private:
  const std::string& path_;
};

// By a signal that memory, batch systems and people send, which proves nothing of a plugin.
bool was_ended_from_outside(int status) {
  if (!WIFSIGNALED(status)) return false;
  const int signal = WTERMSIG(status);
  return signal == SIGKILL || signal == SIGTERM || signal == SIGINT || signal == SIGHUP ||
         signal == SIGXCPU;
}

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
  Dl_info library{};
  if (::dladdr(reinterpret_cast<void*>(&tenon_host_get), &library) == 0 ||
      library.dli_fname == nullptr)
    return {};
  std::error_code fault;
  const std::filesystem::path folder =
      std::filesystem::canonical(library.dli_fname, fault).parent_path();
  // Libraries may be in a folder for the machine below "lib".
  for (const char* place : {"../bin/tenon", "../../bin/tenon"}) {
    std::string program = (folder / place).lexically_normal().string();
    if (!fault && ::access(program.c_str(), X_OK) == 0) return program;
  }
  return {};
}

TrialEnd run_trial(const std::string& program, const std::string& folder, const Json& config,
                   double seconds) {
  const StateFolder state(folder);
  const Descriptor input = sealed_copy(config.dump());
  ChildCommand command;
  command.program = program;
  command.arguments = {"tenon", "open-plugin"};
  command.environment = {format_text("XDG_STATE_HOME={}", folder)};
  command.descriptors = {{STDIN_FILENO, input.number()}};
  command.output_kept = 4 * kOutputKept;
  ChildProcess child(command);
  TrialEnd end;
  end.finished = child.wait(seconds);
  if (const auto status = child.status()) {
    end.finished = end.finished && !was_ended_from_outside(*status);
    end.text = end_text(*status);
  }
  split_output(child.output(), end);
  end.markers = left_markers(format_text("{}/tenon", folder));
  return end;
}

}  // namespace trust

TENON_NAMESPACE_END
