// Making plans: the candidates of each operand type, in the order in which a call asks them.
#include "core/dispatch/types/plan.hpp"

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/dispatch/types/modes.hpp"
#include "core/dispatch/types/specificity.hpp"

namespace tenon::core {

// The candidates of a type, from it up.
DispatchChain make_chain(const Implementation& implementation,
                         const std::vector<const Override*>& entries, const TensorType& type,
                         const OperandTypes& types, std::vector<Rejection>* rejections) {
  DispatchChain chain;
  chain.type = &type;
  const std::span<const TensorType* const> list = types.list();
  for (const TensorType* level = &type; level != nullptr; level = level->parent) {
    const auto note = [&](const Override& entry, const std::string& why) {
      rejections->push_back({level, format_text("override {} from '{}' does not apply: {}",
                                                entry.key(), entry.provider, why)});
    };
    const std::vector<const Override*> best = most_specific(
        entries, *level, {list, types.plain}, rejections == nullptr ? PassOver() : note);
    if (best.size() > 1) {
      const Ambiguity ambiguity{best[0], best[1], {list.begin(), list.end()}, types.plain};
      // Only call_parent gets to overrides after a nearer candidate: they are passed over.
      if (chain.first_override < 0 && chain.first_handler < 0)
        throw Error(TENON_ERROR_TYPE, ambiguity.text());
      if (rejections != nullptr) rejections->push_back({level, ambiguity.text()});
    } else if (!best.empty()) {
      const Override* entry = best.front();
      if (chain.first_override < 0 && chain.first_handler < 0)
        chain.first_override = static_cast<int32_t>(chain.candidates.size());
      chain.candidates.push_back({Candidate::Kind::Override, level, entry,
                                  bind_override(entry->schema, implementation.schema)});
    }
    if (level->descriptor.handler != nullptr) {
      if (chain.first_handler < 0)
        chain.first_handler = static_cast<int32_t>(chain.candidates.size());
      chain.candidates.push_back({Candidate::Kind::Handler, level, nullptr, {}});
    }
    if (!level->is_plain()) continue;
    // The end of a child's line: it takes no type that is not in its own line of descent.
    const TensorType* stranger = nullptr;
    for (const TensorType* other : types) {
      if (!type.is(*other)) stranger = other;
    }
    if (stranger != nullptr) {
      if (rejections != nullptr) {
        rejections->push_back(
            {nullptr, format_text("its default handler declines: {} is not in its line of descent",
                                  stranger->name)});
      }
      continue;
    }
    if (chain.first_handler < 0)
      chain.first_handler = static_cast<int32_t>(chain.candidates.size());
    chain.candidates.push_back({Candidate::Kind::DefaultHandler, level, nullptr, {}});
  }
  return chain;
}

Plan make_plan(const TypeTable& table, const Implementation& implementation,
               const OperandTypes& types, std::vector<Rejection>* rejections) {
  Plan plan;
  plan.implementation = &implementation;
  plan.types.assign(types.begin(), types.end());
  plan.plain = types.plain;
  const std::vector<const Override*> entries = table.overrides(implementation.schema.name);
  for (const TensorType* type : plan.types) {
    if ((type->descriptor.flags & TENON_TYPE_NEVER_OPERAND) != 0) plan.refused = type;
    if (!type->dispatches()) continue;
    plan.dispatching.push_back(type->id);
    const size_t before = rejections == nullptr ? 0 : rejections->size();
    plan.chains.push_back(make_chain(implementation, entries, *type, types, rejections));
    for (size_t i = before; rejections != nullptr && i < rejections->size(); ++i)
      (*rejections)[i].type = type;
  }
  for (const TensorType* type : plan.types) {
    const uint32_t fallback = type->fallback();
    if (fallback != TENON_FALLBACK_TO_TENSOR && fallback != TENON_FALLBACK_UNWRAP_REWRAP) continue;
    if (type->falls_back_for(implementation.schema.name)) {
      plan.fallbacks.push_back(type);
    } else if (rejections != nullptr) {
      rejections->push_back(
          {type, "its fallback is not for this op (`fallback_ops` in the config)"});
    }
  }
  return plan;
}

void check_plan(const Plan& plan, const Implementation& implementation,
                const tenon_value* arguments) {
  if (plan.refused == nullptr) {
    if (plan.chains.empty()) throw_foreign(implementation, arguments);
    return;
  }
  throw Error(TENON_ERROR_TYPE, "{}(): {} is declared never to be an operand (by plugin '{}')",
              implementation.schema.short_name(), plan.refused->name, plan.refused->provider);
}

[[gnu::cold]] void throw_declined(const Implementation& implementation, const Plan& plan) {
  throw Error(
      TENON_ERROR_TYPE,
      "no implementation found for 'tenon.{}' on types that implement tenon_function: {}{}",
      implementation.schema.name, type_list(plan.dispatching),
      thread_state.mode == nullptr ? "" : format_text(" nor in mode {}", thread_state.mode->name));
}

std::string candidate_text(const Candidate& candidate) {
  switch (candidate.kind) {
    case Candidate::Kind::Override:
      return format_text("override {}", candidate.entry->key());
    case Candidate::Kind::Handler:
      return format_text("handler of {}", candidate.level->name);
    default:
      return "default handler";
  }
}

const std::string& provider_of(const Candidate& candidate) {
  return candidate.kind == Candidate::Kind::Override ? candidate.entry->provider
                                                     : candidate.level->provider;
}

}  // namespace tenon::core
