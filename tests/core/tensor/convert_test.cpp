// Conversions of f16 and bf16, against exact arithmetic: every bit pattern, and random numbers.
#include "core/tensor/convert.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "core/tensor/copy.hpp"
#include "tests/support/core_tensors.hpp"

using namespace tenon::core;
using tenon::test::tensor_of;

namespace {

// The format's digits, apart from the implementation's constants.
struct Format {
  int fraction_bits;
  int least_exponent;
  long double largest;
};
constexpr Format kF16{10, -14, 65504.0L};
constexpr Format kBF16{7, -126, 0x1.fep127L};

// The nearest number of a format, ties to even, by exact arithmetic: a long double holds every i64,
// u64 and f64, and its quotient by a power of two.
long double rounded(long double number, const Format& format) {
  if (number == 0 || std::isnan(number) || std::isinf(number)) return number;
  int exponent = 0;
  std::frexp(number, &exponent);
  const int step = std::max(exponent - 1, format.least_exponent) - format.fraction_bits;
  const long double steps = std::ldexp(number, -step);
  long double whole = std::floor(steps);
  const long double rest = steps - whole;
  if (rest > 0.5L || (rest == 0.5L && std::fmod(whole, 2.0L) != 0)) whole += 1;
  const long double result = std::ldexp(whole, step);
  if (std::fabs(result) > format.largest)
    return std::copysign(std::numeric_limits<long double>::infinity(), number);
  return std::copysign(result, number);
}

template <class Half>
constexpr const Format& format_of() {
  return std::is_same_v<Half, tenon_f16> ? kF16 : kBF16;
}

template <class Half, class From>
bool converts(From number) {
  const long double expected = rounded(static_cast<long double>(number), format_of<Half>());
  const float found = widen(convert<Half, From>(number));
  if (std::isnan(expected)) return std::isnan(found);
  return static_cast<long double>(found) == expected &&
         std::signbit(found) == std::signbit(expected);
}

template <class Half>
void check_patterns() {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const Half half{static_cast<uint16_t>(bits)};
    const float number = widen(half);
    const bool same =
        narrow<Half>(number).bits == bits && narrow<Half>(static_cast<double>(number)).bits == bits;
    // Signalling NaN become quiet on their way through f64; the rest keeps every bit.
    const bool kept = std::isnan(number) ? narrow<Half>(number).bits == bits : same;
    CHECK_MESSAGE(kept, bits);
    if (!kept) return;
    if (!std::isnan(number)) CHECK(rounded(number, format_of<Half>()) == number);
  }
}

// The middle between each finite number and the next, and the numbers beside it.
template <class Half>
void check_ties() {
  for (uint32_t bits = 0; bits < 0x7fff; ++bits) {
    const float low = widen(Half{static_cast<uint16_t>(bits)});
    const float high = widen(Half{static_cast<uint16_t>(bits + 1)});
    if (!std::isfinite(low) || !std::isfinite(high)) continue;
    const double middle = (static_cast<double>(low) + high) / 2;
    for (const double number : {middle, std::nextafter(middle, 0.0), std::nextafter(middle, 1e300),
                                middle * (1 + 1e-9), middle * (1 - 1e-9)}) {
      const bool right = converts<Half>(number) && converts<Half>(-number) &&
                         converts<Half>(static_cast<float>(number));
      CHECK_MESSAGE(right, number);
      if (!right) return;
    }
  }
}

template <class Half, class From>
void check_random(std::mt19937_64& engine) {
  for (int i = 0; i < 200000; ++i) {
    From number;
    if constexpr (std::is_same_v<From, float>)
      number = std::bit_cast<float>(static_cast<uint32_t>(engine()));
    else if constexpr (std::is_same_v<From, double>)
      // Exponents that matter to a half, and any.
      number = i % 2 == 0 ? std::bit_cast<double>(engine())
                          : std::ldexp(static_cast<double>(engine()),
                                       static_cast<int>(engine() % 300) - 214);
    else
      number = static_cast<From>(engine() >> (engine() % 64));
    const bool right = converts<Half>(number);
    CHECK_MESSAGE(right, static_cast<double>(number));
    if (!right) return;
  }
}

template <class From>
void check_all_random(std::mt19937_64& engine) {
  check_random<tenon_f16, From>(engine);
  check_random<tenon_bf16, From>(engine);
}

}  // namespace

