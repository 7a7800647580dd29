// Plans of computations, kept for the next call of the same shapes: oneDNN takes 0.2 ms to make a
// primitive.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "recent.hpp"

namespace onednn {

// The data that a call needs beside its tensors. Immutable; any thread may run it, several at once.
struct Plan {
  // No other plan of the process has it.
  const int64_t number = next_number();
  // Whether prepared models alone use it.
  const bool of_list;

  explicit Plan(bool in_lists = false) : of_list(in_lists) {}
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;
  virtual ~Plan() = default;

 private:
  static int64_t next_number() {
    static std::atomic<int64_t> last{0};
    return ++last;
  }
};

// The first number of each key.
enum PlanKind : int64_t {
  kConvolution,
  kLstm,
  kGru,
  kGateWeights,
  kAverage,
  kLinear,
  kLinearWeights,
  kBlocked
};

// How many plans are kept; the ones used longest ago make room. Each has some 10 to 100 KiB of code.
inline constexpr int64_t kKeptPlans = 256;

class PlanCache {
 public:
  // Never destroyed: threads may still compute when the process ends.
  static PlanCache& get() {
    static auto* const cache = new PlanCache;
    return *cache;
  }
  // The plan of the key, which begins with its kind: one that is kept, or what make()
  // returns, a std::shared_ptr<const Kind>. Any thread.
  template <class Kind, class Make>
  std::shared_ptr<const Kind> find(const Numbers& key, const Make& make) {
    {
      const std::lock_guard lock(mutex_);
      if (const auto* plan = plans_.find(key)) return std::static_pointer_cast<const Kind>(*plan);
    }
    // Two threads may make the same plan at once; one of the two is kept.
    std::shared_ptr<const Kind> plan = make();
    const std::lock_guard lock(mutex_);
    plans_.insert(key, plan, 1, kKeptPlans);
    return plan;
  }

 private:
  std::mutex mutex_;
  Recent<std::shared_ptr<const Plan>> plans_;
};

}  // namespace onednn
