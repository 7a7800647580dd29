// State of the process that drivers and their compilers change.
#pragma once

#include <csignal>
#include <cstdlib>
#include <optional>
#include <string>

namespace tenon_opencl {

// For a scope, keeps handlers of signals and their stack, and HWLOC_PLUGINS_PATH out of the environment where it
// was not there.
class ProcessKept {
 public:
  ProcessKept() {
    for (int i = 1; i < kSignals; ++i) known_[i] = sigaction(i, nullptr, &actions_[i]) == 0;
    has_stack_ = sigaltstack(nullptr, &stack_) == 0;
    if (const char* value = secure_getenv(kVariable)) variable_ = value;
  }
  ~ProcessKept() {
    for (int i = 1; i < kSignals; ++i)
      if (known_[i]) sigaction(i, &actions_[i], nullptr);
    if (has_stack_) sigaltstack(&stack_, nullptr);
    const char* value = secure_getenv(kVariable);
    if (!variable_ && value != nullptr) unsetenv(kVariable);
  }
  ProcessKept(const ProcessKept&) = delete;
  ProcessKept& operator=(const ProcessKept&) = delete;

 private:
  static constexpr int kSignals = 32;
  static constexpr const char* kVariable = "HWLOC_PLUGINS_PATH";  // PoCL sets it
  struct sigaction actions_[kSignals] = {};
  bool known_[kSignals] = {}, has_stack_ = false;
  stack_t stack_ = {};
  std::optional<std::string> variable_;
};

}  // namespace tenon_opencl
