// The rarer autograd state of a tensor: gradient, accumulator, hooks, tangent.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/autograd/graph/accumulator.hpp"
#include "core/autograd/hooks/hooks.hpp"
#include "core/tensor/tensor.hpp"

namespace tenon::core {

struct TensorMeta;
// A level of forward mode, and those around it. Tangents name theirs.
struct DualLevel : std::enable_shared_from_this<DualLevel> {
  explicit DualLevel(std::shared_ptr<DualLevel> around) : outer(std::move(around)) {}
  const std::shared_ptr<DualLevel> outer;
  std::shared_ptr<DualLevel> opened_before;  // on its thread, also where this one does not see it
  std::atomic<bool> open{true};
  std::mutex mutex;                         // guards holders, and the tangents that they drop
  std::unordered_set<TensorMeta*> holders;  // tensors whose tangents go when the level ends
};
struct CarriedTangent {
  std::shared_ptr<DualLevel> level;
  TensorRef tensor;     // null when it is gone
  bool listed = false;  // among the level's holders
};

struct TensorMeta final : AutogradMeta {
  ~TensorMeta() override {
    Accumulator::dispose(accumulator.load(std::memory_order_relaxed));
    for (const CarriedTangent& carried : tangents) {
      if (!carried.listed) continue;
      const std::lock_guard lock(carried.level->mutex);
      carried.level->holders.erase(this);
    }
  }
  std::atomic<Accumulator*> accumulator{nullptr};  // owned
  std::mutex adding;                               // held while a gradient is added
  std::mutex mutex;                                // guards grad
  TensorRef grad;                                  // gradient of a leaf
  std::shared_ptr<RetainedGrad> retained;          // gradient of a computed tensor with retain_grad
  std::vector<HookHandle> hooks;                   // registered on it, for removal by id
  std::vector<CarriedTangent> tangents;            // forward mode, at most one for each level
};

// The tensor's meta, made when missing. [this tensor's owner]
inline TensorMeta& meta_of(Tensor& tensor) {
  if (tensor.meta == nullptr) tensor.meta = new TensorMeta;
  return *static_cast<TensorMeta*>(tensor.meta);
}
inline TensorMeta* meta_if_any(const Tensor& tensor) {
  return static_cast<TensorMeta*>(tensor.meta);
}

}  // namespace tenon::core
