// conv2d_tail against conv2d and the ops that it joins, of random sizes, settings and layouts.
#include <algorithm>
#include <limits>

#include "../random_inputs.hpp"

using namespace compare;
using random_inputs::Draw;
using random_inputs::Sizes;
namespace functional = tenon::nn::functional;

namespace {

Tensor by_feature(const Tensor& tensor) { return tensor.reshape({tensor.numel(), 1, 1}); }

struct Case {
  Tensor input, weight, bias, factor, term, addend;
  bool relu;
  Sizes stride, padding, dilation;
  int64_t groups;

  Case(Draw& draw, tenon::DType dtype) {
    groups = draw.of(Sizes{1, 1, 2, 4});
    const bool depthwise = groups > 1 && draw.chance(50);
    const int64_t channels = groups * (depthwise ? 1 : draw.between(1, 3)),
                  features = groups * (depthwise ? draw.between(1, 2) : draw.between(1, 20));
    Sizes shape{channels}, out{features}, kernel{features, channels / groups};
    for (int d = 0; d < 2; ++d) {
      kernel.push_back(draw.between(1, 3));
      stride.push_back(draw.between(1, 2));
      padding.push_back(draw.between(0, 2));
      dilation.push_back(draw.between(1, 2));
      const int64_t reach = dilation.back() * (kernel.back() - 1) + 1;
      shape.push_back(std::max<int64_t>(1, reach - 2 * padding.back()) + draw.below(9));
      out.push_back((shape.back() + 2 * padding.back() - reach) / stride.back() + 1);
    }
    if (draw.chance(70)) {
      const int64_t batch = draw.between(0, 3);
      shape.insert(shape.begin(), batch);
      out.insert(out.begin(), batch);
    }
    input = draw.tensor(shape, dtype, false);
    weight = draw.tensor(kernel, dtype, false);
    const auto maybe = [&](const Sizes& sizes) {
      return draw.chance(60) ? draw.tensor(sizes, dtype, false) : Tensor();
    };
    bias = maybe({features});
    factor = maybe({features});
    term = maybe({features});
    addend = maybe(out);
    relu = draw.chance(50);
  }
  Tensor joined() const {
    return functional::conv2d_tail(input, weight, bias, factor, term, addend, relu, stride, padding,
                                   dilation, groups);
  }
  Tensor one_by_one() const {
    Tensor y = functional::conv2d(input, weight, bias, stride, padding, dilation, groups);
    if (factor.defined()) y = y * by_feature(factor);
    if (term.defined()) y = y + by_feature(term);
    if (addend.defined()) y = y + addend;
    return relu ? y.relu() : y;
  }
};

}  // namespace

