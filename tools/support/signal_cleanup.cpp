// Cleaning up before a signal ends the program.
#include "signal_cleanup.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <system_error>
#include <unistd.h>

namespace cli {

namespace {

constexpr std::array kSignals{SIGINT, SIGTERM, SIGHUP};

// A handler may do next to nothing: it passes the signal's number to the thread. 0 ends the thread.
std::array<int, 2> channel{-1, -1};
std::array<struct sigaction, kSignals.size()> previous;

void pass_on(int signal) {
  const int kept = errno;
  const auto number = static_cast<unsigned char>(signal);
  static_cast<void>(!write(channel[1], &number, 1));
  errno = kept;
}

void wait_for_signal(const std::function<void()>& cleanup) {
  unsigned char signal = 0;
  while (read(channel[0], &signal, 1) < 0 && errno == EINTR) continue;
  if (signal == 0) return;
  cleanup();
  // Other threads run, and one may just have put the handler back.
  for (;;) {
    std::signal(signal, SIG_DFL);
    raise(signal);
  }
}

}  // namespace

SignalCleanup::SignalCleanup(std::function<void()> cleanup) {
  if (pipe2(channel.data(), O_CLOEXEC) != 0)
    throw std::system_error(errno, std::generic_category(), "cannot make a pipe");
  thread_ = std::thread([cleanup = std::move(cleanup)] { wait_for_signal(cleanup); });
  for (size_t i = 0; i < kSignals.size(); ++i) {
    struct sigaction action {};
    action.sa_handler = pass_on;
    action.sa_flags = SA_RESTART;
    sigaction(kSignals[i], nullptr, &previous[i]);
    if (previous[i].sa_handler != SIG_IGN) sigaction(kSignals[i], &action, nullptr);
  }
}

SignalCleanup::~SignalCleanup() {
  for (size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &previous[i], nullptr);
  pass_on(0);
  thread_.join();
  for (const int end : channel) close(end);
}

}  // namespace cli
