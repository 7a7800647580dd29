// Kernels for c64 and c128, in std::complex: for the ops that compute in them. An op's `element` is
// compiled for them when its dtypes say so:
//
//   static constexpr uint32_t dtypes = floating_dtypes | complex_dtypes;
//
// Not part of the umbrella headers: <complex> costs each file that includes it 0.1 s.
#pragma once

#include <cmath>
#include <complex>

#include "tenon/elementwise.hpp"
#include "tenon/kernel/visit.hpp"

TENON_NAMESPACE_BEGIN
namespace kernel {

// Complex counterparts of the functions of kernel/math.hpp.
template <class T>
std::complex<T> exp(const std::complex<T>& x) {
  return std::exp(x);
}
template <class T>
std::complex<T> log(const std::complex<T>& x) {
  return std::log(x);
}
template <class T>
std::complex<T> sin(const std::complex<T>& x) {
  return std::sin(x);
}
template <class T>
std::complex<T> cos(const std::complex<T>& x) {
  return std::cos(x);
}

// Others in f64, so that c64 is as exact as its parts can be.
#define TENON_COMPLEX_FUNCTION(name)                                                      \
  template <class T>                                                                      \
  std::complex<T> name(const std::complex<T>& x) {                                        \
    return static_cast<std::complex<T>>(std::name(static_cast<std::complex<double>>(x))); \
  }
TENON_COMPLEX_FUNCTION(tan)
TENON_COMPLEX_FUNCTION(asin)
TENON_COMPLEX_FUNCTION(acos)
TENON_COMPLEX_FUNCTION(atan)
TENON_COMPLEX_FUNCTION(sinh)
TENON_COMPLEX_FUNCTION(cosh)
TENON_COMPLEX_FUNCTION(tanh)
TENON_COMPLEX_FUNCTION(asinh)
TENON_COMPLEX_FUNCTION(acosh)
TENON_COMPLEX_FUNCTION(atanh)
TENON_COMPLEX_FUNCTION(log10)
#undef TENON_COMPLEX_FUNCTION
template <class T>
std::complex<T> log2(const std::complex<T>& x) {
  const std::complex<double> log = std::log(static_cast<std::complex<double>>(x));
  return {static_cast<T>(log.real() * 1.44269504088896340736),
          static_cast<T>(log.imag() * 1.44269504088896340736)};
}
template <class T>
std::complex<T> exp2(const std::complex<T>& x) {
  const double angle = static_cast<double>(x.imag()) * 0.693147180559945309417;
  const double size = std::exp2(static_cast<double>(x.real()));
  // Infinite numbers of angle 0 have no imaginary part.
  return {static_cast<T>(size * std::cos(angle)),
          static_cast<T>(angle == 0 ? angle : size * std::sin(angle))};
}
template <class T>
std::complex<T> expm1(const std::complex<T>& x) {
  const auto real = static_cast<double>(x.real()), angle = static_cast<double>(x.imag());
  const double half = std::sin(angle * 0.5);
  return {static_cast<T>(std::expm1(real) * std::cos(angle) - 2 * half * half),
          static_cast<T>(angle == 0 ? angle : std::exp(real) * std::sin(angle))};
}
template <class T>
std::complex<T> log1p(const std::complex<T>& x) {
  const auto real = static_cast<double>(x.real()), imag = static_cast<double>(x.imag());
  const double excess = real * (2 + real) + imag * imag;  // |1 + x|^2 - 1
  const double log =
      std::fabs(excess) < 0.5 ? 0.5 * std::log1p(excess) : std::log(std::hypot(1 + real, imag));
  return {static_cast<T>(log), static_cast<T>(std::atan2(imag, 1 + real))};
}

// Calls body(T{}) with std::complex<float> or std::complex<double>. `dtype` must be complex.
template <class Body>
void visit_complex(DType dtype, Body&& body) {
  if (dtype == c64)
    body(std::complex<float>{});
  else
    body(std::complex<double>{});
}

}  // namespace kernel

namespace detail {

// One loop for all strides: what bounds it is the arithmetic of an element.
template <class Kernel, class Out, class T, class First, size_t... I, size_t... P>
void run_complex_loop(char* const* data, const int64_t* strides, int64_t count,
                      const tenon_value* parameters, std::index_sequence<I...>,
                      std::index_sequence<P...>) {
  using Part = typename T::value_type;
  // Real: a product with the complex 1 + 0i would make NaN of an infinite part's other one.
  const Part p[sizeof...(P) + 1] = {parameter_as<Part>(parameters[P])..., Part{}};
  (void)p;
  const auto read = [&](auto zero, size_t input, int64_t i) {
    using In = decltype(zero);
    Stored<In> element;
    __builtin_memcpy(&element, data[input] + i * strides[input], sizeof(element));
    return load<In>(element);
  };
  for (int64_t i = 0; i < count; ++i) {
    const Stored<Out> result = static_cast<Stored<Out>>(
        Kernel::element(read(std::conditional_t<I == 0, First, T>{}, I + 1, i)..., p[P]...));
    __builtin_memcpy(data[0] + i * strides[0], &result, sizeof(result));
  }
}

template <class Kernel, class T>
void complex_loop(char* const* data, const int64_t* strides, int64_t count,
                  const tenon_value* parameters) {
  constexpr SchemaCounts counts = count_schema(Kernel::schema);
  constexpr uint32_t promotion = PromotionOf<Kernel>::value;
  using Out = std::conditional_t<
      promotion == TENON_PROMOTE_COMPARE, bool,
      std::conditional_t<promotion == TENON_PROMOTE_MAGNITUDE, typename T::value_type, T>>;
  using First = std::conditional_t<promotion == TENON_PROMOTE_CONDITION, bool, T>;
  run_complex_loop<Kernel, Out, T, First>(
      data, strides, count, parameters,
      std::make_index_sequence<static_cast<size_t>(counts.operands)>{},
      std::make_index_sequence<static_cast<size_t>(counts.parameters - counts.operands -
                                                   counts.has_out)>{});
}

template <class Kernel>
struct ComplexLoopsOf {
  static constexpr tenon_loop loops[TENON_COMPLEX_DTYPE_COUNT] = {
      complex_loop<Kernel, std::complex<float>>, complex_loop<Kernel, std::complex<double>>};
};

}  // namespace detail
TENON_NAMESPACE_END
