// Elementary functions against long double, in units in the last place: f32 within 1, f64 within 2,
// sinc within 4.
// The corners of ops of one or more operands: signs, zeros, NaN, infinities, integers.
#include <algorithm>
#include <limits>

#include "../random_inputs.hpp"

using namespace compare;
using namespace random_inputs;
using tenon::f32;
using tenon::f64;
using tenon::i64;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
const double nan_number = std::numeric_limits<double>::quiet_NaN();
using Long = long double;

// Distance from the exact result in units of the last place of T.
template <class T>
double distance(T found, Long exact) {
  if (std::isnan(exact) || std::isnan(found))
    return std::isnan(exact) && std::isnan(found) ? 0 : inf;
  const T rounded = static_cast<T>(exact);
  if (std::isinf(rounded) || std::isinf(found)) return rounded == found ? 0 : inf;
  const T magnitude = std::fabs(rounded);
  const Long unit =
      static_cast<Long>(std::nextafter(magnitude, std::numeric_limits<T>::infinity())) -
      static_cast<Long>(magnitude);
  return static_cast<double>(std::fabs(static_cast<Long>(found) - exact) / unit);
}

template <class T>
std::vector<T> arguments(double low, double high) {
  std::vector<T> list = {0, -T{0}, static_cast<T>(inf), static_cast<T>(-inf),
                         static_cast<T>(nan_number)};
  const tenon::Draws draws{99, 0};
  for (int i = 0; i < 4000; ++i)
    list.push_back(static_cast<T>(low + (high - low) * draws.uniform(i)));
  for (int i = -40; i < 8; ++i) {
    list.push_back(static_cast<T>(std::ldexp(1.1, i)));
    list.push_back(static_cast<T>(-std::ldexp(1.3, i)));
    list.push_back(static_cast<T>(1 + std::ldexp(1.1, i)));
    list.push_back(static_cast<T>(1 - std::ldexp(1.1, i)));
    list.push_back(static_cast<T>(std::ldexp(1.1, i) - 1));
  }
  return list;
}

template <class T>
double worst(Tensor (*op)(const Tensor&, const Tensor&), Long (*exact)(Long), double low,
             double high) {
  const std::vector<T> list = arguments<T>(low, high);
  const std::vector<T> found =
      op(tenon::from_range(list.begin(), list.end()), {}).template to_vector<T>();
  double most = 0;
  for (size_t i = 0; i < list.size(); ++i) {
    const double off = distance<T>(found[i], exact(static_cast<Long>(list[i])));
    if (off > 4) {
      INFO(list[i], " gives ", found[i]);
      CHECK(off <= 4);
    }
    most = std::max(most, off);
  }
  return most;
}

constexpr Long pi = 3.14159265358979323846264338327950288L;
Long sinc_of(Long x) {
  const Long rest = x - std::nearbyint(x);
  const Long sine = std::sin(pi * rest) * (std::fmod(std::nearbyint(x), 2.0L) == 0 ? 1 : -1);
  return x == 0 ? 1 : rest == 0 ? 0 : sine / (pi * x);
}
// By Newton's method, from a start that bisection finds.
Long erfinv_of(Long y) {
  if (!(std::fabs(y) <= 1)) return static_cast<Long>(nan_number);
  if (std::fabs(y) == 1) return std::copysign(static_cast<Long>(inf), y);
  Long low = 0, high = 7;
  const Long target = std::fabs(y), rest = 1 - target;
  for (int i = 0; i < 80; ++i) {
    const Long middle = (low + high) / 2;
    (std::erfc(middle) > rest ? low : high) = middle;
  }
  Long x = target < 0.5L ? target * std::sqrt(pi) / 2 : (low + high) / 2;
  for (int i = 0; i < 6; ++i) {
    const Long residual = target < 0.5L ? std::erf(x) - target : rest - std::erfc(x);
    x -= residual / (2 / std::sqrt(pi) * std::exp(-x * x));
  }
  return std::copysign(x, y);
}

