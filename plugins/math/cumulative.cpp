// Cumulative ops along a dimension: cumsum, cumprod, logcumsumexp, cummax, cummin.
#include <algorithm>
#include <cmath>
#include <limits>

#include <tenon/kernel/complex.hpp>
#include <tenon/kernel/isa.hpp>

#include "lines.hpp"
#include "picked.hpp"

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
// Sums along one line. Those of four neighbours wait for no others; where they are as narrow as what
// they sum they could overflow before the sum does.
template <class Sum, class T>
TENON_VECTORIZE void scan_line(const T* in, T* out, int64_t size) {
  Sum sum{};
  int64_t i = 0;
  if constexpr (!std::is_same_v<Sum, T>) {
    for (; i + 4 <= size; i += 4) {
      const Sum a = static_cast<Sum>(in[i]), b = a + static_cast<Sum>(in[i + 1]);
      const Sum c = b + static_cast<Sum>(in[i + 2]), d = c + static_cast<Sum>(in[i + 3]);
      out[i] = static_cast<T>(sum + a);
      out[i + 1] = static_cast<T>(sum + b);
      out[i + 2] = static_cast<T>(sum + c);
      sum += d;
      out[i + 3] = static_cast<T>(sum);
    }
  }
  for (; i < size; ++i) {
    sum += static_cast<Sum>(in[i]);
    out[i] = static_cast<T>(sum);
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
  static constexpr auto schema =
      "cumsum(Tensor input, int dim, *, bool exclusive=False, bool reverse=False, Tensor(a!)? "
      "out=None) -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 3]}, "dim": 1}, {"input": {"shape": [3, 2]}, "dim": 0, "exclusive": true},
          {"input": {"shape": [4]}, "dim": 0, "exclusive": true, "reverse": true}])";
  static constexpr auto doc =
      "The sum of each element and all before it along a dimension, with reverse of all behind it. "
      "With exclusive an element is left out of the sum at its place. Integers give i64.";
  static constexpr auto jvp = JvpKind::linear;
  static Tensor forward(const Tensor& input, int64_t dim, bool exclusive, bool reverse) {
    const int64_t along = wrap_dimension("cumsum", dim, input.dim());
    if (!exclusive && !reverse) return sums(input, along);
    if (input.dim() == 0) return exclusive ? sums(zeros_like(input), 0) : sums(input, 0);
    const Tensor total = sums(reverse ? input.flip({along}) : input, along);
    const int64_t size = total.shape()[along];
    if (!exclusive || size == 0) return reverse ? total.flip({along}) : total;
    const Tensor first = zeros_like(total.narrow(along, 0, 1));
    const Tensor moved = cat({first, total.narrow(along, 0, size - 1)}, along);
    return reverse ? moved.flip({along}) : moved;
  }
  static Tensor sums(const Tensor& input, int64_t along) {
    if (is_complex(input.dtype())) {
      if (input.dim() == 0) return clone(input);
      return view_as_complex(cumsum(view_as_real(input), along));
    }
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
        for (; inner == 1 && o < to; ++o) scan_line<Sum>(in + o * size, out + o * size, size);
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
    const bool exclusive = c["exclusive"_arg], reverse = c["reverse"_arg];
    return g.cumsum(c["dim"_arg], exclusive, !reverse);
  }
};

// The solution of s[i] = b[i] + a[i] * s[i - 1] along a dimension, by doubling and by ops alone: no
// division, so that zeros are like other numbers.
Tensor solve_recurrence(Tensor a, Tensor b, int64_t dim) {
  const int64_t size = b.shape()[dim];
  for (int64_t step = 1; step < size; step *= 2) {
    const auto shifted = [&](const Tensor& x) {
      return cat({zeros_like(x.narrow(dim, 0, step)), x.narrow(dim, 0, size - step)}, dim);
    };
    b = b + a * shifted(b);
    if (2 * step < size) a = a * shifted(a);
  }
  return b;
}
// The recurrence from the end: s[i] = b[i] + a[i] * s[i + 1].
Tensor solve_backward(const Tensor& a, const Tensor& b, int64_t dim) {
  return solve_recurrence(a.flip({dim}), b.flip({dim}), dim).flip({dim});
}
// Each element's neighbour along a dimension, the one before or after; `end` where there is none.
Tensor one_line(const Tensor& x, int64_t dim, double value) {
  Shape shape(x.shape());
  shape[dim] = 1;
  return full(IntList(shape), value, x.dtype());
}
Tensor previous(const Tensor& x, int64_t dim, double end) {
  return cat({one_line(x, dim, end), x.narrow(dim, 0, x.shape()[dim] - 1)}, dim);
}
Tensor next(const Tensor& x, int64_t dim, double end) {
  return cat({x.narrow(dim, 1, x.shape()[dim] - 1), one_line(x, dim, end)}, dim);
}

