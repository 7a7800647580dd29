// Making plans, and finding those that are made.
#include "core/dispatch/plan.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>

#include "core/base/error.hpp"
#include "core/base/fork.hpp"
#include "core/base/format.hpp"
#include "core/dispatch/modes.hpp"
#include "core/dispatch/specificity.hpp"

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
      // What has a nearer answer is asked by call_parent only, and passed over.
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
    if (level->id != 0) continue;
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

Plan make_plan(const Implementation& implementation, const OperandTypes& types,
               std::vector<Rejection>* rejections) {
  Plan plan;
  plan.implementation = &implementation;
  plan.types.assign(types.begin(), types.end());
  plan.plain = types.plain;
  const std::vector<const Override*> entries =
      TypeTable::process().overrides(implementation.schema.name);
  for (const TensorType* type : plan.types) {
    if ((type->descriptor.flags & TENON_TYPE_NEVER_OPERAND) != 0) plan.refused = type;
    if (!type->dispatches()) continue;
    plan.dispatching.push_back(type->id);
    const size_t told = rejections == nullptr ? 0 : rejections->size();
    plan.chains.push_back(make_chain(implementation, entries, *type, types, rejections));
    for (size_t i = told; rejections != nullptr && i < rejections->size(); ++i)
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

namespace {

class PlanCache {
 public:
  static PlanCache& process() {
    static PlanCache* const cache = new PlanCache;
    return *cache;
  }

  const Plan& find(const Implementation& implementation, const OperandTypes& types) {
    const size_t slot = slot_of(implementation, types);
    const Entry* entry = slots_[slot].load(std::memory_order_acquire);
    if (entry != nullptr && entry->generation == TypeTable::process().generation() &&
        matches(entry->plan, implementation, types)) [[likely]] {
      return entry->plan;
    }
    return find_slow(implementation, types, slot);
  }

 private:
  struct Entry {
    Plan plan;
    uint64_t generation = 0;
  };
  using Key = std::tuple<const Implementation*, bool, std::vector<const TensorType*>>;
  static constexpr size_t kSlots = 4096;

  static size_t slot_of(const Implementation& implementation, const OperandTypes& types) {
    uint64_t hash = reinterpret_cast<uintptr_t>(&implementation) >> 6;
    for (const TensorType* type : types) hash = hash * 31 + type->id;
    hash = (hash * 2 + (types.plain ? 1 : 0)) * 0x9e3779b97f4a7c15ull;
    return hash >> 52;
  }
  static bool matches(const Plan& plan, const Implementation& implementation,
                      const OperandTypes& types) {
    return plan.implementation == &implementation && plan.plain == types.plain &&
           std::equal(plan.types.begin(), plan.types.end(), types.begin(), types.end());
  }

  [[gnu::noinline]] const Plan& find_slow(const Implementation& implementation,
                                          const OperandTypes& types, size_t slot) {
    // Loads may call ops: without the lock.
    for (const TensorType* type : types) TypeTable::process().complete(*type);
    const std::lock_guard lock(mutex_);
    const uint64_t generation = TypeTable::process().generation();
    if (generation != generation_) {
      for (auto& [key, entry] : entries_) retired_.push_back(std::move(entry));
      entries_.clear();
      generation_ = generation;
    }
    std::unique_ptr<Entry>& entry =
        entries_[{&implementation, types.plain, {types.begin(), types.end()}}];
    if (entry == nullptr) {
      auto made = std::make_unique<Entry>();
      made->plan = make_plan(implementation, types);
      made->generation = generation;
      entry = std::move(made);
    }
    slots_[slot].store(entry.get(), std::memory_order_release);
    return entry->plan;
  }

  std::atomic<const Entry*> slots_[kSlots] = {};
  std::mutex mutex_;
  const HeldAcrossFork held_{mutex_};
  uint64_t generation_ = 0;
  std::map<Key, std::unique_ptr<Entry>> entries_;
  std::vector<std::unique_ptr<Entry>> retired_;  // calls may be running by them
};

}  // namespace

const Plan& find_plan(const Implementation& implementation, const OperandTypes& types) {
  return PlanCache::process().find(implementation, types);
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
