// Elements on their way between ranks, for a call that all have met in. Blocking.
#pragma once

#include <tenon/plugin.hpp>
#include <tenon/ops.hpp>

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

// The dtypes that collectives reduce: those that kernels compute in, and unsigned integers.
inline constexpr uint32_t reduced_dtypes = tenon::computed_dtypes | tenon::dtype_bit(tenon::u16) |
                                           tenon::dtype_bit(tenon::u32) |
                                           tenon::dtype_bit(tenon::u64);

// The tensor for the result of an op for `input`: `out` where its elements follow each other and
// are not the input's, else a new tensor, contiguous. ValueError or TypeError for an `out` of
// another shape or dtype.
Tensor result_for(const char* op, const Tensor& out, tenon::IntList shape, const Tensor& input);

// The result that an op returns: the result, or `out` with its elements.
Tensor give(const Tensor& out, const Tensor& result);

}  // namespace mpi