TEST_SUITE("convert") {
  TEST_CASE("every bit pattern of f16 and bf16 comes back from f32 and f64") {
    check_patterns<tenon_f16>();
    check_patterns<tenon_bf16>();
  }

  TEST_CASE("numbers go to the nearest f16 and bf16, ties to even, in one rounding") {
    check_ties<tenon_f16>();
    check_ties<tenon_bf16>();
    std::mt19937_64 engine(5);
    check_all_random<float>(engine);
    check_all_random<double>(engine);
    check_all_random<int64_t>(engine);
    check_all_random<uint64_t>(engine);
    check_all_random<int32_t>(engine);
    // The nearest f64 is a tie, the number is not.
    CHECK(convert<tenon_bf16, int64_t>((int64_t{1} << 62) + (int64_t{1} << 54) + 1).bits == 0x5e81);
    CHECK(convert<tenon_bf16, int64_t>((int64_t{1} << 62) + (int64_t{1} << 54)).bits == 0x5e80);
  }

  TEST_CASE("what is too large becomes infinite, NaN stays NaN") {
    CHECK(convert<tenon_f16, float>(65519.996F).bits == 0x7bff);
    CHECK(convert<tenon_f16, float>(65520.0F).bits == 0x7c00);
    CHECK(convert<tenon_f16, double>(-1e300).bits == 0xfc00);
    CHECK(convert<tenon_bf16, double>(1e300).bits == 0x7f80);
    CHECK(convert<tenon_bf16, float>(std::numeric_limits<float>::max()).bits == 0x7f80);
    CHECK(convert<tenon_f16, int64_t>(INT64_MIN).bits == 0xfc00);
    // A NaN whose upper bits of payload are 0 must not become infinite.
    const float nan = std::bit_cast<float>(uint32_t{0x7f800001});
    CHECK(convert<tenon_f16, float>(nan).bits == 0x7e00);
    CHECK(convert<tenon_bf16, float>(nan).bits == 0x7fc0);
    CHECK(convert<int32_t, tenon_f16>(tenon_f16{0x7e00}) == 0);
    CHECK(convert<uint8_t, tenon_f16>(tenon_f16{0xfc00}) == 0);
    CHECK(convert<bool, tenon_bf16>(tenon_bf16{0x8000}) == 0);
    CHECK(convert<bool, tenon_bf16>(tenon_bf16{0x7fc0}) == 1);
  }

  TEST_CASE("unsigned integers stop at their ends, and wrap from integers") {
    CHECK(convert<uint32_t, double>(4294967295.9) == UINT32_MAX);
    CHECK(convert<uint32_t, double>(4e9) == 4000000000);
    CHECK(convert<uint32_t, float>(4e9F) == 4000000000);
    CHECK(convert<uint32_t, double>(-1) == 0);
    CHECK(convert<uint64_t, double>(1e30) == UINT64_MAX);
    CHECK(convert<uint64_t, double>(0x1p63) == uint64_t{1} << 63);
    CHECK(convert<uint16_t, float>(70000) == UINT16_MAX);
    CHECK(convert<uint16_t, int32_t>(-1) == UINT16_MAX);
    CHECK(convert<int64_t, uint64_t>(UINT64_MAX) == -1);
    CHECK(convert<double, uint64_t>(UINT64_MAX) == 0x1p64);
    CHECK_FALSE(fits<uint64_t>(int64_t{-1}));
    CHECK_FALSE(fits<uint16_t>(int64_t{65536}));
    CHECK_FALSE(fits<uint32_t>(-1.0));
    CHECK(fits<uint64_t>(0x1.fffffffffffffp63));
    CHECK(fits<tenon_f16>(1e300));
  }

  TEST_CASE("copies convert as single elements do, in every layout") {
    std::mt19937_64 engine(7);
    std::vector<float> numbers(3 * 70 * 40);
    for (float& number : numbers)
      number =
          std::ldexp(static_cast<float>(engine() % 4096), static_cast<int>(engine() % 40) - 30);
    const TensorRef source = tensor_of<float>({3, 70, 40}, numbers);
    const int64_t shape[] = {3, 40, 70}, strides[] = {2800, 1, 40};
    const TensorRef turned = make_alias(*source, shape, strides, 0);
    for (const Tensor* from : {source.get(), turned.get()}) {
      const TensorRef half = contiguous_copy(*from, TENON_F16);
      const TensorRef dense = contiguous_copy(*from, TENON_F32);
      const auto* found = static_cast<const tenon_f16*>(half->view.data);
      const auto* expected = static_cast<const float*>(dense->view.data);
      const bool same =
          std::equal(found, found + half->view.count, expected,
                     [](tenon_f16 a, float b) { return a.bits == narrow<tenon_f16>(b).bits; });
      CHECK(same);
    }
  }
}
