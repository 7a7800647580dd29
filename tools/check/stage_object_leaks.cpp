// Stage "leaks" of types and overrides: memory that grows with every use.
#include <tenon/typed_tensor.hpp>

#include "leaking_calls.hpp"
#include "override_check.hpp"
#include "type_check.hpp"

namespace cli {

using tenon::Tensor;

void check_override_leaks(OverrideCheck& check) {
  const AnsweredCall& answered = check.calls[0];
  if (!answered.sample.leaks) return;
  const SampleCall call = check.call_of(answered);
  const tenon::NoGrad off;
  const std::string leak = leak_of([&] { call(check.operands_of(answered, call)); }, "calls");
  if (leak.empty()) return;
  const Sample report = answered.report();
  check.find("leak", leak, &report);
}

void check_object_leaks(TypeCheck& check, const ObjectSource& source) {
  if (!check.found.empty() || !source.arguments.leaks) return;
  const Tensor object = check.make(source);
  struct Use {
    const char* name;
    std::function<void()> once;
  };
  const Use uses[] = {{"objects", [&] { source.make(check.settings.seed); }},
                      {"texts", [&] { object.text(); }},
                      {"conversions", [&] { plain_of(object); }},
                      {"calls of clone(object)", [&] { tenon::Op("clone").call<Tensor>(object); }}};
  for (const Use& use : uses) {
    if (const std::string leak = leak_of(use.once, use.name); !leak.empty())
      return check.find("leak", leak, source);
  }
}

}  // namespace cli
