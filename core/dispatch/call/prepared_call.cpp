#include "core/dispatch/call/prepared_call.hpp"

#include "core/base/error.hpp"
#include "core/dispatch/binding/bound_call.hpp"
#include "core/dispatch/call/call.hpp"
#include "core/dispatch/call/running_calls.hpp"

namespace tenon::core {

constinit std::atomic<uint64_t> ops_generation{0};

namespace {

// Dense loops write where the result belongs, but for those of conditions and comparisons.
bool writes_into(const Implementation& implementation) {
  const tenon_elementwise* loops = implementation.descriptor.elementwise;
  return loops != nullptr && !implementation.mutates &&
         loops->promotion != TENON_PROMOTE_CONDITION && loops->promotion != TENON_PROMOTE_COMPARE;
}

}  // namespace

std::unique_ptr<tenon_prepared_call> prepare_call(const tenon_op* op,
                                                  std::span<const tenon_value> arguments) {
  const OuterCall running;
  for (;;) {
    const uint64_t generation = ops_generation.load();
    const Implementation& first = require_implementation(op);
    uint32_t flags = 0;
    if (arguments.size() != first.parameter_count ||
        !gather_flags(first, arguments.data(), flags)) {
      throw Error(TENON_ERROR_ARGUMENT,
                  "{}(): a prepared call has one value for each of its {} parameters, of the kinds "
                  "that its schema names: pass what a mode sees",
                  first.schema.short_name(), first.parameter_count);
    }
    const Implementation& chosen =
        may_pass_on(first) ? choose_provider(first, arguments.data(), nullptr) : first;
    // Loading a provider, like another thread's load, makes the choice one of before.
    if (ops_generation.load() != generation) continue;
    return std::make_unique<tenon_prepared_call>(
        tenon_prepared_call{op, &chosen, generation, chosen.provider, writes_into(chosen)});
  }
}

void throw_stale(const tenon_prepared_call& call) {
  throw Error(TENON_ERROR_PLUGIN,
              "{}: the call was prepared for plugin '{}', and providers of ops have changed since; "
              "prepare it again",
              call.op->name, call.provider);
}

void hold_prepared(tenon_prepared_call& call) {
  // Code is freed after calls that were running, and what they have come to hold.
  const OuterCall running;
  if (call.held) return;
  if (ops_generation.load() != call.generation) throw_stale(call);
  call.code = CodeLease(call.implementation->code, Holder::Call);
  call.rules_code = CodeLease(call.implementation->rules_code, Holder::Call);
  call.held = true;
}

}  // namespace tenon::core
