// The pools: values, positions, borders, NaN, refusals.
#include <limits>
#include <random>

#include <tenon/listing/listing.hpp>

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

using Shape = std::vector<int64_t>;

// A pool of `dimensions` dimensions over one plane, window by window: for each its mean, its largest
// element and where that was.
struct SlowPool {
  Shape in, kernel, stride, padding, dilation, out;
  bool count_padding = true;

  // False where a window does not fit.
  bool measure(bool ceil_mode) {
    out.clear();
    for (size_t d = 0; d < in.size(); ++d) {
      const int64_t reach = dilation[d] * (kernel[d] - 1) + 1;
      int64_t count = 0;
      // Windows that begin before the end of the input and its first padding, and, without
      // ceil_mode, end before the end of the second.
      while (count * stride[d] < in[d] + padding[d] &&
             (ceil_mode ? count == 0 || (count - 1) * stride[d] + reach < in[d] + 2 * padding[d]
                        : count * stride[d] + reach <= in[d] + 2 * padding[d])) {
        ++count;
      }
      if (ceil_mode && in[d] + 2 * padding[d] - reach + stride[d] - 1 < 0) return false;
      if (count == 0) return false;
      out.push_back(count);
    }
    return true;
  }
  static bool step(Shape& at, const Shape& end) {
    for (size_t d = at.size(); d-- > 0;) {
      if (++at[d] < end[d]) return true;
      at[d] = 0;
    }
    return false;
  }
  void run(const double* plane, std::vector<double>& means, std::vector<double>& largest,
           std::vector<int64_t>& places) const {
    Shape window(in.size(), 0);
    do {
      double sum = 0, best = -std::numeric_limits<double>::infinity();
      int64_t place = -1, inside = 0, counted = 0;
      Shape tap(in.size(), 0);
      do {
        int64_t offset = 0;
        bool real = true, padded = true;
        for (size_t d = 0; d < in.size(); ++d) {
          const int64_t at = window[d] * stride[d] - padding[d] + tap[d] * dilation[d];
          real = real && at >= 0 && at < in[d];
          padded = padded && at < in[d] + padding[d];
          offset = offset * in[d] + at;
        }
        counted += padded ? 1 : 0;
        if (!real) continue;
        ++inside;
        sum += plane[offset];
        if (place < 0 || plane[offset] > best) {
          best = plane[offset];
          place = offset;
        }
      } while (step(tap, kernel));
      means.push_back(sum / static_cast<double>(count_padding ? counted : inside));
      largest.push_back(best);
      places.push_back(place);
    } while (step(window, out));
  }
};

}  // namespace

