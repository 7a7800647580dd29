// tenon open-plugin: applies the config at standard input and ends. tenon::trust starts it to find out
// whether a plugin ends the process that loads it.
#include <array>
#include <csignal>
#include <cstring>
#include <execinfo.h>
#include <iterator>
#include <string>
#include <string_view>
#include <unistd.h>

#include <sys/prctl.h>
#include <sys/resource.h>

#include <tenon/runtime.hpp>

#include "commands.hpp"
#include "format.hpp"
#include "terminal.hpp"

namespace cli {

namespace {

struct OpenPluginOptions {};

constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGSYS};
constexpr std::string_view kBacktraceLine = "-- backtrace --\n";  // tenon::trust looks for it

// Runs on its own stack, since the other may be what ran out. The handler is gone by then, so
// that returning ends the process by the same signal.
void print_backtrace(int signal) {
  std::array<void*, 64> frames;
  const int count = backtrace(frames.data(), static_cast<int>(frames.size()));
  [[maybe_unused]] const ssize_t written =
      write(STDERR_FILENO, kBacktraceLine.data(), kBacktraceLine.size());
  backtrace_symbols_fd(frames.data(), count, STDERR_FILENO);
  raise(signal);
}

void catch_signals() {
  static std::array<char, 1 << 16> memory;
  void* first = nullptr;
  backtrace(&first, 1);  // loads what it needs, which cannot be done in a handler
  stack_t stack{};
  stack.ss_sp = memory.data();
  stack.ss_size = memory.size();
  sigaltstack(&stack, nullptr);
  struct sigaction action {};
  action.sa_handler = print_backtrace;
  action.sa_flags = static_cast<int>(SA_ONSTACK | SA_RESETHAND);
  for (const int signal : kSignals) sigaction(signal, &action, nullptr);
}

std::string read_input() {
  std::string text;
  std::array<char, 4096> block;
  while (const ssize_t count = read(STDIN_FILENO, block.data(), block.size())) {
    if (count < 0) break;
    text.append(block.data(), static_cast<size_t>(count));
  }
  return text;
}

int open_plugin(const OpenPluginOptions&) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);  // it is expected to crash
  catch_signals();
  try {
    tenon::apply_policy(tenon::Json::parse(read_input()));
  } catch (const tenon::Error& error) {
    print(stderr, format_text("{}\n", error.what()));
  }
  // Its ends of process are another matter than its load.
  _exit(kFine);
}

}  // namespace

void define_open_plugin(Commands& commands) { commands.add(open_plugin, "open-plugin", "", ""); }

}  // namespace cli
