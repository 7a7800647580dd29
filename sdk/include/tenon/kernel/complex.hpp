// Kernels for c64 and c128, in std::complex: for the ops that compute in them. An op's `element` is
// compiled for them when its dtypes say so:
//
//   static constexpr uint32_t dtypes = floating_dtypes | complex_dtypes;
//
// Not part of the umbrella headers: <complex> costs each file that includes it 0.1 s.
#pragma once

#include <complex>

#include "tenon/elementwise.hpp"
#include "tenon/kernel/visit.hpp"

TENON_NAMESPACE_BEGIN
namespace kernel {

// What kernel/math.hpp has for real numbers.
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
