// The kernel of small products, and which products it takes.
#include "small_product.hpp"

#include <cstdint>

#include <tenon/kernel/lanes.hpp>
#include <tenon/kernel/registers.hpp>
#include <tenon/parallel.hpp>

namespace blas {

namespace kernel = tenon::kernel;
using kernel::Matrices;

namespace {

// Multiplications, above which a BLAS is as fast.
constexpr int64_t kMostMultiplications = int64_t{32} * 32 * 32;
// Narrower results leave vectors empty, which matters beyond so many; one column is left to the BLAS.
constexpr int64_t kLeastColumns = 2, kNarrow = 8, kMostNarrow = 2048;
// Elements of `b`, with its rows filled up to whole vectors, that are copied where they cannot be read as
// vectors, and the least rows of the result that make up for it.
constexpr int64_t kMostCopied = 2048, kLeastRowsOfCopy = 8;

// to = alpha a b + beta to, of at least one element and one term; with beta 0 what is in `to` is not
// read. Strides count elements.
template <class T>
struct SmallProduct {
  const T* a;
  int64_t a_row, a_step;  // from row to row; along the sum
  const T* b;
  int64_t b_step, b_column;  // along the sum; from column to column
  T* to;
  int64_t to_row;  // rows are of adjacent elements
  int64_t rows, columns, depth;
  T alpha, beta;
};

// By vectors of at most `Bytes`, a register. An element is the sum of its terms in their order, whatever
// the layouts and the other sizes are.
template <class T, int Bytes>
class SmallProductBy {
 public:
  // `count` products, each that far from the one before; `p` ends behind the last.
  TENON_INLINE static void run(SmallProduct<T>* p, int64_t count, int64_t a_batch, int64_t b_batch,
                               int64_t to_batch) {
    for (; count > 0; --count, p->a += a_batch, p->b += b_batch, p->to += to_batch)
      by_width<Bytes>(*p);
  }

 private:
  static constexpr int kLeastBytes = 16;
  template <int Width>
  static constexpr int64_t lanes = Width / static_cast<int64_t>(sizeof(T));
  template <int Width>
  using Lanes = kernel::Vector<T, Width>;

  // The rows of `b` as vectors: each may reach into the next one, the last is a copy that is filled up.
  struct Rows {
    const T* first;
    int64_t step;
    const T* last;
  };

  template <int Width>
  TENON_INLINE static void by_width(const SmallProduct<T>& p) {
    if constexpr (Width > kLeastBytes) {
      if (p.columns <= lanes<Width / 2>) return by_width<Width / 2>(p);
    }
    const int64_t vectors = (p.columns - 1) / lanes<Width> + 1, whole = vectors * lanes<Width>;
    Rows b{p.b, p.b_step, p.b + (p.depth - 1) * p.b_step};
    alignas(64) T copy[kMostCopied];
    if (p.b_column != 1 || (p.b_step != p.columns && p.columns != whole)) {
      copy_rows(p, copy, whole);
      b = {copy, whole, copy + (p.depth - 1) * whole};
    } else if (p.columns != whole) {
      fill_up(b.last, p.columns, copy, whole);
      b.last = copy;
    }
    if (p.depth == 1 && p.beta == 0 && p.columns == whole) return outer<Width>(p, b.last);
    // As many sums as hide the latency of an addition and fit into the registers.
    constexpr int most = Width == 64 ? 8 : 4;
    int64_t column = 0;
    if constexpr (Width == Bytes) {
      for (; column + lanes<Width> < p.columns; column += 2 * lanes<Width>)
        rows<Width, 2, most>(p, b, column);
    }
    if (column < p.columns) rows<Width, 1, 8>(p, b, column);
  }
  TENON_INLINE static void fill_up(const T* from, int64_t columns, T* to, int64_t whole) {
    for (int64_t j = 0; j < columns; ++j) to[j] = from[j];
    for (int64_t j = columns; j < whole; ++j) to[j] = 0;
  }