struct Cumprod {
  static constexpr auto schema =
      "cumprod(Tensor input, int dim, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc =
      "The product of each element and all before it along a dimension. Integers and bools give "
      "i64, which wraps around.";
  static constexpr auto saves = "input";
  static Tensor forward(const Tensor& input, int64_t dim) {
    const int64_t along = wrap_dimension("cumprod", dim, input.dim());
    const Tensor source =
        contiguous_as(input, is_differentiable(input.dtype()) ? input.dtype() : i64);
    const Tensor result = empty_tensor(input.shape(), source.dtype());
    const kernel::Lines lines(input.shape(), along);
    const auto run = [&](auto zero, auto one) {
      using T = decltype(zero);
      const T* in = source.data<T>();
      T* out = result.data<T>();
      each_line(lines, [&](int64_t, int64_t first) {
        auto product = one;
        for (int64_t i = 0; i < lines.size; ++i) {
          const int64_t at = first + i * lines.inner;
          product *= static_cast<decltype(one)>(in[at]);
          out[at] = static_cast<T>(product);
        }
      });
    };
    if (result.numel() == 0) return result;
    if (source.dtype() == f32)
      run(float{}, 1.0);
    else if (source.dtype() == f64)
      run(double{}, 1.0);
    else if (source.dtype() == c64)
      run(std::complex<float>{}, std::complex<double>(1));
    else if (source.dtype() == c128)
      run(std::complex<double>{}, std::complex<double>(1));
    else
      run(int64_t{}, uint64_t{1});
    return result;
  }
  // The product of all before an element, times the sum, over it and all after it, of the gradient
  // times the product of what is between.
  static Tensor backward(ContextOf<Cumprod>& c, const Tensor& g) {
    const Tensor x = conjugate(c["input"_arg]);
    if (x.numel() == 0 || x.dim() == 0) return g;
    const int64_t dim = wrap_dimension("cumprod", c["dim"_arg], x.dim());
    return previous(x.cumprod(dim), dim, 1) * solve_backward(next(x, dim, 0), g, dim);
  }
  static Tensor jvp(ContextOf<Cumprod>& c, const Tensor& tangent) {
    const Tensor& x = c["input"_arg];
    if (x.numel() == 0 || x.dim() == 0) return tangent;
    const int64_t dim = wrap_dimension("cumprod", c["dim"_arg], x.dim());
    return solve_recurrence(x, tangent * previous(x.cumprod(dim), dim, 1), dim);
  }
};

// The logarithm of a sum of exponentials, each over the largest so far.
struct LogSum {
  double largest = -std::numeric_limits<double>::infinity(), sum = 0;
  void add(double x) {
    if (x != x || largest != largest) {
      largest = sum = std::numeric_limits<double>::quiet_NaN();
    } else if (x > largest) {
      sum = sum * std::exp(largest - x) + 1;
      largest = x;
    } else if (x - x == 0) {
      sum += std::exp(x - largest);
    }
  }
  // An infinite largest is the whole sum.
  double value() const { return largest - largest == 0 ? largest + std::log(sum) : largest; }
};

// log(sum(exp)) of complex numbers, over the largest real part so far.
struct ComplexLogSum {
  static constexpr double infinity = std::numeric_limits<double>::infinity();
  double largest = -infinity;
  std::complex<double> sum = 0;
  void add(std::complex<double> x) {
    const double real = x.real();
    if (real == -infinity || largest != largest) return;
    if (real > largest) sum *= std::exp(largest - real);
    if (!(real <= largest)) largest = real;
    const double size = real == largest ? 1 : std::exp(real - largest);
    sum += std::complex<double>(size * std::cos(x.imag()), size * std::sin(x.imag()));
  }
  // An infinite largest is the whole size, and the elements that have it give the angle.
  std::complex<double> value() const {
    if (std::isfinite(largest)) return largest + std::log(sum);
    return {largest, largest == -infinity ? 0 : largest != largest ? largest : std::arg(sum)};
  }
};
template <class T>
using LogSumOf = std::conditional_t<std::is_floating_point_v<T>, LogSum, ComplexLogSum>;

