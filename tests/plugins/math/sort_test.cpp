// sort, argsort, topk, median, quantile, unique, searchsorted, bincount and histc against slow
// references, over random shapes, layouts and dtypes.
#include <algorithm>
#include <limits>
#include <map>

#include "../random_inputs.hpp"

using namespace compare;
using namespace random_inputs;
using tenon::f32;
using tenon::f64;
using tenon::i64;
using tenon::none;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
const double nan_number = std::numeric_limits<double>::quiet_NaN();

// NaN is larger than all numbers.
bool less(double a, double b) { return a < b || (b != b && a == a); }

std::vector<int64_t> order_of(const std::vector<double>& line, bool descending) {
  std::vector<int64_t> order(line.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    const double x = line[static_cast<size_t>(a)], y = line[static_cast<size_t>(b)];
    return descending ? less(y, x) : less(x, y);
  });
  return order;
}

// Values and indices along a dimension against the first `count` of each line's order.
void check_order(const Tensor& input, int64_t dim, bool descending, int64_t count,
                 const Tensor& values, const Tensor& indices) {
  CHECK(values.dtype() == input.dtype());
  CHECK(indices.dtype() == i64);
  REQUIRE(values.sizes() == indices.sizes());
  const LinesOf given(input, dim), found(values, dim), places(indices, dim);
  if (count == 0) return;
  REQUIRE(found.lines.size() == given.lines.size());
  for (size_t l = 0; l < given.lines.size(); ++l) {
    const std::vector<int64_t> order = order_of(given.lines[l], descending);
    for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
      REQUIRE(static_cast<int64_t>(places.lines[l][i]) == order[i]);
      REQUIRE(same_number(found.lines[l][i], given.lines[l][static_cast<size_t>(order[i])]));
    }
  }
}

}  // namespace

