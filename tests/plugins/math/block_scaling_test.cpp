// block_quantize and block_dequantize against the definition of their codes, element by element.
#include <algorithm>
#include <limits>
#include <random>

#include "../compare.hpp"

using namespace compare;

namespace {

using tenon::arg, tenon::Op;
using Shape = std::vector<int64_t>;

// A format of elements as the OCP specifications define it.
struct Format {
  tenon::DType dtype;
  int exponent_bits, fraction_bits, bias, largest;  // the code of the largest number
  bool has_nan;
};
constexpr Format kFormats[] = {{tenon::f8_e4m3, 4, 3, 7, 0x7e, true},
                               {tenon::f8_e5m2, 5, 2, 15, 0x7b, true},
                               {tenon::f6_e2m3, 2, 3, 1, 0x1f, false},
                               {tenon::f6_e3m2, 3, 2, 3, 0x1f, false},
                               {tenon::f4_e2m1, 2, 1, 1, 0x07, false}};

double number_of(const Format& format, int code) {
  const int fraction = code & ((1 << format.fraction_bits) - 1);
  const int exponent = code >> format.fraction_bits;
  const double part = std::ldexp(fraction, -format.fraction_bits);
  return exponent == 0 ? std::ldexp(part, 1 - format.bias)
                       : std::ldexp(1 + part, exponent - format.bias);
}
// By looking at all numbers; ties to the even code.
double nearest(const Format& format, double number) {
  if (std::isnan(number)) return format.has_nan ? number : number_of(format, format.largest);
  const double size = std::min(std::abs(number), number_of(format, format.largest));
  int best = 0;
  for (int code = 1; code <= format.largest; ++code) {
    const double distance = std::abs(number_of(format, code) - size),
                 least = std::abs(number_of(format, best) - size);
    if (distance < least || (distance == least && code % 2 == 0)) best = code;
  }
  return std::copysign(number_of(format, best), number);
}

struct Block {
  double scale = 0;
  std::vector<double> elements, numbers;
};
Block block_of(const Format& format, const std::vector<double>& numbers) {
  double largest = 0;
  bool missing = false;
  for (const double number : numbers) {
    missing = missing || std::isnan(number);
    if (std::isfinite(number)) largest = std::max(largest, std::abs(number));
  }
  const int of_element = std::ilogb(number_of(format, format.largest));
  const int exponent = largest == 0 ? -127 : std::ilogb(largest) - of_element;
  Block block;
  block.scale = std::ldexp(1.0, std::clamp(exponent, -127, 127));
  for (const double number : numbers)
    block.elements.push_back(nearest(format, number / block.scale));
  if (missing && !format.has_nan) block.scale = std::nan("");
  for (const double element : block.elements) block.numbers.push_back(element * block.scale);
  return block;
}

// Numbers of many magnitudes, some of them special.
std::vector<double> draw(size_t count, std::mt19937_64& random, bool special) {
  std::uniform_real_distribution<double> fraction(-1, 1);
  std::uniform_int_distribution<int> exponent(-6, 4), centre(-150, 127), kind(0, 39);
  const int around = special ? centre(random) : 0;
  std::vector<double> numbers;
  for (size_t i = 0; i < count; ++i) {
    const double number = std::ldexp(fraction(random), exponent(random) + around);
    const int which = special ? kind(random) : -1;
    const double given = which == 0   ? std::nan("")
                         : which == 1 ? HUGE_VAL
                         : which == 2 ? -HUGE_VAL
                         : which == 3 ? 0
                                      : number;
    numbers.push_back(static_cast<double>(static_cast<float>(given)));
  }
  return numbers;
}

size_t index_of(const Shape& shape, const Shape& at) {
  size_t index = 0;
  for (size_t d = 0; d < shape.size(); ++d)
    index = index * static_cast<size_t>(shape[d]) + static_cast<size_t>(at[d]);
  return index;
}

const Op& quantizing() {
  static const Op op("block_quantize");
  return op;
}
const Op& dequantizing() {
  static const Op op("block_dequantize");
  return op;
}

}  // namespace

