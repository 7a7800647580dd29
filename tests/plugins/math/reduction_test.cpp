// Reductions of the math plugin against naive loops: shapes, strides, dtypes, corner cases and
// refusals.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <tenon/tenon.hpp>

namespace {

using namespace tenon;
using Dims = std::vector<int64_t>;

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr DType all_types[] = {boolean, u8, i8, i16, i32, i64, f32, f64};

bool equal(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }
bool close(double a, double b, double tolerance) {
  return equal(a, b) || std::fabs(a - b) <= tolerance * std::max(1.0, std::fabs(b));
}

// Small whole numbers in a repeatable disorder; all dtypes hold them.
Tensor numbers(const Dims& shape, DType dtype) {
  Tensor result = empty_tensor(IntList(shape.data(), static_cast<int64_t>(shape.size())), dtype);
  uint64_t state = 12345;
  visit(dtype, [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0; i < result.numel(); ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      const auto draw = static_cast<int>(state >> 60);  // 0 to 15
      result.data<T>()[i] = static_cast<T>(std::is_signed_v<T> ? draw - 7 : draw);
    }
  });
  return result;
}

// The elements of each output, in row-major order of the reduced dimensions; outputs in row-major
// order.
std::vector<std::vector<double>> groups(const Tensor& input, Dims dims) {
  const Dims shape = input.sizes();
  const auto rank = static_cast<int64_t>(shape.size());
  if (dims.empty())
    for (int64_t d = 0; d < rank; ++d) dims.push_back(d);
  for (int64_t& d : dims) d = d < 0 ? d + rank : d;
  const auto reduced = [&](int64_t d) {
    return std::find(dims.begin(), dims.end(), d) != dims.end();
  };
  int64_t outputs = 1;
  for (int64_t d = 0; d < rank; ++d)
    if (!reduced(d)) outputs *= shape[static_cast<size_t>(d)];
  std::vector<std::vector<double>> result(static_cast<size_t>(outputs));
  const std::vector<double> values = input.to_vector<double>();
  for (size_t i = 0; i < values.size(); ++i) {
    int64_t rest = static_cast<int64_t>(i), output = 0, step = 1;
    for (int64_t d = rank - 1; d >= 0; --d) {
      const int64_t size = shape[static_cast<size_t>(d)], index = rest % size;
      rest /= size;
      if (reduced(d)) continue;
      output += index * step;
      step *= size;
    }
    result[static_cast<size_t>(output)].push_back(values[i]);
  }
  return result;
}

struct Case {
  std::string name;
  Tensor (*op)(const Tensor&, const Dims&, bool);
  double (*naive)(const std::vector<double>&);
  bool of_empty;
};
double total(const std::vector<double>& v) {
  double sum = 0;
  for (const double x : v) sum += x;
  return sum;
}
double variance(const std::vector<double>& v) {
  const auto n = static_cast<double>(v.size());
  const double mean = total(v) / n;
  double squares = 0;
  for (const double x : v) squares += (x - mean) * (x - mean);
  return squares / std::max(0.0, n - 1);
}
const Case cases[] = {
    {"sum", [](const Tensor& t, const Dims& d, bool k) { return sum(t, d, k); }, total, true},
    {"mean", [](const Tensor& t, const Dims& d, bool k) { return mean(t, d, k); },
     [](const std::vector<double>& v) { return total(v) / static_cast<double>(v.size()); }, true},
    {"amax", [](const Tensor& t, const Dims& d, bool k) { return amax(t, d, k); },
     [](const std::vector<double>& v) { return *std::max_element(v.begin(), v.end()); }, false},
    {"amin", [](const Tensor& t, const Dims& d, bool k) { return amin(t, d, k); },
     [](const std::vector<double>& v) { return *std::min_element(v.begin(), v.end()); }, false},
    {"all", [](const Tensor& t, const Dims& d, bool k) { return all(t, d, k); },
     [](const std::vector<double>& v) {
       return static_cast<double>(std::all_of(v.begin(), v.end(), [](double x) { return x != 0; }));
     },
     true},
    {"any", [](const Tensor& t, const Dims& d, bool k) { return any(t, d, k); },
     [](const std::vector<double>& v) {
       return static_cast<double>(std::any_of(v.begin(), v.end(), [](double x) { return x != 0; }));
     },
     true},
    {"var", [](const Tensor& t, const Dims& d, bool k) { return var(t, d, k); }, variance, true},
    {"std", [](const Tensor& t, const Dims& d, bool k) { return tenon::std(t, d, k); },
     [](const std::vector<double>& v) { return std::sqrt(variance(v)); }, true},
    {"logsumexp", [](const Tensor& t, const Dims& d, bool k) { return logsumexp(t, d, k); },
     [](const std::vector<double>& v) {
       double sum = 0;
       for (const double x : v) sum += std::exp(x);
       return std::log(sum);
     },
     true},
};

