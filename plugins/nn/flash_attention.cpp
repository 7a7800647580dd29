// flash_attention: attention in blocks of queries and keys, which never holds all scores
// (arXiv:2205.14135). A block of keys and values stays in the cache while blocks of scores pass by;
// backward computes the scores again from the logarithm of each row's sum.
#include <algorithm>
#include <cmath>
#include <limits>

#include "attention_weights.hpp"
#include "softmax.hpp"

namespace {

using namespace nn;

// Queries of a block; of keys as many as fit half of a small second-level cache with their values.
constexpr int64_t kQueries = 256;
constexpr int64_t kKeyBytes = 131072;
// Scores of small matrices that are worked on together.
constexpr int64_t kScores = 16384;

// A tensor [batch..., rows, columns] whose rows are dense: itself, or a copy.
Tensor with_dense_rows(const Tensor& tensor) {
  const int64_t rows = tensor.size(-2), columns = tensor.size(-1);
  const bool dense_rows =
      (columns <= 1 || tensor.stride(-1) == 1) && (rows <= 1 || tensor.stride(-2) >= columns);
  return dense_rows ? tensor : dense(tensor);
}

// Strides of a tensor that is broadcast to a shape.
Shape strides_in(const Tensor& tensor, IntList shape) {
  Shape strides;
  const int64_t missing = shape.size() - tensor.dim();
  for (int64_t d = 0; d < shape.size(); ++d) {
    const bool own = d >= missing && tensor.shape()[d - missing] != 1;
    strides.push(own ? tensor.strides()[d - missing] : 0);
  }
  return strides;
}

// Matrices of a tensor: `count` from `batch` on, along the last dimension of the batch.
struct Matrices {
  Tensor tensor;
  Shape strides;  // strides of batch, rows and columns

  Matrices(const Tensor& from, IntList batch) : tensor(from) {
    Shape shape(batch);
    shape.push(from.size(-2));
    shape.push(from.size(-1));
    strides = strides_in(from, shape);
  }
  int64_t row_stride() const { return strides[strides.rank - 2]; }
  int64_t column_stride() const { return strides[strides.rank - 1]; }
  int64_t batch_stride() const { return strides.rank < 3 ? 0 : strides[strides.rank - 3]; }
  int64_t offset(int64_t batch, IntList shape) const {
    int64_t offset = 0;
    for (int64_t d = shape.size() - 1; d >= 0; batch /= shape[d], --d)
      offset += batch % shape[d] * strides[d];
    return offset;
  }
};

// Rows [first, first + rows) of `count` matrices, as a batch of matrices; or of their transposes.
Tensor block(const Matrices& m, int64_t offset, int64_t count, int64_t first, int64_t rows,
             int64_t columns, bool transpose = false) {
  std::array<int64_t, 3> shape{count, rows, columns},
      strides{m.batch_stride(), m.row_stride(), m.column_stride()};
  if (transpose) {
    std::swap(shape[1], shape[2]);
    std::swap(strides[1], strides[2]);
  }
  return tenon::alias_tensor(m.tensor, {shape.data(), 3}, {strides.data(), 3},
                             offset + first * m.row_stride());
}
Tensor transposed(const Tensor& matrices) {
  const IntList shape = matrices.shape(), strides = matrices.strides();
  const std::array<int64_t, 3> turned{shape[0], shape[2], shape[1]},
      turned_strides{strides[0], strides[2], strides[1]};
  return tenon::alias_tensor(matrices, {turned.data(), 3}, {turned_strides.data(), 3}, 0);
}

// The part of a mask that a block of scores sees.
struct MaskBlock {
  const void* data = nullptr;  // null: no mask
  bool is_bool = false;
  int64_t matrix_stride = 0, row_stride = 0, column_stride = 0;
  bool is_causal = false;
  int64_t first_query = 0, first_key = 0;
  int64_t queries = 1;  // queries of each matrix
};

// Adds the mask of row `r` of the block to its scores: -inf where a key does not count, also where
// the score is NaN.
template <class T>
TENON_INLINE void mask_row(T* y, int64_t r, int64_t n, const MaskBlock& mask) {
  if (mask.data == nullptr && !mask.is_causal) return;
  constexpr T none = -std::numeric_limits<T>::infinity();
  const int64_t matrix = r / mask.queries, row = r % mask.queries;
  if (mask.is_causal) {
    const int64_t count = mask.first_query + row - mask.first_key + 1;
    for (int64_t i = std::max<int64_t>(0, count); i < n; ++i) y[i] = none;
  }
  if (mask.data == nullptr) return;
  const int64_t step = mask.column_stride;
  const int64_t offset = matrix * mask.matrix_stride + row * mask.row_stride;
  if (mask.is_bool) {
    const auto* counts = static_cast<const uint8_t*>(mask.data) + offset;
    TENON_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) y[i] = counts[i * step] != 0 ? y[i] : none;
  } else {
    const T* added = static_cast<const T*>(mask.data) + offset;
    if (step == 1) {
      TENON_INDEPENDENT
      for (int64_t i = 0; i < n; ++i) y[i] = added[i] == none ? none : y[i] + added[i];
    } else {
      for (int64_t i = 0; i < n; ++i)
        y[i] = added[i * step] == none ? none : y[i] + added[i * step];
    }
  }
}

