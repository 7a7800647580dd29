// Ops that choose and write by coordinates, masks and lengths against plain loops: gather_nd,
// scatter_nd, compress, masked_scatter, index_fill, reverse_sequence, block_diag.
#include <algorithm>
#include <random>

#include "../compare.hpp"

using namespace compare;

namespace {

using Shape = std::vector<int64_t>;

int64_t product(const Shape& shape, size_t from, size_t end) {
  int64_t all = 1;
  for (size_t i = from; i < end; ++i) all *= shape[i];
  return all;
}

// Random coordinates of `last` dimensions behind `batch` of a shape, some of them from the end.
Tensor coordinates(const Shape& shape, const Shape& outer, size_t batch, size_t last,
                   std::mt19937_64& engine) {
  Shape all = outer;
  all.push_back(static_cast<int64_t>(last));
  const int64_t rows = product(outer, 0, outer.size());
  std::vector<int64_t> values;
  for (int64_t i = 0; i < rows; ++i) {
    for (size_t k = 0; k < last; ++k) {
      const int64_t size = shape[batch + k];
      values.push_back(static_cast<int64_t>(engine() % static_cast<uint64_t>(2 * size)) - size);
    }
  }
  return tenon::from_range(values.begin(), values.end()).reshape(all);
}

double reduced(const std::string& reduce, double all, double next) {
  if (reduce == "none") return next;
  if (reduce == "sum") return all + next;
  if (reduce == "prod") return all * next;
  if (std::isnan(all) || std::isnan(next)) return std::nan("");
  return reduce == "amax" ? std::max(all, next) : std::min(all, next);
}

}  // namespace

