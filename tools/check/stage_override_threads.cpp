// Stage "threads" of overrides: several threads call it with different operands at once.
#include <algorithm>

#include "calls_together.hpp"
#include "format.hpp"
#include "override_check.hpp"

namespace cli {

using tenon::Tensor;

void check_override_threads(OverrideCheck& check) {
  constexpr int rounds = 12;
  std::vector<SampleCall> calls;
  std::vector<std::vector<Tensor>> alone;
  const auto results = [&](size_t c) {
    return readable(tensors_of(calls[c](check.operands_of(check.calls[c], calls[c]))));
  };
  const size_t count = std::min(check.calls.size(), kCallers);
  try {
    for (size_t c = 0; c < count; ++c) {
      calls.push_back(check.call_of(check.calls[c]));
      alone.push_back(results(c));
    }
  } catch (const tenon::Error&) {  // thrown by an object's maker or conversion
    return;
  }
  // Calls repeat when there are few.
  const std::string breach = breach_together(kCallers, rounds, [&](size_t thread) {
    const size_t c = thread % count;
    const std::string what = difference(alone[c], results(c), kExact);
    return what.empty() ? what
                        : format_text("once alone and once beside other calls, the result{}", what);
  });
  if (breach.empty()) return;
  const Sample report = check.calls[0].report();
  check.find("threads", breach, &report);
}

}  // namespace cli