// y = exp(y - shift of the row); the sums of the rows where `sums` is not null.
template <class T, int Bytes>
TENON_INLINE void exp_rows(T* y, int64_t rows, int64_t n, const T* shifts, T* sums) {
  if (n >= kLongRow<T>) {
    for (int64_t r = 0; r < rows; ++r) {
      const T sum = exp_long_row<T, Bytes>(y + r * n, y + r * n, n, shifts[r], 0);
      if (sums != nullptr) sums[r] = sum;
    }
    return;
  }
  for (int64_t r = 0; r < rows; ++r) {
    TENON_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) y[r * n + i] -= shifts[r];
  }
  map_in_place(y, rows * n, [](T value) { return kernel::exp(value); });
  for (int64_t r = 0; sums != nullptr && r < rows; ++r) sums[r] = kernel::sum(y + r * n, n);
}

// State of the rows of a block of queries, while blocks of keys pass by.
template <class T>
struct RowStates {
  T *maxima, *sums;    // maxima of the scores so far, and of exp(score - maximum)
  T* factors;          // factors that scale results of earlier blocks
  T *shifts, *latest;  // the current block: shifts to subtract, and sums
};

// Scores become exp(score - largest so far).
template <class T, int Bytes>
struct OnlineSoftmax {
  TENON_INLINE static void run(T* scores, int64_t rows, int64_t n, MaskBlock mask,
                               RowStates<T> state) {
    constexpr T none = -std::numeric_limits<T>::infinity();
    for (int64_t r = 0; r < rows; ++r) {
      T* y = scores + r * n;
      mask_row(y, r, n, mask);
      const T before = state.maxima[r], here = kernel::largest_number(y, n);
      const T largest = here > before ? here : before;
      // Without a key so far: exp(-inf) is 0, and -inf - -inf would be NaN.
      const T shift = largest == none ? T{0} : largest;
      state.maxima[r] = largest;
      state.shifts[r] = shift;
      state.factors[r] = before == largest ? T{1} : std::exp(before - shift);
    }
    exp_rows<T, Bytes>(scores, rows, n, static_cast<const T*>(state.shifts), state.latest);
    for (int64_t r = 0; r < rows; ++r)
      state.sums[r] = state.sums[r] * state.factors[r] + state.latest[r];
  }
};

// Scores become weights: exp(score - logarithm of the row's sum).
template <class T, int Bytes>
struct Weights {
  TENON_INLINE static void run(T* scores, int64_t rows, int64_t n, MaskBlock mask,
                               const T* log_sums) {
    for (int64_t r = 0; r < rows; ++r) mask_row(scores + r * n, r, n, mask);
    exp_rows<T, Bytes>(scores, rows, n, log_sums, static_cast<T*>(nullptr));
    for (int64_t r = 0; r < rows; ++r) {
      if (log_sums[r] != log_sums[r]) without_sum(scores + r * n, r, n, mask);
    }
  }

 private:
  // A query that sees NaN has no weights, but those that are masked out are 0.
  static void without_sum(T* y, int64_t r, int64_t n, const MaskBlock& mask) {
    std::fill_n(y, n, std::numeric_limits<T>::quiet_NaN());
    mask_row(y, r, n, mask);
    for (int64_t i = 0; i < n; ++i) y[i] = y[i] == y[i] ? T{0} : y[i];
  }
};