void check_case(const Case& test, const Tensor& input, const Dims& dims) {
  const auto expected = groups(input, dims);
  bool some_empty = false;
  for (const auto& group : expected) some_empty |= group.empty();
  if (some_empty && !test.of_empty) return;
  for (const bool keepdim : {false, true}) {
    const Tensor result = test.op(input, dims, keepdim);
    CAPTURE(test.name);
    CAPTURE(input.sizes().size());
    CHECK(result.dim() == (keepdim        ? input.dim()
                           : dims.empty() ? 0
                                          : input.dim() - static_cast<int64_t>(dims.size())));
    const std::vector<double> got = result.to_vector<double>();
    REQUIRE(got.size() == expected.size());
    for (size_t i = 0; i < got.size(); ++i) {
      const double want = test.naive(expected[i]);
      if (!close(got[i], want, 2e-6))
        CHECK_MESSAGE(false, test.name, " [", i, "] of ", dtype_text(input.dtype()), ": ", got[i],
                      " instead of ", want);
    }
  }
}
void check_all_cases(const Tensor& input, const Dims& dims) {
  for (const Case& test : cases) check_case(test, input, dims);
}

// A tensor's values in other layouts.
std::vector<Tensor> layouts(const Dims& shape, DType dtype) {
  const Tensor plain = numbers(shape, dtype);
  std::vector<Tensor> list{plain};
  const int64_t rank = plain.dim();
  if (rank >= 2)
    list.push_back(numbers({shape.rbegin(), shape.rend()}, dtype).permute([&] {
      Dims order;
      for (int64_t d = rank - 1; d >= 0; --d) order.push_back(d);
      return order;
    }()));
  if (rank >= 1) {
    Dims wide = shape;
    wide.back() = wide.back() * 2 + 1;
    list.push_back(numbers(wide, dtype).slice(-1, 1, none, 2));
    Dims narrow = shape;
    narrow.front() = 1;
    if (shape.front() != 0) list.push_back(numbers(narrow, dtype).expand(shape));
    if (plain.numel() != 0) {
      Dims strides(plain.strides().begin(), plain.strides().end());
      int64_t last = 0;
      for (size_t d = 0; d < strides.size(); ++d) last += (shape[d] - 1) * strides[d];
      const Tensor end = plain.reshape({-1}).narrow(0, last, 1);
      for (int64_t& stride : strides) stride = -stride;
      list.push_back(as_strided(end, shape, strides));
    }
  }
  return list;
}

}  // namespace

