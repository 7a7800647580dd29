// Ops with the conventions of ONNX that have a faster way for usual operands: it computes the same.
#include <algorithm>
#include <bit>
#include <limits>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include <tenon/grad_mode.hpp>
#include <tenon/tenon.hpp>

#include "../compare.hpp"

namespace {

using compare::numbers;
using tenon::arg, tenon::Op, tenon::Tensor;

using States = std::tuple<Tensor, Tensor, Tensor>;
struct Lstm {
  Tensor w = numbers({1, 16, 5}, tenon::f64, 2), r = numbers({1, 16, 4}, tenon::f64, 3),
         b = numbers({1, 32}, tenon::f64, 4);
  States run(const Tensor& x, const Tensor& hidden, const Tensor& cell) const {
    return Op("onnx.lstm").call<States>(x, w, r, b, tenon::none, hidden, cell);
  }
};
std::vector<double> values(const Tensor& tensor) { return tensor.to_vector<double>(); }

}  // namespace

TEST_CASE("an LSTM gives the same states for a sequence at once and for one step after the other") {
  const Lstm lstm;
  const Tensor x = numbers({20, 3, 5}, tenon::f64);
  Tensor hidden = numbers({1, 3, 4}, tenon::f64, 5), cell = numbers({1, 3, 4}, tenon::f64, 6);
  const auto [outputs, last_hidden, last_cell] = lstm.run(x, hidden, cell);
  for (int64_t t = 0; t < 20; ++t) {
    Tensor output;
    std::tie(output, hidden, cell) = lstm.run(x.narrow(0, t, 1), hidden, cell);
    compare::check_close(values(output), values(outputs.narrow(0, t, 1)), 1e-12);
  }
  compare::check_close(values(hidden), values(last_hidden), 1e-12);
  compare::check_close(values(cell), values(last_cell), 1e-12);
}

TEST_CASE("a GRU gives the same states for a sequence at once and for one step after the other") {
  const Tensor x = numbers({20, 3, 5}, tenon::f64), w = numbers({1, 12, 5}, tenon::f64, 2),
               r = numbers({1, 12, 4}, tenon::f64, 3), b = numbers({1, 24}, tenon::f64, 4);
  const auto run = [&](const Tensor& some, const Tensor& hidden) {
    return Op("onnx.gru")
        .call<std::tuple<Tensor, Tensor>>(some, w, r, b, tenon::none, hidden,
                                          arg("linear_before_reset") = true);
  };
  Tensor hidden = numbers({1, 3, 4}, tenon::f64, 5);
  const auto [outputs, last] = run(x, hidden);
  for (int64_t t = 0; t < 20; ++t) {
    Tensor output;
    std::tie(output, hidden) = run(x.narrow(0, t, 1), hidden);
    compare::check_close(values(output), values(outputs.narrow(0, t, 1)), 1e-12);
  }
  compare::check_close(values(hidden), values(last), 1e-12);
}

TEST_CASE("an LSTM has the same gradients for its steps one by one") {
  Lstm lstm;
  lstm.w.requires_grad_();
  lstm.r.requires_grad_();
  const Tensor x = numbers({9, 2, 5}, tenon::f64);
  const Tensor start = tenon::zeros({1, 2, 4}, tenon::f64);
  const auto gradients = [&](const Tensor& sum) {
    sum.backward();
    std::vector<double> both = values(lstm.w.grad()), second = values(lstm.r.grad());
    both.insert(both.end(), second.begin(), second.end());
    lstm.w.set_grad({});
    lstm.r.set_grad({});
    return both;
  };
  Tensor hidden = start, cell = start, sum = tenon::zeros({}, tenon::f64);
  for (int64_t t = 0; t < 9; ++t) {
    Tensor output;
    std::tie(output, hidden, cell) = lstm.run(x.narrow(0, t, 1), hidden, cell);
    sum = sum + output.sum();
  }
  compare::check_close(gradients(sum), gradients(std::get<0>(lstm.run(x, start, start)).sum()),
                       1e-12);
}

TEST_CASE("Clip by numbers is Clip by tensors that need a gradient, bit for bit") {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> edges = {-2, -0.f, 0.f, 1.5f, infinity, -infinity, std::nanf("")};
  const Tensor x = tenon::from_range(edges.begin(), edges.end());
  const auto bits = [](const Tensor& tensor) {
    std::vector<uint32_t> words;
    for (const float number : tensor.to_vector<float>())
      words.push_back(number != number ? 0 : std::bit_cast<uint32_t>(number));
    return words;
  };
  const Op clip("onnx.clip");
  for (const float low : edges) {
    for (const float high : edges) {
      const auto number = [](float one) { return tenon::full(tenon::IntList(), one); };
      Tensor leaf = number(low);
      leaf.requires_grad_();
      CHECK(bits(clip.call<Tensor>(x, number(low), number(high))) ==
            bits(clip.call<Tensor>(x, leaf, number(high))));
    }
  }
}