// to = to * factor of the row + from.
template <class T>
struct ScaledSum {
  TENON_INLINE static void run(T* to, const T* from, int64_t rows, int64_t n, const T* factors) {
    for (int64_t r = 0; r < rows; ++r, to += n, from += n) {
      const T factor = factors[r];
      TENON_INDEPENDENT
      for (int64_t i = 0; i < n; ++i) to[i] = to[i] * factor + from[i];
    }
  }
};
// to += from * factor.
template <class T>
struct Sum {
  TENON_INLINE static void run(T* to, const T* from, int64_t n, T factor) {
    TENON_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) to[i] += from[i] * factor;
  }
};
// to = rows of from * factor.
template <class T>
struct ScaledCopy {
  TENON_INLINE static void run(T* to, const T* from, int64_t row_stride, int64_t rows, int64_t n,
                               T factor) {
    for (int64_t r = 0; r < rows; ++r, to += n, from += row_stride) {
      TENON_INDEPENDENT
      for (int64_t i = 0; i < n; ++i) to[i] = from[i] * factor;
    }
  }
};
template <class T>
struct ScaledRows {
  TENON_INLINE static void run(T* to, const T* from, int64_t rows, int64_t n, const T* factors) {
    for (int64_t r = 0; r < rows; ++r, to += n, from += n) {
      const T factor = factors[r];
      TENON_INDEPENDENT
      for (int64_t i = 0; i < n; ++i) to[i] = from[i] * factor;
    }
  }
};
// Gradients of weights become those of scores: (g - dot of the row) * weight, and 0 where there is
// no weight: the value has not been read.
template <class T>
struct ScoreGradients {
  TENON_INLINE static void run(T* g, const T* weights, int64_t rows, int64_t n, const T* dots) {
    for (int64_t r = 0; r < rows; ++r, g += n, weights += n) {
      const T dot = dots[r];
      TENON_INDEPENDENT
      for (int64_t i = 0; i < n; ++i) g[i] = weights[i] == 0 ? T{0} : (g[i] - dot) * weights[i];
    }
  }
};
template <class T>
struct RowDots {
  TENON_INLINE static void run(const T* a, int64_t a_stride, const T* b, int64_t b_stride,
                               int64_t rows, int64_t n, T* dots) {
    for (int64_t r = 0; r < rows; ++r) dots[r] = kernel::dot(a + r * a_stride, b + r * b_stride, n);
  }
};

// The sizes of a call, and how it is cut: by its shapes alone, so that threads change no bit.
struct Attention {
  Shape batch;
  int64_t matrices, queries, keys, depth, width;
  int64_t query_block, key_block, group, runs, groups;
  bool is_causal;
  double scale;
  Matrices q, k, v;
  Tensor attn_mask;
  Shape mask_strides;

  Attention(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask,
            bool causal, double factor)
      : batch({query.shape().data(), query.dim() - 2}),
        matrices(kernel::count_elements(batch)),
        queries(query.size(-2)),
        keys(key.size(-2)),
        depth(query.size(-1)),
        width(value.size(-1)),
        is_causal(causal),
        scale(factor),
        q(with_dense_rows(query), batch),
        k(with_dense_rows(key), batch),
        v(with_dense_rows(value), batch),
        attn_mask(mask) {
    const int64_t bytes = (depth + width) * tenon::element_size(query.dtype());
    query_block = std::clamp<int64_t>(queries, 1, kQueries);
    key_block = std::max<int64_t>(64, kKeyBytes / std::max<int64_t>(1, bytes) / 16 * 16);
    key_block = std::clamp<int64_t>(keys, 1, key_block);
    const int64_t last = batch.rank == 0 ? 1 : batch[batch.rank - 1];
    const bool alone = queries > query_block || keys > key_block;
    group =
        alone ? 1
              : std::clamp<int64_t>(kScores / (queries * keys + 1), 1, std::max<int64_t>(last, 1));
    runs = (last + group - 1) / group;
    groups = last == 0 ? 0 : matrices / last * runs;
    if (mask.defined()) {
      Shape scores = batch;
      scores.push(queries);
      scores.push(keys);
      mask_strides = strides_in(mask, scores);
    }
  }

