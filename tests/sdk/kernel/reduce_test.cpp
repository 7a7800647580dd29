// Reductions by a kernel of a policy over tensors of any shape and strides.
#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include <tenon/kernel/reduce.hpp>
#include <tenon/kernel/view.hpp>
#include <tenon/kernel/visit.hpp>
#include <tenon/tenon.hpp>

namespace {

using namespace tenon;
using kernel::Shape;

// A tensor of random elements whose dimensions are stored in any order, some of them backwards or
// with gaps.
struct Strided {
  Tensor base, tensor;
  Strided(IntList shape, DType dtype, std::mt19937_64& random) {
    Shape order, strides(shape);
    for (int64_t i = 0; i < shape.size(); ++i)
      order.insert(static_cast<int64_t>(random() % static_cast<uint64_t>(i + 1)), i);
    int64_t count = 1, offset = 0;
    for (const int64_t i : order) {
      const int64_t gap = random() % 4 == 0 ? 2 : 1;
      strides[i] = count * gap;
      count *= shape[i] * gap;
    }
    for (int64_t i = 0; i < shape.size(); ++i) {
      if (shape[i] == 0 || random() % 4 != 0) continue;
      offset += strides[i] * (shape[i] - 1);
      strides[i] = -strides[i];
    }
    base = empty_tensor({count}, dtype);
    std::uniform_real_distribution<double> number(-100, 100);
    kernel::visit<computed_dtypes>(dtype, [&](auto zero) {
      using T = decltype(zero);
      for (int64_t i = 0; i < count; ++i)
        kernel::elements<T>(base)[i] = static_cast<T>(std::abs(number(random)));
    });
    tensor = alias_tensor(base, shape, strides, offset);
  }
};

// Calls body(element, place of its total) for every element.
template <class T, class Body>
void each_element(const Tensor& input, uint32_t mask, const Body& body) {
  const IntList shape = input.shape();
  int64_t index[TENON_MAX_RANK] = {};
  for (int64_t n = 0; n < input.numel(); ++n) {
    int64_t offset = 0, place = 0;
    for (int64_t i = 0; i < shape.size(); ++i) {
      offset += index[i] * input.strides()[i];
      if ((mask >> i & 1) == 0) place = place * shape[i] + index[i];
    }
    body(kernel::elements<const T>(input)[offset], static_cast<size_t>(place));
    for (int64_t i = shape.size() - 1; i >= 0; --i) {
      if (++index[i] < shape[i]) break;
      index[i] = 0;
    }
  }
}

template <class T>
void check_reduction(const Tensor& input, IntList dims, bool keepdim) {
  const kernel::Reduction plan = kernel::plan_reduction("test", input, dims, keepdim);
  const auto outputs = static_cast<size_t>(kernel::count_elements(plan.shape));
  std::vector<long double> sums(outputs, 0);
  std::vector<T> largest(outputs, kernel::worst<T, true>());
  each_element<T>(input, plan.mask, [&](T element, size_t place) {
    sums[place] += element;
    largest[place] = std::max(largest[place], element);
  });
  std::vector<int> calls(outputs, 0);
  kernel::reduce<kernel::LaneKernel<kernel::SumPolicy<T>>>(
      input, plan, [&](int64_t at, auto total) {
        const auto place = static_cast<size_t>(at);
        ++calls[place];
        const long double error = std::abs(static_cast<long double>(total) - sums[place]);
        CHECK(error <= (std::is_floating_point_v<T> ? 1e-5L * sums[place] : 0));
      });
  CHECK(calls == std::vector<int>(outputs, 1));
  kernel::reduce<kernel::LaneKernel<kernel::ExtremumPolicy<T, true>>>(
      input, plan, [&](int64_t at, const auto& total) {
        CHECK(total.value == largest[static_cast<size_t>(at)]);
      });
}

}  // namespace

TEST_SUITE("kernel/reduce") {
  TEST_CASE("any shape, strides and dims give the totals of their elements, each once") {
    std::mt19937_64 random(11);
    for (int round = 0; round < 300; ++round) {
      Shape shape, dims;
      const auto rank = static_cast<int64_t>(random() % 5);
      for (int64_t i = 0; i < rank; ++i) {
        static constexpr int64_t sizes[] = {0, 1, 2, 3, 7, 16, 33, 70};
        shape.push(sizes[random() % (round % 10 == 0 ? 8 : 7) + (round % 10 == 0 ? 0 : 1)]);
        if (random() % 2 != 0) dims.push(random() % 2 != 0 ? i : i - rank);
      }
      const DType dtype = round % 3 == 0 ? f32 : round % 3 == 1 ? f64 : u8;
      const Strided input(shape, dtype, random);
      INFO("round ", round);
      kernel::visit<floating_dtypes | dtype_bit(u8)>(dtype, [&](auto zero) {
        check_reduction<decltype(zero)>(input.tensor, dims, round % 2 == 0);
      });
    }
  }

  TEST_CASE("long lines give the totals of their columns") {
    std::mt19937_64 random(12);
    for (int round = 0; round < 24; ++round) {
      Shape shape, dims;
      shape.push(1 + static_cast<int64_t>(random() % 150));
      shape.push(900 + static_cast<int64_t>(random() % 3500));
      dims.push(0);
      INFO("round ", round, " of shape ", shape[0], ", ", shape[1]);
      const DType dtype = round % 2 == 0 ? f32 : f64;
      const Strided input(shape, dtype, random);
      kernel::visit<floating_dtypes>(
          dtype, [&](auto zero) { check_reduction<decltype(zero)>(input.tensor, dims, false); });
    }
  }

  TEST_CASE("sums of f32 stay accurate however many elements there are") {
    const int64_t count = 1 << 22;
    const Tensor input = empty_tensor({count});
    fill_elements(input, 0.1);
    const double expected = static_cast<double>(0.1f) * static_cast<double>(count);
    const kernel::Reduction plan = kernel::plan_reduction("test", input, std::nullopt, false);
    kernel::reduce<kernel::LaneKernel<kernel::SumPolicy<float>>>(
        input, plan,
        [&](int64_t, double total) { CHECK(std::abs(total - expected) <= 5e-7 * expected); });
  }

  TEST_CASE("dims that do not exist or come twice are refused") {
    const Tensor input = empty_tensor({2, 3});
    const int64_t outside[] = {2}, twice[] = {1, -1};
    CHECK_THROWS_WITH_AS(kernel::plan_reduction("my.op", input, IntList(outside, 1), false),
                         doctest::Contains("my.op(): dimension 2 is out of range"), IndexError);
    CHECK_THROWS_WITH_AS(kernel::plan_reduction("my.op", input, IntList(twice, 2), false),
                         doctest::Contains("appears more than once in [1, -1]"), ValueError);
    CHECK_THROWS_WITH_AS(
        kernel::plan_nonempty_reduction("my.op", empty_tensor({0, 3}), std::nullopt, false),
        doctest::Contains("dimension 0 of shape [0, 3] has size 0"), ValueError);
  }
}
