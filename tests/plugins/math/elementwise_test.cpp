// Elementwise ops of the math plugin: values, dtypes, shapes, corner cases and refusals.
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <tenon/tenon.hpp>

namespace {

using namespace tenon;

constexpr double inf = std::numeric_limits<double>::infinity(),
                 not_a_number = std::numeric_limits<double>::quiet_NaN();

template <class T>
Tensor row(const std::vector<T>& values) {
  return from_range(values.begin(), values.end());
}
Tensor bools(const std::vector<int>& values) {
  return from_range(values.begin(), values.end()).to(boolean);
}

// Distance in units of the last place of T around `expected`; 0 for equal infinities and for two
// NaNs.
template <class T>
double distance(T got, double expected) {
  const T rounded = static_cast<T>(expected);
  if (std::isnan(expected) || std::isnan(got))
    return std::isnan(expected) && std::isnan(got) ? 0 : inf;
  if (std::isinf(rounded) || std::isinf(got)) return rounded == got ? 0 : inf;
  const T magnitude = std::fabs(rounded);
  const double unit =
      static_cast<double>(std::nextafter(magnitude, std::numeric_limits<T>::infinity())) -
      static_cast<double>(magnitude);
  return std::fabs(static_cast<double>(got) - expected) / unit;
}

struct Unary {
  std::string name;
  Tensor (*op)(const Tensor&, const Tensor&);
  double (*reference)(double);
};
const Unary unary_ops[] = {
    {"abs", abs, [](double x) { return std::fabs(x); }},
    {"neg", neg, [](double x) { return -x; }},
    {"sign", sign, [](double x) { return static_cast<double>((x > 0) - (x < 0)); }},
    {"floor", floor, [](double x) { return std::floor(x); }},
    {"ceil", ceil, [](double x) { return std::ceil(x); }},
    {"round", round, [](double x) { return std::nearbyint(x); }},
    {"trunc", trunc, [](double x) { return std::trunc(x); }},
    {"square", square, [](double x) { return x * x; }},
    {"sqrt", sqrt, [](double x) { return std::sqrt(x); }},
    {"rsqrt", rsqrt, [](double x) { return 1 / std::sqrt(x); }},
    {"reciprocal", reciprocal, [](double x) { return 1 / x; }},
    {"exp", exp, [](double x) { return std::exp(x); }},
    {"exp2", exp2, [](double x) { return std::exp2(x); }},
    {"expm1", expm1, [](double x) { return std::expm1(x); }},
    {"log", log, [](double x) { return std::log(x); }},
    {"log2", log2, [](double x) { return std::log2(x); }},
    {"log10", log10, [](double x) { return std::log10(x); }},
    {"log1p", log1p, [](double x) { return std::log1p(x); }},
    {"sin", sin, [](double x) { return std::sin(x); }},
    {"cos", cos, [](double x) { return std::cos(x); }},
    {"tan", tan, [](double x) { return std::tan(x); }},
    {"asin", asin, [](double x) { return std::asin(x); }},
    {"acos", acos, [](double x) { return std::acos(x); }},
    {"atan", atan, [](double x) { return std::atan(x); }},
    {"sinh", sinh, [](double x) { return std::sinh(x); }},
    {"cosh", cosh, [](double x) { return std::cosh(x); }},
    {"tanh", tanh, [](double x) { return std::tanh(x); }},
    {"erf", erf, [](double x) { return std::erf(x); }},
    {"sigmoid", sigmoid,
     [](double x) { return std::exp(x < 0 ? x : 0) / (1 + std::exp(-std::fabs(x))); }},
    {"relu", relu, [](double x) { return x > 0 || std::isnan(x) ? x : 0; }},
};

// Numbers of all magnitudes and both signs, the special ones among them.
template <class T>
std::vector<T> awkward_numbers() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> numbers = {0,
                            -T{0},
                            Limits::infinity(),
                            -Limits::infinity(),
                            Limits::quiet_NaN(),
                            Limits::max(),
                            Limits::lowest(),
                            Limits::min(),
                            Limits::denorm_min(),
                            -Limits::denorm_min(),
                            Limits::min() / 4,
                            static_cast<T>(0.5),
                            static_cast<T>(1.5),
                            static_cast<T>(2.5),
                            static_cast<T>(-0.5),
                            1,
                            -1};
  for (int i = -60; i <= 60; ++i) {
    numbers.push_back(static_cast<T>(std::exp(i * 0.7)));
    numbers.push_back(static_cast<T>(-std::exp(i * 0.3)));
    numbers.push_back(static_cast<T>(i * 0.37));
  }
  return numbers;
}

