// Tensors of C++ containers, spans of their elements, and reductions of the whole tensor.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <span>
#include <vector>

#include <doctest/doctest.h>

#include <tenon/tenon.hpp>

using namespace tenon;

namespace {

using Sizes = std::vector<int64_t>;

Tensor random_tensor(std::mt19937& random, DType dtype) {
  Sizes shape;
  const auto draw = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (int64_t rank = draw(0, 3); rank > 0; --rank) shape.push_back(draw(1, 4));
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  std::vector<double> numbers;
  for (int64_t i = 0; i < count; ++i) numbers.push_back(static_cast<double>(draw(-3, 3)));
  return contiguous_as(
      from_buffer(numbers.data(), IntList(shape.data(), static_cast<int64_t>(shape.size()))),
      dtype);
}

}  // namespace

TEST_SUITE("containers") {
  TEST_CASE("a vector gives a tensor of its elements and their dtype") {
    const Tensor x = tensor(std::vector<float>{1, 2.5F, 3});
    CHECK(x.dtype() == f32);
    CHECK(x.sizes() == Sizes{3});
    CHECK(x.to_vector<float>() == std::vector<float>{1, 2.5F, 3});
    CHECK(tensor(std::vector<int>{1}).dtype() == i32);
    CHECK(tensor(std::vector<int64_t>{}).sizes() == Sizes{0});
    CHECK(tensor(std::vector<double>{1, 2}, i64).to_vector<int64_t>() == Sizes{1, 2});
    CHECK(tensor(std::vector<bool>{true, false}).to_vector<int64_t>() == Sizes{1, 0});
  }

  TEST_CASE("vectors of vectors give a dimension each, and refuse other lengths") {
    const Tensor x = tensor(std::vector<std::vector<double>>{{1, 2, 3}, {4, 5, 6}});
    CHECK(x.sizes() == Sizes{2, 3});
    CHECK(x.to_vector<double>() == std::vector<double>{1, 2, 3, 4, 5, 6});
    CHECK_THROWS_WITH_AS(tensor(std::vector<std::vector<int>>{{1, 2}, {3}}),
                         "nested lists must be rectangular: a list of 1 where 2 were seen before",
                         ValueError);
  }

  TEST_CASE("a shape arranges the elements, and needs as many") {
    const std::vector<int64_t> values = {1, 2, 3, 4, 5, 6};
    CHECK(tensor(values, {2, 3}).sizes() == Sizes{2, 3});
    CHECK(tensor(values, {2, 3}, f64).dtype() == f64);
    CHECK_THROWS_WITH_AS(tensor(values, {4, 2}), "6 elements do not fill the shape [4, 2]",
                         ValueError);
  }

  TEST_CASE("spans give a tensor, and a tensor gives a span") {
    const std::vector<float> values = {1, 2, 3};
    const Tensor x = tensor(std::span(values).subspan(1));
    CHECK(x.to_vector<float>() == std::vector<float>{2, 3});
    for (float& element : as_span<float>(x)) element *= 2;
    CHECK(x.to_vector<float>() == std::vector<float>{4, 6});
    CHECK(as_span<const float>(x).size() == 2);
    CHECK_THROWS_AS(as_span<double>(x), TypeError);
    CHECK_THROWS_AS(as_span<int64_t>(tensor({{1, 2}, {3, 4}}).t()), ValueError);
  }

  TEST_CASE("max, min and median of the whole are those of the sorted elements") {
    std::mt19937 random(7);
    for (int i = 0; i < 200; ++i) {
      const Tensor x = random_tensor(random, i % 3 == 0 ? i64 : i % 3 == 1 ? f64 : f32);
      std::vector<double> sorted = x.to_vector<double>();
      std::sort(sorted.begin(), sorted.end());
      CAPTURE(x.text());
      CHECK(max(x).item() == sorted.back());
      CHECK(min(x).item() == sorted.front());
      CHECK(std::get<0>(median(x)).item() == sorted[(sorted.size() - 1) / 2]);
      CHECK(max(x).dim() == 0);
    }
  }

  TEST_CASE("a nan is the maximum and the minimum of the whole") {
    const Tensor x = tensor({1.0, std::nan(""), 3.0});
    CHECK(std::isnan(max(x).item()));
    CHECK(std::isnan(min(x).item()));
  }

  TEST_CASE("elements that tie for the maximum share its gradient") {
    Tensor x = tensor({1.0, 3.0, 3.0}).requires_grad_();
    max(x).backward();
    CHECK(x.grad().to_vector<double>() == std::vector<double>{0, 0.5, 0.5});
  }
}