TEST_CASE("a bound of Clip that needs a gradient gets it") {
  Tensor low = tenon::full(tenon::IntList(), 0.5);
  low.requires_grad_();
  const Tensor x = tenon::tensor({0.f, 1.f, 0.25f});
  Op("onnx.clip").call<Tensor>(x, low, tenon::full(tenon::IntList(), 2.0)).sum().backward();
  CHECK(low.grad().item<float>() == 2);
}

TEST_CASE("the power of 2 is a square, and an exponent that needs a gradient gets it") {
  Tensor x = numbers({50}), exponent = tenon::full(tenon::IntList(), 2.0);
  x.requires_grad_();
  const Op power("onnx.pow");
  const auto squares = power.call<Tensor>(x, exponent);
  CHECK(squares.to_vector<float>() == (x.detach() * x.detach()).to_vector<float>());
  squares.sum().backward();
  CHECK(x.grad().to_vector<float>() == (x.detach() * 2).to_vector<float>());
  exponent.requires_grad_();
  power.call<Tensor>(tenon::tensor({3.f}), exponent).sum().backward();
  CHECK(exponent.grad().item<float>() == doctest::Approx(9 * std::log(3.0)));
}

namespace {

// Adds one to digits below these limits; false behind the last number.
bool count_up(std::vector<int64_t>& digits, const std::vector<int64_t>& limits) {
  for (size_t d = digits.size(); d-- > 0;) {
    if (++digits[d] < limits[d]) return true;
    digits[d] = 0;
  }
  return false;
}
int64_t product(const std::vector<int64_t>& sizes) {
  int64_t count = 1;
  for (const int64_t size : sizes) count *= size;
  return count;
}

}  // namespace

TEST_CASE("col2im adds blocks to images of 1 to 4 dimensions as loops over elements do") {
  std::mt19937_64 random(3);
  const auto draw = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (uint64_t round = 0; round < 80; ++round) {
    CAPTURE(round);
    const size_t rank = 1 + round % 4;
    std::vector<int64_t> image, block, dilation, step, front, behind, windows;
    for (size_t d = 0; d < rank; ++d) {
      block.push_back(draw(1, 3));
      dilation.push_back(draw(1, 2));
      step.push_back(draw(1, 2));
      front.push_back(draw(0, 1));
      behind.push_back(draw(0, 1));
      const int64_t least = (block[d] - 1) * dilation[d] + 1 - front[d] - behind[d];
      image.push_back(draw(std::max<int64_t>(least, 1), least + 4));
      windows.push_back((image[d] - least) / step[d] + 1);
    }
    const int64_t images = draw(1, 2), channels = draw(1, 2), blocks = product(block),
                  count = product(windows), elements = product(image);
    const Tensor input = numbers({images, channels * blocks, count}, tenon::f64, round + 1);
    const std::vector<double> given = values(input);
    std::vector<double> expected(static_cast<size_t>(images * channels * elements));
    for (int64_t plane = 0; plane < images * channels; ++plane) {
      std::vector<int64_t> inside(rank, 0);
      int64_t row = plane * blocks;
      do {
        std::vector<int64_t> window(rank, 0);
        int64_t column = 0;
        do {
          int64_t place = plane;
          bool within = true;
          for (size_t d = 0; d < rank; ++d) {
            const int64_t at = window[d] * step[d] + inside[d] * dilation[d] - front[d];
            within = within && at >= 0 && at < image[d];
            place = place * image[d] + at;
          }
          if (within)
            expected[static_cast<size_t>(place)] +=
                given[static_cast<size_t>(row * count + column)];
          ++column;
        } while (count_up(window, windows));
        ++row;
      } while (count_up(inside, block));
    }
    std::vector<int64_t> pads = front, shape{images, channels};
    pads.insert(pads.end(), behind.begin(), behind.end());
    shape.insert(shape.end(), image.begin(), image.end());
    const Tensor found = Op("onnx.col2im")
                             .call<Tensor>(input, image, block, arg("dilations") = dilation,
                                           arg("pads") = pads, arg("strides") = step);
    compare::check_values(found, shape, expected, 1e-12);
  }
}
