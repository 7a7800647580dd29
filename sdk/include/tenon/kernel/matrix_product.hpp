// Products of strided matrices by a routine of a library (gemm) that computes in the calling thread:
// the layouts that it reads, and the pieces that several threads compute.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tenon/kernel/one_openmp_thread.hpp"
#include "tenon/parallel.hpp"
#include "tenon/tensor.hpp"

TENON_NAMESPACE_BEGIN
namespace kernel {

// A run of equally shaped matrices in one tensor; strides count elements.
struct Matrices {
  char* data;                                        // first element
  int64_t rows, columns, row_stride, column_stride;  // strides in elements
  int64_t batch_stride;                              // from matrix to matrix

  bool row_major() const {  // rows are contiguous
    return (column_stride == 1 || columns <= 1) &&
           (rows <= 1 || row_stride >= std::max<int64_t>(columns, 1));
  }
  bool column_major() const {  // columns are contiguous
    return (row_stride == 1 || rows <= 1) &&
           (columns <= 1 || column_stride >= std::max<int64_t>(rows, 1));
  }
  // Whether gemm can read (and write) it: unit stride one way, a leading dimension the other.
  bool has_gemm_layout() const { return row_major() || column_major(); }
};

// The last two dimensions of a tensor as matrices, the first of three as their batch.
inline Matrices matrices(const Tensor& tensor) {
  const tenon_tensor_view& view = tensor.view_record();
  const int last = view.rank - 1;
  return {static_cast<char*>(view.data), view.shape[last - 1], view.shape[last],
          view.strides[last - 1],        view.strides[last],   last == 2 ? view.strides[0] : 0};
}

// A layout as gemm takes it: the leading dimension, and whether the matrix is column-major.
struct GemmLayout {
  int64_t leading;                        // leading dimension
  bool transposed;                        // columns are contiguous
  explicit GemmLayout(const Matrices& m)  // for matrices with contiguous rows or columns
      : leading(m.row_major()
                    ? std::max<int64_t>({m.rows <= 1 ? 1 : m.row_stride, m.columns, 1})
                    : std::max<int64_t>({m.columns <= 1 ? 1 : m.column_stride, m.rows, 1})),
        transposed(!m.row_major()) {}
};

// How a library rounds depends on the sizes of a call. Products are therefore cut by their shapes
// alone, on one thread as on many, so that the thread count never changes a bit of the result.

// As many multiplications (some 20 microseconds) are the least that a thread is given.
inline constexpr double threaded_product = 1024.0 * 1024;
// Rows or columns of a piece, about. Each piece packs the other operand again: at 512 columns that
// takes 1 to 2 % of the time, at 512 rows up to 6 %, at 128 of either 8 % and more.
inline constexpr int64_t product_piece = 512;
// Beyond so many multiplications (some 45 milliseconds) a piece is cut along the other operand as
// well, so that an interrupt is seen soon.
inline constexpr double long_product_piece = 2.5e9;
// Pieces begin at multiples of this, as the widths of libraries' kernels divide it.
inline constexpr int64_t aligned_piece = 48;

// A range cut into equally long pieces.
struct Pieces {
  int64_t size, width;                  // sizes of the whole and of a piece
  Pieces(int64_t whole, int64_t count)  // about `count`, of equal widths
      : size(whole), width(((whole - 1) / count / aligned_piece + 1) * aligned_piece) {}
  int64_t count() const { return (size - 1) / width + 1; }      // pieces
  int64_t begin(int64_t piece) const { return piece * width; }  // first index of a piece
  // One behind the last index of a piece.
  int64_t end(int64_t piece) const { return std::min(size, (piece + 1) * width); }
};

// Calls body(piece), each of so many multiplications, with OpenMP in the calling thread alone.
template <class Body>
void for_pieces(int64_t count, double each, const Body& body) {
  const auto run = [&](int64_t begin, int64_t end) {
    const OneOpenmpThread serial;
    for (int64_t piece = begin; piece < end; ++piece) body(piece);
  };
  if (count == 1) return run(0, 1);
  // A loop gives a thread two grains at least, so it counts the halves of pieces.
  const auto grain = static_cast<int64_t>(2 * threaded_product / std::max(each, 1.0)) + 1;
  parallel_for(0, 2 * count, grain,
               [&](int64_t begin, int64_t end) { run((begin + 1) / 2, (end + 1) / 2); });
}

// out = a b for each of `batch` products by calls of
// gemm(transposed_a, transposed_b, rows, columns, depth, a, leading_a, b, leading_b, out, leading_out),
// all row-major but for what is transposed. Each of the three has a gemm layout and elements of T.
template <class T, class Gemm>
void multiply_in_pieces(const Matrices& a, const Matrices& b, const Matrices& out, int64_t batch,
                        const Gemm& gemm) {
  const GemmLayout la(a), lb(b), lo(out);
  const int64_t m = out.rows, n = out.columns, k = a.columns;
  const auto* a_data = reinterpret_cast<const T*>(a.data);
  const auto* b_data = reinterpret_cast<const T*>(b.data);
  auto* out_data = reinterpret_cast<T*>(out.data);
  // Rows [top, bottom) and columns [left, right) of one product.
  const auto run = [&](int64_t i, int64_t top, int64_t bottom, int64_t left, int64_t right) {
    const T* rows = a_data + i * a.batch_stride + top * a.row_stride;
    const T* columns = b_data + i * b.batch_stride + left * b.column_stride;
    T* to = out_data + i * out.batch_stride + top * out.row_stride + left * out.column_stride;
    if (lo.transposed) {  // the transpose of the product is that of the transposes, in turn
      gemm(!lb.transposed, !la.transposed, right - left, bottom - top, k, columns, lb.leading, rows,
           la.leading, to, lo.leading);
    } else {
      gemm(la.transposed, lb.transposed, bottom - top, right - left, k, rows, la.leading, columns,
           lb.leading, to, lo.leading);
    }
  };
  const double each = static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  const bool by_rows = m > n;
  const int64_t size = by_rows ? m : n;
  const auto worthwhile = static_cast<int64_t>(each / (2 * threaded_product));
  const int64_t even = 2 * ((size + product_piece) / (2 * product_piece));
  const Pieces pieces(size, std::max<int64_t>(1, std::min(even, worthwhile)));
  const int64_t across = by_rows ? n : m;
  const double whole =
      static_cast<double>(pieces.width) * static_cast<double>(across) * static_cast<double>(k);
  const int64_t most_cuts = std::max<int64_t>(1, across / product_piece);
  const Pieces cuts(
      across, whole <= long_product_piece
                  ? 1
                  : std::clamp<int64_t>(static_cast<int64_t>(2 * whole / long_product_piece), 1,
                                        most_cuts));
  const int64_t count = pieces.count() * cuts.count();
  for_pieces(batch * count, each / static_cast<double>(count), [&](int64_t index) {
    const int64_t i = index / count, piece = index % count / cuts.count(),
                  cut = index % cuts.count();
    if (by_rows) {
      run(i, pieces.begin(piece), pieces.end(piece), cuts.begin(cut), cuts.end(cut));
    } else {
      run(i, cuts.begin(cut), cuts.end(cut), pieces.begin(piece), pieces.end(piece));
    }
  });
}

}  // namespace kernel
TENON_NAMESPACE_END
