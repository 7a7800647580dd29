// Thresholds below which nn and blas are faster than oneDNN, and how calls are cut into pieces: the
// one place of these numbers. README.md, "Declined calls", has the measurements behind them.
#pragma once

#include <tenon/kernel/matrix_product.hpp>

#include "shared_ops/average_pool.hpp"
#include "shared_ops/convolution.hpp"
#include "shared_ops/recurrent.hpp"

namespace onednn {

// Whether oneDNN computes in registers of 512 bits. Its kernels for narrower ones are written with less
// care, while OpenBLAS's are as good.
bool has_wide_registers();

// ---- convolutions ----

enum class Task : int64_t { output, input, weight };

// Multiplications below which arranging a call takes longer than oneDNN saves.
inline constexpr int64_t kLeastConvolution = int64_t{1} << 17;
// Batch and positions together, at least: below that packing the weights takes longer than their
// products.
inline constexpr int64_t kLeastPositions = 32;
// Channels and features come in blocks of 8 or 16; fewer leave most of a block empty.
inline constexpr int64_t kLeastInGroup = 8;
// An input of colour images is the exception: there are kernels for it, forward.
inline constexpr int64_t kLeastChannelsForward = 3;
// Channels from which the gradient of weights is slower than products, in narrow registers.
inline constexpr int64_t kMostChannelsNarrow = 64;

// Null, or why another provider should compute a convolution, which is valid.
const char* declined_convolution(const nn::Convolution& k, Task task);

// Multiplications of a piece of a batch, the least that a thread is given.
inline constexpr int64_t kPieceProducts = int64_t{4} << 20;
// And of a piece that Winograd's algorithm computes: tiles of several images share the weights.
inline constexpr int64_t kWinogradProducts = int64_t{256} << 20;
// Samples of a batch that is cut into samples alone, and features of a block of a smaller one: the weights
// of 64 stay in a second-level cache over all samples. All images of the smaller one are packed at once.
inline constexpr int64_t kManySamples = 33;
inline constexpr int64_t kBlockFeatures = 64;
// Products that each weight's gradient has in a piece: adding up the pieces' sums takes less than 5 %.
inline constexpr int64_t kSumProducts = 768;

// ---- matrix products ----

// Multiplications below which OpenBLAS is faster, and oneDNN's first product, which compiles its
// kernels for about 20 ms, is not worth it.
inline constexpr double kLeastProduct = 1 << 19;
inline constexpr double kLeastProductNarrow = 1 << 20;
// In narrow registers: beyond it OpenBLAS is faster, and so it is where rows begin at multiples of 2 KiB,
// which are in the same places of the cache.
inline constexpr double kMostProductNarrow = 1 << 24;
inline constexpr int64_t kSlowLeadingNarrow = 512;

// Null, or why another provider should compute the products of `batch` pairs of matrices.
const char* declined_product(const tenon::kernel::Matrices& a, const tenon::kernel::Matrices& b,
                             int64_t batch);

// ---- linear ----

// Multiplications below which nn, whose product needs no plan, is as fast.
inline constexpr double kLeastLinear = 1 << 18;
// Rows from which packed weights are faster, and up to which, where a second-level cache does not hold the
// weights: a product of more rows uses each part that it packs as often.
inline constexpr int64_t kLeastRows = 4;
inline constexpr int64_t kMostRows = 128;
inline constexpr int64_t kMostWeights = int64_t{1} << 18;
// Rows from which packing the weights for one call pays: where they change after it, as those of a model
// that is trained, or their packed copy cannot be kept.
inline constexpr int64_t kLeastRowsPacked = 512;
// Rows of a piece: as many as give the best speed.
inline constexpr int64_t kRowsAtOnce = 64;

// Null, or why another provider should compute a call with an input of so many elements. `trained`: the
// weights change after it.
const char* declined_linear(int64_t elements, int64_t inputs, int64_t outputs, bool trained);
// How many pieces the rows are cut into.
int64_t linear_pieces(int64_t rows, int64_t inputs, int64_t outputs);

// ---- recurrent layers ----

// Null, or why another provider should compute a layer, which is valid.
const char* declined_recurrence(const nn::Recurrence& r);

// Multiplications below which arranging a call takes longer than oneDNN saves.
inline constexpr int64_t kLeastRecurrence = int64_t{1} << 17;
// Width of a hidden state, at least, unless it fills whole registers: fewer leave much of the last
// one empty.
inline constexpr int64_t kLeastWidth = 64;
inline constexpr int64_t kWholeWidth = 16;

// Steps that are computed at once: more only make the memory larger that goes through the caches.
inline constexpr int64_t kStepsAtOnce = 16;
// Samples of a piece of a batch: each piece reads all weights.
inline constexpr int64_t kSequences = 32;

// ---- pools of means ----

// Planes that a kernel takes at once: one in each lane of its registers.
inline constexpr int64_t kPlanesAtOnce = 16;
// Elements that windows take, below which arranging a call takes longer than oneDNN saves, and of a piece,
// the least that a thread is given.
inline constexpr int64_t kLeastTaps = int64_t{1} << 13;
inline constexpr int64_t kPieceTaps = int64_t{1} << 18;

// Null, or why another provider should compute a pool of an input of this shape, or its gradient.
const char* declined_average(const nn::AveragePool& pool, tenon::IntList input_size);

}  // namespace onednn
