// Vector math: its accuracy over all arguments, in each instruction set, and that a result does not
// depend on how the function is spelled or where in a row its element is.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <tenon/elementwise.hpp>
#include <tenon/kernel/math.hpp>

namespace {

using namespace tenon;

// The type whose functions are exact enough to measure those of T by.
template <class T>
using Wide = std::conditional_t<std::is_same_v<T, float>, double, long double>;

#define UNARY(name)                                                         \
  struct Unary_##name {                                                     \
    static constexpr auto text = #name;                                     \
    static constexpr auto schema = "f(Tensor input) -> Tensor";             \
    static constexpr auto promotion = promote_float;                        \
    static constexpr auto element = [](auto x) { return kernel::name(x); }; \
    template <class W>                                                      \
    static W exact(W x, W) {                                                \
      return std::name(x);                                                  \
    }                                                                       \
  };
#define BINARY(name)                                                                   \
  struct Binary_##name {                                                               \
    static constexpr auto text = #name;                                                \
    static constexpr auto schema = "f(Tensor input, Tensor other) -> Tensor";          \
    static constexpr auto promotion = promote_float;                                   \
    static constexpr auto element = [](auto x, auto y) { return kernel::name(x, y); }; \
    template <class W>                                                                 \
    static W exact(W x, W y) {                                                         \
      return std::name(x, y);                                                          \
    }                                                                                  \
  };
UNARY(exp)
UNARY(exp2)
UNARY(expm1)
UNARY(log)
UNARY(log2)
UNARY(log10)
UNARY(log1p)
UNARY(sin)
UNARY(cos)
UNARY(tan)
UNARY(asin)
UNARY(acos)
UNARY(atan)
UNARY(sinh)
UNARY(cosh)
UNARY(tanh)
UNARY(asinh)
UNARY(acosh)
UNARY(atanh)
UNARY(erf)
UNARY(erfc)
UNARY(cbrt)
UNARY(sqrt)
BINARY(pow)
BINARY(atan2)
BINARY(hypot)
struct Rsqrt {
  static constexpr auto text = "rsqrt";
  static constexpr auto schema = "f(Tensor input) -> Tensor";
  static constexpr auto promotion = promote_float;
  static constexpr auto element = [](auto x) { return kernel::rsqrt(x); };
  template <class W>
  static W exact(W x, W) {
    return 1 / std::sqrt(x);
  }
};

template <class Kernel, class T>
std::vector<T> run_loop(uint32_t isa, const std::vector<T>& x, const std::vector<T>& y) {
  std::vector<T> out(x.size());
  char* data[] = {reinterpret_cast<char*>(out.data()),
                  const_cast<char*>(reinterpret_cast<const char*>(x.data())),
                  const_cast<char*>(reinterpret_cast<const char*>(y.data()))};
  const int64_t strides[] = {sizeof(T), sizeof(T), sizeof(T)};
  tenon::detail::ElementwiseOf<Kernel>::value
      .loops[tenon::detail::loop_index(isa, static_cast<size_t>(dtype_of<T>()))](
          data, strides, static_cast<int64_t>(x.size()), nullptr);
  return out;
}

// Every kind of number: random patterns of bits, numbers of ordinary size, and the special ones.
template <class T>
std::vector<T> arguments(uint64_t seed, size_t count) {
  using Limits = std::numeric_limits<T>;
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<T> near(-4, 4), far(-800, 800);
  std::vector<T> list;
  for (const T special : {T{0}, T{1}, T{0.5}, T{2}, T{10}, T{88}, T{709}, T{1000}, Limits::min(),
                          Limits::denorm_min(), Limits::max(), Limits::epsilon(),
                          Limits::infinity(), Limits::quiet_NaN()}) {
    list.push_back(special);
    list.push_back(-special);
  }
  while (list.size() < count) {
    const auto bits = static_cast<Bits>(random());
    T any;
    std::memcpy(&any, &bits, sizeof(T));
    list.push_back(any);
    list.push_back(near(random));
    list.push_back(far(random));
    list.push_back(std::ldexp(near(random), -static_cast<int>(random() % 40)));
  }
  return list;
}

// The error of `found` in units in the last place of T; infinity counts as the first power of two
// beyond the range.
template <class T>
double ulps(T found, Wide<T> exact) {
  using Limits = std::numeric_limits<T>;
  using W = Wide<T>;
  const W beyond = std::ldexp(W{1}, Limits::max_exponent);
  if (std::isnan(exact) || std::isnan(found))
    return std::isnan(exact) && std::isnan(found) ? 0 : Limits::infinity();
  W value = found;
  if (std::isinf(value)) value = std::copysign(beyond, value);
  if (std::abs(exact) > beyond) exact = std::copysign(beyond, exact);
  if (exact == 0 && found == 0) return std::signbit(exact) == std::signbit(found) ? 0 : 1e300;
  const int exponent = exact == 0 ? Limits::min_exponent : std::ilogb(exact) + 1;
  const W unit = std::ldexp(W{1}, std::max(exponent, int{Limits::min_exponent}) - Limits::digits);
  return static_cast<double>(std::abs(value - exact) / unit);
}

