// Pools of means by oneDNN against f64 ones of nn, of random sizes, layouts and settings, and their
// gradients; what they decline; threads.
#include <algorithm>

#include "against_f64.hpp"

using namespace dnnl_tests;
using compare::numbers;
using random_inputs::Draw;
using Sizes = std::vector<int64_t>;
using tenon::f32;
using tenon::f64;
using tenon::Op;

namespace {

// A pool, and what it is called with.
struct Case {
  std::string op;
  Sizes input_shape, kernel, stride, padding;
  bool ceil_mode, count_include_pad;
  Tensor input;

  explicit Case(Draw& draw) {
    const int64_t dimensions = draw.of(Sizes{2, 2, 3});
    op = "nn.functional.avg_pool" + std::to_string(dimensions) + "d";
    ceil_mode = draw.chance(30);
    count_include_pad = draw.chance(50);
    input_shape = {draw.between(1, 5), draw.of(Sizes{4, 8, 16, 17, 19, 35})};
    if (draw.chance(20)) input_shape.erase(input_shape.begin());
    for (int64_t d = 0; d < dimensions; ++d) {
      kernel.push_back(draw.between(1, 6));
      stride.push_back(draw.between(1, 4));
      padding.push_back(draw.between(0, kernel.back() / 2));
      const int64_t most = dimensions == 2 ? 24 : 9;
      input_shape.push_back(kernel.back() + draw.below(most));
    }
    input = numbers(input_shape, f32, static_cast<uint64_t>(draw.below(1 << 20)) + 1);
    if (draw.chance(25)) input = tenon::stack({input, input}, -1).select(-1, 1);
    if (draw.chance(20)) input = input.transpose(0, 1).contiguous().transpose(0, 1);
  }
  int64_t elements() const {
    int64_t product = 1;
    for (const int64_t size : kernel) product *= size;
    return product;
  }
  Tensor forward(const Tensor& x) const {
    return Op(op).call<Tensor>(x, kernel, stride, padding, ceil_mode, count_include_pad);
  }
  Tensor gradient(const Tensor& g) const {
    return Op("nn.grad.avg_pool")
        .call<Tensor>(g, input_shape, kernel, stride, padding, ceil_mode, count_include_pad);
  }
};
#define CAPTURE_CASE(c)     \
  CAPTURE((c).op);          \
  CAPTURE((c).input_shape); \
  CAPTURE((c).kernel);      \
  CAPTURE((c).stride);      \
  CAPTURE((c).padding);     \
  CAPTURE((c).ceil_mode);   \
  CAPTURE((c).count_include_pad)

// The provider that a call of avg_pool2d ran, and the reason why not oneDNN.
std::string reason(const Tensor& x, int64_t kernel = 3, int64_t stride = 2, int64_t padding = 1,
                   bool ceil_mode = false, bool count_include_pad = true,
                   const tenon::Argument& divisor = tenon::none) {
  return traced("nn.functional.avg_pool2d", [&] {
    tenon::nn::functional::avg_pool2d(x, {kernel, kernel}, Sizes{stride, stride},
                                      {padding, padding}, ceil_mode, count_include_pad, divisor);
  });
}
const std::string by_dnnl = "kernel nn.functional.avg_pool2d (plugin dnnl)\n",
                  by_nn = " (plugin dnnl)\nkernel nn.functional.avg_pool2d (plugin nn)\n";
// oneDNN's kernels for planes are for registers of 512 bits.
bool is_taken_here() {
  const std::string found = reason(numbers({2, 16, 20, 20}));
  if (found == by_dnnl) return true;
  CHECK(found == "declined: planes without AVX-512" + by_nn);
  return false;
}

}  // namespace