  TENON_INLINE static void copy_rows(const SmallProduct<T>& p, T* to, int64_t row) {
    constexpr int64_t L = lanes<kLeastBytes>;
    int64_t k = 0;
    if (p.b_step == 1) {  // blocks are turned around
      for (; k + L <= p.depth; k += L) {
        int64_t j = 0;
        for (; j + L <= p.columns; j += L)
          transpose(p.b + k + j * p.b_column, p.b_column, to + k * row + j, row);
        for (; j < p.columns; ++j) {
          for (int64_t i = 0; i < L; ++i) to[(k + i) * row + j] = p.b[j * p.b_column + k + i];
        }
      }
    }
    for (int64_t i = k; i < p.depth; ++i) {
      for (int64_t j = 0; j < p.columns; ++j) to[i * row + j] = p.b[i * p.b_step + j * p.b_column];
    }
    for (int64_t i = 0; i < p.depth; ++i) {
      for (int64_t j = p.columns; j < row; ++j) to[i * row + j] = 0;
    }
  }
  // A square of lanes<kLeastBytes> elements each way.
  TENON_INLINE static void transpose(const T* from, int64_t from_row, T* to, int64_t to_row) {
    using V = Lanes<kLeastBytes>;
    constexpr int64_t L = lanes<kLeastBytes>;
    V row[L], column[L];
    for (int64_t i = 0; i < L; ++i) kernel::detail::load_vector(row[i], from + i * from_row);
    if constexpr (L == 4) {
      const V a = __builtin_shufflevector(row[0], row[1], 0, 4, 1, 5),
              b = __builtin_shufflevector(row[2], row[3], 0, 4, 1, 5),
              c = __builtin_shufflevector(row[0], row[1], 2, 6, 3, 7),
              d = __builtin_shufflevector(row[2], row[3], 2, 6, 3, 7);
      column[0] = __builtin_shufflevector(a, b, 0, 1, 4, 5);
      column[1] = __builtin_shufflevector(a, b, 2, 3, 6, 7);
      column[2] = __builtin_shufflevector(c, d, 0, 1, 4, 5);
      column[3] = __builtin_shufflevector(c, d, 2, 3, 6, 7);
    } else {
      column[0] = __builtin_shufflevector(row[0], row[1], 0, 2);
      column[1] = __builtin_shufflevector(row[0], row[1], 1, 3);
    }
    for (int64_t i = 0; i < L; ++i) __builtin_memcpy(to + i * to_row, &column[i], sizeof(V));
  }

