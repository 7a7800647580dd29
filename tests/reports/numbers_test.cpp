// Reports about wrong numbers: whole numbers at their ends, indices, NaN and infinities, differences that
// cancel.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include <tenon/autograd.hpp>

#include "support.hpp"

using namespace reports;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity(),
                 kNan = std::numeric_limits<double>::quiet_NaN();

template <class T>
void check_smallest_by_minus_one() {
  const T least = std::numeric_limits<T>::min();
  // Enough for whole registers and what is left of them.
  const std::vector<T> values(37, least), divisors(37, T{-1});
  const Tensor x = tenon::from_range(values.begin(), values.end()),
               y = tenon::from_range(divisors.begin(), divisors.end());
  CHECK(Op("floor_divide").call<Tensor>(x, y).to_vector<T>() == values);
  for (const char* name : {"remainder", "fmod"}) {
    CAPTURE(name);
    CHECK(Op(name).call<Tensor>(x, y).to_vector<T>() == std::vector<T>(37, T{0}));
  }
}

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

}  // namespace

TEST_SUITE("reports: numbers") {
  TEST_CASE("the smallest whole number by -1 wraps, and ends no process") {
    check_smallest_by_minus_one<int8_t>();
    check_smallest_by_minus_one<int16_t>();
    check_smallest_by_minus_one<int32_t>();
    check_smallest_by_minus_one<int64_t>();
  }

  TEST_CASE("an index is read as far as it is in range, and refused by name beyond") {
    const Tensor x = row({10, 11, 12});
    for (int64_t index = -6; index < 6; ++index) {
      CAPTURE(index);
      const Tensor at = codes({1, index});
      // gather_nd, which follows ONNX, counts from the end; the others, as PyTorch's, do not.
      const std::string from_end =
          index >= -3 && index < 3 ? std::to_string(10 + (index + 3) % 3) : "refused";
      const std::string expected = index >= 0 ? from_end : "refused";
      const auto outcome = [&](const std::function<Tensor()>& call) {
        double last = 0;
        const std::string text = refusal([&] { last = numbers(call()).back(); });
        if (text == "no error") return std::to_string(static_cast<int64_t>(last));
        CHECK(contains(text, "index " + std::to_string(index) + " is out of range"));
        return std::string("refused");
      };
      CHECK(outcome([&] { return Op("gather").call<Tensor>(x, 0, at); }) == expected);
      CHECK(outcome([&] { return Op("index_select").call<Tensor>(x, 0, at); }) == expected);
      CHECK(outcome([&] {
              return Op("gather_nd").call<Tensor>(x, at.reshape({2, 1}));
            }) == from_end);
      const Tensor written = row({0, 10.0 + static_cast<double>((index + 6) % 3)});
      CHECK(outcome([&] {
              return Op("index_select")
                  .call<Tensor>(Op("scatter").call<Tensor>(zeros({3}, f64), 0, at, written), 0, at);
            }) == expected);
    }
  }

  TEST_CASE("the median, an extremum and softmax of a row with NaN are NaN, wherever it is") {
    for (const size_t size : {1u, 2u, 5u, 16u, 33u, 100u}) {
      for (size_t place = 0; place < size; ++place) {
        Numbers values(size, 1.0);
        values[place] = kNan;
        const Tensor x = row(values);
        CAPTURE(size);
        CAPTURE(place);
        CHECK(std::isnan(Op("amax").call<Tensor>(x).item()));
        CHECK(std::isnan(Op("amin").call<Tensor>(x).item()));
        const Numbers weights = numbers(Op("nn.functional.softmax").call<Tensor>(x, 0));
        CHECK(std::all_of(weights.begin(), weights.end(), [](double w) { return std::isnan(w); }));
        const auto [value, index] = Op("median").call<std::tuple<Tensor, Tensor>>(x);
        CHECK(std::isnan(value.item()));
        CHECK(index.item<int64_t>() == static_cast<int64_t>(place));
      }
    }
  }

  TEST_CASE("sums of exponentials that are all 0 are -inf, and their gradient is a number") {
    const Tensor x = leaf({-kInf, -kInf, 1, 2});
    const Tensor sums = Op("logcumsumexp").call<Tensor>(x, 0);
    const Numbers found = numbers(sums);
    CHECK(same(found[0], -kInf));
    CHECK(same(found[1], -kInf));
    CHECK(found[2] == 1);
    sums.slice(0, 2, 4).sum().backward();
    for (const double slope : numbers(x.grad())) CHECK(std::isfinite(slope));
    const Tensor none = leaf({-kInf, -kInf});
    Op("logsumexp").call<Tensor>(none, 0).backward();
    for (const double slope : numbers(none.grad())) CHECK(std::isfinite(slope));
  }

  TEST_CASE("equal operands of logaddexp share its gradient") {
    for (const char* name : {"logaddexp", "logaddexp2"}) {
      for (const double value : {-700.0, -1.0, 0.0, 3.5, 700.0}) {
        const Tensor a = leaf({value}), b = leaf({value});
        Op(name).call<Tensor>(a, b).sum().backward();
        CHECK(numbers(a.grad()) == Numbers{0.5});
        CHECK(numbers(b.grad()) == Numbers{0.5});
      }
    }
  }

  TEST_CASE("a class that is masked by -inf has no part in forward mode") {
    const DualLevel level;
    const Tensor logits = make_dual(row({-kInf, 0, 1}).reshape({1, 3}), zeros({1, 3}, f64));
    const Tensor target = row({0, 1, 0}).reshape({1, 3});
    const Tensor loss = Op("nn.functional.cross_entropy").call<Tensor>(logits, target);
    const auto parts = unpack_dual(loss);
    CHECK(std::isfinite(parts.primal.item()));
    CHECK(parts.tangent.item() == 0);
  }

  TEST_CASE("generated: spreads beside a large mean are those of the numbers without it") {
    std::mt19937_64 random(44);
    std::uniform_real_distribution<double> near(-1, 1);
    for (const double mean : {0.0, 100.0, 1e4, 1e6}) {
      CAPTURE(mean);
      std::vector<float> values;
      for (int i = 0; i < 4096; ++i) values.push_back(static_cast<float>(mean + near(random)));
      double sum = 0, squares = 0;
      for (const float value : values) sum += value;
      const double center = sum / 4096;
      for (const float value : values) squares += (value - center) * (value - center);
      const Tensor x = tenon::from_range(values.begin(), values.end());
      CHECK(Op("var").call<Tensor>(x).item() == doctest::Approx(squares / 4095).epsilon(1e-4));
      const Tensor normal = Op("nn.functional.layer_norm")
                                .call<Tensor>(x.reshape({1, 4096}), std::vector<int64_t>{4096});
      const double first = (values[0] - center) / std::sqrt(squares / 4096 + 1e-5);
      const double rounding = 1e-3 + mean * 1e-8;
      CHECK(normal.to_vector<double>()[0] == doctest::Approx(first).epsilon(rounding));
      const Tensor none;
      const Tensor batch = Op("nn.functional.batch_norm")
                               .call<Tensor>(x.reshape({4096, 1}), none, none, none, none, true);
      CHECK(batch.to_vector<double>()[0] == doctest::Approx(first).epsilon(rounding));
    }
    // A constant column has no spread, and never a negative one.
    const Tensor constant = full({3, 1}, -11.0F, f32);
    CHECK(Op("var").call<Tensor>(constant.reshape({3})).item() == 0);
  }
}
