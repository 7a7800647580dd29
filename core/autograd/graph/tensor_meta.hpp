// The rarer autograd state of a tensor: gradient, accumulator, hooks, tangent.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <unordered_set>
#include <vector>

#include "core/autograd/graph/accumulator.hpp"
#include "core/autograd/hooks/hooks.hpp"
#include "core/tensor/tensor.hpp"

namespace tenon::core {

struct TensorMeta;
// The tensors whose tangents go when their dual level ends.
struct SharedTangents : std::enable_shared_from_this<SharedTangents> {
  std::mutex mutex;
  std::unordered_set<TensorMeta*> holders;
};

struct TensorMeta final : AutogradMeta {
  ~TensorMeta() override {
    Accumulator::dispose(accumulator.load(std::memory_order_relaxed));
    if (!shared_tangents) return;
    const std::lock_guard lock(shared_tangents->mutex);
    shared_tangents->holders.erase(this);
  }
  std::atomic<Accumulator*> accumulator{nullptr};  // owned
  std::mutex adding;                               // held while a gradient is added
  std::mutex mutex;                                // guards grad
  TensorRef grad;                                  // gradient of a leaf
  std::shared_ptr<RetainedGrad> retained;          // gradient of a computed tensor with retain_grad
  std::vector<HookHandle> hooks;                   // registered on it, for removal by id
  TensorRef tangent;                               // forward mode
  uint64_t tangent_level = 0;
  std::shared_ptr<SharedTangents> shared_tangents;  // list that has this
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
