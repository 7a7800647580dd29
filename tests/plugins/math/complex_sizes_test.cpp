// Derivatives of complex functions at numbers of every size, subnormal ones and those whose squares leave the
// range, and of every direction, against formulas in long double.
#include <cmath>
#include <complex>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include <tenon/tenon.hpp>

namespace {

using tenon::c128;
using tenon::c64;
using tenon::Tensor;
using Wide = std::complex<long double>;

const long double pi = 3.141592653589793238462643383279502884L;

// Numbers by which a function is compared: all, or those of which a power of e is in range.
enum class Range { all, powers };

struct Function {
  const char* name;
  Wide (*slope)(Wide);
  Range range = Range::all;
};
Wide one() { return {1, 0}; }
// sqrt(1 + z) and 1 - z and the like in two factors, as squares would lose digits.
Wide root(Wide z) { return std::sqrt(z); }
const Wide i(0, 1);

const Function functions[] = {
    {"square", [](Wide z) { return z * 2.0L; }},
    {"sqrt", [](Wide z) { return one() / (root(z) * 2.0L); }},
    {"rsqrt", [](Wide z) { return Wide(-0.5L) / (root(z) * z); }},
    {"reciprocal", [](Wide z) { return -one() / (z * z); }},
    {"exp", [](Wide z) { return std::exp(z); }, Range::powers},
    {"log", [](Wide z) { return one() / z; }},
    {"log2", [](Wide z) { return one() / (z * std::log(2.0L)); }},
    {"log10", [](Wide z) { return one() / (z * std::log(10.0L)); }},
    {"log1p", [](Wide z) { return one() / (one() + z); }},
    {"sin", [](Wide z) { return std::cos(z); }, Range::powers},
    {"cos", [](Wide z) { return -std::sin(z); }, Range::powers},
    {"tan", [](Wide z) { return one() / (std::cos(z) * std::cos(z)); }, Range::powers},
    {"sinh", [](Wide z) { return std::cosh(z); }, Range::powers},
    {"cosh", [](Wide z) { return std::sinh(z); }, Range::powers},
    {"tanh", [](Wide z) { return one() / (std::cosh(z) * std::cosh(z)); }, Range::powers},
    {"sigmoid", [](Wide z) { return one() / (std::cosh(z * 0.5L) * std::cosh(z * 0.5L) * 4.0L); },
     Range::powers},
    {"asin", [](Wide z) { return one() / (root(one() - z) * root(one() + z)); }},
    {"acos", [](Wide z) { return -one() / (root(one() - z) * root(one() + z)); }},
    {"atan", [](Wide z) { return one() / ((one() + i * z) * (one() - i * z)); }},
    {"asinh", [](Wide z) { return one() / (root(one() - i * z) * root(one() + i * z)); }},
    {"acosh", [](Wide z) { return one() / (root(z - one()) * root(z + one())); }},
    {"atanh", [](Wide z) { return one() / ((one() - z) * (one() + z)); }},
};

template <class T>
std::vector<Wide> points(bool powers) {
  using Limits = std::numeric_limits<T>;
  std::vector<long double> sizes{
      Limits::denorm_min() * 64.0L, Limits::min() * 3.0L, 1e-30L, 1e-8L, 0.4L, 2.5L, 20};
  if (!powers) sizes.insert(sizes.end(), {1e5L, 1e30L, Limits::max() / 8.0L});
  // No axes: these are the cuts of some functions.
  const Wide directions[] = {{1, 1},     {-1, 1},        {-1, -1},     {0.3L, -1},
                             {1, 1e-3L}, {1e-3L, -1.0L}, {-1, -0.02L}, {-0.002L, 1}};
  std::vector<Wide> list;
  for (const long double size : sizes) {
    for (const Wide& direction : directions) {
      const std::complex<T> rounded(static_cast<T>(size * direction.real()),
                                    static_cast<T>(size * direction.imag()));
      list.emplace_back(rounded.real(), rounded.imag());
    }
  }
  return list;
}
template <class T>
Tensor tensor_of(const std::vector<Wide>& numbers, tenon::DType dtype) {
  std::vector<std::complex<double>> narrow;
  narrow.reserve(numbers.size());
  for (const Wide& z : numbers)
    narrow.emplace_back(static_cast<double>(z.real()), static_cast<double>(z.imag()));
  return tenon::from_range(narrow.begin(), narrow.end()).to(dtype);
}

// A number near the exact one, by the size of that, or beyond the range where that is.
template <class T>
void check_near(std::complex<double> found, Wide exact, Wide at) {
  using Limits = std::numeric_limits<T>;
  const long double size = std::abs(exact);
  CAPTURE(static_cast<double>(at.real()));
  CAPTURE(static_cast<double>(at.imag()));
  CAPTURE(found.real());
  CAPTURE(found.imag());
  CAPTURE(static_cast<double>(exact.real()));
  CAPTURE(static_cast<double>(exact.imag()));
  if (std::isnan(size) || size > Limits::max() / 4.0L) return;
  const long double tolerance = sizeof(T) == 4 ? 2e-5L : 1e-13L;
  const Wide distance = Wide(found.real(), found.imag()) - exact;
  CHECK(std::abs(distance) <= size * tolerance + Limits::denorm_min() * 16.0L);
}

template <class T>
void check(const Function& function, tenon::DType dtype) {
  CAPTURE(std::string(function.name));
  const std::vector<Wide> at = points<T>(function.range == Range::powers);
  const Tensor z = tensor_of<T>(at, dtype);
  const tenon::Op op(function.name);
  const Tensor leaf = z.detach().requires_grad_();
  // The gradient of the real part is the conjugate of the derivative.
  const std::vector<std::complex<double>> gradient =
      tenon::gradients({tenon::real(op.call<Tensor>(leaf)).sum()}, {leaf})[0]
          .to(c128)
          .to_vector<std::complex<double>>();
  std::vector<std::complex<double>> tangent;
  {
    const tenon::DualLevel level;
    tangent = unpack_dual(op.call<Tensor>(make_dual(z, ones_like(z))))
                  .tangent.to(c128)
                  .to_vector<std::complex<double>>();
  }
  for (size_t k = 0; k < at.size(); ++k) {
    const Wide slope = function.slope(at[k]);
    check_near<T>(gradient[k], std::conj(slope), at[k]);
    check_near<T>(tangent[k], slope, at[k]);
  }
}

struct Binary {
  const char* name;
  Wide (*by_first)(Wide, Wide);
  Wide (*by_second)(Wide, Wide);
};
const Binary binary[] = {
    {"add", [](Wide, Wide) { return one(); }, [](Wide, Wide) { return one(); }},
    {"mul", [](Wide, Wide b) { return b; }, [](Wide a, Wide) { return a; }},
    {"div", [](Wide, Wide b) { return one() / b; }, [](Wide a, Wide b) { return -(a / b) / b; }},
};

template <class T>
void check(const Binary& function, tenon::DType dtype) {
  CAPTURE(std::string(function.name));
  std::vector<Wide> first, second;
  for (const Wide& a : points<T>(false)) {
    for (const Wide& b : points<T>(false)) {
      // The quotient is in range, and not subnormal.
      const long double size = std::abs(a / b);
      using Limits = std::numeric_limits<T>;
      if (size > Limits::max() / 8.0L || size < Limits::min() * 1e8L ||
          std::abs(b) < Limits::min() * 16.0L)
        continue;
      first.push_back(a);
      second.push_back(b);
    }
  }
  const Tensor a = tensor_of<T>(first, dtype).requires_grad_(),
               b = tensor_of<T>(second, dtype).requires_grad_();
  const tenon::Op op(function.name);
  const std::vector<Tensor> gradients =
      tenon::gradients({tenon::real(op.call<Tensor>(a, b)).sum()}, {a, b});
  const auto by_first = gradients[0].to(c128).to_vector<std::complex<double>>(),
             by_second = gradients[1].to(c128).to_vector<std::complex<double>>();
  for (size_t k = 0; k < first.size(); ++k) {
    check_near<T>(by_first[k], std::conj(function.by_first(first[k], second[k])), second[k]);
    check_near<T>(by_second[k], std::conj(function.by_second(first[k], second[k])), second[k]);
  }
}

}  // namespace

TEST_SUITE("plugins/math/complex_sizes") {
  TEST_CASE("derivatives of complex functions are right at every size and direction") {
    for (const Function& function : functions) {
      check<float>(function, c64);
      check<double>(function, c128);
    }
  }

  TEST_CASE("derivatives of complex products and quotients are right at every size") {
    for (const Binary& function : binary) {
      check<float>(function, c64);
      check<double>(function, c128);
    }
  }
}
