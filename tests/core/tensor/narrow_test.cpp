// f8, f6 and f4 against the definition of their codes: every code, and the nearest code of many numbers.
#include "core/tensor/narrow.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "core/base/error.hpp"
#include "core/tensor/copy.hpp"
#include "core/tensor/dtype.hpp"
#include "core/tensor/tensor.hpp"
#include "core/tensor/text.hpp"

using namespace tenon::core;

namespace {

struct Format {
  tenon_dtype dtype;
  int exponent_bits, fraction_bits, bias;
  int codes;  // without the sign
  int largest;
};
constexpr Format kFormats[] = {{TENON_F8_E4M3, 4, 3, 7, 128, 0x7e},
                               {TENON_F8_E5M2, 5, 2, 15, 128, 0x7b},
                               {TENON_F6_E2M3, 2, 3, 1, 32, 0x1f},
                               {TENON_F6_E3M2, 3, 2, 3, 32, 0x1f},
                               {TENON_F4_E2M1, 2, 1, 1, 8, 0x07}};

// The number of a code up to the largest one, as the specification defines it.
double number_of(const Format& format, int code) {
  const int fraction = code & ((1 << format.fraction_bits) - 1);
  const int exponent = code >> format.fraction_bits;
  const double part = std::ldexp(fraction, -format.fraction_bits);
  return exponent == 0 ? std::ldexp(part, 1 - format.bias)
                       : std::ldexp(1 + part, exponent - format.bias);
}

// The code of the nearest number, found by looking at all of them; ties to the even code.
int nearest(const Format& format, double size) {
  if (size > number_of(format, format.largest)) return format.largest;
  int best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (int code = 0; code <= format.largest; ++code) {
    const double distance = std::fabs(number_of(format, code) - size);
    if (distance < least || (distance == least && code % 2 == 0)) {
      best = code;
      least = distance;
    }
  }
  return best;
}

template <class T>
TensorRef tensor_of(tenon_dtype dtype, const std::vector<T>& elements) {
  const auto count = static_cast<int64_t>(elements.size());
  TensorRef tensor = make_empty(dtype, Shape(&count, 1));
  std::copy(elements.begin(), elements.end(), static_cast<T*>(tensor->view.data));
  return tensor;
}
template <class T>
std::vector<T> elements_of(const Tensor& tensor) {
  const auto* data = static_cast<const T*>(tensor.view.data);
  return std::vector<T>(data, data + tensor.view.count);
}
template <class T>
std::vector<uint8_t> codes(tenon_dtype dtype, tenon_dtype from, const std::vector<T>& numbers) {
  return elements_of<uint8_t>(*contiguous_copy(*tensor_of(from, numbers), dtype));
}
std::vector<float> numbers(tenon_dtype dtype, const std::vector<uint8_t>& codes) {
  return elements_of<float>(*contiguous_copy(*tensor_of(dtype, codes), TENON_F32));
}
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

}  // namespace

