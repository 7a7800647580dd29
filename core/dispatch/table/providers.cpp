// The layer of providers: the choice among the ranked providers of an op. Each but the last may
// decline a call for the shapes, strides and dtypes at hand, and the next one runs it, with its own
// kernel, shape rule and gradient. A preference of a config (provider_preference.hpp) has another
// one tried first; those above it count as declining.
#include <algorithm>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/text.hpp"
#include "core/dispatch/call/error_context.hpp"
#include "core/dispatch/call/explanation.hpp"
#include "core/dispatch/call/layer.hpp"
#include "core/dispatch/call/prepared_call.hpp"
#include "core/dispatch/call/trace.hpp"
#include "core/dispatch/table/registry.hpp"

namespace tenon::core {

namespace {

// Why the implementation declines a call with these bound arguments; null: it takes it.
const char* reason_to_decline(const Implementation& implementation, const tenon_value* arguments) {
  const tenon_op_descriptor& descriptor = implementation.descriptor;
  return descriptor.declines == nullptr ? nullptr
                                        : descriptor.declines(implementation.self, arguments);
}

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

// The choice for one call; `listed`, which may be null, gets the providers that are passed over.
// Providers of one op have one schema, so the arguments fit them all.
class Choice {
 public:
  Choice(const tenon_value* arguments, std::vector<DeclinedCall>* listed)
      : arguments_(arguments), listed_(listed) {}

  // The first from `first` on, which has declined for the reason (null: it takes the call), loaded
  // now where need be. Throws NotImplementedError when all decline, and what loading throws.
  const Implementation& in_order(const Implementation& first, const char* reason) {
    const Implementation* candidate = &first;
    while (reason != nullptr) {
      pass(*candidate, reason);
      do {
        candidate = Registry::process().next_provider(*candidate);
      } while (candidate != nullptr && candidate == refused_);
      if (candidate == nullptr) throw_all_declined(first.schema, declined_);
      reason = reason_to_decline(*candidate, arguments_);
    }
    return *candidate;
  }

  // The one that a preference names before all others.
  const Implementation& by_preference(const Implementation& first,
                                      const ProviderPreferences& preferences) {
    const ProviderPreferences::Found found = preferences.find(arguments_);
    const Implementation* preferred = found.preference == nullptr ? nullptr : &first;
    while (preferred != nullptr && preferred->provider != found.preference->provider)
      preferred = Registry::process().next_provider(*preferred);
    if (preferred == nullptr || preferred == &first)
      return in_order(first, reason_to_decline(first, arguments_));
    if (const char* reason = reason_to_decline(*preferred, arguments_)) {
      refused_ = preferred;
      pass(*preferred, reason);
      return in_order(first, reason_to_decline(first, arguments_));
    }
    for (const Implementation* above = &first; above != nullptr && above != preferred;
         above = above->next.load(std::memory_order_acquire))
      pass(*above, found.text);
    return *preferred;
  }

 private:
  void pass(const Implementation& implementation, const char* reason) {
    // Calls mostly decline for one reason: threads share what none of them writes.
    if (implementation.reason_declined.load(std::memory_order_relaxed) != reason)
      implementation.reason_declined.store(reason, std::memory_order_relaxed);
    declined_.add(implementation, reason);
    if (listed_ != nullptr) listed_->push_back({implementation.provider, shown_reason(reason)});
    if (tracing()) {
      trace(trace_event::declined, implementation, "declined", implementation.provider,
            shown_reason(reason));
    }
  }

  const tenon_value* const arguments_;
  std::vector<DeclinedCall>* const listed_;
  Declined declined_;
  const Implementation* refused_ = nullptr;  // by its own judgement, before its turn
};

[[gnu::noinline]] tenon_status run_other(Call& call, const ProviderPreferences* preferences,
                                         const char* reason) noexcept {
  const Implementation* chosen = nullptr;
  const tenon_status status = guarded(call.error, [&] {
    Choice choice(call.arguments, nullptr);
    chosen = preferences != nullptr ? &choice.by_preference(call.implementation, *preferences)
                                    : &choice.in_order(call.implementation, reason);
  });
  if (status != TENON_OK) {
    add_error_context(call.error, call.implementation, status);
    return status;
  }
  Call inner{*chosen,    call.arguments, call.results, call.error,
             call.flags, call.written,   call.context};
  return next<LayerId::provider>(inner);
}

[[gnu::noinline]] tenon_status run_last(Call& call) noexcept {
  const Implementation* last = &call.implementation;
  const tenon_status status = guarded(call.error, [&] {
    while (last->descriptor.declines != nullptr) {
      const Implementation* const after = Registry::process().next_provider(*last);
      if (after == nullptr) break;
      last = after;
    }
  });
  if (status != TENON_OK) return status;
  Call inner{*last,      call.arguments, call.results, call.error,
             call.flags, call.written,   call.context};
  return next<LayerId::provider>(inner);
}

}  // namespace

const Implementation& choose_provider(const Implementation& first, const tenon_value* arguments,
                                      std::vector<DeclinedCall>* listed) {
  Choice choice(arguments, listed);
  if (const ProviderPreferences* preferences = preferences_of(first))
    return choice.by_preference(first, *preferences);
  return choice.in_order(first, reason_to_decline(first, arguments));
}

tenon_status run_provider(Call& call) noexcept {
  // Operands in separate memory: rules are those of the one that takes every call, since
  // specialised ones are about its kernel.
  if ((call.flags & TENON_TENSOR_TYPED) != 0) return run_last(call);
  if (const ProviderPreferences* preferences = preferences_of(call.implementation))
    return run_other(call, preferences, nullptr);
  const char* reason = reason_to_decline(call.implementation, call.arguments);
  return reason == nullptr ? next<LayerId::provider>(call) : run_other(call, nullptr, reason);
}

void explain_provider(Explanation& explanation) {
  if (!explanation.runs_own() || !may_pass_on(*explanation.implementation)) return;
  std::vector<DeclinedCall>& declined = explanation.declined.emplace();
  if (explanation.by_types) return;
  explanation.implementation =
      &choose_provider(*explanation.implementation, explanation.arguments, &declined);
  if (explanation.handling->what == "kernel")
    explanation.handling->provider = explanation.implementation->provider;
}

}  // namespace tenon::core
