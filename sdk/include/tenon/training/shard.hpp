// The share of one rank of the elements of tensors.
//
// The elements of a tensor, in row-major order, are divided into equal ranges, one for each rank; the
// last are shorter, or empty.
#pragma once

#include <utility>
#include <vector>

#include "tenon/training/ranks.hpp"

TENON_NAMESPACE_BEGIN

namespace training {

// Elements of the first rank's shard, which has the most.
int64_t shard_width(const Ranks& ranks, const Tensor& whole);

// The elements of this rank, 1-D: a view where the tensor is contiguous, else a copy.
Tensor shard_of(const Ranks& ranks, const Tensor& whole);

// Writes all ranks' shards to the whole tensors: pairs of this rank's shard and the tensor. One
// message for each dtype. Called by all ranks alike.
void gather_shards(const Ranks& ranks, const std::vector<std::pair<Tensor, Tensor>>& shards);

}  // namespace training

TENON_NAMESPACE_END