TEST_SUITE("nn/convolution_tail") {
  TEST_CASE("random calls give what the ops give one by one") {
    Draw draw(11);
    for (int round = 0; round < 300; ++round) {
      const tenon::DType dtype = draw.of(std::vector<tenon::DType>{tenon::f32, tenon::f64});
      const Case c(draw, dtype);
      CAPTURE(round);
      check_close(c.joined(), c.one_by_one(), dtype == tenon::f32 ? 1e-5 : 1e-13);
    }
  }

  TEST_CASE("few channels, in rows of any length, are a walk over each window") {
    Draw draw(13);
    for (int64_t width = 3; width < 80; ++width) {
      const tenon::DType dtype = width % 2 == 0 ? tenon::f32 : tenon::f64;
      const int64_t channels = draw.between(1, 2), features = draw.between(1, 20),
                    height = draw.between(2, 5), padding = draw.between(0, 1),
                    stride = draw.between(1, 2);
      CAPTURE(width);
      CAPTURE(features);
      const Tensor x = numbers({2, channels, height, width}, dtype),
                   w = numbers({features, channels, 2, 3}, dtype, 2),
                   b = numbers({features}, dtype, 3);
      const auto image = x.to_vector<double>(), weights = w.to_vector<double>(),
                 terms = b.to_vector<double>();
      const int64_t rows = (height + 2 * padding - 2) / stride + 1, columns = width - 2;
      std::vector<double> expected;
      for (int64_t n = 0; n < 2; ++n) {
        for (int64_t f = 0; f < features; ++f) {
          for (int64_t y = 0; y < rows; ++y) {
            for (int64_t column = 0; column < columns; ++column) {
              double sum = terms[static_cast<size_t>(f)];
              for (int64_t tap = 0; tap < channels * 6; ++tap) {
                const int64_t c = tap / 6, row = y * stride + tap / 3 % 2 - padding;
                if (row < 0 || row >= height) continue;
                const int64_t at = ((n * channels + c) * height + row) * width + column + tap % 3;
                sum += image[static_cast<size_t>(at)] *
                       weights[static_cast<size_t>(f * channels * 6 + tap)];
              }
              expected.push_back(sum);
            }
          }
        }
      }
      const Tensor y = functional::conv2d(x, w, b, {stride, 1}, {padding, 0});
      check_values(y, {2, features, rows, columns}, expected, dtype == tenon::f32 ? 2e-6 : 1e-14);
    }
  }

  TEST_CASE("gradients and tangents are those of the ops") {
    Draw draw(12);
    for (int round = 0; round < 40; ++round) {
      CAPTURE(round);
      Case c(draw, tenon::f64);
      std::vector<Tensor*> operands;
      for (Tensor* one : {&c.input, &c.weight, &c.bias, &c.factor, &c.term, &c.addend}) {
        if (one->defined()) operands.push_back(one);
      }
      const auto gradients = [&](Tensor (Case::*call)() const) {
        std::vector<Tensor> found;
        for (Tensor* one : operands) *one = one->detach().requires_grad_();
        const Tensor y = (c.*call)();
        (y * y).sum().backward();
        for (Tensor* one : operands) found.push_back(one->grad());
        return found;
      };
      const std::vector<Tensor> found = gradients(&Case::joined),
                                expected = gradients(&Case::one_by_one);
      for (size_t i = 0; i < found.size(); ++i) check_close(found[i], expected[i], 1e-12);
      const auto tangent = [&](Tensor (Case::*call)() const) {
        const tenon::DualLevel level;
        Case dual = c;
        for (Tensor* one :
             {&dual.input, &dual.weight, &dual.bias, &dual.factor, &dual.term, &dual.addend}) {
          if (one->defined() && round % 3 != 0)
            *one = tenon::make_dual(one->detach(), one->detach());
          else if (one->defined())
            *one = one->detach();
        }
        if (dual.term.defined() && round % 3 == 0)
          dual.term = tenon::make_dual(dual.term, dual.term);
        const Tensor t = tenon::unpack_dual((dual.*call)()).tangent;
        return t.defined() ? t.clone() : t;
      };
      const Tensor joined = tangent(&Case::joined), one_by_one = tangent(&Case::one_by_one);
      REQUIRE(joined.defined() == one_by_one.defined());
      if (joined.defined()) check_close(joined, one_by_one, 1e-12);
    }
  }

  TEST_CASE("a NaN and both infinities stay what relu makes of them") {
    constexpr float inf = std::numeric_limits<float>::infinity();
    const Tensor x = tenon::tensor({NAN, inf, -inf, -1.f, 2.f}).reshape({1, 1, 1, 5});
    const Tensor w = tenon::ones({1, 1, 1, 1});
    const Tensor y =
        functional::conv2d_tail(x, w, tenon::none, tenon::none, tenon::none, tenon::none, true);
    check_values(y, {1, 1, 1, 5}, {NAN, inf, 0, 0, 2});
  }

  TEST_CASE("an infinite factor multiplies the sum with its bias, not its parts") {
    constexpr float inf = std::numeric_limits<float>::infinity();
    // By products, and by a walk over each window.
    for (const int64_t channels : {1, 64}) {
      const Tensor input = tenon::ones({1, channels, 3, 3}),
                   weight = tenon::ones({2, channels, 1, 1}), bias = tenon::tensor({0.F, -0.5F}),
                   factor = tenon::tensor({inf, inf});
      for (const float number :
           functional::conv2d_tail(input, weight, bias, factor).to_vector<float>())
        CHECK(number == inf);
    }
  }

  TEST_CASE("operands that do not fit are refused by name") {
    const Tensor x = tenon::ones({1, 2, 4, 4}), w = tenon::ones({3, 2, 3, 3});
    const auto refused = [&](const Tensor& factor, const Tensor& term, const Tensor& addend) {
      return refusal_of("conv2d_tail",
                        [&] { functional::conv2d_tail(x, w, tenon::none, factor, term, addend); });
    };
    const Tensor none;
    CHECK(refused(tenon::ones({2}), none, none).find("'factor'") != std::string::npos);
    CHECK(refused(none, tenon::ones({3, 1}), none).find("'term'") != std::string::npos);
    CHECK(refused(none, none, tenon::ones({1, 3, 2, 1})).find("'addend'") != std::string::npos);
    CHECK(refused(none, none, tenon::ones({1, 3, 2, 2}, tenon::f64)).find("'addend'") !=
          std::string::npos);
  }
}
