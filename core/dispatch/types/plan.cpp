// Gathering operand types, and making and keeping plans.
#include "core/dispatch/types/plan.hpp"

#include <algorithm>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/text.hpp"
#include "core/dispatch/call/layer.hpp"
#include "core/dispatch/call/operands.hpp"
#include "core/dispatch/types/modes.hpp"
#include "core/dispatch/types/override.hpp"

namespace tenon::core {

// ---- operands ----

void OperandTypes::insert(const TensorType& type) {
  const std::span<const TensorType* const> present = list();
  uint32_t place = count_;
  for (uint32_t i = 0; i < count_; ++i) {
    if (present[i] == &type) return;
    if (place == count_ && type.is(*present[i])) place = i;
  }
  if (count_ < kFew) {
    for (uint32_t i = count_; i > place; --i) few_[i] = few_[i - 1];
    few_[place] = &type;
  } else {
    if (count_ == kFew) many_.assign(few_, few_ + kFew);
    many_.insert(many_.begin() + place, &type);
  }
  ++count_;
}

namespace {

// Also calls visit(Tensor&, type) with every operand; type: null for a plain tensor.
template <class Visit>
OperandTypes walk_types(const Implementation& implementation, const tenon_value* arguments,
                        Visit&& visit) {
  OperandTypes types;
  const TensorType* type = nullptr;
  const TypeTable& table = TypeTable::process();
  for_each_operand(implementation, arguments, [&](Tensor* tensor) {
    if (!tensor->typed()) {
      types.plain = true;
      visit(*tensor, nullptr);
      return;
    }
    if (type == nullptr || type->id != tensor->view.type) {
      type = &table.at(tensor->view.type);
      types.add(*type);
    }
    visit(*tensor, type);
  });
  return types;
}

}  // namespace

OperandTypes gather_types(const Implementation& implementation, const tenon_value* arguments) {
  return walk_types(implementation, arguments, [](Tensor&, const TensorType*) {});
}

OperandTypes gather_types(const Implementation& implementation, const tenon_value* arguments,
                          Carried& carried) {
  return walk_types(implementation, arguments, [&](Tensor& tensor, const TensorType* type) {
    if (type != nullptr && type->has_components())
      carried.hidden |= higher_areas.refresh_components(tensor);
    carried.flags |= tensor.flags();
  });
}

TypeIds dispatching_types(const Call& call) {
  TypeIds dispatching;
  for (const TensorType* type : gather_types(call.implementation, call.arguments)) {
    TypeTable::process().complete(*type);
    if (type->dispatches()) dispatching.push_back(type->id);
  }
  return dispatching;
}

bool has_foreign(const Implementation& implementation, const tenon_value* arguments) {
  bool foreign = false;
  for_each_operand(implementation, arguments, [&](const Tensor* tensor) {
    foreign |= tensor->typed() && !TypeTable::process().at(tensor->view.type).is_tensor;
  });
  return foreign;
}

bool are_in_own_memory(const Implementation& implementation, const tenon_value* arguments) {
  return std::ranges::all_of(gather_types(implementation, arguments),
                             [](const TensorType* type) { return type->owns_memory(); });
}

[[gnu::cold]] void throw_foreign(const Implementation& implementation,
                                 const tenon_value* arguments) {
  const Schema& schema = implementation.schema;
  for (uint32_t i = 0; i < implementation.parameter_count; ++i) {
    const TensorType* found = nullptr;
    for_each_tensor(arguments[i], [&](const Tensor* tensor) {
      const TensorType& type = TypeTable::process().at(tensor->view.type);
      if (found == nullptr && tensor->typed() && !type.is_tensor) found = &type;
    });
    if (found == nullptr) continue;
    const bool by_name = schema.parameters[i].keyword_only;
    throw_argument_type(schema, i, by_name ? -1 : static_cast<int64_t>(i), found->name);
  }
  throw Error(TENON_ERROR_INTERNAL, "no operand is of a foreign type");
}

// ---- plans ----

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
    if (!level->is_plain() || type.owns_memory()) continue;
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
  plan.in_own_memory = std::ranges::all_of(plan.types, &TensorType::owns_memory);
  // The others are asked first, and see these through the ops that they call.
  const auto is_asked = [&](const TensorType& type) {
    return plan.in_own_memory || !type.owns_memory();
  };
  const std::vector<const Override*> entries = table.overrides(implementation.schema.name);
  for (const TensorType* type : plan.types) {
    if ((type->descriptor.flags & TENON_TYPE_NEVER_OPERAND) != 0) plan.refused = type;
    if (!type->dispatches() || !is_asked(*type)) continue;
    plan.dispatching.push_back(type->id);
    const size_t before = rejections == nullptr ? 0 : rejections->size();
    plan.chains.push_back(make_chain(implementation, entries, *type, types, rejections));
    for (size_t i = before; rejections != nullptr && i < rejections->size(); ++i)
      (*rejections)[i].type = type;
  }
  for (const TensorType* type : plan.types) {
    const uint32_t fallback = type->fallback();
    if (!is_asked(*type)) continue;
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
  Words names;
  for (const DispatchChain& chain : plan.chains) names.push_back(chain.type->name);
  throw Error(
      TENON_ERROR_TYPE,
      "no implementation found for 'tenon.{}' on types that implement tenon_function: [{}]{}",
      implementation.schema.name, join(names, ", "),
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

// ---- plans that are kept: a slot by hash first, then a map ----

std::shared_ptr<const void> PlanCache::withdraw() {
  const std::lock_guard lock(mutex_);
  auto plans = std::make_shared<std::vector<std::unique_ptr<Entry>>>(std::move(retired_));
  retired_.clear();
  for (auto& [key, entry] : entries_) plans->push_back(std::move(entry));
  entries_.clear();
  for (auto& slot : slots_) slot.store(nullptr, std::memory_order_release);
  return plans;
}

const Plan& PlanCache::find_slow(const Implementation& implementation, const OperandTypes& types,
                                 size_t slot) {
  // Loads may call ops: without the lock.
  for (const TensorType* type : types) types_.complete(*type);
  const std::lock_guard lock(mutex_);
  const uint64_t generation = types_.generation();
  if (generation != generation_) {
    for (auto& [key, entry] : entries_) retired_.push_back(std::move(entry));
    entries_.clear();
    generation_ = generation;
  }
  std::unique_ptr<Entry>& entry =
      entries_[{&implementation, types.plain, {types.begin(), types.end()}}];
  if (entry == nullptr) {
    auto made = std::make_unique<Entry>();
    made->plan = make_plan(types_, implementation, types);
    made->generation = generation;
    entry = std::move(made);
  }
  slots_[slot].store(entry.get(), std::memory_order_release);
  return entry->plan;
}

}  // namespace tenon::core
