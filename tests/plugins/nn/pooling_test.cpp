// The pools: values, positions, borders, NaN, refusals.
#include <limits>

#include "../compare.hpp"

using namespace compare;
namespace functional = tenon::nn::functional;

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Tensor counting(const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  return tenon::arange(count, tenon::none, 1, tenon::f32).reshape(shape);
}

}  // namespace

TEST_SUITE("nn") {
  TEST_CASE("max_pool2d finds the largest element of each window and where it is") {
    const Tensor x = counting({1, 1, 4, 4});
    check_values(functional::max_pool2d(x, 2), {1, 1, 2, 2}, {5, 7, 13, 15});
    const auto [values, indices] = functional::max_pool2d_with_indices(x, 2, 1, 1);
    CHECK(values.sizes() == std::vector<int64_t>{1, 1, 5, 5});
    CHECK(indices.dtype() == tenon::i64);
    CHECK(indices.to_vector<int64_t>()[0] == 0);
    CHECK(indices.to_vector<int64_t>()[24] == 15);
    check_values(functional::max_pool2d(counting({1, 5, 5}), 2, 2, 0, 1, true), {1, 3, 3},
                 {6, 8, 9, 16, 18, 19, 21, 23, 24});
    check_values(functional::max_pool2d(counting({1, 5, 5}), 2, 1, 0, 3), {1, 2, 2},
                 {18, 19, 23, 24});
    check_values(functional::max_pool2d(x.to(tenon::f64).transpose(2, 3), 4), {1, 1, 1, 1}, {15});
  }

  TEST_CASE("a window wholly in the padding has -inf, no position and no gradient") {
    Tensor x = tenon::tensor({{{5.0, 6.0, 7.0}}}, tenon::f64).requires_grad_();
    const std::initializer_list<int64_t> kernel{2, 1}, padding{1, 0}, dilation{2, 1};
    const auto pool = [&](const Tensor& at) {
      return functional::max_pool2d_with_indices(at, kernel, 1, padding, dilation);
    };
    constexpr double inf = std::numeric_limits<double>::infinity();
    const auto [values, indices] = pool(x);
    check_values(values, {1, 1, 3}, {-inf, -inf, -inf});
    CHECK(indices.to_vector<int64_t>() == std::vector<int64_t>{-1, -1, -1});
    values.sum().backward();
    check_values(x.grad(), {1, 1, 3}, {0, 0, 0});
    const tenon::DualLevel level;
    const Tensor dual = make_dual(x.detach(), tenon::ones_like(x.detach()));
    check_values(unpack_dual(std::get<0>(pool(dual))).tangent, {1, 1, 3}, {0, 0, 0});
  }

  TEST_CASE("with ceil_mode an input smaller than the window has one") {
    check_values(functional::max_pool2d(counting({1, 2, 2}), 3, 3, 0, 1, true), {1, 1, 1}, {3});
    check_values(functional::avg_pool2d(counting({1, 2, 2}), 3, 3, 0, true), {1, 1, 1}, {1.5});
    CHECK(refusal([] {
            functional::max_pool2d(counting({1, 2, 2}), 5, 1, 0, 1, true);
          }).find("does not fit") != std::string::npos);
  }

  TEST_CASE("windows much larger than their input take no longer for it") {
    const int64_t large = (int64_t{1} << 31) - 1;
    const Tensor x = counting({1, 4, 4});
    check_values(functional::max_pool2d(x, large, large, large / 2), {1, 1, 1}, {15});
    check_values(functional::max_pool2d(x, large, large / 2, large / 2), {1, 1, 1}, {15});
    check_values(functional::max_pool2d(x, large, 1, large / 2), {1, 4, 4},
                 std::vector<double>(16, 15));
    CHECK(functional::avg_pool2d(x, large, large, large / 2, false, false).item() == 7.5);
    const int64_t huge = int64_t{1} << 62;
    for (const auto& call : std::vector<std::function<void()>>{
             [&] { functional::max_pool2d(x, huge, tenon::none, huge / 2); },
             [&] { functional::max_pool2d(x, 2, huge); },
             [&] { functional::max_pool2d(x, 2, 1, 0, huge); },
             [&] { functional::avg_pool2d(x, huge, tenon::none, huge / 2); },
             [&] {
               functional::conv2d(x, tenon::ones({1, 1, 2, 2}), tenon::none, huge);
             },
             [&] {
               functional::conv2d(x, tenon::ones({1, 1, 2, 2}), tenon::none, 1, huge);
             },
             [&] {
               functional::conv2d(x, tenon::ones({1, 1, 2, 2}), tenon::none, 1, 0, huge);
             }}) {
      CHECK(refusal(call).find(" to 2147483647, got 4611686018427387904") != std::string::npos);
    }
  }

  TEST_CASE("max_pool2d takes the first of equals, negative borders and NaN") {
    const Tensor same = tenon::full({1, 2, 2}, -3.0);
    const auto [values, indices] = functional::max_pool2d_with_indices(same, 2, 2, 1);
    check_values(values, {1, 2, 2}, {-3, -3, -3, -3});
    CHECK(indices.to_vector<int64_t>() == std::vector<int64_t>{0, 1, 2, 3});
    check_values(std::get<1>(functional::max_pool2d_with_indices(same, 2)), {1, 1, 1}, {0});
    const Tensor spoiled = tenon::tensor({{{1.0, kNan, 9.0, 2.0}}}, tenon::f32);
    check_values(functional::max_pool2d(spoiled, {1, 2}), {1, 1, 2}, {kNan, 9});
    check_values(functional::max_pool2d(spoiled, {1, 3}, 1, {0, 1}), {1, 1, 4},
                 {kNan, kNan, kNan, 9});
    const Tensor low = tenon::full({1, 1, 2}, -std::numeric_limits<double>::infinity(), tenon::f64);
    check_values(std::get<1>(functional::max_pool2d_with_indices(low, {1, 2}, 1, {0, 1})),
                 {1, 1, 3}, {0, 0, 1});
  }

  TEST_CASE("avg_pool2d divides by the window, with or without its padding") {
    const Tensor x = counting({1, 4, 4});
    check_values(functional::avg_pool2d(x, 2), {1, 2, 2}, {2.5, 4.5, 10.5, 12.5});
    check_values(functional::avg_pool2d(x, 2, 2, 1), {1, 3, 3},
                 {0, 0.75, 0.75, 3, 7.5, 4.5, 3, 6.75, 3.75});
    check_values(functional::avg_pool2d(x, 2, 2, 1, false, false), {1, 3, 3},
                 {0, 1.5, 3, 6, 7.5, 9, 12, 13.5, 15});
    check_values(functional::avg_pool2d(x, 3, 2, 0, true), {1, 2, 2}, {5, 6.5, 11, 12.5});
  }

  TEST_CASE("adaptive pools cover the input with as many windows as asked for") {
    const Tensor x = counting({1, 2, 7});
    check_values(functional::adaptive_avg_pool1d(x, 3), {1, 2, 3}, {1, 3, 5, 8, 10, 12});
    check_values(functional::adaptive_avg_pool1d(x.select(0, 0), 1), {2, 1}, {3, 10});
    const auto [values, indices] = functional::adaptive_max_pool1d_with_indices(x, 2);
    check_values(values, {1, 2, 2}, {3, 6, 10, 13});
    CHECK(indices.to_vector<int64_t>() == std::vector<int64_t>{3, 6, 3, 6});
    check_values(functional::adaptive_max_pool1d(x, 7), {1, 2, 7}, x.to_vector<double>());
    check_values(functional::adaptive_avg_pool2d(counting({1, 3, 4}), {2, 2}), {1, 2, 2},
                 {2.5, 4.5, 6.5, 8.5});
    check_values(functional::adaptive_avg_pool2d(counting({1, 2, 2}), 3), {1, 3, 3},
                 {0, 0.5, 1, 1, 1.5, 2, 2, 2.5, 3});
    check_values(functional::adaptive_avg_pool3d(counting({2, 2, 2, 2}), 1), {2, 1, 1, 1},
                 {3.5, 11.5});
    CHECK(functional::adaptive_avg_pool1d(x, 0).sizes() == std::vector<int64_t>{1, 2, 0});
  }

  TEST_CASE("the five adaptive pools come first in the listing of their namespace") {
    const tenon::Json groups = tenon::describe("overridable", "nn.functional");
    const tenon::Json ops = groups[0]["ops"];
    const char* first[] = {"adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d",
                           "adaptive_max_pool1d", "adaptive_max_pool1d_with_indices"};
    REQUIRE(ops.size() > 5);
    for (int64_t i = 0; i < 5; ++i) CHECK(ops[i].text() == first[i]);
  }

  TEST_CASE("pools refuse what does not fit") {
    const Tensor x = tenon::zeros({1, 4, 4});
    CHECK(refusal([&] {
            functional::max_pool2d(tenon::zeros({4, 4}), 2);
          }) == "max_pool2d(): 'input' must have 3 or 4 dimensions, got shape [4, 4]");
    CHECK(
        refusal([&] { functional::max_pool2d(x, 5); }) ==
        "max_pool2d(): a window of 5 does not fit into the 4 rows of an input of shape [1, 4, 4]");
    CHECK(refusal([&] { functional::max_pool2d(x, 2, 1, 2); }) ==
          "max_pool2d(): padding must be from 0 to half of kernel_size 2, got 2");
    CHECK(refusal([&] { functional::avg_pool2d(x, 0); }) ==
          "avg_pool2d(): kernel_size must be from 1 to 2147483647, got 0");
    CHECK(refusal([&] { functional::avg_pool2d(x, 2, 0); }) ==
          "avg_pool2d(): stride must be from 1 to 2147483647, got 0");
    CHECK_THROWS_AS(functional::max_pool2d(x.to(tenon::i64), 2), tenon::TypeError);
    CHECK(refusal([&] { functional::adaptive_avg_pool2d(x, -1); }) ==
          "adaptive_avg_pool2d(): output_size must not be negative, got [-1, -1]");
    CHECK_THROWS_AS(functional::adaptive_max_pool1d(tenon::zeros({2, 0}), 2), tenon::ValueError);
    CHECK_THROWS_AS(
        tenon::nn::grad::max_pool(tenon::ones({1, 2}), tenon::full({1, 2}, 9), {1, 4}, 1),
        tenon::IndexError);
  }
}