  // Matrices of a group.
  int64_t first_of(int64_t index) const {
    const int64_t last = batch.rank == 0 ? 1 : batch[batch.rank - 1];
    return index / runs * last + index % runs * group;
  }
  int64_t count_of(int64_t index) const {
    const int64_t last = batch.rank == 0 ? 1 : batch[batch.rank - 1];
    return std::min(group, last - index % runs * group);
  }
  int64_t query_blocks() const { return (queries + query_block - 1) / query_block; }
  int64_t key_blocks() const { return (keys + key_block - 1) / key_block; }
  bool is_masked() const { return is_causal || attn_mask.defined(); }
  // Whether some query of a block sees some key of another.
  bool meet(int64_t first_query, int64_t query_count, int64_t first_key) const {
    return !is_causal || first_key < first_query + query_count;
  }
  // Blocks that are worth a thread: a million multiplications.
  int64_t grain(int64_t products) const {
    return 1 + 1048576 / std::max<int64_t>(1, group * products * (depth + width));
  }

  MaskBlock mask_of(int64_t first, int64_t first_query, int64_t queries_of_block,
                    int64_t first_key) const {
    MaskBlock block;
    block.is_causal = is_causal;
    block.first_query = first_query;
    block.queries = queries_of_block;
    block.first_key = first_key;
    if (!attn_mask.defined()) return block;
    block.is_bool = attn_mask.dtype() == tenon::boolean;
    block.matrix_stride = batch.rank == 0 ? 0 : mask_strides[batch.rank - 1];
    block.row_stride = mask_strides[mask_strides.rank - 2];
    block.column_stride = mask_strides[mask_strides.rank - 1];
    int64_t offset = first_query * block.row_stride + first_key * block.column_stride;
    int64_t rest = first;
    for (int64_t d = batch.rank - 1; d >= 0; rest /= batch[d], --d)
      offset += rest % batch[d] * mask_strides[d];
    block.data = static_cast<const char*>(attn_mask.view_record().data) +
                 offset * tenon::element_size(attn_mask.dtype());
    return block;
  }
  // Times the scale, which the scores then have.
  template <class T>
  Tensor scaled_queries(int64_t first, int64_t count, int64_t query, int64_t rows) const {
    const Tensor block = tenon::empty_tensor({count, rows, depth}, q.tensor.dtype());
    if (block.numel() == 0) return block;  // queries of no features may have no memory
    const int64_t offset = q.offset(first, batch) + query * q.row_stride();
    for (int64_t m = 0; m < count; ++m) {
      kernel::run<ScaledCopy<T>>(
          kernel::elements<T>(block) + m * rows * depth,
          kernel::elements<const T>(q.tensor) + offset + m * q.batch_stride(), q.row_stride(), rows,
          depth, static_cast<T>(scale));
    }
    return block;
  }
  Tensor scores(const Tensor& queries_of_block, int64_t first, int64_t key,
                int64_t key_count) const {
    return tenon::bmm(queries_of_block, block(k, k.offset(first, batch), queries_of_block.size(0),
                                              key, key_count, depth, true));
  }
  Shape shape(int64_t rows, int64_t columns) const {
    Shape all = batch;
    all.push(rows);
    if (columns >= 0) all.push(columns);
    return all;
  }
};

// The products of a batch of matrices, where a weight of 0 multiplies nothing: what is masked out
// may be NaN.
template <class T>
void multiply_what_counts(const Tensor& weights, const Tensor& rows, const Tensor& result) {
  const IntList ws = weights.strides(), rs = rows.strides();
  const int64_t width = rows.shape()[2];
  T* to = kernel::elements<T>(result);
  std::fill_n(to, result.numel(), T{0});
  for (int64_t m = 0; m < weights.shape()[0]; ++m) {
    const T* w = kernel::elements<const T>(weights) + m * ws[0];
    const T* from = kernel::elements<const T>(rows) + m * rs[0];
    for (int64_t i = 0; i < weights.shape()[1]; ++i, to += width) {
      for (int64_t k = 0; k < weights.shape()[2]; ++k) {
        const T weight = w[i * ws[1] + k * ws[2]];
        if (weight == 0) continue;
        for (int64_t j = 0; j < width; ++j) to[j] += weight * from[k * rs[1] + j * rs[2]];
      }
    }
  }
}
template <class T>
Tensor weighted_rows(const Attention& a, const Tensor& weights, const Tensor& rows) {
  const Tensor result = tenon::bmm(weights, rows);
  if (!a.is_masked() || result.numel() == 0) return result;
  const T* at = kernel::elements<const T>(result);
  T sum = 0;  // NaN as soon as one of them is NaN or infinite
  for (int64_t i = 0; i < result.numel(); ++i) sum += at[i] * 0;
  if (sum != sum) multiply_what_counts<T>(weights, rows, result);
  return result;
}