TEST_SUITE("dnnl/average_pool") {
  TEST_CASE("pools of means and their gradients agree with f64 ones") {
    Draw draw(21);
    int64_t taken = 0, gradients_taken = 0;
    for (int round = 0; round < 150; ++round) {
      const Case c(draw);
      CAPTURE_CASE(c);
      Tensor y, back;
      taken += runs_in("dnnl", c.op, [&] { y = c.forward(c.input); });
      const Tensor wide = c.input.to(f64);
      check_sums(y, c.forward(wide), c.forward(wide.abs()), c.elements() + 1);
      const Tensor g = numbers(y.sizes(), f32, 3);
      gradients_taken += runs_in("dnnl", "nn.grad.avg_pool", [&] { back = c.gradient(g); });
      check_sums(back, c.gradient(g.to(f64)), c.gradient(g.to(f64).abs()), c.elements() + 1);
    }
    CHECK(gradients_taken == taken);
    CHECK((taken > 60) == is_taken_here());
  }

  TEST_CASE("recorded gradients of both orders and tangents agree with f64") {
    Draw draw(22);
    for (int round = 0; round < 12; ++round) {
      const Case c(draw);
      CAPTURE_CASE(c);
      const auto all = [&](tenon::DType dtype) {
        const Tensor x = c.input.to(dtype).detach().clone().requires_grad_();
        const Tensor y = c.forward(x);
        tenon::GradientOptions first;
        first.create_graph = true;
        Tensors found = tenon::gradients({(y * y).mean()}, {x}, first);
        found.push_back(tenon::gradients({(found[0] * found[0]).mean()}, {x})[0]);
        found.push_back(tangent([&](const Tensors& in) { return c.forward(in[0]); }, {x}, {x}));
        return found;
      };
      const Tensors narrow = all(f32), exact = all(f64);
      check_relative(narrow, exact, 1e-5);
    }
  }

  TEST_CASE("what oneDNN is slow at, or counts differently, is declined with a reason") {
    if (!is_taken_here()) return;
    const Tensor x = numbers({2, 16, 20, 20});
    CHECK(reason(x) == by_dnnl);
    CHECK(reason(x.to(f64)) == "declined: a dtype other than f32" + by_nn);
    CHECK(reason(x, 3, 2, 1, false, true, 5) == "declined: divisor_override is given" + by_nn);
    CHECK(reason(numbers({3, 5, 20, 20})) == "declined: fewer than 16 planes" + by_nn);
    CHECK(reason(numbers({1, 16, 4, 4}), 2, 2, 0) ==
          "declined: windows of fewer than 8,192 elements" + by_nn);
    CHECK(reason(numbers({0, 16, 4, 4}), 2, 2, 0) == "declined: nothing to compute" + by_nn);
    CHECK(reason(x, 3, 2, 0, true) ==
          "declined: a window beyond the padding, which oneDNN counts" + by_nn);
    CHECK(reason(x, 3, 2, 0, true, false) == by_dnnl);
    CHECK(traced("nn.grad.avg_pool", [] {
            Op("nn.grad.avg_pool")
                .call<Tensor>(numbers({2, 16, 50}), Sizes{2, 16, 100}, Sizes{2}, Sizes{2},
                              Sizes{0});
          }) == "declined: one dimension (plugin dnnl)\nkernel nn.grad.avg_pool (plugin nn)\n");
  }

  TEST_CASE("one, two and three threads give the same bits") {
    const int32_t threads = tenon::thread_count();
    Draw draw(23);
    for (int round = 0; round < 25; ++round) {
      const Case c(draw);
      CAPTURE_CASE(c);
      std::string expected;
      for (const int32_t count : {1, 2, 3}) {
        tenon::set_thread_count(count);
        const Tensor y = c.forward(c.input);
        const std::string found = bits(y) + bits(c.gradient(y));
        if (count == 1) expected = found;
        CHECK((found == expected));
      }
    }
    tenon::set_thread_count(threads);
  }

  TEST_CASE("what is not a number, or infinite, stays in its windows") {
    Tensor x = numbers({1, 16, 12, 12});
    tenon::fill_elements(x.select(1, 3).select(1, 4).select(1, 5), std::nan(""));
    tenon::fill_elements(x.select(1, 7).select(1, 0).select(1, 0), INFINITY);
    Tensor y;
    const std::vector<int64_t> kernel = {3, 3}, one = {1, 1};
    const auto call = [&](const Tensor& input) {
      return tenon::nn::functional::avg_pool2d(input, kernel, one, one);
    };
    CHECK(runs_in("dnnl", "nn.functional.avg_pool2d", [&] { y = call(x); }) == is_taken_here());
    const auto found = y.to_vector<double>(), expected = call(x.to(f64)).to_vector<double>();
    size_t wrong = 0;
    for (size_t i = 0; i < found.size(); ++i) {
      const bool same = std::isfinite(expected[i]) ? std::abs(found[i] - expected[i]) < 1e-5
                        : std::isnan(expected[i])  ? std::isnan(found[i])
                                                   : found[i] == expected[i];
      if (!same) ++wrong;
    }
    CHECK(wrong == 0);
  }
}
