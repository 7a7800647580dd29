// tril and triu.
#include <algorithm>
#include <cstring>

#include <tenon/parallel.hpp>

#include "dimensions.hpp"

using namespace tenon;
using namespace math;

namespace {

// Copies the matrices in the last two dimensions and clears the other side of the
// diagonal.
Tensor triangle(const char* op, const Tensor& input, int64_t diagonal, bool lower) {
  const int64_t rank = input.dim();
  if (rank < 2) {
    throw ValueError(std::string(op) +
                     "(): takes matrices, at least 2 dimensions, but the shape is " +
                     shape_text(input.shape()));
  }
  const Tensor result = empty_tensor(input.shape(), input.dtype());
  if (input.numel() == 0) return result;
  copy_elements(result, input);
  const int64_t rows = input.shape()[rank - 2], columns = input.shape()[rank - 1];
  const int64_t width = element_size(input.dtype());
  auto* data = static_cast<char*>(result.view_record().data);
  // Beyond the matrix a diagonal keeps all or nothing; cut there, sums of it do not overflow.
  const int64_t at = std::clamp(diagonal, -rows, columns);
  parallel_for(
      0, input.numel() / columns, std::max<int64_t>(1, 32768 / columns),
      [&](int64_t from, int64_t to) {
        for (int64_t line = from; line < to; ++line) {
          const int64_t split = std::clamp<int64_t>(line % rows + at + (lower ? 1 : 0), 0, columns);
          char* row = data + line * columns * width;
          if (lower)
            std::memset(row + split * width, 0, static_cast<size_t>((columns - split) * width));
          else
            std::memset(row, 0, static_cast<size_t>(split * width));
        }
      });
  return result;
}

struct Tril {
  static constexpr auto schema =
      "tril(Tensor input, int diagonal=0, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc = "A copy with zeros above the given diagonal of each matrix.";
  static constexpr bool any_dtype = true;
  static constexpr auto jvp = JvpKind::linear;
  static Tensor forward(const Tensor& input, int64_t diagonal) {
    return triangle("tril", input, diagonal, true);
  }
  static Tensor backward(ContextOf<Tril>& c, const Tensor& g) { return g.tril(c["diagonal"_arg]); }
};

struct Triu {
  static constexpr auto schema =
      "triu(Tensor input, int diagonal=0, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc = "A copy with zeros below the given diagonal of each matrix.";
  static constexpr bool any_dtype = true;
  static constexpr auto jvp = JvpKind::linear;
  static Tensor forward(const Tensor& input, int64_t diagonal) {
    return triangle("triu", input, diagonal, false);
  }
  static Tensor backward(ContextOf<Triu>& c, const Tensor& g) { return g.triu(c["diagonal"_arg]); }
};

}  // namespace

TENON_OPS_WITH_IN_PLACE(Tril, Triu)
