// Elements on their way between ranks, for a call that all have met in. Blocking.
#pragma once

#include <tenon/plugin.hpp>

#include "agreement.hpp"
#include "queue.hpp"
#include "reduce.hpp"

namespace mpi {

using tenon::Tensor;

// Puts the elements of all ranks' tensors together, in place. Contiguous.
void reduce_in_place(World& world, const Tensor& tensor, Reduce reduce, const Call& call);

// Writes the root's elements to the tensors of the others. Contiguous, of any dtype.
void broadcast_in_place(World& world, const Tensor& tensor, int root, const Call& call);

// The elements of all ranks, [ranks, ...], from [...]. Contiguous, of any dtype.
void gather(World& world, const Tensor& from, const Tensor& to, const Call& call);

// The sum over ranks of this rank's part: [...] from [ranks, ...]. Contiguous.
void sum_scatter(World& world, const Tensor& from, const Tensor& to, const Call& call);

// A contiguous copy.
Tensor copy_of(const Tensor& tensor);

}  // namespace mpi
