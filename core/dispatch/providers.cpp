// The layer of providers.
#include "core/dispatch/providers.hpp"

#include <algorithm>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/text.hpp"
#include "core/dispatch/error_context.hpp"
#include "core/dispatch/layer.hpp"
#include "core/dispatch/registry.hpp"
#include "core/dispatch/trace.hpp"

namespace tenon::core {

namespace {

std::string shown_reason(const char* reason) {
  return *reason == '\0' ? "it gives no reason" : reason;
}

// Who has declined a call: the first ones, without an allocation.
struct Declined {
  static constexpr size_t kMost = 16;
  struct {
    const Implementation* implementation;
    const char* reason;
  } first[kMost];
  size_t count = 0;

  void add(const Implementation& implementation, const char* reason) {
    if (count < kMost) first[count] = {&implementation, reason};
    ++count;
  }
};

[[noreturn, gnu::cold]] void throw_all_declined(const Schema& schema, const Declined& declined) {
  std::vector<std::string> texts;
  for (size_t i = 0; i < std::min(declined.count, Declined::kMost); ++i) {
    texts.push_back(format_text("plugin {}: {}", quote(declined.first[i].implementation->provider),
                                shown_reason(declined.first[i].reason)));
  }
  if (declined.count > Declined::kMost)
    texts.push_back(format_text("and {} more", declined.count - Declined::kMost));
  throw Error(
      TENON_ERROR_NOT_IMPLEMENTED,
      "{}(): every provider of op {} declined these arguments ({}); pass others, or install "
      "or enable a plugin whose {} takes them; `tenon show {}` lists its providers",
      schema.short_name(), quote(schema.name), join(texts, "; "), quote(schema.name), schema.name);
}

// The first has declined already; `listed` may be null.
const Implementation& choose_next(const Implementation& first, const char* reason,
                                  const tenon_value* arguments, std::vector<DeclinedCall>* listed) {
  Declined declined;
  const Implementation* asked = &first;
  while (reason != nullptr) {
    // Calls mostly decline for one reason: threads share what none of them writes.
    if (asked->reason_declined.load(std::memory_order_relaxed) != reason)
      asked->reason_declined.store(reason, std::memory_order_relaxed);
    declined.add(*asked, reason);
    if (listed != nullptr) listed->push_back({asked->provider, shown_reason(reason)});
    if (tracing()) trace_declined(*asked, shown_reason(reason));
    asked = Registry::process().next_provider(*asked);
    if (asked == nullptr) throw_all_declined(first.schema, declined);
    reason = reason_to_decline(*asked, arguments);
  }
  return *asked;
}

[[gnu::noinline]] tenon_status run_next_provider(Call& call, const char* reason) noexcept {
  const Implementation* chosen = nullptr;
  const tenon_status status = guarded(call.error, [&] {
    chosen = &choose_next(call.implementation, reason, call.arguments, nullptr);
  });
  if (status != TENON_OK) {
    add_error_context(call.error, call.implementation, status);
    return status;
  }
  Call inner{*chosen,    call.arguments, call.results, call.error,
             call.flags, call.written,   call.context};
  return next<LayerId::provider>(inner);
}

}  // namespace

const char* reason_to_decline(const Implementation& implementation, const tenon_value* arguments) {
  const tenon_op_descriptor& descriptor = implementation.descriptor;
  return descriptor.declines == nullptr ? nullptr
                                        : descriptor.declines(implementation.self, arguments);
}

const Implementation& choose_provider(const Implementation& first, const tenon_value* arguments,
                                      std::vector<DeclinedCall>& declined) {
  return choose_next(first, reason_to_decline(first, arguments), arguments, &declined);
}

tenon_status run_provider(Call& call) noexcept {
  const char* reason = reason_to_decline(call.implementation, call.arguments);
  return reason == nullptr ? next<LayerId::provider>(call) : run_next_provider(call, reason);
}

}  // namespace tenon::core
