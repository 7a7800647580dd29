// conv2d_tail by oneDNN against the f64 one of nn, of random sizes: whole blocks of channels and others,
// squares of positions and what they leave over, one image and many.
#include "against_f64.hpp"

using namespace dnnl_tests;
using compare::numbers;
using random_inputs::Draw;
using tenon::f32;
using tenon::f64;
namespace functional = tenon::nn::functional;

namespace {

struct Case {
  Tensor input, weight, bias, factor, term, addend;
  bool relu;

  explicit Case(Draw& draw) {
    const int64_t batch = draw.of(std::vector<int64_t>{1, 1, 2, 3, 9}),
                  channels = draw.between(3, 40),
                  features = draw.of(std::vector<int64_t>{8, 16, 24, 32, 33, 64, 128}),
                  height = draw.between(6, 20), width = draw.between(6, 20);
    const auto seed = [&] { return static_cast<uint64_t>(draw.below(1 << 20)) + 1; };
    const auto maybe = [&](const std::vector<int64_t>& shape) {
      return draw.chance(70) ? numbers(shape, f32, seed()) : Tensor();
    };
    input = numbers({batch, channels, height, width}, f32, seed());
    weight = numbers({features, channels, 3, 3}, f32, seed());
    bias = maybe({features});
    factor = maybe({features});
    term = maybe({features});
    addend = maybe({batch, features, height, width});
    relu = draw.chance(50);
  }
  Tensor run() const {
    return joined([](const Tensor& x) { return x; }, relu);
  }
  Tensor wide() const {
    return joined([](const Tensor& x) { return x.to(f64); }, relu);
  }
  Tensor magnitude() const {
    return joined([](const Tensor& x) { return x.to(f64).abs(); }, false);
  }

 private:
  template <class Convert>
  Tensor joined(const Convert& convert, bool with_relu) const {
    const auto of = [&](const Tensor& x) { return x.defined() ? convert(x) : x; };
    return functional::conv2d_tail(of(input), of(weight), of(bias), of(factor), of(term),
                                   of(addend), with_relu, {1, 1}, {1, 1});
  }
};

}  // namespace

TEST_SUITE("dnnl/convolution_tail") {
  TEST_CASE("convolutions with their tails agree with f64 ones") {
    const tenon::NoGrad no_grad;
    Draw draw(5);
    int64_t taken = 0;
    for (int round = 0; round < 150; ++round) {
      const Case c(draw);
      CAPTURE(round);
      CAPTURE(c.input.sizes());
      CAPTURE(c.weight.sizes());
      Tensor y;
      taken += runs_in("dnnl", "nn.functional.conv2d_tail", [&] { y = c.run(); });
      check_sums(y, c.wide(), c.magnitude(), c.input.size(1) * 9 + 4);
      CHECK(bits(c.run()) == bits(y));
    }
    CHECK(taken > 80);
  }

  TEST_CASE("a NaN stays one behind relu") {
    const tenon::NoGrad no_grad;
    const Tensor x = numbers({1, 16, 12, 12}), w = numbers({16, 16, 3, 3}, f32, 2);
    x.select(1, 0).fill_(NAN);
    const auto call = [&] {
      return functional::conv2d_tail(x, w, tenon::none, tenon::none, tenon::none, tenon::none, true,
                                     {1, 1}, {1, 1});
    };
    CHECK(runs_in("dnnl", "nn.functional.conv2d_tail", call));
    CHECK(call().isnan().all().item() == 1);
  }
}
