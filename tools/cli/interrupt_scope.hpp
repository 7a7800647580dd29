// Ctrl-C while something runs that can stop in order.
#pragma once

#include <csignal>

#include <tenon/interrupt.hpp>

namespace cli {

// While it lives, the first Ctrl-C interrupts what runs; the second ends the program at once.
class InterruptScope {
 public:
  InterruptScope() {
    tenon::clear_interrupt();
    struct sigaction action {};
    action.sa_handler = [](int) { tenon::request_interrupt(); };
    action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
    sigaction(SIGINT, &action, &previous_);
  }
  ~InterruptScope() {
    sigaction(SIGINT, &previous_, nullptr);
    tenon::clear_interrupt();
  }
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

 private:
  struct sigaction previous_ {};
};

}  // namespace cli
