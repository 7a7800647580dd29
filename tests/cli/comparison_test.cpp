// Reports of `tenon check --against` about two tensors: distances in ULP, and what is a finding.
#include "check/comparison.hpp"

#include <cmath>
#include <limits>
#include <random>

#include <doctest/doctest.h>

#include "check/tensors.hpp"

namespace {

using cli::Comparison, cli::ReferenceNumbers;
using tenon::Tensor, tenon::DType, tenon::Json;

constexpr double inf = HUGE_VAL, no_number = std::numeric_limits<double>::quiet_NaN();

Tensor numbers(DType dtype, const std::vector<double>& list) {
  return cli::converted(
      cli::with_elements(tenon::empty_tensor({static_cast<int64_t>(list.size())}, tenon::f64),
                         list),
      dtype);
}
// The finding for one number of each, with the right one.
std::string found(DType dtype, double a, double b, double right) {
  Comparison comparison("other", "plugin");
  return comparison.compare("result 0", false, numbers(dtype, {a}), numbers(dtype, {b}),
                            {{right}, {0}}, 1, Json());
}
// The class of their distance in the histogram, 0 for that of more than any.
int64_t distance(DType dtype, double a, double b) {
  Comparison comparison("other", "plugin");
  comparison.compare("result 0", false, numbers(dtype, {a}), numbers(dtype, {b}), {}, 1, Json());
  const Json most = comparison.json()["histograms"][0]["ulp"][0]["up_to"];
  return most.is_null() ? 0 : most.integer();
}
Tensor ones(const std::vector<int64_t>& sizes) {
  const Tensor result = tenon::empty_tensor(
      tenon::IntList(sizes.data(), static_cast<int64_t>(sizes.size())), tenon::f32);
  tenon::fill_elements(result, 1);
  return result;
}

}  // namespace

