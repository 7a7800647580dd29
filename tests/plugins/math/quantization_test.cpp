// quantize, dequantize and dynamic_quantize against a loop over elements; windows and mel weights.
#include <algorithm>

#include "../compare.hpp"

using namespace compare;

namespace {

using Shape = std::vector<int64_t>;

double quantized(double x, double scale, double zero_point, double low, double high) {
  return std::clamp(std::nearbyint(x / scale) + zero_point, low, high);
}

}  // namespace

TEST_SUITE("math") {
  TEST_CASE("quantize rounds to multiples of the scale of an element, by tensor, axis and block") {
    for (uint64_t round = 0; round < 36; ++round) {
      const int64_t dim = static_cast<int64_t>(round % 3),
                    block = static_cast<int64_t>(round / 3 % 3);
      const Tensor x = numbers({2, 3, 5}, tenon::f64, round) * 40;
      const int64_t size = x.size(dim);
      Shape shape{size};
      if (block > 0) {
        shape = x.sizes();
        shape[static_cast<size_t>(dim)] = (size + block - 1) / block;
      }
      const Tensor scale = numbers(shape, tenon::f64, round + 1).abs() + 0.1,
                   zero = numbers(shape, tenon::i8, round + 2);
      const auto xs = x.to_vector<double>(), scales = scale.to_vector<double>(),
                 zeros = zero.to_vector<double>();
      std::vector<double> expected, back;
      for (int64_t i = 0; i < 30; ++i) {
        Shape at{i / 15, i / 5 % 3, i % 5};
        const int64_t along = at[static_cast<size_t>(dim)];
        size_t place = static_cast<size_t>(along);
        if (block > 0) {
          at[static_cast<size_t>(dim)] = along / block;
          place = static_cast<size_t>((at[0] * shape[1] + at[1]) * shape[2] + at[2]);
        }
        const double whole =
            quantized(xs[static_cast<size_t>(i)], scales[place], zeros[place], -128, 127);
        expected.push_back(whole);
        back.push_back((whole - zeros[place]) * scales[place]);
      }
      CAPTURE(round);
      const Tensor found = quantize(x, scale, zero, dim, block);
      CHECK(found.dtype() == tenon::i8);
      check_values(found, {2, 3, 5}, expected, 0);
      check_values(dequantize(found, scale, zero, dim, block), {2, 3, 5}, back, 1e-12);
    }
  }

  TEST_CASE("dequantize multiplies numbers that halves do not have") {
    const Tensor x = tenon::tensor({65535, 4097}).to(tenon::u16);
    const Tensor scale = tenon::full({1}, 0.25, tenon::f16);
    check_values(dequantize(x, scale), {2}, {16384, 1024}, 0);
  }

  TEST_CASE("quantize rounds half to even, saturates, and makes 0 of NaN") {
    const Tensor x = tenon::tensor({std::nan(""), HUGE_VAL, -HUGE_VAL, 0.5, 1.5, -300.0});
    const Tensor one = tenon::ones({1}), middle = tenon::tensor({128}, tenon::u8);
    check_values(quantize(x, one, middle), {6}, {0, 255, 0, 128, 130, 0});
    check_values(quantize(x, one, {}, 1, 0, tenon::i16), {6}, {0, 32767, -32768, 0, 2, -300});
    const Tensor wide = quantize(x, one, {}, 1, 0, tenon::u16);
    CHECK(wide.dtype() == tenon::u16);
    check_values(dequantize(wide, one * 2), {6}, {0, 131070, 0, 0, 4, 0});
    CHECK(refusal_of("quantize", [&] { quantize(x, one, {}, 1, 0, tenon::i32); }) ==
          "numbers are quantized as u8, i8, u16 or i16, not as i32");
    CHECK(refusal_of("quantize", [&] { quantize(x, one, middle, 1, 0, tenon::i8); }) ==
          "dtype is i8, but 'zero_point' is u8");
    CHECK_THROWS_AS(quantize(tenon::zeros({2, 3}), tenon::ones({2})), tenon::ValueError);
  }

  TEST_CASE("dynamic_quantize covers the range from the smallest to the largest element and 0") {
    const Tensor x = tenon::tensor({0.0, 2.0, -3.0, -2.5, 1.34, 0.5});
    const auto [values, scale, zero] = dynamic_quantize(x);
    check_values(values, {6}, {153, 255, 0, 26, 221, 179});
    CHECK(scale.item() == doctest::Approx(5.0 / 255));
    CHECK(zero.item() == 153);
    check_values(std::get<0>(dynamic_quantize(tenon::zeros({3}))), {3}, {0, 0, 0});
    CHECK(std::get<0>(dynamic_quantize(tenon::zeros({0}))).numel() == 0);
  }

  TEST_CASE("products and convolutions of integers are those of numbers less their zero points") {
    const Tensor a = numbers({2, 3, 4}, tenon::i8, 1), b = numbers({4, 5}, tenon::i8, 2);
    const Tensor rows = tenon::tensor({1, -2, 3}, tenon::i8),
                 columns = tenon::tensor({5, 4, 3, 2, 1}, tenon::i8);
    const auto real = [](const Tensor& x) { return x.to(tenon::f64); };
    const Tensor found = matmul_integer(a, b, rows, columns);
    CHECK(found.dtype() == tenon::i32);
    check_close(found, (real(a) - real(rows).unsqueeze(1)).matmul(real(b) - real(columns)), 0);
    check_close(matmul_integer(a, b), real(a).matmul(real(b)), 0);
    const Tensor image = numbers({1, 2, 4, 4}, tenon::i8, 3),
                 weight = numbers({3, 2, 2, 2}, tenon::i8, 4);
    const Tensor zero = tenon::tensor({7}, tenon::i8), each = tenon::tensor({1, 0, -4}, tenon::i8);
    const Shape padding{1, 0};
    namespace functional = tenon::nn::functional;
    const Tensor convolved =
        functional::conv_integer(image, weight, zero, each, tenon::none, padding);
    CHECK(convolved.dtype() == tenon::i32);
    check_close(convolved,
                functional::conv2d(real(image) - 7, real(weight) - real(each).reshape({3, 1, 1, 1}),
                                   {}, Shape{1, 1}, padding),
                0);
    CHECK(refusal_of("conv_integer", [&] { functional::conv_integer(image, weight, each); }) ==
          "'input_zero_point' must be one number, got shape [3]");
    CHECK_THROWS_AS(matmul_integer(real(a), b), tenon::TypeError);
    const Tensor row = a.narrow(1, 0, 1);
    CHECK(refusal([&] { matmul_integer(row, b, rows); })
              .find("the zero point of 'input' must be one number, or one for each row of shape "
                    "[2, 1, 4]") != std::string::npos);
  }

  TEST_CASE("windows are cosines over a turn") {
    const auto none = tenon::DType::none;
    check_values(tenon::hann_window(4), {4}, {0, 0.5, 1, 0.5});
    check_values(tenon::hann_window(5, false), {5}, {0, 0.5, 1, 0.5, 0});
    check_values(tenon::hamming_window(2, true, 25.0 / 46, 21.0 / 46), {2}, {4.0 / 46, 1});
    check_values(tenon::blackman_window(4), {4}, {0, 0.34, 1, 0.34});
    check_values(tenon::hann_window(1), {1}, {1});
    CHECK(tenon::hann_window(0).numel() == 0);
    CHECK(tenon::hann_window(2, true, tenon::f64).dtype() == tenon::f64);
    CHECK(tenon::hann_window(2, true, none).dtype() == tenon::f32);
    CHECK_THROWS_AS(tenon::hann_window(-1), tenon::ValueError);
    CHECK_THROWS_AS(tenon::hann_window(3, true, tenon::i32), tenon::TypeError);
  }

  TEST_CASE("mel weights are triangles between whole bins") {
    // The example of ONNX' MelWeightMatrix: edges at bins 0, 0, 1, 2, 4, 6, 9, 12, 16, 21.
    const Tensor weights = tenon::mel_weight_matrix(8, 16, 8192, 0, 4096);
    CHECK(weights.sizes() == Shape{9, 8});
    std::vector<int64_t> edges;
    const double step = 2595 * std::log10(1 + 4096 / 700.0) / 10;
    for (int i = 0; i < 10; ++i)
      edges.push_back(
          static_cast<int64_t>(std::floor(17 * 700 * (std::pow(10, i * step / 2595) - 1) / 8192)));
    for (int64_t bin = 0; bin < 9; ++bin) {
      for (int64_t k = 0; k < 8; ++k) {
        const auto i = static_cast<size_t>(k);
        const auto low = static_cast<double>(edges[i]), top = static_cast<double>(edges[i + 1]),
                   high = static_cast<double>(edges[i + 2]), at = static_cast<double>(bin);
        double expected = at == top ? 1 : 0;
        if (at >= low && at < top) expected = (at - low) / (top - low);
        if (at > top && at < high) expected = (high - at) / (high - top);
        CAPTURE(bin);
        CAPTURE(k);
        CHECK(weights.select(0, bin).select(0, k).item() == doctest::Approx(expected));
      }
    }
    CHECK_THROWS_AS(tenon::mel_weight_matrix(8, 16, 8192, 0, 5000), tenon::ValueError);
  }
}