TEST_SUITE("tensor/narrow") {
  TEST_CASE("every code is the number that its format defines, and comes back") {
    for (const Format& format : kFormats) {
      CAPTURE(format.dtype);
      for (int code = 0; code <= format.largest; ++code) {
        const auto positive = static_cast<uint8_t>(code);
        const auto negative = static_cast<uint8_t>(code | format.codes);
        const std::vector<float> wide = numbers(format.dtype, {positive, negative});
        CHECK(wide[0] == static_cast<float>(number_of(format, code)));
        CHECK(wide[1] == -wide[0]);
        CHECK(std::signbit(wide[1]));
        CHECK(codes(format.dtype, TENON_F32, wide) == std::vector<uint8_t>{positive, negative});
      }
    }
  }

  TEST_CASE("codes beyond the largest number are NaN, or the infinity of f8_e5m2") {
    CHECK(std::isnan(numbers(TENON_F8_E4M3, {0x7f})[0]));
    CHECK(numbers(TENON_F8_E5M2, {0x7c, 0xfc}) == std::vector<float>{kInfinity, -kInfinity});
    for (const float number : numbers(TENON_F8_E5M2, {0x7d, 0x7e, 0x7f, 0xfd, 0xff}))
      CHECK(std::isnan(number));
    CHECK(std::isnan(numbers(TENON_F8_E8M0, {0xff})[0]));
  }

  TEST_CASE(
      "a number becomes the nearest code, ties the even one, and too large ones the largest") {
    std::mt19937_64 random(5);
    std::normal_distribution<double> normal;
    for (const Format& format : kFormats) {
      std::vector<double> wide;
      for (int code = 0; code < format.largest; ++code) {
        const double low = number_of(format, code), high = number_of(format, code + 1);
        for (const double number : {(low + high) / 2, std::nextafter((low + high) / 2, 0.0),
                                    std::nextafter((low + high) / 2, high)})
          wide.push_back(number);
      }
      for (int i = 0; i < 2000; ++i) wide.push_back(std::exp(8 * normal(random)));
      wide.push_back(1e300);
      std::vector<uint8_t> expected;
      std::vector<float> single;
      std::vector<uint8_t> expected_single;
      for (const double number : wide) {
        expected.push_back(static_cast<uint8_t>(nearest(format, number)));
        if (number > 1e38) continue;
        single.push_back(-static_cast<float>(number));
        expected_single.push_back(static_cast<uint8_t>(
            nearest(format, static_cast<double>(static_cast<float>(number))) | format.codes));
      }
      CAPTURE(format.dtype);
      CHECK(codes(format.dtype, TENON_F64, wide) == expected);
      CHECK(codes(format.dtype, TENON_F32, single) == expected_single);
      const auto largest = static_cast<uint8_t>(format.largest);
      const auto lowest = static_cast<uint8_t>(format.largest | format.codes);
      CHECK(codes<float>(format.dtype, TENON_F32, {kInfinity, -kInfinity, 3e38F}) ==
            std::vector<uint8_t>{largest, lowest, largest});
    }
  }

  TEST_CASE("NaN stays NaN where the format has one, else it becomes the largest number") {
    CHECK(std::isnan(numbers(TENON_F8_E4M3, codes<float>(TENON_F8_E4M3, TENON_F32, {kNan}))[0]));
    CHECK(std::isnan(numbers(TENON_F8_E5M2, codes<float>(TENON_F8_E5M2, TENON_F32, {kNan}))[0]));
    CHECK(codes<float>(TENON_F4_E2M1, TENON_F32, {kNan}) == std::vector<uint8_t>{7});
    CHECK(codes<float>(TENON_F6_E3M2, TENON_F32, {kNan}) == std::vector<uint8_t>{31});
  }

  TEST_CASE("f8_e8m0 holds powers of two, and NaN for what has none") {
    for (int code = 0; code < 255; ++code) {
      const auto byte = static_cast<uint8_t>(code);
      const std::vector<float> wide = numbers(TENON_F8_E8M0, {byte});
      CHECK(wide[0] == std::ldexp(1.0F, code - 127));
      CHECK(codes(TENON_F8_E8M0, TENON_F32, wide) == std::vector<uint8_t>{byte});
    }
    CHECK(codes<float>(TENON_F8_E8M0, TENON_F32,
                       {0, -0.0F, 1.49F, 1.5F, 3, 6.1F, kInfinity, 1e-44F}) ==
          std::vector<uint8_t>{0, 0, 127, 128, 128, 130, 254, 0});
    CHECK(codes<float>(TENON_F8_E8M0, TENON_F32, {-1, kNan}) == std::vector<uint8_t>{255, 255});
  }

  TEST_CASE("every dtype converts to and from f8, by way of f32 or f64") {
    const TensorRef source = tensor_of<int64_t>(TENON_I64, {1, -3, 100, 1 << 20});
    const TensorRef narrow = contiguous_copy(*source, TENON_F8_E4M3);
    for (const tenon_dtype dtype : {TENON_F16, TENON_BF16, TENON_F64, TENON_I32, TENON_F8_E5M2}) {
      const TensorRef there = contiguous_copy(*narrow, dtype);
      CHECK(elements_of<float>(*contiguous_copy(*there, TENON_F32)) ==
            std::vector<float>{1, -3, 96, 448});
    }
    CHECK(elements_of<uint8_t>(*contiguous_copy(*contiguous_copy(*source, TENON_F16),
                                                TENON_F8_E4M3)) == elements_of<uint8_t>(*narrow));
    CHECK_THROWS_AS(contiguous_copy(*tensor_of<float>(TENON_C64, {}), TENON_F8_E4M3), Error);
  }

  TEST_CASE("fills, single elements and texts are those of the numbers") {
    const int64_t count = 3;
    const TensorRef tensor = make_empty(TENON_F8_E5M2, Shape(&count, 1));
    tenon_value number{};
    number.tag = TENON_VALUE_INT;
    number.as.integer = 3;
    fill(*tensor, number);
    CHECK(tensor_text(tensor.get(), "", "tensor") == "tensor([3., 3., 3.], dtype=f8_e5m2)");
    const TensorRef one = make_alias(*tensor, {}, {}, 1);
    CHECK(item(*one).as.number == 3);
  }

  TEST_CASE("a dtype in common with another one does not exist") {
    try {
      common_dtype(TENON_F32, TENON_F8_E5M2);
      FAIL("it has one");
    } catch (const Error& error) {
      CHECK(error.kind == TENON_ERROR_TYPE);
      CHECK(error.message == "f8_e5m2 is for storage: convert the tensor with to(float32)");
    }
  }
}