TEST_SUITE("math") {
  TEST_CASE("gather_nd and scatter_nd find the slices that coordinates name") {
    std::mt19937_64 engine(4);
    const auto below = [&](uint64_t count) { return static_cast<size_t>(engine() % count); };
    for (uint64_t round = 0; round < 150; ++round) {
      Shape shape;
      for (size_t i = 0, rank = 1 + below(4); i < rank; ++i)
        shape.push_back(1 + static_cast<int64_t>(below(3)));
      const size_t batch = below(shape.size()), last = 1 + below(shape.size() - batch);
      Shape outer(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(batch));
      outer.push_back(static_cast<int64_t>(below(4)));
      const Tensor x = numbers(shape, tenon::f64, round),
                   index = coordinates(shape, outer, batch, last, engine);
      const auto xs = x.to_vector<double>();
      const auto at = index.to_vector<int64_t>();
      const int64_t size = product(shape, batch + last, shape.size()),
                    rows = product(outer, 0, outer.size());
      const auto slice_of = [&](int64_t row, size_t before) {
        int64_t place = before == 0 ? 0 : row / outer.back();
        for (size_t k = 0; k < last; ++k) {
          const int64_t length = shape[before + k], one = at[static_cast<size_t>(row) * last + k];
          place = place * length + (one < 0 ? one + length : one);
        }
        return place;
      };
      std::vector<double> expected;
      for (int64_t row = 0; row < rows; ++row) {
        for (int64_t i = 0; i < size; ++i)
          expected.push_back(xs[static_cast<size_t>(slice_of(row, batch) * size + i)]);
      }
      Shape found_shape = outer;
      found_shape.insert(found_shape.end(),
                         shape.begin() + static_cast<std::ptrdiff_t>(batch + last), shape.end());
      CAPTURE(round);
      CAPTURE(shape);
      CAPTURE(batch);
      check_values(gather_nd(x, index, static_cast<int64_t>(batch)), found_shape, expected, 0);
      if (batch != 0) continue;
      const std::string reduce =
          std::vector<std::string>{"none", "sum", "prod", "amax", "amin"}[round % 5];
      const Tensor updates = numbers(found_shape, tenon::f64, round + 1);
      const auto written = updates.to_vector<double>();
      std::vector<double> scattered = xs;
      for (int64_t row = 0; row < rows; ++row) {
        for (int64_t i = 0; i < size; ++i) {
          double& place = scattered[static_cast<size_t>(slice_of(row, 0) * size + i)];
          place = reduced(reduce, place, written[static_cast<size_t>(row * size + i)]);
        }
      }
      check_values(scatter_nd(x, index, updates, reduce), shape, scattered, 1e-12);
    }
  }

  TEST_CASE("scatter_nd with an extremum keeps NaN, wherever it is") {
    const double nan = std::nan("");
    const Tensor index = tenon::tensor({0, 0, 1}, tenon::i64).reshape({3, 1});
    const Tensor updates = tenon::tensor({nan, 3.0, 5.0}, tenon::f64);
    const Tensor x = tenon::tensor({1.0, nan}, tenon::f64);
    check_values(scatter_nd(x, index, updates, "amax"), {2}, {nan, nan});
    check_values(scatter_nd(x, index, updates, "amin"), {2}, {nan, nan});
  }

  TEST_CASE("gather_nd and scatter_nd refuse what does not fit") {
    const Tensor x = tenon::zeros({2, 3});
    const auto index = [](std::initializer_list<int64_t> values) {
      return tenon::from_range(values.begin(), values.end()).reshape({1, -1});
    };
    CHECK(refusal_of("gather_nd", [&] {
            gather_nd(x, index({1, 3}));
          }) == "index 3 is out of range for dimension 1 with size 3");
    CHECK(
        refusal_of("gather_nd",
                   [&] {
                     gather_nd(x, index({1, 1, 1}));
                   }) ==
        "coordinates of shape [1, 3] do not fit a tensor of shape [2, 3] with 0 batch dimensions");
    CHECK(refusal_of("scatter_nd", [&] { scatter_nd(x, index({1}), x, "max"); }) ==
          "reduce is 'max'; choose none, sum, prod, amax or amin");
    CHECK_THROWS_AS(scatter_nd(x, index({1}), x), tenon::ValueError);
  }

  TEST_CASE("masked_scatter takes elements of the source in turn") {
    for (uint64_t round = 0; round < 40; ++round) {
      const Tensor x = numbers({3, 4}, tenon::f64, round),
                   source = numbers({12}, tenon::f64, round + 1);
      const Tensor mask =
          numbers(round % 2 == 0 ? Shape{3, 4} : Shape{4}, tenon::f64, round + 2).gt(0);
      auto expected = x.to_vector<double>();
      const auto chosen = mask.expand({3, 4}).to(tenon::u8).to_vector<double>();
      const auto from = source.to_vector<double>();
      for (size_t i = 0, next = 0; i < 12; ++i)
        if (chosen[i] != 0) expected[i] = from[next++];
      check_values(masked_scatter(x, mask, source), {3, 4}, expected, 0);
    }
    CHECK(refusal_of("masked_scatter", [] {
            masked_scatter(tenon::zeros({3}), tenon::ones({3}, tenon::boolean), tenon::zeros({2}));
          }) == "the mask chooses 3 elements, but 'source' has 2");
    CHECK_THROWS_AS(masked_scatter(tenon::zeros({3}), tenon::zeros({3}), tenon::zeros({3})),
                    tenon::TypeError);
  }

  TEST_CASE("index_fill writes one value, a number or a tensor") {
    const Tensor x = tenon::arange(6).reshape({2, 3}), index = tenon::tensor({2, 0}, tenon::i64);
    check_values(index_fill(x, 1, index, 9), {2, 3}, {9, 1, 9, 9, 4, 9});
    const Tensor value = tenon::full({}, 2.0, tenon::f64).requires_grad_();
    const Tensor filled = index_fill(tenon::ones({2, 3}, tenon::f64), -1, index, value);
    filled.sum().backward();
    CHECK(value.grad().item() == 4);
    CHECK(refusal_of("index_fill", [&] { index_fill(x, 1, index + 1, 0); }) ==
          "index 3 is out of range for dimension 1 with size 3");
  }

  TEST_CASE("reverse_sequence turns the first elements of each sequence") {
    const Tensor x = tenon::arange(8).reshape({4, 2}), lengths = tenon::tensor({3, 0}, tenon::i64);
    check_values(reverse_sequence(x, lengths), {4, 2}, {4, 1, 2, 3, 0, 5, 6, 7});
    check_close(reverse_sequence(x.t(), lengths, 1, 0), reverse_sequence(x, lengths).t(), 0);
    CHECK(refusal_of("reverse_sequence", [&] { reverse_sequence(x, lengths + 2); }) ==
          "a length is 5, expected one from 0 to 4");
    CHECK(refusal_of("reverse_sequence", [&] { reverse_sequence(x, lengths, 1, -1); }) ==
          "dim and batch_dim are both dimension 1 of shape [4, 2]");
  }

  TEST_CASE("cumsum exclusive and reverse are sums of what is before and behind") {
    const Tensor x = tenon::tensor({1.0, 2.0, 4.0}, tenon::f64);
    check_values(cumsum(x, 0, true), {3}, {0, 1, 3});
    check_values(cumsum(x, 0, false, true), {3}, {7, 6, 4});
    check_values(cumsum(x, 0, true, true), {3}, {6, 4, 0});
    check_values(cumsum(tenon::full({}, 5.0), 0, true), {}, {0});
    CHECK(cumsum(tenon::zeros({0, 2}), 0, true).sizes() == Shape{0, 2});
    CHECK(cumsum(tenon::tensor({1, 2}, tenon::i8), 0, true).dtype() == tenon::i64);
    const Tensor complex = tenon::complex(x, x * 2);
    check_close(tenon::imag(cumsum(complex, 0, true, true)), cumsum(x * 2, 0, true, true), 0);
  }

  TEST_CASE("block_diag has matrices along its diagonal") {
    const Tensor a = tenon::tensor({1.0, 2.0}, tenon::f64),
                 b = tenon::full({2, 1}, 3.0, tenon::f64), c = tenon::full({}, 4.0, tenon::f64);
    check_values(tenon::block_diag(std::vector<Tensor>{a, b, c}), {4, 4},
                 {1, 2, 0, 0, 0, 0, 3, 0, 0, 0, 3, 0, 0, 0, 0, 4});
    CHECK(tenon::block_diag(std::vector<Tensor>{}).sizes() == Shape{1, 0});
    CHECK_THROWS_AS(tenon::block_diag(std::vector<Tensor>{tenon::zeros({1, 1, 1})}),
                    tenon::ValueError);
  }
}