TEST_SUITE("math reductions") {
  TEST_CASE("every reduction agrees with naive loops over shapes, layouts and dims") {
    const Dims shapes[] = {{},      {1},      {7},       {100},     {5, 3},
                           {3, 40}, {33, 17}, {2, 3, 4}, {4, 1, 9}, {2, 2, 3, 5}};
    for (const DType dtype : {f32, f64, i32}) {
      for (const Dims& shape : shapes) {
        for (const Tensor& input : layouts(shape, dtype)) {
          check_all_cases(input, {});
          const auto rank = static_cast<uint32_t>(shape.size());
          for (uint32_t mask = 1; mask < 1u << rank; ++mask) {
            Dims dims;
            for (uint32_t d = 0; d < rank; ++d) {
              if ((mask >> d & 1) != 0)
                dims.push_back(d % 2 == 0 ? d : static_cast<int64_t>(d) - rank);
            }
            check_all_cases(input, dims);
          }
        }
      }
    }
  }

  TEST_CASE("every dtype is reduced along rows, columns and in full") {
    for (const DType dtype : all_types) {
      for (const Tensor& input : layouts({67, 70}, dtype)) {
        check_all_cases(input, {});
        check_all_cases(input, {0});
        check_all_cases(input, {1});
      }
    }
  }

  TEST_CASE("long reductions are cut, and agree whatever the number of threads") {
    const Dims shapes[] = {{300000},    {3, 100001}, {100001, 3},
                           {40000, 16}, {700, 700},  {20, 5000, 4}};
    const int32_t threads = thread_count();
    for (const Dims& shape : shapes) {
      for (const DType dtype : {f32, u8}) {
        const Tensor input = dtype == f32 ? numbers(shape, f32) * 0.37 : numbers(shape, dtype);
        for (const Dims& dims : {Dims{}, Dims{0}, Dims{-1}}) {
          for (const Case& test : cases) {
            std::vector<double> first;
            for (const int32_t count : {1, 2, 3, 7}) {
              set_thread_count(count);
              const std::vector<double> got = test.op(input, dims, false).to_vector<double>();
              if (first.empty()) first = got;
              CHECK(got == first);
            }
            set_thread_count(threads);
            const auto expected = groups(input, dims);
            for (size_t i = 0; i < first.size(); ++i) {
              const double want = test.naive(expected[i]);
              // Terms that cancel leave their rounding behind.
              const double tolerance = 1e-5 + 1e-9 * static_cast<double>(expected[i].size());
              if (!close(first[i], want, tolerance))
                CHECK_MESSAGE(false, test.name, ": ", first[i], " instead of ", want);
            }
          }
        }
      }
    }
  }

  TEST_CASE("result dtypes: integers add up in i64, means are floating") {
    for (const DType dtype : all_types) {
      const Tensor input = numbers({3, 2}, dtype);
      CHECK(input.sum().dtype() == (is_floating(dtype) ? dtype : i64));
      CHECK(input.prod().dtype() == (is_floating(dtype) ? dtype : i64));
      CHECK(input.cumsum(0).dtype() == (is_floating(dtype) ? dtype : i64));
      CHECK(input.mean().dtype() == (is_floating(dtype) ? dtype : f32));
      CHECK(input.var().dtype() == (is_floating(dtype) ? dtype : f32));
      CHECK(input.logsumexp().dtype() == (is_floating(dtype) ? dtype : f32));
      CHECK(input.amax().dtype() == dtype);
      CHECK(input.all().dtype() == boolean);
      CHECK(input.argmax().dtype() == i64);
      CHECK(input.count_nonzero().dtype() == i64);
    }
    CHECK(tensor({200, 100}, u8).sum().item<int64_t>() == 300);
    CHECK(tensor({1.5, 2.25}).sum(none, false, i64).item<int64_t>() == 3);
    CHECK(tensor({1.5, 2.25}).sum(none, false, f64).dtype() == f64);
    CHECK(tensor({1, 2}).sum(none, false, f32).dtype() == f32);
    CHECK(tensor({1, 2}).sum(none, false, i32).to_vector<int32_t>() == std::vector<int32_t>{3});
    CHECK(tensor({1, 2}).mean(none, false, f64).dtype() == f64);
    CHECK(tensor({2, 3}).prod(none, false, f64).item() == 6);
    CHECK_THROWS_WITH_AS(tensor({1, 2}).mean(none, false, i64),
                         doctest::Contains("mean(): a mean has a floating dtype, not i64"),
                         TypeError);
    const int64_t largest = std::numeric_limits<int64_t>::max();
    CHECK(from_range(&largest, &largest + 1).expand({2}).sum().item<int64_t>() == -2);
  }

  TEST_CASE("out is written in place when it fits") {
    const Tensor input = numbers({4, 3}, f32);
    const Tensor out = zeros({3});
    CHECK(sum(input, {0}, false, DType::none, out).is_same(out));
    CHECK(out.to_vector<float>() == input.sum({0}).to_vector<float>());
    const Tensor strided = zeros({3, 2}).select(1, 0);
    mean(input, {0}, false, DType::none, strided);
    CHECK(strided.to_vector<float>() == input.mean({0}).to_vector<float>());
    // The result may be in the input itself.
    const Tensor both = numbers({3, 3}, f32);
    const std::vector<float> expected = both.sum({0}).to_vector<float>();
    sum(both, {0}, false, DType::none, both.select(0, 1));
    CHECK(both.select(0, 1).to_vector<float>() == expected);
    CHECK_THROWS_WITH_AS(sum(input, {0}, false, DType::none, zeros({4})),
                         doctest::Contains("[4], but the result has [3]"), ValueError);
    CHECK_THROWS_WITH_AS(sum(input, {0}, false, DType::none, zeros({3}, f64)),
                         doctest::Contains("f64, but the result has f32"), ValueError);
  }

  TEST_CASE("empty reductions give the identity, or say why they cannot") {
    const Tensor none_there = zeros({0}), rows = zeros({3, 0});
    CHECK(none_there.sum().item() == 0);
    CHECK(none_there.prod().item() == 1);
    CHECK(std::isnan(none_there.mean().item()));
    CHECK(std::isnan(none_there.var().item()));
    CHECK(none_there.logsumexp().item() == -inf);
    CHECK(none_there.all().item<bool>());
    CHECK_FALSE(none_there.any().item<bool>());
    CHECK(none_there.count_nonzero().item<int64_t>() == 0);
    CHECK(rows.sum({1}).to_vector<float>() == std::vector<float>(3, 0));
    CHECK(rows.sum({0}).sizes() == Dims{0});
    CHECK(rows.amax({0}).sizes() == Dims{0});
    CHECK(rows.argmax(0).sizes() == Dims{0});
    CHECK_THROWS_WITH_AS(
        none_there.amax(),
        doctest::Contains(
            "amax(): dimension 0 of shape [0] has size 0 and the reduction has no identity"),
        ValueError);
    CHECK_THROWS_WITH_AS(rows.amin({1}), doctest::Contains("amin(): dimension 1 of shape [3, 0]"),
                         ValueError);
    CHECK_THROWS_WITH_AS(rows.max(1), doctest::Contains("max(): dimension 1"), ValueError);
    CHECK_THROWS_WITH_AS(none_there.argmin(), doctest::Contains("argmin(): dimension 0"),
                         ValueError);
    CHECK(std::isnan(tensor({1.0}).var().item()));
    CHECK(tensor({1.0}).var(none, false, 0).item() == 0);
  }

  TEST_CASE("dims are checked") {
    const Tensor input = zeros({2, 3});
    CHECK_THROWS_WITH_AS(
        input.sum({2}),
        doctest::Contains(
            "sum(): dimension 2 is out of range for a tensor of 2 dimensions (expected -2 to 1)"),
        IndexError);
    CHECK_THROWS_WITH_AS(input.mean({-3}),
                         doctest::Contains("mean(): dimension -3 is out of range"), IndexError);
    CHECK_THROWS_WITH_AS(
        input.amax({0, -2}),
        doctest::Contains("amax(): dimension -2 appears more than once in [0, -2]"), ValueError);
    CHECK_THROWS_WITH_AS(input.argmax(5), doctest::Contains("argmax(): dimension 5"), IndexError);
    CHECK_THROWS_WITH_AS(input.cumsum(2), doctest::Contains("cumsum(): dimension 2"), IndexError);
    CHECK(input.sum(1).sizes() == Dims{2});
    CHECK(tensor(3.0).sum({0}).item() == 3);
    CHECK(tensor(3.0).sum({-1}, true).dim() == 0);
    CHECK_THROWS_AS(tensor(3.0).sum({1}), IndexError);
  }

  TEST_CASE("NaN and infinities pass through") {
    std::vector<float> values(100);
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
    for (const size_t place : {size_t{0}, size_t{17}, size_t{64}, size_t{99}}) {
      std::vector<float> with_nan = values;
      with_nan[place] = std::numeric_limits<float>::quiet_NaN();
      const Tensor input = from_range(with_nan.begin(), with_nan.end());
      CHECK(std::isnan(input.sum().item()));
      CHECK(std::isnan(input.amax().item()));
      CHECK(std::isnan(input.amin().item()));
      CHECK(std::isnan(input.logsumexp().item()));
      CHECK(input.argmax().item<int64_t>() == static_cast<int64_t>(place));
      CHECK(input.argmin().item<int64_t>() == static_cast<int64_t>(place));
      const Tensor columns = input.reshape({10, 10}), indices = std::get<1>(columns.max(0));
      CHECK(indices.to_vector<int64_t>()[place % 10] == static_cast<int64_t>(place / 10));
      CHECK(std::isnan(columns.amax({0}).to_vector<double>()[place % 10]));
      CHECK(input.any().item<bool>());
    }
    CHECK(tensor({inf, -inf}).sum().text() == tensor(not_a_number).text());
    CHECK(tensor({-inf, -inf}).amax().item() == -inf);
    CHECK(tensor({-inf, -inf}).argmax().item<int64_t>() == 0);
    CHECK(tensor({-inf, -inf}).logsumexp().item() == -inf);
    CHECK(tensor({-inf, 2.0}).logsumexp().item() == 2.0);
    CHECK(tensor({inf, 2.0}).logsumexp().item() == inf);
    CHECK(tensor({inf, -inf}).logsumexp().item() == inf);
    CHECK(tensor({1000.0, 1000.0}).logsumexp().item() == doctest::Approx(1000 + std::log(2.0)));
    CHECK(tensor({-1000.0, -1000.0}, f64).logsumexp().item() ==
          doctest::Approx(-1000 + std::log(2.0)));
    CHECK(tensor({{inf, 1.0}, {2.0, -inf}, {3.0, -inf}}).logsumexp({0}).to_vector<float>()[0] ==
          std::numeric_limits<float>::infinity());
  }

  TEST_CASE("large sums stay exact to the last places") {
    const Tensor tenths = full({1 << 22}, 0.1);
    const double exact = static_cast<double>(0.1f) * (1 << 22);
    CHECK(close(tenths.sum().item(), exact, 5e-7));
    CHECK(close(tenths.reshape({-1, 64}).sum({0}).to_vector<double>()[5] * 64, exact, 1e-6));
    CHECK(close(tenths.mean().item(), static_cast<double>(0.1f), 5e-7));
    // A mean far from zero must not drown the variance.
    const Tensor shifted = numbers({100000}, f32) + 10000;
    CHECK(close(shifted.var().item(), numbers({100000}, f64).var().item(), 1e-6));
  }

  TEST_CASE("max and min give the first index among equals, argmax also of all elements") {
    for (const DType dtype : all_types) {
      for (const Dims& shape :
           {Dims{7}, Dims{3, 5}, Dims{300, 40}, Dims{4, 3, 20}, Dims{3000, 2}}) {
        for (const Tensor& input : layouts(shape, dtype)) {
          for (int64_t dim = 0; dim < input.dim(); ++dim) {
            const auto expected = groups(input, {dim});
            const auto [values, indices] = input.max(dim);
            const auto [low_values, low_indices] = input.min(dim - input.dim(), true);
            const std::vector<double> got = values.to_vector<double>(),
                                      low = low_values.to_vector<double>();
            const std::vector<int64_t> at = indices.to_vector<int64_t>(),
                                       low_at = low_indices.to_vector<int64_t>();
            CHECK(input.argmax(dim).to_vector<int64_t>() == at);
            CHECK(input.argmin(dim, true).sizes() == low_indices.sizes());
            bool right = true;
            for (size_t i = 0; i < expected.size(); ++i) {
              const auto& group = expected[i];
              const auto best = std::max_element(group.begin(), group.end());
              const auto worst = std::min_element(group.begin(), group.end());
              right = right && got[i] == *best && at[i] == best - group.begin() &&
                      low[i] == *worst && low_at[i] == worst - group.begin();
            }
            CHECK(right);
          }
          const auto all_values = groups(input, {}).front();
          CHECK(input.argmax().item<int64_t>() ==
                std::max_element(all_values.begin(), all_values.end()) - all_values.begin());
          CHECK(input.argmin().item<int64_t>() ==
                std::min_element(all_values.begin(), all_values.end()) - all_values.begin());
          CHECK(input.argmax(none, true).dim() == input.dim());
        }
      }
    }
    CHECK(std::get<0>(tensor(2.5).max(0)).item() == 2.5);
    CHECK(std::get<1>(tensor(2.5).max(-1)).item<int64_t>() == 0);
    const Tensor long_row = numbers({500000}, f32);
    const auto flat = groups(long_row, {}).front();
    CHECK(long_row.argmax().item<int64_t>() ==
          std::max_element(flat.begin(), flat.end()) - flat.begin());
  }

  TEST_CASE("count_nonzero, prod and cumsum agree with naive loops") {
    for (const DType dtype : all_types) {
      for (const Tensor& input : layouts({6, 35}, dtype)) {
        for (const Dims& dims : {Dims{}, Dims{0}, Dims{1}, Dims{1, 0}}) {
          const auto expected = groups(input, dims);
          const std::vector<int64_t> got = input.count_nonzero(dims).to_vector<int64_t>();
          for (size_t i = 0; i < got.size(); ++i) {
            CHECK(got[i] == std::count_if(expected[i].begin(), expected[i].end(),
                                          [](double x) { return x != 0; }));
          }
        }
        const auto columns = groups(input, {0});
        const std::vector<double> products = input.prod(0).to_vector<double>();
        for (size_t i = 0; i < products.size(); ++i) {
          double product = 1;
          for (const double x : columns[i]) product *= x;
          CHECK(products[i] == product);
        }
        for (const int64_t dim : {int64_t{0}, int64_t{-1}}) {
          const auto lines = groups(input, {dim});
          const auto sums = groups(input.cumsum(dim), {dim});
          for (size_t i = 0; i < lines.size(); ++i) {
            double sum = 0;
            for (size_t k = 0; k < lines[i].size(); ++k) CHECK(sums[i][k] == (sum += lines[i][k]));
          }
        }
      }
    }
    CHECK(numbers({3, 4}, f32).prod(-1, true).sizes() == Dims{3, 1});
    CHECK(tensor({2.0, 3.0, 4.0}).prod().item() == 24);
    CHECK(zeros({0, 3}).cumsum(0).sizes() == Dims{0, 3});
    CHECK(tensor(3.0).cumsum(0).item() == 3);
    CHECK(zeros({600, 600}).add(1).cumsum(0).sum().item() == 600.0 * 600 * 601 / 2);
  }

  TEST_CASE("sum_to_size undoes broadcasting") {
    const Tensor input = numbers({4, 2, 3}, f32);
    CHECK(input.sum_to_size({2, 3}).to_vector<float>() == input.sum({0}).to_vector<float>());
    CHECK(input.sum_to_size({1, 3}).to_vector<float>() == input.sum({0, 1}).to_vector<float>());
    CHECK(input.sum_to_size({4, 1, 3}).to_vector<float>() == input.sum({1}).to_vector<float>());
    CHECK(input.sum_to_size(Dims{}).item() == input.sum().item());
    CHECK(input.sum_to_size({4, 2, 3}).to_vector<float>() == input.to_vector<float>());
    CHECK(numbers({4, 2}, u8).sum_to_size({2}).dtype() == i64);
    CHECK(numbers({4, 2}, u8).sum_to_size({4, 2}).dtype() == u8);
    CHECK_THROWS_WITH_AS(
        input.sum_to_size({5}),
        doctest::Contains("sum_to_size(): shape [4, 2, 3] does not come from broadcasting [5]"),
        ValueError);
    CHECK_THROWS_AS(input.sum_to_size({1, 4, 2, 3}), ValueError);
  }
}