TEST_SUITE("nn") {
  TEST_CASE("windows of two columns agree with a walk, equal elements and NaN included") {
    std::mt19937_64 engine(5);
    const auto below = [&](int64_t count) {
      return static_cast<int64_t>(engine() % static_cast<uint64_t>(count));
    };
    for (int round = 0; round < 100; ++round) {
      const int64_t rows = 1 + below(3), high = rows + below(4), wide = 2 + below(60);
      const DType dtype = below(2) == 0 ? tenon::f32 : tenon::f64;
      CAPTURE(rows);
      CAPTURE(high);
      CAPTURE(wide);
      std::vector<double> plane;
      for (int64_t i = 0; i < high * wide; ++i)
        plane.push_back(below(10) == 0 ? std::nan("") : static_cast<double>(below(4)));
      const Tensor x =
          tenon::from_range(plane.begin(), plane.end()).to(dtype).reshape({1, 1, high, wide});
      const auto [values, indices] = tenon::nn::functional::max_pool2d_with_indices(
          x, std::vector<int64_t>{rows, 2}, std::vector<int64_t>{1, 2});
      std::vector<double> expected;
      std::vector<int64_t> places;
      for (int64_t top = 0; top + rows <= high; ++top) {
        for (int64_t left = 0; left + 2 <= wide; left += 2) {
          int64_t best = top * wide + left;
          for (int64_t i = 0; i < rows * 2; ++i) {
            const int64_t at = (top + i / 2) * wide + left + i % 2;
            const double now = plane[static_cast<size_t>(at)];
            if (std::isnan(now) || now > plane[static_cast<size_t>(best)]) best = at;
          }
          expected.push_back(plane[static_cast<size_t>(best)]);
          places.push_back(best);
        }
      }
      CHECK(indices.to_vector<int64_t>() == places);
      check_close(values.to_vector<double>(), expected, 0);
    }
  }

  TEST_CASE("max_pool2d has the same values with and without positions, in rows of any length") {
    std::mt19937_64 engine(7);
    const auto below = [&](int64_t count) {
      return static_cast<int64_t>(engine() % static_cast<uint64_t>(count));
    };
    for (int round = 0; round < 200; ++round) {
      const Shape kernel{1 + below(3), 1 + below(4)}, stride{1 + below(2), 1 + below(4)};
      const Shape padding{below(kernel[0] / 2 + 1), below(kernel[1] / 2 + 1)};
      const Shape dilation{1, 1 + below(2)}, shape{2, 6 + below(30), 8 + below(150)};
      const bool ceil_mode = below(2) == 0;
      CAPTURE(shape);
      CAPTURE(kernel);
      CAPTURE(stride);
      CAPTURE(padding);
      CAPTURE(dilation);
      Tensor x = numbers(shape, below(2) == 0 ? tenon::f32 : tenon::f64);
      x = x.masked_fill(x > 0.95, kNan);
      const auto [values, indices] =
          functional::max_pool2d_with_indices(x, kernel, stride, padding, dilation, ceil_mode);
      check_close(functional::max_pool2d(x, kernel, stride, padding, dilation, ceil_mode), values,
                  0);
    }
  }

  TEST_CASE("max_pool2d of squares has the same values with and without positions") {
    for (int64_t height = 2; height < 12; ++height) {
      for (int64_t width = 2; width < 70; ++width) {
        CAPTURE(height);
        CAPTURE(width);
        for (const tenon::DType dtype : {tenon::f32, tenon::f64}) {
          Tensor x = numbers({3, height, width}, dtype, static_cast<uint64_t>(width));
          x = x.masked_fill(x > 0.8, kNan).masked_fill(x.abs() < 0.2, 0.0);
          const auto [values, indices] = functional::max_pool2d_with_indices(x, {2, 2});
          check_close(functional::max_pool2d(x, {2, 2}), values, 0);
        }
      }
    }
  }

  TEST_CASE("pools of one to three dimensions agree with a walk over each window") {
    std::mt19937_64 engine(3);
    const auto below = [&](int64_t count) {
      return static_cast<int64_t>(engine() % static_cast<uint64_t>(count));
    };
    int fitting = 0;
    for (int round = 0; round < 400; ++round) {
      const int64_t dimensions = 1 + below(3);
      SlowPool slow;
      for (int64_t d = 0; d < dimensions; ++d) {
        slow.in.push_back(1 + below(6));
        slow.kernel.push_back(1 + below(3));
        slow.stride.push_back(1 + below(3));
        slow.padding.push_back(below(slow.kernel.back() / 2 + 1));
        slow.dilation.push_back(1);
      }
      const bool ceil_mode = below(2) == 0;
      slow.count_padding = below(2) == 0;
      Shape shape{2};
      if (below(2) == 0) shape.push_back(3);
      const int64_t planes = shape.size() == 1 ? 2 : 6;
      shape.insert(shape.end(), slow.in.begin(), slow.in.end());
      const DType dtype = below(2) == 0 ? tenon::f32 : tenon::f64;
      Tensor x = numbers(shape, dtype, static_cast<uint64_t>(round));
      if (below(2) == 0) x = tenon::stack({x, x}, -1).select(-1, 0);
      const std::vector<double> values = x.to_vector<double>();
      const int64_t size = x.numel() / planes;
      const auto compare_with = [&](const std::string& kind, bool fits) {
        CAPTURE(kind);
        CAPTURE(slow.in);
        CAPTURE(slow.kernel);
        CAPTURE(slow.stride);
        CAPTURE(slow.padding);
        CAPTURE(slow.dilation);
        CAPTURE(ceil_mode);
        const std::string name =
            "nn.functional." + kind + "_pool" + std::to_string(dimensions) + "d";
        const bool mean = kind == "avg";
        const auto call = [&] {
          const tenon::Op op(mean ? name : name + "_with_indices");
          return mean ? std::make_tuple(op.call<Tensor>(x, slow.kernel, slow.stride, slow.padding,
                                                        ceil_mode, slow.count_padding),
                                        Tensor())
                      : op.call<std::tuple<Tensor, Tensor>>(x, slow.kernel, slow.stride,
                                                            slow.padding, slow.dilation, ceil_mode);
        };
        if (!fits) {
          CHECK_THROWS_AS(call(), tenon::ValueError);
          return;
        }
        ++fitting;
        std::vector<double> means, largest;
        std::vector<int64_t> places;
        for (int64_t p = 0; p < planes; ++p)
          slow.run(values.data() + p * size, means, largest, places);
        const auto [found, indices] = call();
        Shape expected(shape.begin(), shape.end() - dimensions);
        expected.insert(expected.end(), slow.out.begin(), slow.out.end());
        check_values(found, expected, mean ? means : largest, dtype == tenon::f32 ? 1e-5 : 1e-13);
        if (mean) return;
        CHECK(indices.to_vector<int64_t>() == places);
        check_close(tenon::Op(name).call<Tensor>(x, slow.kernel, slow.stride, slow.padding,
                                                 slow.dilation, ceil_mode),
                    found, 0);
      };
      compare_with("avg", slow.measure(ceil_mode));
      for (int64_t& step : slow.dilation) step = 1 + below(3);
      compare_with("max", slow.measure(ceil_mode));
    }
    CHECK(fitting > 300);
  }

  TEST_CASE("adaptive pools of maxima agree with a walk over each window") {
    std::mt19937_64 engine(5);
    const auto below = [&](int64_t count) {
      return static_cast<int64_t>(engine() % static_cast<uint64_t>(count));
    };
    for (int round = 0; round < 100; ++round) {
      const int64_t dimensions = 1 + below(3);
      Shape in, out, shape{2};
      for (int64_t d = 0; d < dimensions; ++d) {
        in.push_back(1 + below(5));
        out.push_back(1 + below(4));
      }
      shape.insert(shape.end(), in.begin(), in.end());
      const Tensor x = numbers(shape, tenon::f64, static_cast<uint64_t>(round));
      const std::vector<double> values = x.to_vector<double>();
      std::vector<double> largest;
      std::vector<int64_t> places;
      const int64_t size = x.numel() / 2;
      for (int64_t p = 0; p < 2; ++p) {
        Shape window(in.size(), 0);
        do {
          Shape at(in.size(), 0);
          int64_t place = -1, offset = 0;
          do {
            bool inside = true;
            for (size_t d = 0; d < in.size(); ++d) {
              inside = inside && at[d] * out[d] >= window[d] * in[d] - (out[d] - 1) &&
                       at[d] >= window[d] * in[d] / out[d] &&
                       at[d] * out[d] < (window[d] + 1) * in[d];
            }
            const auto k = static_cast<size_t>(p * size + offset);
            if (inside && (place < 0 || values[k] > values[static_cast<size_t>(p * size + place)]))
              place = offset;
            ++offset;
          } while (SlowPool::step(at, in));
          largest.push_back(values[static_cast<size_t>(p * size + place)]);
          places.push_back(place);
        } while (SlowPool::step(window, out));
      }
      const std::string name = "nn.functional.adaptive_max_pool" + std::to_string(dimensions) + "d";
      CAPTURE(name);
      CAPTURE(in);
      CAPTURE(out);
      const auto [found, indices] =
          tenon::Op(name + "_with_indices").call<std::tuple<Tensor, Tensor>>(x, out);
      Shape expected{2};
      expected.insert(expected.end(), out.begin(), out.end());
      check_values(found, expected, largest, 0);
      CHECK(indices.to_vector<int64_t>() == places);
      check_close(tenon::Op(name).call<Tensor>(x, out), found, 0);
    }
  }

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
    check_values(functional::avg_pool2d(x, 2, 2, 1, false, true, 2), {1, 3, 3},
                 {0, 1.5, 1.5, 6, 15, 9, 6, 13.5, 7.5});
    CHECK(refusal([&] {
            functional::avg_pool2d(x, 2, 2, 0, false, true, 0);
          }).find("divisor_override is 0") != std::string::npos);
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
    const tenon::Json groups = tenon::listing::overridable("nn.functional");
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
    CHECK(
        refusal([&] { functional::max_pool3d(x.unsqueeze(1), 2); }) ==
        "max_pool3d(): a window of 2 does not fit into the 1 slices of an input of shape [1, 1, 4, "
        "4]");
    CHECK(refusal([&] { functional::avg_pool1d(x, 9); }) ==
          "avg_pool1d(): a window of 9 does not fit into the 4 columns of an input of shape [1, 4, "
          "4]");
    CHECK_THROWS_AS(functional::max_pool2d(x.to(tenon::i64), 2), tenon::TypeError);
    CHECK(refusal([&] { functional::adaptive_avg_pool2d(x, -1); }) ==
          "adaptive_avg_pool2d(): output_size must not be negative, got [-1, -1]");
    CHECK_THROWS_AS(functional::adaptive_max_pool1d(tenon::zeros({2, 0}), 2), tenon::ValueError);
    CHECK_THROWS_AS(
        tenon::nn::grad::max_pool(tenon::ones({1, 2}), tenon::full({1, 2}, 9), {1, 4}, 1),
        tenon::IndexError);
  }
}