TEST_SUITE("comparison") {
  TEST_CASE("where the number is nan or infinite, both must be the same") {
    for (const DType dtype : {tenon::f16, tenon::bf16, tenon::f32, tenon::f64}) {
      const std::vector<double> all = {no_number, inf, -inf, 0, 3, -5};
      for (const double a : all) {
        for (const double b : all) {
          CAPTURE(a);
          CAPTURE(b);
          const bool same = a == b || (std::isnan(a) && std::isnan(b));
          CHECK(found(dtype, a, b, b).empty() == same);
          CHECK(found(dtype, a, b, a).empty() == same);
        }
      }
    }
    CHECK(found(tenon::f32, 3, no_number, no_number) ==
          "has 3 at element 0, from other nan; in f64 other gives nan");
  }

  TEST_CASE(
      "inf and a large number are both right near the end of a dtype, other numbers are not") {
    const double most = std::numeric_limits<float>::max();
    CHECK(found(tenon::f32, inf, most, 3.5e38) == "");
    CHECK(found(tenon::f32, most, inf, 3.5e38) == "");
    CHECK(found(tenon::f32, -inf, -3e38, -3.1e38) == "");
    CHECK(found(tenon::f32, inf, -most, 3.5e38) != "");
    CHECK(found(tenon::f32, inf, 1, 3.5e38) != "");
    CHECK(found(tenon::f32, inf, most, 1) != "");
    CHECK(found(tenon::f32, 1e38, 3e38, 3e38) != "");
    CHECK(found(tenon::f32, no_number, 3e38, 3e38) != "");
    CHECK(found(tenon::f64, 1e308, 1.7e308, 1.7e308) != "");
    CHECK(found(tenon::f64, -1.7e308, 1.7e308, 1.7e308) != "");
    CHECK(found(tenon::f16, 40000, 60000, 60000) != "");
    CHECK(found(tenon::f16, 60000, 60032, 60010) == "");
  }

  TEST_CASE("distances of halves are counted in their own numbers") {
    CHECK(distance(tenon::f16, 1, 1 + 0x1p-10) == 1);
    CHECK(distance(tenon::f16, 1, 1 - 0x1p-11) == 1);
    CHECK(distance(tenon::f16, 0x1p-24, -0x1p-24) == 2);
    CHECK(distance(tenon::f16, 0x1p-14, 0x1p-14 - 0x1p-24) == 1);
    CHECK(distance(tenon::bf16, 1, 1 + 0x1p-7) == 1);
    CHECK(distance(tenon::bf16, -1, -1 - 0x1p-6) == 2);
    CHECK(distance(tenon::f32, 1, 1 + 0x1p-23) == 1);
    CHECK(distance(tenon::f64, 1, 1 + 0x1p-52) == 1);
    CHECK(distance(tenon::f16, inf, 1) == 0);
  }

  TEST_CASE("the distance of any two halves is the number of steps between them") {
    struct Half {
      DType dtype;
      int fraction, exponents;  // bits of the fraction, exponents of finite numbers
    };
    std::mt19937_64 random(7);
    for (const Half& half : {Half{tenon::f16, 10, 31}, Half{tenon::bf16, 7, 255}}) {
      // Every positive number in order, as the format defines it.
      std::vector<double> all;
      const int lowest = 2 - (half.exponents + 1) / 2 - half.fraction;
      for (int exponent = 0; exponent < half.exponents; ++exponent) {
        for (int i = 0; i < 1 << half.fraction; ++i)
          all.push_back(exponent == 0
                            ? std::ldexp(i, lowest)
                            : std::ldexp((1 << half.fraction) + i, lowest + exponent - 1));
      }
      for (int i = 0; i < 500; ++i) {
        const size_t from = random() % all.size(), steps = size_t{1} << (random() % 14);
        if (from + steps + 1 >= all.size()) continue;
        const double sign = random() % 2 == 0 ? 1 : -1;
        const auto apart = [&](size_t count) {
          return distance(half.dtype, sign * all[from], sign * all[from + count]);
        };
        CAPTURE(from);
        CHECK(apart(steps) == static_cast<int64_t>(steps));
        CHECK(apart(steps + 1) == static_cast<int64_t>(2 * steps));
      }
    }
  }

  TEST_CASE("numbers within the bound pass, those beyond are found, in each dtype") {
    struct Format {
      DType dtype;
      double unit;
    };
    std::mt19937_64 random(11);
    for (const Format& format : {Format{tenon::f16, 0x1p-11}, Format{tenon::bf16, 0x1p-8},
                                 Format{tenon::f32, 0x1p-24}, Format{tenon::f64, 0x1p-53}}) {
      for (int i = 0; i < 200; ++i) {
        const double sign = random() % 2 == 0 ? 1 : -1;
        const double right =
            sign * std::ldexp(1, static_cast<int>(random() % 20) - 5);  // in all of them
        CAPTURE(right);
        CHECK(found(format.dtype, right * (1 + 6 * format.unit), right, right) == "");
        CHECK(found(format.dtype, right * (1 + 16 * format.unit), right, right) != "");
      }
    }
  }

  TEST_CASE("complex tensors of other shapes differ, and their parts are one element") {
    Comparison comparison("other", "plugin");
    const auto compared = [&](const Tensor& a, const Tensor& b) {
      return comparison.compare("result 0", false, a, b, {}, 1, Json());
    };
    const Tensor one = cli::converted(ones({2, 3}), tenon::c64);
    CHECK(compared(one, one) == "");
    CHECK(compared(one, cli::converted(ones({3, 2}), tenon::c64)) ==
          "is [2, 3] c64, from other [3, 2] c64");
    CHECK(compared(one, ones({2, 3, 2})) == "is [2, 3] c64, from other [2, 3, 2] f32");
    const Tensor two = cli::with_elements(one, {1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 7});
    CHECK(compared(one, two).rfind("has 0 at element 5, from other 7", 0) == 0);
  }
}
