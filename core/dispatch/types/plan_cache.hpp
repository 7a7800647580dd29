// Plans that are made, kept for the next call.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <tuple>
#include <vector>

#include "core/base/fork.hpp"
#include "core/dispatch/types/plan.hpp"

namespace tenon::core {

class PlanCache {
 public:
  // For types and overrides of this table, which outlives the cache.
  explicit PlanCache(const TypeTable& types) : types_(types) {}
  PlanCache(const PlanCache&) = delete;
  PlanCache& operator=(const PlanCache&) = delete;

  // The plan that make_plan gives, valid as long as the cache: found again without a lock, made
  // again when the table has changed. Loads overrides that other plugins provide for the types.
  // Throws as make_plan does; the failure is not kept. Any thread.
  [[gnu::always_inline]] const Plan& find(const Implementation& implementation,
                                          const OperandTypes& types) {
    const size_t slot = slot_of(implementation, types.list(), types.plain);
    const Entry* entry = slots_[slot].load(std::memory_order_acquire);
    if (entry != nullptr && entry->generation == types_.generation() &&
        matches(entry->plan, implementation, types.list(), types.plain)) [[likely]] {
      return entry->plan;
    }
    return find_slow(implementation, types, slot);
  }

  // Takes all plans out of the cache: those that running calls use are freed with the result.
  std::shared_ptr<const void> withdraw();

  // The process's cache, for the process's table; defined by runtime/assembly.cpp.
  static PlanCache& process();

 private:
  struct Entry {
    Plan plan;
    uint64_t generation = 0;
  };
  using Key = std::tuple<const Implementation*, bool, std::vector<const TensorType*>>;
  static constexpr size_t kSlots = 4096;

  using Types = std::span<const TensorType* const>;
  static size_t slot_of(const Implementation& implementation, Types types, bool plain) {
    uint64_t hash = reinterpret_cast<uintptr_t>(&implementation) >> 6;
    for (const TensorType* type : types) hash = hash * 31 + type->id;
    hash = (hash * 2 + (plain ? 1 : 0)) * 0x9e3779b97f4a7c15ull;
    return hash >> 52;
  }
  // Types are mostly one: too few for memcmp.
  static bool matches(const Plan& plan, const Implementation& implementation, Types types,
                      bool plain) {
    if (plan.implementation != &implementation || plan.plain != plain ||
        plan.types.size() != types.size())
      return false;
    const TensorType* const* type = types.data();
    for (const TensorType* planned : plan.types) {
      if (planned != *type++) return false;
    }
    return true;
  }
  [[gnu::noinline]] const Plan& find_slow(const Implementation& implementation,
                                          const OperandTypes& types, size_t slot);

  const TypeTable& types_;
  std::atomic<const Entry*> slots_[kSlots] = {};
  std::mutex mutex_;
  const HeldAcrossFork held_{mutex_};
  uint64_t generation_ = 0;
  std::map<Key, std::unique_ptr<Entry>> entries_;
  std::vector<std::unique_ptr<Entry>> retired_;  // calls may be running by them
};

}  // namespace tenon::core