// The results of a block of queries, and the logarithms of their sums.
template <class T>
void attend(const Attention& a, int64_t index, int64_t query, Tensor& result, Tensor& log_sums) {
  constexpr T infinity = std::numeric_limits<T>::infinity();
  const int64_t first = a.first_of(index), count = a.count_of(index);
  const int64_t lines = std::min(a.query_block, a.queries - query), rows = count * lines;
  const Tensor memory = tenon::empty_tensor({5, rows}, result.dtype());
  T* const own = kernel::elements<T>(memory);
  const RowStates<T> state{own, own + rows, own + 2 * rows, own + 3 * rows, own + 4 * rows};
  std::fill_n(state.maxima, rows, -infinity);
  std::fill_n(state.sums, rows, T{0});
  const Tensor queries = a.scaled_queries<T>(first, count, query, lines);
  Tensor total;
  for (int64_t key = 0; key < a.keys && a.meet(query, lines, key); key += a.key_block) {
    const int64_t keys = std::min(a.key_block, a.keys - key);
    const Tensor scores = a.scores(queries, first, key, keys);
    kernel::run_by_registers<RowsOf<OnlineSoftmax, T>::template By>(
        kernel::elements<T>(scores), rows, keys, a.mask_of(first, query, lines, key), state);
    const Tensor part = weighted_rows<T>(
        a, scores, block(a.v, a.v.offset(first, a.batch), count, key, keys, a.width));
    if (total.defined())
      kernel::run<ScaledSum<T>>(kernel::elements<T>(total), kernel::elements<const T>(part), rows,
                                a.width, static_cast<const T*>(state.factors));
    else
      total = part;
  }
  // A group of several matrices has all of their queries: its rows are those of the result.
  T* const to = kernel::elements<T>(result) + (first * a.queries + query) * a.width;
  T* const logs = kernel::elements<T>(log_sums) + first * a.queries + query;
  for (int64_t r = 0; r < rows; ++r) {
    const T sum = state.sums[r];
    logs[r] = sum == 0 ? infinity : state.maxima[r] + std::log(sum);
    state.factors[r] = sum == 0 ? T{0} : T{1} / sum;
  }
  if (total.defined())
    kernel::run<ScaledRows<T>>(to, kernel::elements<const T>(total), rows, a.width,
                               static_cast<const T*>(state.factors));
  else
    std::fill(to, to + rows * a.width, T{0});
}

void attend(const Attention& a, Tensor& result, Tensor& log_sums) {
  if (a.matrices == 0 || a.queries == 0) return;
  const int64_t blocks = a.query_blocks();
  visit_floating(result.dtype(), [&](auto zero) {
    using T = decltype(zero);
    tenon::parallel_for(0, a.groups * blocks, a.grain(a.query_block * a.keys),
                        [&](int64_t begin, int64_t end) {
                          const tenon::NoGrad no_grad;  // recording is each thread's own matter
                          for (int64_t i = begin; i < end; ++i)
                            attend<T>(a, i / blocks, i % blocks * a.query_block, result, log_sums);
                        });
  });
}

struct AttentionGradients {
  Tensor query, key, value;
};

