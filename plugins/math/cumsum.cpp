// cumsum.
#include <algorithm>

#include <tenon/kernel/isa.hpp>
#include <tenon/kernel/rows.hpp>

#include "dimensions.hpp"

using namespace tenon;
using namespace math;

namespace {

// Sums along `Lines` lines at once, as each addition waits for the one before it.
template <int64_t Lines, class Sum, class T>
TENON_VECTORIZE void scan_lines(const T* in, T* out, int64_t size) {
  Sum sums[Lines] = {};
  for (int64_t i = 0; i < size; ++i) {
    for (int64_t k = 0; k < Lines; ++k) {
      sums[k] += static_cast<Sum>(in[k * size + i]);
      out[k * size + i] = static_cast<T>(sums[k]);
    }
  }
}
// Sums down the columns of `inner` neighbouring elements, some hundred at once.
template <class Sum, class T>
TENON_VECTORIZE void scan_columns(const T* in, T* out, int64_t size, int64_t inner) {
  constexpr int64_t kWidth = 512;
  Sum sums[kWidth];
  for (int64_t from = 0; from < inner; from += kWidth) {
    const int64_t width = std::min(kWidth, inner - from);
    std::fill_n(sums, width, Sum{});
    const T* source = in + from;
    T* target = out + from;
    for (int64_t i = 0; i < size; ++i, source += inner, target += inner) {
      TENON_INDEPENDENT
      for (int64_t k = 0; k < width; ++k) {
        sums[k] += static_cast<Sum>(source[k]);
        target[k] = static_cast<T>(sums[k]);
      }
    }
  }
}

struct Cumsum {
  static constexpr auto schema = "cumsum(Tensor input, int dim) -> Tensor";
  static constexpr auto doc =
      "The sum of each element and all before it along a dimension. Integers give i64.";
  static constexpr auto jvp = JvpKind::linear;
  static Tensor forward(const Tensor& input, int64_t dim) {
    const int64_t along = wrap_dimension("cumsum", dim, input.dim());
    const Tensor source = contiguous_as(input, is_floating(input.dtype()) ? input.dtype() : i64);
    const Tensor result = empty_tensor(input.shape(), source.dtype());
    if (input.numel() == 0) return result;
    const kernel::Lines lines(input.shape(), along);
    const int64_t size = lines.size, inner = lines.inner;
    const auto run = [&](auto zero, auto sum) {
      using T = decltype(zero);
      const T* in = source.data<T>();
      T* out = result.data<T>();
      kernel::for_rows(lines.outer, size * inner, [&](int64_t from, int64_t to) {
        using Sum = decltype(sum);
        int64_t o = from;
        for (; inner == 1 && o + 4 <= to; o += 4)
          scan_lines<4, Sum>(in + o * size, out + o * size, size);
        for (; inner == 1 && o < to; ++o) scan_lines<1, Sum>(in + o * size, out + o * size, size);
        for (; o < to; ++o)
          scan_columns<Sum>(in + o * size * inner, out + o * size * inner, size, inner);
      });
    };
    if (source.dtype() == f32)
      run(float{}, double{});
    else if (source.dtype() == f64)
      run(double{}, double{});
    else
      run(int64_t{}, uint64_t{});
    return result;
  }
  static Tensor backward(ContextOf<Cumsum>& c, const Tensor& g) {
    const auto dim = c["dim"_arg];
    if (g.dim() == 0) return g;
    return g.flip({dim}).cumsum(dim).flip({dim});
  }
};

}  // namespace

TENON_OP(Cumsum)