  // One term: the result is written from its first element to its last, as memory is fastest.
  template <int Width>
  TENON_INLINE static void outer(const SmallProduct<T>& p, const T* b) {
    const T alpha = p.alpha;
    for (int64_t row = 0; row < p.rows; ++row) {
      const T from_a = p.a[row * p.a_row];
      T* const to = p.to + row * p.to_row;
#pragma GCC unroll 4
      for (int64_t column = 0; column < p.columns; column += lanes<Width>) {
        Lanes<Width> values, sum = {};
        kernel::detail::load_vector(values, b + column);
        sum += values * from_a;
        sum *= alpha;
        __builtin_memcpy(to + column, &sum, sizeof(sum));
      }
    }
  }
  template <int Width, int Vectors, int Count>
  TENON_INLINE static void rows(const SmallProduct<T>& p, const Rows& b, int64_t column) {
    if constexpr (Count > 1) {
      if (p.rows < Count) return rows<Width, Vectors, Count / 2>(p, b, column);
    }
    for (int64_t row = 0; row < p.rows; row += Count) {
      // The last rows overlap those before.
      const int64_t first = row + Count <= p.rows ? row : p.rows - Count;
      tile<Width, Vectors, Count>(p, b, column, first, row - first);
    }
  }
  // `done` of its rows are there already.
  template <int Width, int Vectors, int Count>
  TENON_INLINE static void tile(const SmallProduct<T>& p, const Rows& b, int64_t column,
                                int64_t row, int64_t done) {
    Lanes<Width> sums[Count][Vectors] = {};
    const T *from_a = p.a + row * p.a_row, *from_b = b.first + column;
    const int64_t a_row = p.a_row, a_step = p.a_step, last = p.depth - 1;
    for (int64_t k = 0; k <= last; ++k, from_a += a_step, from_b += b.step) {
      if (k == last) from_b = b.last + column;
      Lanes<Width> values[Vectors];
      for (int c = 0; c < Vectors; ++c)
        kernel::detail::load_vector(values[c], from_b + c * lanes<Width>);
      for (int r = 0; r < Count; ++r) {
        for (int c = 0; c < Vectors; ++c) sums[r][c] += values[c] * from_a[r * a_row];
      }
    }
    T* const to = p.to + row * p.to_row + column;
    const int64_t count = p.columns - column;
    if (count < Vectors * lanes<Width> || (p.beta != 0 && done != 0))
      finish<Width, Vectors, Count>(p, sums, to, count, done);
    else if (p.beta == 0)
      write<false>(p, sums, to);
    else
      write<true>(p, sums, to);
  }
  template <bool Adds, class V, int Vectors, int Count>
  TENON_INLINE static void write(const SmallProduct<T>& p, const V (&sums)[Count][Vectors], T* to) {
    const T alpha = p.alpha, beta = p.beta;
#pragma GCC unroll 8
    for (int r = 0; r < Count; ++r) {
      for (int c = 0; c < Vectors; ++c) {
        V value = sums[r][c] * alpha;
        T* const at = to + r * p.to_row + c * lanes<sizeof(V)>;
        if constexpr (Adds) {
          V before;
          kernel::detail::load_vector(before, at);
          value += before * beta;
        }
        __builtin_memcpy(at, &value, sizeof(value));
      }
    }
  }
  // The first `count` elements of each row, in rows from `done` on.
  template <int Width, int Vectors, int Count>
  TENON_INLINE static void finish(const SmallProduct<T>& p,
                                  const Lanes<Width> (&sums)[Count][Vectors], T* to, int64_t count,
                                  int64_t done) {
    alignas(64) T values[Count][Vectors * lanes<Width>];
    for (int r = 0; r < Count; ++r) {
      for (int c = 0; c < Vectors; ++c) {
        const Lanes<Width> value = sums[r][c] * p.alpha;
        __builtin_memcpy(&values[r][c * lanes<Width>], &value, sizeof(value));
      }
    }
    if (count > Vectors * lanes<Width>) count = Vectors * lanes<Width>;
    for (int64_t r = done; r < Count; ++r) {
      T* const row = to + r * p.to_row;
      if (p.beta == 0) {
        copy<Vectors * Width>(values[r], row, count);
      } else {
        for (int64_t i = 0; i < count; ++i) row[i] = values[r][i] + p.beta * row[i];
      }
    }
  }
  // `count` elements, 1 to lanes<Width>: as two that overlap.
  template <int Width>
  TENON_INLINE static void copy(const T* from, T* to, int64_t count) {
    if constexpr (lanes<Width> == 1) {
      *to = *from;
    } else {
      constexpr int64_t half = lanes<Width> / 2;
      if (count < half) return copy<Width / 2>(from, to, count);
      __builtin_memcpy(to, from, Width / 2);
      __builtin_memcpy(to + count - half, from + count - half, Width / 2);
    }
  }
};

template <class T>
struct Kernel {
  template <int Bytes>
  using By = SmallProductBy<T, Bytes>;
};

// Sizes of a product that is taken.
bool is_small(int64_t rows, int64_t columns, int64_t depth) {
  constexpr int64_t most = kMostMultiplications;
  if (rows > most || columns > most || depth > most || columns < kLeastColumns) return false;
  const int64_t elements = rows * columns;
  return elements <= most && elements * depth <= (columns < kNarrow ? kMostNarrow : most);
}
// Whether its rows can be read, or copied with what fills up the widest vectors.
template <class T>
bool is_readable(const Matrices& b, int64_t rows) {
  constexpr int64_t widest = 64 / static_cast<int64_t>(sizeof(T));
  if (b.column_stride == 1 && (b.row_stride == b.columns || b.columns % widest == 0))
    return b.columns + widest <= kMostCopied;
  return rows >= kLeastRowsOfCopy && b.rows * (b.columns + widest) <= kMostCopied;
}
Matrices transposed(const Matrices& m) {
  return {m.data, m.columns, m.rows, m.column_stride, m.row_stride, m.batch_stride};
}

}  // namespace

template <class T>
bool multiply_small(const Matrices& a, const Matrices& b, const Matrices& out, int64_t batch,
                    double alpha, double beta) {
  if (!is_small(out.rows, out.columns, a.columns)) return false;
  if (!out.row_major()) {  // the transpose of the product is that of the transposes, in turn
    return multiply_small<T>(transposed(b), transposed(a), transposed(out), batch, alpha, beta);
  }
  if (!is_readable<T>(b, out.rows)) return false;
  const int64_t multiplications = out.rows * out.columns * a.columns;
  const auto worthwhile = static_cast<int64_t>(kernel::threaded_product);
  tenon::parallel_for(
      0, batch, batch == 1 ? 1 : worthwhile / multiplications, [&](int64_t begin, int64_t end) {
        SmallProduct<T> product{reinterpret_cast<const T*>(a.data) + begin * a.batch_stride,
                                a.row_stride,
                                a.column_stride,
                                reinterpret_cast<const T*>(b.data) + begin * b.batch_stride,
                                b.row_stride,
                                b.column_stride,
                                reinterpret_cast<T*>(out.data) + begin * out.batch_stride,
                                out.row_stride,
                                out.rows,
                                out.columns,
                                a.columns,
                                static_cast<T>(alpha),
                                static_cast<T>(beta)};
        kernel::run_by_registers<Kernel<T>::template By>(&product, end - begin, a.batch_stride,
                                                         b.batch_stride, out.batch_stride);
      });
  return true;
}
template bool multiply_small<float>(const Matrices&, const Matrices&, const Matrices&, int64_t,
                                    double, double);
template bool multiply_small<double>(const Matrices&, const Matrices&, const Matrices&, int64_t,
                                     double, double);

}  // namespace blas