// The gradients of a group of matrices for keys [begin, end) and their values, and what these add to
// those for the queries.
template <class T>
void attend_backward(const Attention& a, const Matrices& g, const Tensor& dots,
                     const Tensor& log_sums, int64_t index, int64_t begin, int64_t end,
                     T* for_query, T* for_key, T* for_value) {
  const int64_t first = a.first_of(index), count = a.count_of(index);
  const int64_t g_offset = g.offset(first, a.batch);
  const auto add = [](Tensor& total, const Tensor& part) {
    if (total.defined())
      kernel::run<Sum<T>>(kernel::elements<T>(total), kernel::elements<const T>(part), part.numel(),
                          T{1});
    else
      total = part;
  };
  const auto put = [&](const Tensor& total, T* to, int64_t key, int64_t keys, int64_t columns) {
    // A group of several matrices has one block of keys.
    to += (first * a.keys + key) * columns;
    if (total.defined())
      std::copy_n(kernel::elements<const T>(total), count * keys * columns, to);
    else
      std::fill_n(to, count * keys * columns, T{0});
  };
  for (int64_t key = begin; key < end; key += a.key_block) {
    const int64_t keys = std::min(a.key_block, a.keys - key);
    const Tensor values = block(a.v, a.v.offset(first, a.batch), count, key, keys, a.width, true);
    const Tensor key_rows = block(a.k, a.k.offset(first, a.batch), count, key, keys, a.depth);
    Tensor of_keys, of_values;
    for (int64_t query = 0; query < a.queries; query += a.query_block) {
      const int64_t lines = std::min(a.query_block, a.queries - query), rows = count * lines;
      if (!a.meet(query, lines, key)) continue;
      const int64_t row = first * a.queries + query;
      const Tensor queries = a.scaled_queries<T>(first, count, query, lines);
      const Tensor weights = a.scores(queries, first, key, keys);
      kernel::run_by_registers<RowsOf<Weights, T>::template By>(
          kernel::elements<T>(weights), rows, keys, a.mask_of(first, query, lines, key),
          kernel::elements<const T>(log_sums) + row);
      const Tensor gradient = block(g, g_offset, count, query, lines, a.width);
      add(of_values, weighted_rows<T>(a, transposed(weights), gradient));
      const Tensor scores = tenon::bmm(gradient, values);
      kernel::run<ScoreGradients<T>>(kernel::elements<T>(scores),
                                     kernel::elements<const T>(weights), rows, keys,
                                     kernel::elements<const T>(dots) + row);
      add(of_keys, weighted_rows<T>(a, transposed(scores), queries));
      const Tensor of_queries = weighted_rows<T>(a, scores, key_rows);
      kernel::run<Sum<T>>(for_query + row * a.depth, kernel::elements<const T>(of_queries),
                          of_queries.numel(), static_cast<T>(a.scale));
    }
    put(of_keys, for_key, key, keys, a.depth);
    put(of_values, for_value, key, keys, a.width);
  }
}

AttentionGradients attend_backward(const Attention& a, const Tensor& grad_output,
                                   const Tensor& result, const Tensor& log_sums) {
  const DType dtype = result.dtype();
  const Matrices g(with_dense_rows(grad_output), a.batch);
  // Few matrices: the keys are cut as well, into parts, each with its gradients for the queries.
  const int64_t blocks = a.key_blocks();
  const int64_t parts =
      std::clamp<int64_t>(8 / std::max<int64_t>(1, a.groups), 1, std::max<int64_t>(1, blocks));
  const int64_t part = (blocks + parts - 1) / parts * a.key_block;
  AttentionGradients gradients{tenon::empty_tensor(IntList(a.shape(a.queries, a.depth)), dtype),
                               tenon::empty_tensor(IntList(a.shape(a.keys, a.depth)), dtype),
                               tenon::empty_tensor(IntList(a.shape(a.keys, a.width)), dtype)};
  tenon::fill_elements(gradients.query, 0);
  if (grad_output.numel() == 0) {  // nothing depends on what there is
    tenon::fill_elements(gradients.key, 0);
    tenon::fill_elements(gradients.value, 0);
    return gradients;
  }
  const int64_t size = gradients.query.numel();
  const Tensor others = tenon::empty_tensor({parts - 1, size}, dtype);
  tenon::fill_elements(others, 0);
  const Tensor dots = tenon::empty_tensor({a.matrices * a.queries}, dtype);
  visit_floating(dtype, [&](auto zero) {
    using T = decltype(zero);
    kernel::for_rows(a.matrices, a.queries * a.width, [&](int64_t begin, int64_t end) {
      for (int64_t m = begin; m < end; ++m) {
        kernel::run<RowDots<T>>(
            kernel::elements<const T>(g.tensor) + g.offset(m, a.batch), g.row_stride(),
            kernel::elements<const T>(result) + m * a.queries * a.width, a.width, a.queries,
            a.width, kernel::elements<T>(dots) + m * a.queries);
      }
    });
    T* const for_query = kernel::elements<T>(gradients.query);
    tenon::parallel_for(0, a.groups * parts, a.grain(2 * a.queries * std::min(part, a.keys)),
                        [&](int64_t begin, int64_t end) {
                          const tenon::NoGrad no_grad;
                          for (int64_t i = begin; i < end; ++i) {
                            const int64_t p = i % parts;
                            attend_backward<T>(
                                a, g, dots, log_sums, i / parts, std::min(a.keys, p * part),
                                std::min(a.keys, (p + 1) * part),
                                p == 0 ? for_query : kernel::elements<T>(others) + (p - 1) * size,
                                kernel::elements<T>(gradients.key),
                                kernel::elements<T>(gradients.value));
                          }
                        });
    for (int64_t p = 1; p < parts; ++p)
      kernel::run<Sum<T>>(for_query, kernel::elements<const T>(others) + (p - 1) * size, size,
                          T{1});
  });
  return gradients;
}