TEST_SUITE("math sort") {
  TEST_CASE("sort, argsort and topk give what a stable sort gives") {
    Draw draw(1);
    for (int round = 0; round < 300; ++round) {
      const Sizes shape = draw.shape();
      const Tensor input = draw.tensor(shape, draw.dtype());
      const auto rank = static_cast<int64_t>(std::max<size_t>(1, shape.size()));
      const int64_t dim = draw.between(-rank, rank - 1);
      const bool descending = draw.chance(50);
      CAPTURE(input.text());
      CAPTURE(dim);
      const int64_t size = shape.empty() ? 1 : input.size(dim);
      const auto [values, indices] = sort(input, dim, descending);
      REQUIRE(values.sizes() == shape);
      check_order(input, dim, descending, size, values, indices);
      CHECK(argsort(input, dim, descending).to_vector<int64_t>() == indices.to_vector<int64_t>());
      const int64_t k = shape.empty() ? 1 : draw.between(0, size);
      const auto [best, places] = topk(input, k, dim, descending);
      check_order(input, dim, descending, k, best, places);
    }
  }

  TEST_CASE("long lines are sorted by digits, and searched for their first elements") {
    Draw draw(2);
    for (const DType dtype :
         {tenon::boolean, tenon::u8, tenon::i8, tenon::i16, tenon::i32, i64, f32, f64}) {
      CAPTURE(tenon::dtype_text(dtype));
      for (const int64_t size : {255, 256, 5000}) {
        Tensor input = draw.tensor({size, 2}, dtype);
        if (tenon::is_floating(dtype)) {
          const Tensor scale = numbers({size, 2}, dtype, 3);
          input = tenon::where(tenon::isnan(input), input, input * scale * scale);
        } else if (dtype != tenon::boolean) {
          const Tensor scale = numbers({size, 2}, f64, 5) * 1e18;
          input = tenon::where(scale > 0, input, scale.to(i64).to(dtype));
        }
        for (const bool descending : {false, true}) {
          // The reference compares doubles.
          if (dtype == i64) input = (input / 4096).to(f64).to(i64);
          const auto [values, indices] = sort(input, 0, descending);
          check_order(input, 0, descending, size, values, indices);
          const auto [best, places] = topk(input, 3, 0, descending);
          check_order(input, 0, descending, 3, best, places);
        }
      }
    }
  }

  TEST_CASE("median is the lower middle element, at its first place; NaN wins") {
    Draw draw(3);
    for (int round = 0; round < 200; ++round) {
      const Sizes shape = draw.shape();
      const Tensor input = draw.tensor(shape, draw.dtype(), draw.chance(30));
      const auto rank = static_cast<int64_t>(std::max<size_t>(1, shape.size()));
      const int64_t dim = draw.between(-rank, rank - 1);
      const bool all = draw.chance(30), keepdim = draw.chance(50);
      const Tensor lines = all ? input.reshape({-1}) : input;
      const tenon::Argument along = all ? tenon::Argument(none) : tenon::Argument(dim);
      CAPTURE(input.text());
      if ((lines.dim() == 0 ? 1 : lines.size(all ? 0 : dim)) == 0) {
        CHECK_THROWS_AS(median(input, along, keepdim), tenon::ValueError);
        continue;
      }
      const auto [values, indices] = median(input, along, keepdim);
      const LinesOf given(lines, all ? 0 : dim);
      Sizes expected = shape;
      for (int64_t i = rank - 1; i >= 0 && !shape.empty(); --i) {
        if (!all && i != (dim < 0 ? dim + rank : dim)) continue;
        expected[static_cast<size_t>(i)] = 1;
        if (!keepdim) expected.erase(expected.begin() + i);
      }
      REQUIRE(values.sizes() == expected);
      // Lines are in the order of the other dimensions.
      const Tensor kept = all || shape.empty() || keepdim ? values : values.unsqueeze(dim);
      const Tensor at = all || shape.empty() || keepdim ? indices : indices.unsqueeze(dim);
      const LinesOf found(all ? kept.reshape({1}) : kept, all ? 0 : dim),
          places(all ? at.reshape({1}) : at, all ? 0 : dim);
      for (size_t l = 0; l < given.lines.size() && values.numel() != 0; ++l) {
        const std::vector<double>& line = given.lines[l];
        const std::vector<int64_t> order = order_of(line, false);
        double middle = line[static_cast<size_t>(order[(line.size() - 1) / 2])];
        for (const double x : line) middle = x != x ? x : middle;
        size_t place = 0;
        while (!same_number(line[place], middle)) ++place;
        REQUIRE(same_number(found.lines[l][0], middle));
        REQUIRE(places.lines[l][0] == static_cast<double>(place));
      }
    }
  }

  TEST_CASE("quantile interpolates between elements, infinite ones too") {
    const Tensor x = tenon::tensor({4.0, 1.0, 3.0, 2.0}, f64);
    const auto at = [&](double q, const char* how) {
      return quantile(x, q, none, false, how).item<double>();
    };
    CHECK(at(0.4, "linear") == doctest::Approx(2.2));
    CHECK(at(0.4, "lower") == 2);
    CHECK(at(0.4, "higher") == 3);
    CHECK(at(0.4, "nearest") == 2);
    CHECK(at(0.4, "midpoint") == 2.5);
    CHECK(at(1, "linear") == 4);
    CHECK(at(0, "midpoint") == 1);
    check_values(
        quantile(tenon::tensor({{1.0, 5.0}, {3.0, 9.0}}, f64), tenon::tensor({0.0, 0.5, 1.0}), 0),
        {3, 2}, {1, 5, 2, 7, 3, 9});
    CHECK(quantile(tenon::zeros({3, 4, 2}), tenon::tensor({0.5}), 1, true).sizes() ==
          Sizes{1, 3, 1, 2});
    CHECK(quantile(tenon::zeros({3, 4}), 0.5, none, true).sizes() == Sizes{1, 1});
    check_values(
        quantile(tenon::tensor({inf, 1.0, inf, -inf}, f64), tenon::tensor({0.9, 0.0, 0.3})), {3},
        {inf, -inf, -inf});
    CHECK(std::isnan(quantile(tenon::tensor({nan_number, 1.0}, f64), 0.0).item<double>()));
    CHECK(refusal_of("quantile", [&] { quantile(x, 1.5); }) ==
          "q must be from 0 to 1, but it has 1.5");
    CHECK(refusal_of("quantile", [&] { quantile(x, 0.5, none, false, "cubic"); }) ==
          "interpolation is 'cubic'; choose linear, lower, higher, nearest or midpoint");
    CHECK(refusal_of("quantile", [&] { quantile(tenon::zeros({0}), 0.5); }) ==
          "shape [0] has no elements to choose from: reduce dimensions with elements");
  }

  TEST_CASE("unique gives values in order, where each element went, and counts") {
    Draw draw(4);
    for (int round = 0; round < 200; ++round) {
      const Tensor input = draw.tensor(draw.shape(), draw.dtype());
      const auto [values, inverse, counts] = unique(input);
      CAPTURE(input.text());
      const std::vector<double> all = input.to_vector<double>(), found = values.to_vector<double>();
      const std::vector<int64_t> places = inverse.to_vector<int64_t>();
      std::map<double, int64_t> expected;
      size_t nans = 0;
      for (const double x : all) {
        if (x != x)
          ++nans;
        else
          ++expected[x + 0.0];
      }
      REQUIRE(found.size() == expected.size() + nans);
      CHECK(inverse.sizes() == input.sizes());
      CHECK(values.dtype() == input.dtype());
      size_t i = 0;
      for (const auto& [value, count] : expected) {
        CHECK(found[i] == value);
        CHECK(counts.to_vector<int64_t>()[i++] == count);
      }
      for (size_t k = 0; k < all.size(); ++k)
        CHECK(same_number(found[static_cast<size_t>(places[k])], all[k]));
    }
    const auto [rows, inverse, counts] = unique(tenon::tensor({{2, 1}, {0, 5}, {2, 1}, {2, 0}}), 0);
    check_values(rows, {3, 2}, {0, 5, 2, 0, 2, 1});
    check_values(inverse, {4}, {2, 0, 2, 1});
    check_values(counts, {3}, {1, 1, 2});
    CHECK(std::get<0>(unique(tenon::tensor({{1, 0, 1}, {2, 3, 2}}), -1)).sizes() == Sizes{2, 2});
    CHECK(std::get<0>(unique(tenon::zeros({0, 3}), 0)).sizes() == Sizes{0, 3});
    CHECK(std::get<0>(unique(tenon::zeros({3, 0}), 0)).sizes() == Sizes{1, 0});
  }

  TEST_CASE("searchsorted finds many values in long lines, several at once") {
    Draw draw(7);
    for (int round = 0; round < 60; ++round) {
      const DType dtype = draw.dtype();
      const bool vector = draw.chance(50), right = draw.chance(50);
      const int64_t rows = draw.between(1, 3), many = draw.of(Sizes{1, 2, 31, 64, 1000, 1500}),
                    few = draw.of(Sizes{31, 32, 33, 100});
      const Tensor sequence =
          std::get<0>(sort(draw.tensor(vector ? Sizes{many} : Sizes{rows, many}, dtype)));
      const Tensor input = draw.tensor({rows, few}, dtype);
      const Tensor found = searchsorted(sequence, input, false, right);
      const LinesOf lines(sequence, -1), wanted(input, -1), places(found, -1);
      for (size_t row = 0; row < wanted.lines.size(); ++row) {
        const std::vector<double>& line = lines.lines[vector ? 0 : row];
        for (size_t i = 0; i < wanted.lines[row].size(); ++i) {
          const double value = wanted.lines[row][i];
          const auto at = right ? std::upper_bound(line.begin(), line.end(), value, less)
                                : std::lower_bound(line.begin(), line.end(), value, less);
          REQUIRE(places.lines[row][i] == static_cast<double>(at - line.begin()));
        }
      }
    }
  }

  TEST_CASE("searchsorted and bucketize count what comes before a value") {
    Draw draw(5);
    for (int round = 0; round < 200; ++round) {
      const DType dtype = draw.dtype();
      const bool vector = draw.chance(50);
      Sizes front = draw.shape(0, 2), many = front, few = front;
      many.push_back(draw.below(6));
      few.push_back(draw.below(5));
      const Tensor sequence =
          std::get<0>(sort(draw.tensor(vector ? Sizes{many.back()} : many, dtype)));
      const Tensor input = draw.tensor(few, dtype);
      const bool right = draw.chance(50);
      const Tensor found = searchsorted(sequence, input, draw.chance(50), right);
      REQUIRE(found.sizes() == few);
      const LinesOf lines(sequence, -1);
      const std::vector<double> values = input.to_vector<double>(),
                                places = found.to_vector<double>();
      for (size_t i = 0; i < values.size(); ++i) {
        int64_t expected = 0;
        const size_t row = vector ? 0 : i / static_cast<size_t>(few.back());
        if (many.back() != 0) {
          for (const double x : lines.lines[row])
            expected += (right ? !less(values[i], x) : less(x, values[i])) ? 1 : 0;
        }
        REQUIRE(places[i] == static_cast<double>(expected));
      }
      if (vector) {
        CHECK(bucketize(input, sequence, false, right).to_vector<double>() == places);
      }
    }
    const Tensor sequence = tenon::tensor({1, 3, 3, 7}, tenon::u8);
    CHECK(searchsorted(sequence, 300).item<int64_t>() == 4);
    CHECK(searchsorted(sequence, 2.5).item<int64_t>() == 1);
    CHECK(searchsorted(sequence, 3, false, false, "right").item<int64_t>() == 3);
    const Tensor shuffled = tenon::tensor({7, 3, 1, 3});
    CHECK(searchsorted(shuffled, 3, false, true, none, argsort(shuffled)).item<int64_t>() == 3);
    CHECK(refusal_of("searchsorted", [&] { searchsorted(sequence, 3, false, false, "top"); }) ==
          "side is 'top'; choose left or right");
    CHECK(refusal_of("searchsorted",
                     [&] {
                       searchsorted(tenon::zeros({2, 3}), tenon::zeros({3}));
                     }) ==
          "a sequence of shape [2, 3] and input of shape [3] must agree in all dimensions but the "
          "last, or the sequence be a vector");
    CHECK(refusal_of("bucketize", [&] {
            bucketize(3, tenon::zeros({2, 2}));
          }) == "boundaries must be a vector, but their shape is [2, 2]");
  }

  TEST_CASE("bincount and histc count elements in bins") {
    check_values(bincount(tenon::tensor({1, 3, 1}, tenon::u8), {}, 6), {6}, {0, 2, 0, 1, 0, 0});
    check_values(bincount(tenon::tensor({1, 0, 1}), tenon::tensor({0.5, 2.0, 1.0})), {2}, {2, 1.5});
    CHECK(bincount(tenon::zeros({0}, i64)).sizes() == Sizes{0});
    CHECK(refusal_of("bincount", [] {
            bincount(tenon::tensor({1, -2}));
          }) == "element -2 is not a bin: elements must be from 0 to 2147483646");
    CHECK(refusal_of("bincount", [] { bincount(tenon::tensor({1}), {}, -1); }) ==
          "minlength must be from 0 to 2147483647, but it is -1");

    check_values(histc(tenon::tensor({0.0, 0.5, 1.0, 2.0, nan_number}, f64), 4, 0, 2), {4},
                 {1, 1, 1, 1});
    check_values(histc(tenon::tensor({1.0, 2.0, 5.0}), 2), {2}, {2, 1});
    check_values(histc(tenon::tensor({3.0, 3.0}), 2), {2}, {0, 2});
    check_values(histc(tenon::tensor({1e300, 1e300}, f64), 2), {2}, {0, 2});
    check_values(histc(tenon::zeros({0}), 3), {3}, {0, 0, 0});
    check_values(histc(tenon::tensor({0.0, 0x1p-1074}, f64), 4), {4}, {1, 0, 0, 1});
    check_values(histc(tenon::tensor({-0x1p1022, 0.0, 0x1p1022}, f64), 4), {4}, {1, 0, 1, 1});
    CHECK(histc(tenon::tensor({1, 2}), 2).dtype() == f32);
    CHECK(refusal_of("histc", [] { histc(tenon::ones({2}), 0); }) ==
          "bins must be from 1 to 2147483647, but it is 0");
    CHECK(refusal_of("histc", [] { histc(tenon::ones({2}), 2, 3, 1); }) ==
          "the range from 3 to 1 must be finite and ascending: give min and max");
  }

  TEST_CASE("generated: histc has an element at an edge in the bin above, its neighbour below it") {
    Draw draw(43);
    for (int round = 0; round < 300; ++round) {
      const auto bins = draw.of(std::vector<int64_t>{1, 2, 3, 7, 10, 49, 100, 1000});
      const double min =
          round % 3 == 0 ? 0 : static_cast<double>(draw.of(std::vector<int>{-50, -7, 3, 1000}));
      const double max = min + draw.of(std::vector<double>{1, 2, 7, 33});
      const auto count = static_cast<double>(bins);
      std::vector<double> at, below, expected(static_cast<size_t>(bins), 1);
      for (double i = 0; i < count; ++i) {
        // The sum is exact: it is rounded once.
        const double edge = (min * (count - i) + max * i) / count;
        at.push_back(edge);
        if (i > 0) below.push_back(std::nextafter(edge, min));
      }
      below.push_back(max);
      CAPTURE(bins);
      CAPTURE(min);
      CAPTURE(max);
      const auto numbers = [&](const std::vector<double>& values, tenon::DType dtype) {
        return tenon::from_range(values.begin(), values.end()).to(dtype);
      };
      CHECK(histc(numbers(at, f64), bins, min, max).to_vector<double>() == expected);
      CHECK(histc(numbers(at, f32), bins, min, max).to_vector<double>() == expected);
      CHECK(histc(numbers(below, f64), bins, min, max).to_vector<double>() == expected);
    }
    check_values(histc(tenon::tensor({-1e308, -5e307, 0.0, 5e307, 1e308}, f64), 4), {4},
                 {1, 1, 1, 2});
  }

  TEST_CASE("topk, median and sort refuse what has no answer") {
    CHECK(refusal_of("topk",
                     [] {
                       topk(tenon::zeros({2, 3}), 4);
                     }) ==
          "k is 4, but dimension 1 of shape [2, 3] has 3 elements: choose k between 0 and that");
    CHECK(refusal_of("median",
                     [] {
                       median(tenon::zeros({2, 0}), 1);
                     }) ==
          "dimension 1 of shape [2, 0] has no elements and no median: reduce dimensions with "
          "elements");
    CHECK_THROWS_AS(sort(tenon::zeros({2}), 1), tenon::IndexError);
  }
}
