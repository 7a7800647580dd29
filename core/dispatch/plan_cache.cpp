// Where plans are kept: a slot by hash in front, a map behind it.
#include "core/dispatch/plan_cache.hpp"

#include <utility>

namespace tenon::core {

size_t PlanCache::slot_of(const Implementation& implementation, const OperandTypes& types) {
  uint64_t hash = reinterpret_cast<uintptr_t>(&implementation) >> 6;
  for (const TensorType* type : types) hash = hash * 31 + type->id;
  hash = (hash * 2 + (types.plain ? 1 : 0)) * 0x9e3779b97f4a7c15ull;
  return hash >> 52;
}

bool PlanCache::matches(const Plan& plan, const Implementation& implementation,
                        const OperandTypes& types) {
  if (plan.implementation != &implementation || plan.plain != types.plain ||
      plan.types.size() != types.count())
    return false;
  // Mostly one: too few for memcmp.
  const TensorType* const* type = types.begin();
  for (const TensorType* planned : plan.types) {
    if (planned != *type++) return false;
  }
  return true;
}

const Plan& PlanCache::find(const Implementation& implementation, const OperandTypes& types) {
  const size_t slot = slot_of(implementation, types);
  const Entry* entry = slots_[slot].load(std::memory_order_acquire);
  if (entry != nullptr && entry->generation == types_.generation() &&
      matches(entry->plan, implementation, types)) [[likely]] {
    return entry->plan;
  }
  return find_slow(implementation, types, slot);
}

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