struct FlashAttention {
  static constexpr auto schema =
      "nn.functional.flash_attention(Tensor query, Tensor key, Tensor value, Tensor? "
      "attn_mask=None, bool is_causal=False, *, float scale) -> Tensor";
  static constexpr auto samples =
      R"([{"query": {"shape": [2, 3, 2]}, "key": {"shape": [2, 4, 2]}, "value": {"shape": [2, 4, 3]}, "scale": 0.7},
          {"query": {"shape": [3, 2]}, "key": {"shape": [3, 2]}, "value": {"shape": [3, 2]}, "is_causal": true, "scale": 1.5},
          {"query": {"shape": [2, 2]}, "key": {"shape": [3, 2]}, "value": {"shape": [3, 2]},
           "attn_mask": {"shape": [2, 3]}, "scale": 0.5}])";
  static constexpr auto doc =
      "What scaled_dot_product_attention computes without dropout, for query, key and value that "
      "have the same dimensions in front, to which attn_mask is broadcast: in blocks, so that "
      "memory is linear in L and S (arXiv:2205.14135).";
  static constexpr auto saves = "query, key, value, attn_mask, result";

  static void check(const Tensor& query, const Tensor& key, const Tensor& value,
                    const Tensor& attn_mask) {
    constexpr auto op = "flash_attention";
    check_floating(op, "query", query);
    check_same_dtype(op, "query", query, "key", key);
    check_same_dtype(op, "query", query, "value", value);
    const auto refuse = [&] {
      throw tenon::ValueError(
          "flash_attention(): 'query', 'key' and 'value' must be [..., L, E], [..., S, E] and "
          "[..., S, V] with the same dimensions in front, got shapes " +
          shape_text(query) + ", " + shape_text(key) + " and " + shape_text(value));
    };
    const int64_t rank = query.dim();
    if (rank < 2 || key.dim() != rank || value.dim() != rank || query.size(-1) != key.size(-1) ||
        key.size(-2) != value.size(-2))
      refuse();
    for (int64_t d = 0; d < rank - 2; ++d)
      if (key.size(d) != query.size(d) || value.size(d) != query.size(d)) refuse();
    if (!attn_mask.defined()) return;
    if (attn_mask.dtype() != tenon::boolean)
      check_same_dtype(op, "query", query, "attn_mask", attn_mask);
    bool fits = attn_mask.dim() <= rank;
    for (int64_t d = 1; fits && d <= attn_mask.dim(); ++d) {
      const int64_t size = d == 1 ? key.size(-2) : query.size(-d);
      fits = attn_mask.size(-d) == 1 || attn_mask.size(-d) == size;
    }
    if (!fits) {
      throw tenon::ValueError("flash_attention(): 'attn_mask' of shape " + shape_text(attn_mask) +
                              " cannot be broadcast to the scores of 'query' of shape " +
                              shape_text(query) + " and 'key' of shape " + shape_text(key));
    }
  }

  static Tensor shape_rule(const Tensor& query, const Tensor& key, const Tensor& value,
                           const Tensor& attn_mask, bool, double) {
    check(query, key, value, attn_mask);
    Shape shape(query.shape());
    shape[shape.rank - 1] = value.size(-1);
    return tenon::empty_tensor(IntList(shape), query.dtype());
  }
  static int64_t multiply_adds(const Tensor& query, const Tensor& key, const Tensor& value,
                               const Tensor&, bool, double) {
    return query.numel() * key.size(-2) + kernel::count_elements(query.shape()) /
                                              std::max<int64_t>(1, query.size(-1)) * key.size(-2) *
                                              value.size(-1);
  }

  static Tensor forward(Context& c, const Tensor& query, const Tensor& key, const Tensor& value,
                        const Tensor& attn_mask, bool is_causal, double scale) {
    // Elsewhere than on the CPU by ops, as backward is there: with all scores at once.
    if (!is_plain(query)) {
      check(query, key, value, attn_mask);
      c.save_for_backward({Tensor()});
      return weighted_product(attention_weights(query, key, attn_mask, is_causal, scale), value,
                              is_causal || attn_mask.defined());
    }
    Tensor result = shape_rule(query, key, value, attn_mask, is_causal, scale);
    const Attention attention(query, key, value, attn_mask, is_causal, scale);
    Tensor log_sums =
        tenon::empty_tensor(IntList(attention.shape(attention.queries, -1)), query.dtype());
    attend(attention, result, log_sums);
    c.save_for_backward({log_sums});
    return result;
  }

  static std::tuple<Tensor, Tensor, Tensor, Tensor> backward(ContextOf<FlashAttention>& c,
                                                             const Tensor& g) {
    const Tensor &query = c["query"_arg], &key = c["key"_arg], &value = c["value"_arg],
                 &mask = c["attn_mask"_arg];
    const bool is_causal = c["is_causal"_arg];
    const double scale = c["scale"_arg];
    const bool for_mask = mask.defined() && c.needs_input_grad("attn_mask"_arg);
    const bool plain =
        is_plain(query) && is_plain(key) && is_plain(value) && is_plain(mask) && is_plain(g);
    if (plain && !for_mask && !c.create_graph()) {
      const Attention attention(query, key, value, mask, is_causal, scale);
      AttentionGradients gradients = attend_backward(attention, g, c.result(), c.saved(0));
      return {std::move(gradients.query), std::move(gradients.key), std::move(gradients.value),
              Tensor()};
    }
    // A backward made of ops, which can be differentiated.
    const bool masked = is_causal || mask.defined();
    const Tensor weights = attention_weights(query, key, mask, is_causal, scale);
    const Tensor of_scores = score_changes(weights, g.matmul(value.transpose(-2, -1)), masked);
    const auto product = [&](const Tensor& by, const Tensor& rows) {
      return weighted_product(by, rows, masked);
    };
    return {product(of_scores, key) * scale, product(of_scores.transpose(-2, -1), query) * scale,
            product(weights.transpose(-2, -1), g),
            for_mask ? of_scores.sum_to_size(mask.shape()) : Tensor()};
  }

  static Tensor jvp(ContextOf<FlashAttention>& c, TensorList t) {
    const Tensor &query = c["query"_arg], &key = c["key"_arg], &value = c["value"_arg],
                 &mask = c["attn_mask"_arg];
    const double scale = c["scale"_arg];
    const bool is_causal = c["is_causal"_arg], masked = is_causal || mask.defined();
    const Tensor weights = attention_weights(query, key, mask, is_causal, scale);
    Tensor scores, tangent;
    if (t[0].defined()) scores = (t[0] * scale).matmul(key.transpose(-2, -1));
    if (t[1].defined()) scores = plus(scores, (query * scale).matmul(t[1].transpose(-2, -1)));
    if (t[3].defined()) scores = plus(scores, t[3]);
    if (scores.defined()) {
      tangent = weighted_product(score_changes(weights, scores, masked), value, masked);
    }
    return t[2].defined() ? plus(tangent, weighted_product(weights, t[2], masked)) : tangent;
  }

 private:
  // The derivative of softmax, which is symmetric; 0 where the weight is 0, whatever x is there.
  static Tensor score_changes(const Tensor& weights, const Tensor& x, bool is_masked) {
    const Tensor unread = is_masked ? weights.detach().eq(0) : Tensor();
    const auto read = [&](const Tensor& each) {
      return is_masked ? each.masked_fill(unread, 0) : each;
    };
    const Tensor part = read(x);
    return read(weights * (part - (part * weights).sum(last_dimension(), true)));
  }
  static IntList last_dimension() {
    static constexpr int64_t last = -1;
    return {&last, 1};
  }
};

}  // namespace
TENON_OP(FlashAttention)
