// How the last call with batched operands ran: a slot of the service `transforms`.
#pragma once

#include <tenon/plugin.hpp>
#include <tenon/transforms/rule_text.hpp>

namespace tenon_transforms {

// One call; at its end, by an error too, the thread's last one. Calls within it end before.
class Run {
 public:
  Run() = default;
  ~Run();
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;
  // `rule` is valid for the life of the process.
  void note(const char* how, const tenon::transforms::BatchRule* rule = nullptr) {
    how_ = how;
    rule_ = rule;
  }

 private:
  const char* how_ = nullptr;
  const tenon::transforms::BatchRule* rule_ = nullptr;
};

void take_last_run(const char** how, const char** rule, const char** provider);

}  // namespace tenon_transforms
