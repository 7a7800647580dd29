// Storage of plans: a slot by hash first, then a map.
#include "core/dispatch/types/plan_cache.hpp"

#include <utility>

namespace tenon::core {

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