// The largest distance of `got` from the reference over the elements of `input`.
template <class T>
double worst_distance(const Unary& op, const Tensor& input, const Tensor& got) {
  REQUIRE(got.sizes() == input.sizes());
  const std::vector<T> numbers = input.to_vector<T>(), results = got.to_vector<T>();
  double worst = 0;
  for (size_t i = 0; i < numbers.size(); ++i) {
    const double d = distance<T>(results[i], op.reference(static_cast<double>(numbers[i])));
    if (d > worst) worst = d;
    INFO(op.name, " of ", numbers[i], " is ", results[i]);
    if (d > 4) CHECK(d <= 4);
  }
  return worst;
}

}  // namespace

TEST_SUITE("math elementwise") {
  TEST_CASE("unary ops are within 4 units in the last place, for numbers of all magnitudes") {
    for (const Unary& op : unary_ops) {
      INFO(op.name);
      const Tensor single = row(awkward_numbers<float>()), twice = row(awkward_numbers<double>());
      CHECK(worst_distance<float>(op, single, op.op(single, {})) <= 4);
      CHECK(worst_distance<double>(op, twice, op.op(twice, {})) <= 4);
    }
  }

  TEST_CASE("unary ops take any strides, no dimensions and no elements") {
    const Tensor base = (rand({7, 40}, f32) * 0.9 + 0.05);
    for (const Unary& op : unary_ops) {
      INFO(op.name);
      for (const Tensor& input :
           {base, base.t(), base.slice(1, 3, 40, 3), base.slice(0, 1, 7, 2).t(), base.select(1, 5),
            base.unsqueeze(0).expand({3, 7, 40}), base.select(0, 0).select(0, 0), base.flip({1}),
            base.narrow(0, 0, 0)}) {
        CHECK(worst_distance<float>(op, input, op.op(input, {})) <= 4);
      }
    }
  }

  TEST_CASE("an element's result does not depend on its place") {
    for (const Unary& op : unary_ops) {
      INFO(op.name);
      for (const int64_t count : {1, 3, 16, 33, 100}) {
        const Tensor results = op.op(full({count}, 0.737), {});
        const std::vector<float> expected(
            static_cast<size_t>(count), op.op(full({200}, 0.737), {}).select(0, 100).item<float>());
        CHECK(results.to_vector<float>() == expected);
      }
    }
  }

  TEST_CASE("results go into a given output of any strides") {
    const Tensor input = rand({5, 6}), out = zeros({6, 5}).t();
    CHECK(exp(input, out).is_same(out));
    CHECK(out.to_vector<float>() == exp(input).to_vector<float>());
    CHECK_THROWS_WITH_AS(exp(input, zeros({3})), doctest::Contains("[3]"), ValueError);
    const Tensor same = input.clone();
    sqrt(same, same);
    CHECK(same.to_vector<float>() == sqrt(input).to_vector<float>());
  }

  TEST_CASE("integers and bools become f32 where the result is a real number") {
    CHECK(exp(tensor({0, 1})).dtype() == f32);
    CHECK(exp(tensor({0, 1}, u8)).to_vector<float>()[1] == doctest::Approx(2.7182818));
    CHECK(sigmoid(tensor({true, false})).to_vector<float>()[1] == 0.5f);
    CHECK(div(tensor({7, -7}), 2).to_vector<float>() == std::vector<float>{3.5f, -3.5f});
    CHECK(div(tensor({1, 0, -1}), 0).to_vector<float>()[0] == static_cast<float>(inf));
    CHECK(exp(tensor({0, 1}).to(f64)).dtype() == f64);
    for (const auto& op : {floor, ceil, round, trunc, abs, neg, sign, square, relu})
      CHECK(op(tensor({3, -4}), {}).dtype() == i64);
  }

  TEST_CASE("binary ops broadcast") {
    const Tensor a = tensor({{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}}), b = tensor({10.0, 20.0, 30.0});
    CHECK((a + b).to_vector<float>() == std::vector<float>{11, 22, 33, 14, 25, 36});
    CHECK((b - a).to_vector<float>() == std::vector<float>{9, 18, 27, 6, 15, 24});
    CHECK((a.select(1, 0).unsqueeze(1) * b).to_vector<float>() ==
          std::vector<float>{10, 20, 30, 40, 80, 120});
    CHECK((a.t() + a.t()).to_vector<float>() == std::vector<float>{2, 8, 4, 10, 6, 12});
    CHECK((zeros({0, 3}) + b).sizes() == std::vector<int64_t>{0, 3});
    CHECK((full({}, 2.0) * full({}, 3.0)).item<float>() == 6);
    CHECK((2 - a).to_vector<float>() == std::vector<float>{1, 0, -1, -2, -3, -4});
    CHECK((12 / a).to_vector<float>() == std::vector<float>{12, 6, 4, 3, 12.f / 5, 2});
    CHECK(add(a, b, 0.5).to_vector<float>() == std::vector<float>{6, 12, 18, 9, 15, 21});
    CHECK(sub(a, b, 2).to_vector<float>() == std::vector<float>{-19, -38, -57, -16, -35, -54});
    CHECK_THROWS_WITH_AS(a + zeros({4}), doctest::Contains("[2, 3]"), ValueError);
    CHECK_THROWS_WITH_AS(a + zeros({4}), doctest::Contains("[4]"), ValueError);
  }

  TEST_CASE("mixed dtypes meet in the wider kind; numbers count by kind alone") {
    CHECK((tensor({1}) + tensor({1.5})).dtype() == f32);
    CHECK((tensor({1}, i32) + tensor({1}, i64)).dtype() == i64);
    CHECK((tensor({1.0}, f64) + tensor({1.0}, f32)).dtype() == f64);
    CHECK((tensor({1}, u8) + tensor({1}, i8)).dtype() == i16);
    CHECK((tensor({true}) + tensor({true})).to_vector<bool>()[0]);
    CHECK((tensor({1}, i16) * 3).dtype() == i16);
    CHECK((tensor({1}, i16) * 0.5).dtype() == f32);
    CHECK((tensor({1.0}, f32) * 0.5).dtype() == f32);
    CHECK_THROWS_AS(sub(tensor({true}), tensor({true})), TypeError);
    CHECK_THROWS_WITH_AS(add(tensor({1}), 1, 0.5), doctest::Contains("alpha"), TypeError);
  }

  TEST_CASE("integers wrap around") {
    constexpr int32_t low = std::numeric_limits<int32_t>::min(),
                      high = std::numeric_limits<int32_t>::max();
    const Tensor ends = row<int32_t>({low, high});
    CHECK((ends + 1).to_vector<int32_t>() == std::vector<int32_t>{low + 1, low});
    CHECK((ends - 1).to_vector<int32_t>() == std::vector<int32_t>{high, high - 1});
    CHECK((ends * 2).to_vector<int32_t>() == std::vector<int32_t>{0, -2});
    CHECK(abs(ends).to_vector<int32_t>() == std::vector<int32_t>{low, high});
    CHECK(neg(ends).to_vector<int32_t>() == std::vector<int32_t>{low, -high});
    CHECK(abs(row<int8_t>({-128, -127})).to_vector<int8_t>() == std::vector<int8_t>{-128, 127});
    CHECK(neg(row<uint8_t>({1, 0})).to_vector<uint8_t>() == std::vector<uint8_t>{255, 0});
    CHECK(square(row<int16_t>({-32768, 300})).to_vector<int16_t>() ==
          std::vector<int16_t>{0, 24464});
    CHECK((row<int16_t>({-1}) * row<int16_t>({-1})).to_vector<int16_t>() ==
          std::vector<int16_t>{1});
    CHECK(relu(row<uint8_t>({0, 200})).to_vector<uint8_t>() == std::vector<uint8_t>{0, 200});
  }

  TEST_CASE_TEMPLATE("integer division rounds down and never traps", T, int8_t, int16_t, int32_t,
                     int64_t) {
    constexpr T low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
    const Tensor a = row<T>({7, -7, 7, -7, 6, 5, -5, 0, low, low, high, low});
    const Tensor b = row<T>({2, 2, -2, -2, 3, 0, 0, 0, -1, 1, -1, 2});
    CHECK(floor_divide(a, b).template to_vector<T>() ==
          std::vector<T>{3, -4, -4, 3, 2, 0, 0, 0, low, low, static_cast<T>(-high),
                         static_cast<T>(low / 2)});
    CHECK(remainder(a, b).template to_vector<T>() ==
          std::vector<T>{1, 1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0});
    // If the divisor is not 0, quotient and remainder make up the dividend.
    const Tensor again = floor_divide(a, b) * b + remainder(a, b);
    CHECK(where(ne(b, 0), again, a).template to_vector<T>() == a.template to_vector<T>());
  }

  TEST_CASE("unsigned division") {
    CHECK(
        floor_divide(row<uint8_t>({255, 200, 5}), row<uint8_t>({255, 7, 0})).to_vector<uint8_t>() ==
        std::vector<uint8_t>{1, 28, 0});
    CHECK(remainder(row<uint8_t>({255, 200, 254}), row<uint8_t>({255, 7, 255}))
              .to_vector<uint8_t>() == std::vector<uint8_t>{0, 4, 254});
  }

  TEST_CASE("floating division is Python's") {
    const Tensor a = row<double>({7, -7, 7, -7, 1, -1, 1, -1, 0.5, 1, 0, 6, -6});
    const Tensor b = row<double>({2, 2, -2, -2, 0.1, 0.1, inf, inf, -0.25, -inf, 5, 3, 3});
    CHECK(floor_divide(a, b).to_vector<double>() ==
          std::vector<double>{3, -4, -4, 3, 9, -10, 0, -1, -2, -1, 0, 2, -2});
    const std::vector<double> rest = remainder(a, b).to_vector<double>();
    const std::vector<double> expected = {
        1, 1, -1, -1, std::fmod(1, 0.1), 0.1 - std::fmod(1, 0.1), 1, inf, 0, -inf, 0, 0, 0};
    CHECK(rest == expected);
    CHECK(floor_divide(row<float>({1, -1}), 0).to_vector<float>() ==
          std::vector<float>{static_cast<float>(inf), -static_cast<float>(inf)});
    CHECK(std::isnan(remainder(row<float>({1}), 0).item()));
    CHECK(std::isnan(floor_divide(row<float>({static_cast<float>(not_a_number)}), 2).item()));
  }

  TEST_CASE("powers of integers wrap around, negative ones round toward zero") {
    CHECK(pow(row<int64_t>({2, -3, 0, 1, -1, 10}), 3).to_vector<int64_t>() ==
          std::vector<int64_t>{8, -27, 0, 1, -1, 1000});
    CHECK(pow(row<int64_t>({2, -3, 0, 1, -1, -1}), row<int64_t>({-1, -2, -1, -5, -3, -4}))
              .to_vector<int64_t>() == std::vector<int64_t>{0, 0, 0, 1, -1, 1});
    CHECK(pow(row<int64_t>({0, 5, 3}), row<int64_t>({0, 0, 40})).to_vector<int64_t>() ==
          std::vector<int64_t>{1, 1, -6289078614652622815});
    CHECK(pow(2, row<int64_t>({10, 62, 63, 64})).to_vector<int64_t>() ==
          std::vector<int64_t>{1024, int64_t{1} << 62, std::numeric_limits<int64_t>::min(), 0});
    CHECK(pow(row<int32_t>({4}), 0.5).dtype() == f32);
    CHECK(pow(row<int32_t>({4}), 0.5).item<float>() == 2);
    CHECK(pow(row<uint8_t>({16}), 2).item<int64_t>() == 0);
  }

  TEST_CASE("floating powers and angles follow the C library") {
    const std::vector<double> numbers = {0,   -0.0, 1,    -1,           2,      -2,   0.5, -0.5, 10,
                                         -10, inf,  -inf, not_a_number, 1e-300, 1e300};
    std::vector<double> first, second;
    for (const double a : numbers) {
      for (const double b : numbers) {
        first.push_back(a);
        second.push_back(b);
      }
    }
    const std::vector<double> powers = pow(row(first), row(second)).to_vector<double>();
    const std::vector<double> angles = atan2(row(first), row(second)).to_vector<double>();
    for (size_t i = 0; i < first.size(); ++i) {
      INFO(first[i], " and ", second[i]);
      CHECK(distance<double>(powers[i], std::pow(first[i], second[i])) <= 4);
      CHECK(distance<double>(angles[i], std::atan2(first[i], second[i])) <= 4);
    }
    CHECK(pow(row<float>({3, -4, 1.5f}), 2).to_vector<float>() == std::vector<float>{9, 16, 2.25f});
  }

  TEST_CASE("NaN wins in maximum and minimum, on either side") {
    const auto n = static_cast<float>(not_a_number);
    const Tensor a = row<float>({1, 5, n, 2, n, -0.0f}), b = row<float>({3, 4, 1, n, n, -1});
    const std::vector<float> high = maximum(a, b).to_vector<float>(),
                             low = minimum(a, b).to_vector<float>();
    CHECK(std::vector<float>(high.begin(), high.begin() + 2) == std::vector<float>{3, 5});
    CHECK(std::vector<float>(low.begin(), low.begin() + 2) == std::vector<float>{1, 4});
    for (size_t i = 2; i < 5; ++i) CHECK((std::isnan(high[i]) && std::isnan(low[i])));
    CHECK(maximum(row<int64_t>({1, 5}), 3).to_vector<int64_t>() == std::vector<int64_t>{3, 5});
    CHECK(maximum(bools({1, 0}), bools({0, 0})).to_vector<bool>() ==
          std::vector<bool>{true, false});
  }

  TEST_CASE("clamp is the minimum of the maximum, bit for bit, for any bounds and strides") {
    const std::vector<float> numbers = {-1,
                                        0.f,
                                        -0.f,
                                        0.5f,
                                        2,
                                        -3,
                                        1e-40f,
                                        static_cast<float>(inf),
                                        static_cast<float>(-inf),
                                        static_cast<float>(not_a_number)};
    std::vector<float> many;
    for (int i = 0; i < 1000; ++i) many.push_back(numbers[static_cast<size_t>(i * i + i / 7) % 10]);
    const Tensor line = row<float>(many), columns = line.reshape({40, 25}).t();
    const auto bits = [](const Tensor& x) {
      std::vector<uint32_t> words;
      for (const float number : x.to_vector<float>())
        words.push_back(number != number ? 0 : std::bit_cast<uint32_t>(number));
      return words;
    };
    for (const float low : numbers) {
      for (const float high : numbers) {
        CAPTURE(low);
        CAPTURE(high);
        for (const Tensor& x : {line, columns})
          CHECK(bits(clamp(x, low, high)) == bits(minimum(maximum(x, low), high)));
      }
    }
  }

  TEST_CASE("clamp cuts to one bound or two, lets NaN through, and wants a bound") {
    const Tensor x = row<float>({-2, -1, 0, 1, 2, static_cast<float>(not_a_number)});
    const auto cut = [&](const Argument& low, const Argument& high) {
      std::vector<float> values = clamp(x, low, high).to_vector<float>();
      CHECK(std::isnan(values.back()));
      values.pop_back();
      return values;
    };
    CHECK(cut(-1, 1) == std::vector<float>{-1, -1, 0, 1, 1});
    CHECK(cut(0.5, none) == std::vector<float>{0.5f, 0.5f, 0.5f, 1, 2});
    CHECK(cut(none, 0) == std::vector<float>{-2, -1, 0, 0, 0});
    CHECK(cut(1, -1) == std::vector<float>{-1, -1, -1, -1, -1});
    CHECK(clamp(row<int64_t>({1, 9}), 2, 5).to_vector<int64_t>() == std::vector<int64_t>{2, 5});
    CHECK(clamp(row<int64_t>({1, 9}), 2, 5.5).to_vector<float>() == std::vector<float>{2, 5.5f});
    CHECK_THROWS_WITH_AS(
        clamp(x), doctest::Contains("at least one of 'min' and 'max' must be given"), ValueError);
    const Tensor out = empty({6});
    CHECK(clamp(x, 0, 1, out).is_same(out));
    CHECK(out.to_vector<float>()[1] == 0);
  }

  TEST_CASE("round takes the even neighbour of two") {
    CHECK(round(row<float>({0.5f, 1.5f, 2.5f, -0.5f, -1.5f, 3.49f})).to_vector<float>() ==
          std::vector<float>{0, 2, 2, -0.f, -2, 3});
  }

  TEST_CASE("comparisons give bools, false beside NaN") {
    const Tensor a = row<float>({1, 2, 3, static_cast<float>(not_a_number)});
    CHECK(eq(a, 2).to_vector<bool>() == std::vector<bool>{false, true, false, false});
    CHECK(ne(a, 2).to_vector<bool>() == std::vector<bool>{true, false, true, true});
    CHECK(lt(a, 2).to_vector<bool>() == std::vector<bool>{true, false, false, false});
    CHECK(le(a, 2).to_vector<bool>() == std::vector<bool>{true, true, false, false});
    CHECK(gt(a, 2).to_vector<bool>() == std::vector<bool>{false, false, true, false});
    CHECK(ge(a, 2).to_vector<bool>() == std::vector<bool>{false, true, true, false});
    CHECK((2 < row<int64_t>({1, 2, 3})).to_vector<bool>() == std::vector<bool>{false, false, true});
    CHECK(eq(row<int64_t>({1, 2}), row<double>({1.0, 2.5})).to_vector<bool>() ==
          std::vector<bool>{true, false});
    CHECK(lt(zeros({2, 1}), ones({1, 3})).sizes() == std::vector<int64_t>{2, 3});
    CHECK_FALSE(lt(ones({2}).requires_grad_(), 2).requires_grad());
  }

  TEST_CASE("isnan, isinf and isfinite ask about each element; integers are finite") {
    const Tensor x = row<double>({0, inf, -inf, not_a_number, 1e308});
    CHECK(isnan(x).to_vector<bool>() == std::vector<bool>{false, false, false, true, false});
    CHECK(isinf(x).to_vector<bool>() == std::vector<bool>{false, true, true, false, false});
    CHECK(isfinite(x).to_vector<bool>() == std::vector<bool>{true, false, false, false, true});
    CHECK(isfinite(tensor({1, -5})).to_vector<bool>() == std::vector<bool>{true, true});
    CHECK(isinf(tensor({1, -5})).to_vector<bool>() == std::vector<bool>{false, false});
  }

  TEST_CASE("logic takes anything that is not 0 as true") {
    const Tensor a = row<float>({0, 2, 0, -1}), b = row<float>({0, 0, 3, 0.5f});
    CHECK(logical_and(a, b).to_vector<bool>() == std::vector<bool>{false, false, false, true});
    CHECK(logical_or(a, b).to_vector<bool>() == std::vector<bool>{false, true, true, true});
    CHECK(logical_xor(a, b).to_vector<bool>() == std::vector<bool>{false, true, true, false});
    CHECK(logical_not(a).to_vector<bool>() == std::vector<bool>{true, false, true, false});
  }

  TEST_CASE("bitwise ops are for integers and bools") {
    const Tensor a = row<int32_t>({12, -1}), b = row<int32_t>({10, 7});
    CHECK(bitwise_and(a, b).to_vector<int32_t>() == std::vector<int32_t>{8, 7});
    CHECK(bitwise_or(a, b).to_vector<int32_t>() == std::vector<int32_t>{14, -1});
    CHECK(bitwise_xor(a, b).to_vector<int32_t>() == std::vector<int32_t>{6, -8});
    CHECK(bitwise_not(a).to_vector<int32_t>() == std::vector<int32_t>{-13, 0});
    CHECK(bitwise_not(bools({1, 0})).to_vector<bool>() == std::vector<bool>{false, true});
    CHECK(bitwise_xor(bools({1, 0}), true).to_vector<bool>() == std::vector<bool>{false, true});
    CHECK_THROWS_WITH_AS(bitwise_and(row<float>({1}), 1), doctest::Contains("f32"), TypeError);
  }

  TEST_CASE("where and masked_fill select") {
    const Tensor condition = bools({1, 0, 1});
    CHECK(where(condition, row<float>({1, 2, 3}), row<float>({4, 5, 6})).to_vector<float>() ==
          std::vector<float>{1, 5, 3});
    CHECK(where(condition, 1, row<int64_t>({4, 5, 6})).to_vector<int64_t>() ==
          std::vector<int64_t>{1, 5, 1});
    CHECK(where(condition, row<float>({1, 2, 3}), not_a_number).dtype() == f32);
    CHECK(where(condition.unsqueeze(1), zeros({1, 2}), 1).to_vector<float>() ==
          std::vector<float>{0, 0, 1, 1, 0, 0});
    CHECK(masked_fill(row<float>({1, 2, 3}), condition, -1).to_vector<float>() ==
          std::vector<float>{-1, 2, -1});
    CHECK(masked_fill(row<int32_t>({1, 2, 3}), condition, 9).dtype() == i32);
    CHECK_THROWS_WITH_AS(masked_fill(zeros({3}), zeros({3}), 1),
                         doctest::Contains("mask must be a bool tensor"), TypeError);
    CHECK(masked_fill(tensor({1, 2, 3}), condition, 0.5).to_vector<int64_t>() ==
          std::vector<int64_t>{0, 2, 0});
  }

  TEST_CASE("in-place ops change the tensor they are given, and its views") {
    const Tensor x = zeros({2, 3});
    CHECK(x.add_(5).is_same(x));
    x.select(0, 1).mul_(row<float>({1, 2, 3}));
    x.sub_(1, 2);
    CHECK(x.to_vector<float>() == std::vector<float>{3, 3, 3, 3, 8, 13});
    x.div_(2);
    CHECK(x.to_vector<float>() == std::vector<float>{1.5f, 1.5f, 1.5f, 1.5f, 4, 6.5f});
    x.t().copy_(zeros({2}));
    CHECK(x.to_vector<float>() == std::vector<float>(6, 0));
    CHECK(x.fill_(-2).relu_().to_vector<float>() == std::vector<float>(6, 0));
    x.fill_(3.5);
    x.slice(1, 0, 3, 2).zero_();
    CHECK(x.to_vector<float>() == std::vector<float>{0, 3.5f, 0, 0, 3.5f, 0});
    const Tensor whole = row<int64_t>({1, 2});
    CHECK_THROWS_AS(whole.add_(0.5), TypeError);
    CHECK_THROWS_AS(whole.div_(2), TypeError);
    CHECK_THROWS_WITH_AS(ones({3}).add_(ones({2, 3})), doctest::Contains("[2, 3]"), ValueError);
    CHECK(whole.copy_(row<float>({1.9f, -1.9f})).to_vector<int64_t>() ==
          std::vector<int64_t>{1, -1});
    CHECK_THROWS_AS(whole.copy_(zeros({3})), ValueError);
  }

  TEST_CASE("large tensors give at any thread count what small ones give") {
    const int32_t before = thread_count();
    const Tensor x = arange(300000, none, 1, f32) * 1e-4 - 15;
    set_thread_count(1);
    const std::vector<float> alone = tanh(x).to_vector<float>();
    set_thread_count(3);
    CHECK(tanh(x).to_vector<float>() == alone);
    CHECK(tanh(x.slice(0, 7, 8)).item<float>() == alone[7]);
    set_thread_count(before);
  }
}
