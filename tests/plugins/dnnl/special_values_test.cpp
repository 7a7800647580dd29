// Zeros, NaN and infinities through oneDNN: the same places of a result as by the other providers,
// which run the same call in f64. Sums of whole numbers are exact in any order.
#include <limits>
#include <random>

#include "against_f64.hpp"

using namespace dnnl_tests;
using Sizes = std::vector<int64_t>;
using tenon::f32;
using tenon::f64;

namespace {

// Few enough are not finite that some results are.
Tensor spoiled(const Sizes& shape, std::mt19937_64& random) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  std::vector<double> values;
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t kind = random() % 600;
    values.push_back(kind == 0    ? std::numeric_limits<double>::quiet_NaN()
                     : kind == 1  ? inf
                     : kind == 2  ? -inf
                     : kind < 150 ? 0
                                  : static_cast<double>(random() % 9) - 4);
  }
  return tenon::from_range(values.begin(), values.end()).reshape(shape).to(f32);
}

void check_alike(const std::string& op, const std::function<Tensor(const Tensors&)>& call,
                 const Tensors& inputs) {
  CAPTURE(op);
  Tensors wide;
  for (const Tensor& input : inputs) wide.push_back(input.to(f64));
  CHECK(runs_in("dnnl", op, [&] { call(inputs); }));
  CHECK_FALSE(runs_in("dnnl", op, [&] { call(wide); }));
  const std::vector<double> found = call(inputs).to_vector<double>(),
                            expected = call(wide).to_vector<double>();
  REQUIRE(found.size() == expected.size());
  size_t differing = 0, not_finite = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    differing += random_inputs::same_number(found[i], expected[i]) ? 0 : 1;
    not_finite += std::isfinite(expected[i]) ? 0 : 1;
  }
  CHECK(differing == 0);
  CHECK(not_finite > 0);
  CHECK(not_finite < found.size());
}

}  // namespace

TEST_SUITE("plugins/dnnl/special_values") {
  TEST_CASE("generated: what is not finite is in the places where the other providers have it") {
    std::mt19937_64 random(43);
    for (int round = 0; round < 3; ++round) {
      check_alike("mm", [](const Tensors& in) { return in[0].mm(in[1]); },
                  {spoiled({300, 70}, random), spoiled({70, 200}, random)});
      check_alike(
          "nn.functional.conv2d",
          [](const Tensors& in) { return tenon::nn::functional::conv2d(in[0], in[1], in[2]); },
          {spoiled({8, 4, 20, 20}, random), spoiled({32, 4, 3, 3}, random), spoiled({32}, random)});
    }
  }
}