template <class Kernel, class T>
void check_accuracy(double bound, uint32_t least_isa = 0) {
  const size_t count = 100000;
  const std::vector<T> x = arguments<T>(1, count), y = arguments<T>(2, count);
  std::vector<Wide<T>> exact;
  for (size_t i = 0; i < x.size(); ++i)
    exact.push_back(Kernel::exact(static_cast<Wide<T>>(x[i]), static_cast<Wide<T>>(y[i])));
  for (uint32_t isa = least_isa; isa <= kernel::machine_isa(); ++isa) {
    const std::vector<T> found = run_loop<Kernel>(isa, x, y);
    double worst = 0;
    size_t at = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const double error = ulps(found[i], exact[i]);
      if (error > worst) at = i;
      worst = std::max(worst, error);
    }
    INFO(std::string(Kernel::text), " of ", std::string(dtype_text(dtype_of<T>())), ", isa ", isa,
         ": ", worst, " ulp at ", x[at], ", ", y[at], ": ", found[at], " for ",
         static_cast<double>(exact[at]));
    CHECK(worst <= bound);
  }
}
template <class... Kernels>
void check_all(double bound) {
  (check_accuracy<Kernels, float>(bound), ...);
  (check_accuracy<Kernels, double>(bound), ...);
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}
// Numbers that exp or log of f32 treats apart, each beside ordinary ones in a register.
template <class Kernel>
void check_neighbours(float low, float high) {
  using Limits = std::numeric_limits<float>;
  std::mt19937_64 random(5);
  std::uniform_real_distribution<float> near(low, high);
  std::vector<float> ordinary(16);
  for (uint32_t isa = 0; isa <= kernel::machine_isa(); ++isa) {
    for (const float special : {-1.0F, 0.0F, -0.0F, 89.0F, -89.0F, -1000.0F, Limits::infinity(),
                                -Limits::infinity(), Limits::quiet_NaN(), Limits::denorm_min()}) {
      for (float& x : ordinary) x = near(random);
      const std::vector<float> alone = run_loop<Kernel>(isa, ordinary, ordinary);
      for (size_t place = 0; place < 16; ++place) {
        std::vector<float> x = ordinary;
        x[place] = special;
        std::vector<float> found = run_loop<Kernel>(isa, x, x);
        CAPTURE(special);
        CHECK(ulps(found[place], Kernel::exact(double{special}, 0.0)) <= 2.5);
        found[place] = alone[place];
        CHECK(same_bits(found, alone));
      }
    }
  }
}

// One op, written with <cmath> and with the kit.
struct StdMish {
  static constexpr auto schema = "mish(Tensor input) -> Tensor";
  static constexpr auto promotion = promote_float;
  static constexpr auto element = [](auto x) { return x * std::tanh(std::log1p(std::exp(x))); };
};
struct KitMish {
  static constexpr auto schema = "mish(Tensor input) -> Tensor";
  static constexpr auto promotion = promote_float;
  static constexpr auto element = [](auto x) {
    return x * kernel::tanh(kernel::log1p(kernel::exp(x)));
  };
};

template <class T>
void check_spelling_and_place() {
  const std::vector<T> x = arguments<T>(3, 1000);
  for (uint32_t isa = 0; isa <= kernel::machine_isa(); ++isa) {
    const std::vector<T> whole = run_loop<StdMish>(isa, x, x);
    CHECK(same_bits(whole, run_loop<KitMish>(isa, x, x)));
    for (const size_t from : {1u, 3u, 17u}) {
      for (const size_t count : {1u, 2u, 7u, 16u, 33u, 600u}) {
        const auto begin = static_cast<std::ptrdiff_t>(from);
        const auto end = static_cast<std::ptrdiff_t>(from + count);
        const std::vector<T> part(x.begin() + begin, x.begin() + end);
        const std::vector<T> expected(whole.begin() + begin, whole.begin() + end);
        CHECK(same_bits(run_loop<StdMish>(isa, part, part), expected));
      }
    }
  }
}

}  // namespace

TEST_SUITE("kernel/math") {
  TEST_CASE("roots are exact but for rounding") {
    check_all<Unary_sqrt>(0.501);
    check_all<Rsqrt>(1.5);
  }
  TEST_CASE("exponentials and logarithms are within 4 ulp") {
    check_all<Unary_exp, Unary_exp2, Unary_expm1, Unary_log, Unary_log2, Unary_log10, Unary_log1p,
              Binary_pow>(4);
  }
  TEST_CASE("exp and log of f32 by AVX2 and AVX-512 are within 1.2 ulp") {
    check_accuracy<Unary_exp, float>(1.2, TENON_ISA_V3);
    check_accuracy<Unary_log, float>(1.2, TENON_ISA_V3);
  }
  TEST_CASE("exp and log of an element do not depend on its neighbours") {
    check_neighbours<Unary_exp>(-87, 87);
    check_neighbours<Unary_log>(0, 100);
  }
  TEST_CASE("trigonometric functions are within 4 ulp") {
    check_all<Unary_sin, Unary_cos, Unary_tan, Unary_asin, Unary_acos, Unary_atan, Binary_atan2>(4);
  }
  TEST_CASE("hyperbolic and other functions are within 4 ulp") {
    check_all<Unary_sinh, Unary_cosh, Unary_tanh, Unary_asinh, Unary_acosh, Unary_atanh, Unary_erf,
              Unary_erfc, Unary_cbrt, Binary_hypot>(4);
  }
  TEST_CASE("std:: and kernel:: functions give the same, wherever in a row an element is") {
    check_spelling_and_place<float>();
    check_spelling_and_place<double>();
  }
}