struct Logcumsumexp {
  static constexpr auto schema =
      "logcumsumexp(Tensor input, int dim, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc =
      "The logarithm of the sum of exponentials of each element and all before it along a "
      "dimension, without overflow. Integers give f32.";
  static constexpr auto saves = "input, result";
  static Tensor forward(const Tensor& input, int64_t dim) {
    const int64_t along = wrap_dimension("logcumsumexp", dim, input.dim());
    const Tensor source =
        contiguous_as(input, is_differentiable(input.dtype()) ? input.dtype() : f32);
    const Tensor result = empty_tensor(input.shape(), source.dtype());
    const kernel::Lines lines(input.shape(), along);
    if (result.numel() == 0) return result;
    const auto run = [&](auto zero) {
      using T = decltype(zero);
      using Wide = std::conditional_t<std::is_floating_point_v<T>, double, std::complex<double>>;
      const T* in = source.data<T>();
      T* out = result.data<T>();
      each_line(lines, [&](int64_t, int64_t first) {
        LogSumOf<T> total;
        for (int64_t i = 0; i < lines.size; ++i) {
          const int64_t at = first + i * lines.inner;
          total.add(static_cast<Wide>(in[at]));
          out[at] = static_cast<T>(total.value());
        }
      });
    };
    if (is_complex(source.dtype()))
      kernel::visit_complex(source.dtype(), run);
    else
      kernel::visit<floating_dtypes>(source.dtype(), run);
    return result;
  }
  // The share of element i in the sum at j is exp(x[i] - result[i]) * exp(result[i] - result[j]):
  // of real numbers no factor is above 1.
  struct Shares {
    Tensor own, kept;
    Shares(const Tensor& x, const Tensor& result, int64_t dim) {
      const double infinity = std::numeric_limits<double>::infinity();
      const Tensor finite = result.masked_fill(eq(result, -infinity), 0);
      own = (x - finite).exp();
      kept = (previous(result, dim, -infinity) - finite).exp();
    }
  };
  static Tensor backward(ContextOf<Logcumsumexp>& c, const Tensor& g) {
    const Tensor& x = c["input"_arg];
    if (x.numel() == 0 || x.dim() == 0) return g;
    const int64_t dim = wrap_dimension("logcumsumexp", c["dim"_arg], x.dim());
    const Shares shares(x, c.result(), dim);
    return conjugate(shares.own) * solve_backward(next(conjugate(shares.kept), dim, 0), g, dim);
  }
  static Tensor jvp(ContextOf<Logcumsumexp>& c, const Tensor& tangent) {
    const Tensor& x = c["input"_arg];
    if (x.numel() == 0 || x.dim() == 0) return tangent;
    const int64_t dim = wrap_dimension("logcumsumexp", c["dim"_arg], x.dim());
    const Shares shares(x, c.result(), dim);
    return solve_recurrence(shares.kept, tangent * shares.own, dim);
  }
};

// The best elements so far; of equal ones, and of NaN, the last.
template <bool Largest>
std::tuple<Tensor, Tensor> extremum_so_far(const char* op, const Tensor& input, int64_t dim) {
  const int64_t along = wrap_dimension(op, dim, input.dim());
  const Tensor source = elements_in_order(input);
  const Tensor values = empty_tensor(input.shape(), source.dtype());
  const Tensor indices = empty_tensor(input.shape(), i64);
  const kernel::Lines lines(input.shape(), along);
  if (input.numel() != 0) {
    kernel::visit<floating_dtypes | integer_dtypes>(source.dtype(), [&](auto zero) {
      using T = decltype(zero);
      const T* in = source.data<T>();
      T* value_to = values.data<T>();
      auto* index_to = indices.data<int64_t>();
      each_line(lines, [&](int64_t, int64_t first) {
        T best = in[first];
        int64_t place = 0;
        for (int64_t i = 0; i < lines.size; ++i) {
          const int64_t at = first + i * lines.inner;
          const T x = in[at];
          const bool better = Largest ? x >= best : x <= best;
          if (x != x || (best == best && better)) {
            best = x;
            place = i;
          }
          value_to[at] = best;
          index_to[at] = place;
        }
      });
    });
  }
  return {contiguous_as(values, input.dtype()), indices};
}

struct Cummax {
  static constexpr auto schema =
      "cummax(Tensor input, int dim, *, Tensor(a!)[]? out=None) -> (Tensor values, Tensor indices)";
  static constexpr auto doc =
      "The largest of each element and all before it along a dimension, and its index: the last of "
      "equal ones. NaN is larger than all numbers.";
  static constexpr auto saves = "shape(input), result1";
  static std::tuple<Tensor, Tensor> forward(const Tensor& input, int64_t dim) {
    return extremum_so_far<true>("cummax", input, dim);
  }
  static Tensor backward(ContextOf<Cummax>& c, const Tensor& g, const Tensor&) {
    return put_picked(c, g, c["dim"_arg]);
  }
  static std::tuple<Tensor, Tensor> jvp(ContextOf<Cummax>& c, TensorList tangents) {
    return take_picked(c, tangents[0], c["dim"_arg]);
  }
};

struct Cummin {
  static constexpr auto schema =
      "cummin(Tensor input, int dim, *, Tensor(a!)[]? out=None) -> (Tensor values, Tensor indices)";
  static constexpr auto doc =
      "The smallest of each element and all before it along a dimension, and its index: the last "
      "of "
      "equal ones. NaN is smaller than all numbers.";
  static constexpr auto saves = "shape(input), result1";
  static std::tuple<Tensor, Tensor> forward(const Tensor& input, int64_t dim) {
    return extremum_so_far<false>("cummin", input, dim);
  }
  static Tensor backward(ContextOf<Cummin>& c, const Tensor& g, const Tensor&) {
    return put_picked(c, g, c["dim"_arg]);
  }
  static std::tuple<Tensor, Tensor> jvp(ContextOf<Cummin>& c, TensorList tangents) {
    return take_picked(c, tangents[0], c["dim"_arg]);
  }
};

}  // namespace

TENON_OPS(Logcumsumexp, Cummax, Cummin)
TENON_OPS_WITH_IN_PLACE(Cumsum, Cumprod)