TEST_SUITE("math") {
  TEST_CASE("block_quantize shares an exponent in each block along a dimension, and comes back") {
    std::mt19937_64 random(7);
    for (int round = 0; round < 200; ++round) {
      CAPTURE(round);
      const Format& format = kFormats[round % 5];
      CAPTURE(tenon::dtype_text(format.dtype));
      const Shape shape{std::uniform_int_distribution<int64_t>(1, 9)(random),
                        std::uniform_int_distribution<int64_t>(1, 70)(random),
                        std::uniform_int_distribution<int64_t>(1, 3)(random)};
      const int64_t dim = round % 3, block = round % 2 == 0 ? 32 : 1 + round % 7;
      const auto d = static_cast<size_t>(dim);
      const auto count = static_cast<size_t>(shape[0] * shape[1] * shape[2]);
      const std::vector<double> given = draw(count, random, round % 4 == 0);
      Shape scales = shape;
      scales[d] = (shape[d] + block - 1) / block;
      std::vector<double> elements(count), numbers(count),
          scale(static_cast<size_t>(scales[0] * scales[1] * scales[2]));
      for (int64_t i = 0; i < scales[0]; ++i) {
        for (int64_t j = 0; j < scales[1]; ++j) {
          for (int64_t k = 0; k < scales[2]; ++k) {
            Shape at{i, j, k};
            std::vector<size_t> places;
            std::vector<double> inside;
            for (int64_t n = at[d] * block; n < std::min(shape[d], (at[d] + 1) * block); ++n) {
              Shape place = at;
              place[d] = n;
              places.push_back(index_of(shape, place));
              inside.push_back(given[places.back()]);
            }
            const Block expected = block_of(format, inside);
            scale[index_of(scales, at)] = expected.scale;
            for (size_t n = 0; n < places.size(); ++n) {
              elements[places[n]] = expected.elements[n];
              numbers[places[n]] = expected.numbers[n];
            }
          }
        }
      }
      const Tensor input = tenon::from_buffer(given.data(), IntList(shape.data(), 3));
      for (const tenon::DType dtype : {tenon::f64, tenon::f32}) {
        const auto [values, shared] = quantizing().call<std::tuple<Tensor, Tensor>>(
            input.to(dtype), format.dtype, arg("dim") = dim, arg("block_size") = block);
        CHECK(values.dtype() == format.dtype);
        CHECK(shared.dtype() == tenon::f8_e8m0);
        check_values(values.to(tenon::f64), shape, elements, 0);
        check_values(shared.to(tenon::f64), scales, scale, 0);
        const Tensor back = dequantizing().call<Tensor>(
            values, shared, arg("dim") = dim, arg("block_size") = block, arg("dtype") = tenon::f64);
        check_values(back, shape, numbers, 0);
        for (const tenon::DType result : {tenon::f32, tenon::f16, tenon::bf16}) {
          const Tensor other = dequantizing().call<Tensor>(
              values, shared, arg("dim") = dim, arg("block_size") = block, arg("dtype") = result);
          CHECK(other.dtype() == result);
          check_close(other, back.to(result), 0);
        }
      }
    }
  }

  TEST_CASE("block_dequantize has the gradient of a product in scales of f32") {
    const Tensor values = tenon::tensor({{1, -2, 3, 0.5, 4}}).to(tenon::f8_e4m3);
    const Tensor scale = tenon::tensor({{2.0, 0.25, 8}}).to(tenon::f32).requires_grad_();
    dequantizing().call<Tensor>(values, scale, arg("block_size") = 2).sum().backward();
    check_values(scale.grad(), {1, 3}, {-1, 3.5, 4}, 0);
  }

  TEST_CASE("blocks of elements that are not narrow, of other scales and no blocks are refused") {
    const Tensor values = tenon::ones({2, 4}).to(tenon::f4_e2m1), scale = tenon::ones({2, 2});
    const Tensor input = tenon::ones({2, 4});
    const Op &quantize = quantizing(), &dequantize = dequantizing();
    using Pair = std::tuple<Tensor, Tensor>;
    CHECK_THROWS_WITH_AS(quantize.call<Pair>(input, tenon::u8),
                         doctest::Contains("f8_e4m3, f8_e5m2, f6_e2m3"), tenon::TypeError);
    CHECK_THROWS_AS(quantize.call<Pair>(input, tenon::f8_e8m0), tenon::TypeError);
    CHECK_THROWS_AS(quantize.call<Pair>(values, tenon::f8_e4m3), tenon::TypeError);
    CHECK_THROWS_WITH_AS(quantize.call<Pair>(input, tenon::f8_e4m3, arg("block_size") = 0),
                         doctest::Contains("block_size must be 1 or more"), tenon::ValueError);
    CHECK_THROWS_AS(quantize.call<Pair>(input.sum(), tenon::f8_e4m3), tenon::ValueError);
    CHECK_THROWS_WITH_AS(dequantize.call<Tensor>(values, scale), doctest::Contains("scale"),
                         tenon::ValueError);
    CHECK_THROWS_AS(dequantize.call<Tensor>(values.to(tenon::u8), scale, arg("block_size") = 2),
                    tenon::TypeError);
    CHECK_THROWS_AS(dequantize.call<Tensor>(values, scale, arg("block_size") = 2,
                                            arg("dtype") = tenon::f8_e4m3),
                    tenon::TypeError);
  }
}