template <class T>
Tensor row(const std::vector<T>& values) {
  return tenon::from_range(values.begin(), values.end());
}
std::vector<double> values_of(const Tensor& tensor) { return tensor.to_vector<double>(); }
void check_numbers(const Tensor& found, const std::vector<double>& expected) {
  const std::vector<double> numbers = values_of(found);
  REQUIRE(numbers.size() == expected.size());
  for (size_t i = 0; i < numbers.size(); ++i) {
    CAPTURE(i);
    CHECK(same_number(numbers[i], expected[i]));
    if (expected[i] == 0) CHECK(std::signbit(numbers[i]) == std::signbit(expected[i]));
  }
}

}  // namespace

TEST_SUITE("math accuracy") {
  TEST_CASE("unary functions are within the stated units of the last place") {
    struct Row {
      const char* name;
      Tensor (*op)(const Tensor&, const Tensor&);
      Long (*exact)(Long);
      double low, high;
      double f32_units, f64_units;
    };
    const Row rows[] = {
        {"asinh", tenon::asinh, [](Long x) { return std::asinh(x); }, -50, 50, 1, 3},
        {"acosh", tenon::acosh, [](Long x) { return std::acosh(x); }, 1, 50, 1, 3},
        {"atanh", tenon::atanh, [](Long x) { return std::atanh(x); }, -1, 1, 1, 3},
        {"erfc", tenon::erfc, [](Long x) { return std::erfc(x); }, -6, 9, 1, 3},
        {"erfinv", tenon::erfinv, erfinv_of, -1, 1, 1, 3},
        {"sinc", tenon::sinc, sinc_of, -20, 20, 1, 4},
    };
    for (const Row& each : rows) {
      CAPTURE(each.name);
      const double single = worst<float>(each.op, each.exact, each.low, each.high),
                   twice = worst<double>(each.op, each.exact, each.low, each.high);
      CHECK(single <= each.f32_units);
      CHECK(twice <= each.f64_units);
    }
  }

  TEST_CASE("functions of two numbers are as accurate, relative to the larger operand") {
    const Tensor a = (numbers({4000}, f64, 1) * 30).to(f32),
                 b = (numbers({4000}, f64, 2) * 30).to(f32);
    const auto check = [&](const Tensor& narrow, const Tensor& wide, Long (*exact)(Long, Long)) {
      for (int64_t i = 0; i < a.numel(); ++i) {
        const auto x = static_cast<Long>(a.data<float>()[i]),
                   y = static_cast<Long>(b.data<float>()[i]);
        const Long value = exact(x, y);
        REQUIRE(distance<float>(narrow.data<float>()[i], value) <= 1);
        const Long scale = std::max({std::fabs(x), std::fabs(y), std::fabs(value)});
        REQUIRE(std::fabs(static_cast<Long>(wide.data<double>()[i]) - value) <=
                4 * scale * 0x1p-53L);
      }
    };
    check(tenon::hypot(a, b), tenon::hypot(a.to(f64), b.to(f64)),
          [](Long x, Long y) { return std::hypot(x, y); });
    check(tenon::logaddexp(a, b), tenon::logaddexp(a.to(f64), b.to(f64)),
          [](Long x, Long y) { return std::fmax(x, y) + std::log1p(std::exp(-std::fabs(x - y))); });
    check(tenon::logaddexp2(a, b), tenon::logaddexp2(a.to(f64), b.to(f64)), [](Long x, Long y) {
      return std::fmax(x, y) + std::log1p(std::exp2(-std::fabs(x - y))) / std::log(2.0L);
    });
    check(tenon::copysign(a, b), tenon::copysign(a.to(f64), b.to(f64)),
          [](Long x, Long y) { return std::copysign(x, y); });
    check(tenon::fmod(a, b), tenon::fmod(a.to(f64), b.to(f64)),
          [](Long x, Long y) { return std::fmod(x, y); });
  }

  TEST_CASE("corners of functions of one number") {
    const std::vector<double> special = {-inf, -1.5, -0.0, 0.0, 2.25, inf, nan_number};
    const Tensor x = row(special);
    check_numbers(tenon::frac(x), {nan_number, -0.5, 0.0, 0.0, 0.25, nan_number, nan_number});
    check_numbers(tenon::signbit(tenon::tensor({-0.0, 0.0, -inf, 3.0}, f32)), {1, 0, 1, 0});
    CHECK(tenon::signbit(tenon::tensor({-3, 0}, tenon::i8)).to_vector<bool>() ==
          std::vector<bool>{true, false});
    CHECK(tenon::signbit(tenon::tensor({true}, tenon::boolean)).item<bool>() == false);
    CHECK(tenon::positive(x).to_vector<double>()[1] == -1.5);
    CHECK_THROWS_AS(tenon::positive(tenon::tensor({true}, tenon::boolean)), tenon::TypeError);
    CHECK_THROWS_AS(tenon::frac(tenon::tensor({1})), tenon::TypeError);
    check_numbers(tenon::nan_to_num(x), {-std::numeric_limits<double>::max(), -1.5, -0.0, 0.0, 2.25,
                                         std::numeric_limits<double>::max(), 0});
    check_numbers(tenon::nan_to_num(x, 7, 8, -9), {-9, -1.5, -0.0, 0.0, 2.25, 8, 7});
    CHECK(tenon::nan_to_num(tenon::tensor({3, 4})).dtype() == i64);
    CHECK(tenon::nan_to_num(tenon::tensor({inf}, f32)).item<float>() ==
          std::numeric_limits<float>::max());
    CHECK(tenon::erfinv(tenon::tensor({1.0, -1.0}, f64)).to_vector<double>() ==
          std::vector<double>{inf, -inf});
    CHECK(std::isnan(tenon::erfinv(tenon::tensor({1.5}, f64)).item<double>()));
    CHECK(tenon::sinc(tenon::tensor({0.0, 3.0, -1e15}, f64)).to_vector<double>() ==
          std::vector<double>{1, 0, 0});
    CHECK(tenon::asinh(tenon::tensor({1})).dtype() == f32);
  }

  TEST_CASE("corners of functions of two and three numbers") {
    check_numbers(
        tenon::copysign(row<double>({3, -3, 0, nan_number}), row<double>({-0.0, 0.0, -1, 1})),
        {-3, 3, -0.0, nan_number});
    CHECK(tenon::copysign(tenon::tensor({3}), -1).dtype() == f32);
    check_numbers(tenon::heaviside(row<double>({-1, 0, 2, nan_number}), 0.5), {0, 0.5, 1, 0});
    check_numbers(tenon::fmax(row<double>({nan_number, 1, nan_number}),
                              row<double>({2, nan_number, nan_number})),
                  {2, 1, nan_number});
    check_numbers(tenon::fmin(row<double>({nan_number, 1, 4}), 3), {3, 1, 3});
    check_numbers(tenon::fmod(row<double>({-7, 7, 1, inf}), row<double>({3, -3, 0, 2})),
                  {-1, 1, nan_number, nan_number});
    CHECK(tenon::fmod(tenon::tensor({-7, 7, 5}), tenon::tensor({3, -3, 0})).to_vector<int64_t>() ==
          std::vector<int64_t>{-1, 1, 0});
    CHECK(tenon::fmod(tenon::tensor({INT64_MIN}), -1).item<int64_t>() == 0);
    check_numbers(tenon::hypot(row<double>({inf, 3e300, 0}), row<double>({nan_number, 4e300, 0})),
                  {inf, 5e300, 0});
    CHECK(tenon::hypot(tenon::tensor({3e38}, f32), 0).item<float>() == 3e38f);
    check_numbers(
        tenon::logaddexp(row<double>({inf, -inf, inf, -inf}), row<double>({inf, -inf, -inf, 2})),
        {inf, -inf, inf, 2});
    check_numbers(tenon::logaddexp2(row<double>({3, 1000}), row<double>({3, 1000})), {4, 1001});
    check_numbers(tenon::xlogy(row<double>({0, 0, 2, 0}), row<double>({0, nan_number, 1, inf})),
                  {0, nan_number, 0, 0});
    check_numbers(tenon::nextafter(row<double>({1, 0}), row<double>({2, -1})),
                  {1 + 0x1p-52, -0x1p-1074});
    CHECK(tenon::nextafter(tenon::tensor({1.0}, f32), 2).item<float>() == 1 + 0x1p-23f);
    CHECK_THROWS_AS(tenon::nextafter(tenon::tensor({1}), tenon::tensor({2})), tenon::TypeError);
    // Halves step in their own numbers.
    const auto half = [](DType dtype, const std::vector<double>& from,
                         const std::vector<double>& to) {
      return tenon::nextafter(row<double>(from).to(dtype), row<double>(to).to(dtype))
          .to(f64)
          .to_vector<double>();
    };
    const std::vector<double> f16 =
        half(tenon::f16, {1, 1, 0, 65504, -inf, 0x1p-24, 2}, {2, 0, -1, inf, 0, -1, 2});
    CHECK(f16 == std::vector<double>{1 + 0x1p-10, 1 - 0x1p-11, -0x1p-24, inf, -65504, 0, 2});
    const std::vector<double> bf16 = half(tenon::bf16, {1, -1, 0x1p-133}, {2, 0, 1});
    CHECK(bf16 == std::vector<double>{1 + 0x1p-7, -1 + 0x1p-8, 0x1p-132});
    for (const double number : half(tenon::f16, {nan_number, 1}, {1, nan_number}))
      CHECK(std::isnan(number));
    const Tensor into = tenon::zeros({2}, tenon::bf16);
    tenon::nextafter(tenon::ones({2}, tenon::bf16), 2, into);
    CHECK(into.to(f64).to_vector<double>() == std::vector<double>{1 + 0x1p-7, 1 + 0x1p-7});
    check_numbers(
        tenon::lerp(row<double>({1, 1, 0.1}), row<double>({3, 3, 0.7}), row<double>({0, 0.25, 1})),
        {1, 1.5, 0.7});
    CHECK(tenon::addcmul(tenon::tensor({1}), tenon::tensor({2, 3}), tenon::tensor({4}))
              .to_vector<int64_t>() == std::vector<int64_t>{9, 13});
    CHECK(tenon::addcdiv(tenon::tensor({1}), tenon::tensor({1}), tenon::tensor({2}), 3)
              .item<float>() == 2.5f);
    CHECK_THROWS_AS(tenon::addcmul(tenon::tensor({1}), tenon::tensor({2}), tenon::tensor({4}), 0.5),
                    tenon::TypeError);
  }

  TEST_CASE("shifts are defined for every count") {
    const auto left = [](const Tensor& x, const Tensor& by) {
      return values_of(bitwise_left_shift(x, by));
    };
    const auto right = [](const Tensor& x, const Tensor& by) {
      return values_of(bitwise_right_shift(x, by));
    };
    using Values = std::vector<double>;
    const Tensor by = tenon::tensor({0, 1, 7, 8, 100, -1}, tenon::i8);
    CHECK(left(tenon::tensor({1, 64, 1, 1, 1, 1}, tenon::i8), by) ==
          Values{1, -128, -128, 0, 0, 0});
    CHECK(right(tenon::tensor({-128, -128, -128, -128, -1, 5}, tenon::i8), by) ==
          Values{-128, -64, -1, -1, -1, 0});
    CHECK(left(tenon::tensor({200}, tenon::u8), tenon::tensor({1}, tenon::u8)) == Values{144});
    CHECK(right(tenon::tensor({200}, tenon::u8), tenon::tensor({3}, tenon::u8)) == Values{25});
    CHECK(left(tenon::tensor({1}), tenon::tensor({63})) == Values{-0x1p63});
    CHECK_THROWS_AS(bitwise_left_shift(tenon::tensor({1.0}), 1), tenon::TypeError);
  }

  TEST_CASE("isclose, allclose and equal") {
    const Tensor a = row<double>({1, 1, inf, inf, nan_number, 100}),
                 b = row<double>({1 + 1e-6, 1.1, inf, -inf, nan_number, 100.5});
    CHECK(isclose(a, b).to_vector<bool>() ==
          std::vector<bool>{true, false, true, false, false, false});
    CHECK(isclose(a, b, 0.01, 0, true).to_vector<bool>() ==
          std::vector<bool>{true, false, true, false, true, true});
    CHECK(isclose(a, b, 0, 0).to_vector<bool>() ==
          std::vector<bool>{false, false, true, false, false, false});
    CHECK(isclose(tenon::tensor({100, 7}), tenon::tensor({101, 7}), 0.02).to_vector<bool>() ==
          std::vector<bool>{true, true});
    CHECK(allclose(tenon::zeros({0}), tenon::ones({0})));
    CHECK_FALSE(allclose(a, b));
    CHECK(refusal_of("isclose", [&] { isclose(a, b, -1); }) ==
          "rtol must be at least 0, but it is -1");
    CHECK(tenon::equal(tenon::tensor({1, 2}), tenon::tensor({1.0, 2.0})));
    CHECK_FALSE(tenon::equal(tenon::tensor({1, 2}), tenon::tensor({{1, 2}})));
    CHECK_FALSE(tenon::equal(a, a));
    CHECK(tenon::equal(tenon::zeros({0, 2}), tenon::zeros({0, 2})));
  }

  TEST_CASE("second names call the op") {
    using tenon::cat, tenon::concat;
    const Tensor x = tenon::tensor({0.25, -0.5}), y = tenon::tensor({2.0, 4.0});
    const auto same = [](const Tensor& a, const Tensor& b) {
      CHECK(a.dtype() == b.dtype());
      CHECK(a.to_vector<double>() == b.to_vector<double>());
    };
    same(absolute(x), abs(x));
    same(arcsin(x), asin(x));
    same(arctan2(x, y), atan2(x, y));
    same(negative(x), neg(x));
    same(tenon::fix(y / 3), trunc(y / 3));
    same(subtract(x, y, 2), sub(x, y, 2));
    same(multiply(x, y), mul(x, y));
    same(divide(x, y), div(x, y));
    same(true_divide(x, y), div(x, y));
    same(tenon::greater(x, y), gt(x, y));
    same(tenon::less_equal(x, y), le(x, y));
    same(not_equal(x, y), ne(x, y));
    same(clip(x, 0, 1), clamp(x, 0, 1));
    same(concat({x, y}), cat({x, y}));
    same(bitwise_invert(tenon::tensor({5})), bitwise_not(tenon::tensor({5})));
    same(astype(x, f64), x.to(f64));
    CHECK(swapaxes(tenon::zeros({2, 3}), 0, 1).sizes() == Sizes{3, 2});
    CHECK(moveaxis(tenon::zeros({2, 3, 4}), {0}, {-1}).sizes() == Sizes{3, 4, 2});
    CHECK(refusal_of("subtract", [&] { subtract(x, tenon::zeros({3})); }).find("[3]") !=
          std::string::npos);
    const Tensor leaf_x = leaf({3});
    negative(leaf_x).sum().backward();
    CHECK(leaf_x.grad().to_vector<double>() == std::vector<double>{-1, -1, -1});
  }
}
