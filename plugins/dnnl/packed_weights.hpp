// Weights as a primitive reads them, kept while they do not change.
#pragma once

#include <functional>

#include "execution.hpp"
#include "plan_cache.hpp"

namespace onednn {

// Bytes of packed weights that are kept: a ResNet-50 has 100 MB. The plugin's option "packed_weights" sets
// another number; 0 keeps none.
inline constexpr int64_t kKeptBytes = int64_t{256} << 20;
void set_kept_bytes(int64_t bytes);

// Whether a packed copy of these contiguous weights, which has about as many bytes, can be kept: not of
// memory that is the caller's, which may change unseen, and not beyond the limit.
bool can_be_kept(const tenon::Tensor& weight);

// The weights as `side` of the plan has them: themselves where that is row-major, else a packed copy.
// A contiguous tensor that comes to the same plan twice without a change in between is a weight of a
// model that is used, not trained: its copy is kept until the tensor is used changed, or copies of others
// take its place (kept_copies.hpp). The cache keeps no tensor alive, and does not learn when one is gone: its copy
// waits for the next weight that comes a second time.
// Changes are known by the storage's number and version, which every op raises that writes to it.
tenon::Tensor packed_weights(const Plan& plan, const Side& side, const tenon::Tensor& weight);

// Packed weights for a plan with another packing: `pack(from, to)` fills the plan's copy of so many
// bytes.
using Pack = std::function<void(const void* from, void* to)>;
tenon::Tensor packed_weights(const Plan& plan, int64_t bytes, const tenon::Tensor& weight,
                             const Pack& pack);

}  // namespace onednn
