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

}  // namespace tenon::core
