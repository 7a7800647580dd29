// linear by oneDNN against f64 ones of nn, of random sizes, layouts and biases; what it declines; weights
// that change; threads.
#include <cmath>
#include <limits>

#include "against_f64.hpp"

using namespace dnnl_tests;
using compare::numbers;
using random_inputs::Draw;
using Sizes = std::vector<int64_t>;
using tenon::f32;
using tenon::f64;

namespace {

constexpr auto op = "nn.functional.linear";

Tensor call(const Tensors& in) { return tenon::nn::functional::linear(in[0], in[1], in[2]); }

// Input, weight and bias of a call that is large enough; the input may have strides.
Tensors drawn(Draw& draw) {
  const int64_t features = draw.of(Sizes{33, 64, 100, 257, 784}),
                outputs = draw.of(Sizes{7, 10, 64, 100, 333});
  Sizes shape = draw.of(
      std::vector<Sizes>{{5}, {31}, {64}, {65}, {128}, {300}, {6, 7}, {2, 5, 9}, {1, 70}, {520}});
  int64_t rows = 1;
  for (const int64_t size : shape) rows *= size;
  if (rows * features * outputs < (1 << 18)) return drawn(draw);
  shape.push_back(features);
  const auto number = [&](const Sizes& sizes) {
    return numbers(sizes, f32, static_cast<uint64_t>(draw.below(1 << 20)) + 1);
  };
  Tensor input = number(shape);
  if (draw.chance(30)) input = tenon::stack({input, input}, -1).select(-1, 1);
  const Tensor weight = number({outputs, features});
  switch (draw.below(4)) {
    case 0:
      return {input, weight, {}};
    case 1:
      return {input, weight, draw.chance(50) ? number({}) : number({1})};
    case 2:
      return {input, weight, number({outputs, 2}).select(1, 1)};
    default:
      return {input, weight, number({outputs})};
  }
}
#define CAPTURE_CALL(in)                                                    \
  const auto input_shape = (in)[0].shape(), weight_shape = (in)[1].shape(); \
  CAPTURE(input_shape);                                                     \
  CAPTURE(weight_shape);                                                    \
  CAPTURE((in)[2].defined())

template <class Change>
Tensors each(const Tensors& in, const Change& change) {
  Tensors result;
  for (const Tensor& tensor : in) result.push_back(tensor.defined() ? change(tensor) : tensor);
  return result;
}
Tensors wide(const Tensors& in) {
  return each(in, [](const Tensor& x) { return x.detach().to(f64); });
}

std::string reason(const Tensors& in) {
  return traced(op, [&] { call(in); });
}
const std::string by_dnnl = "kernel nn.functional.linear (plugin dnnl)\n",
                  by_nn = " (plugin dnnl)\nkernel nn.functional.linear (plugin nn)\n";
// Weights are packed for registers of 512 bits.
bool is_taken_here() {
  const std::string found = reason({numbers({64, 128}), numbers({128, 128}), {}});
  if (found == by_dnnl) return true;
  CHECK(found == "declined: weights to pack without AVX-512" + by_nn);
  return false;
}

}  // namespace

TEST_SUITE("dnnl/linear") {
  TEST_CASE("linear agrees with f64, whatever the sizes, strides and bias") {
    const bool is_taken = is_taken_here();
    Draw draw(31);
    for (int round = 0; round < 80; ++round) {
      const Tensors in = drawn(draw);
      CAPTURE_CALL(in);
      Tensor y;
      const bool many = in[0].numel() / in[0].size(-1) > 128 && in[1].numel() > (1 << 18);
      CHECK(runs_in("dnnl", op, [&] { y = call(in); }) == (is_taken && !many));
      check_sums(y, call(wide(in)), call(each(wide(in), [](const Tensor& x) { return x.abs(); })),
                 in[0].size(-1) + 1);
      CHECK((bits(call(in)) == bits(y)));
    }
  }

  TEST_CASE("gradients of both orders and tangents agree with f64") {
    Draw draw(32);
    for (int round = 0; round < 12; ++round) {
      const Tensors in = drawn(draw);
      CAPTURE_CALL(in);
      const auto derivatives = [&](const Tensors& values) {
        const Tensors leaves =
            each(values, [](const Tensor& x) { return x.detach().clone().requires_grad_(); });
        Tensors asked = leaves;
        if (!asked[2].defined()) asked.pop_back();
        const Tensor y = call(leaves);
        tenon::GradientOptions first;
        first.create_graph = true;
        Tensors found = tenon::gradients({(y * y).mean()}, asked, first);
        const Tensor again = (found[0] * found[0]).mean() + (found[1] * found[1]).mean();
        for (const Tensor& second : tenon::gradients({again}, {asked[0], asked[1]}))
          found.push_back(second);
        const auto result = [&](const Tensors& duals) {
          return call({duals[0], duals[1], duals.size() > 2 ? duals[2] : Tensor()});
        };
        Tensors given = values;
        if (!given[2].defined()) given.pop_back();
        found.push_back(tangent(result, given, given));
        return found;
      };
      const Tensors narrow = derivatives(in), exact = derivatives(wide(in));
      check_relative(narrow, exact, 2e-5);
    }
  }

  TEST_CASE("what oneDNN is slow at, or cannot do, is declined with a reason") {
    if (!is_taken_here()) return;
    const Tensor x = numbers({64, 128}), w = numbers({128, 128}), b = numbers({128});
    CHECK(reason({x, w, b}) == by_dnnl);
    CHECK(reason({x.to(f64), w.to(f64), b.to(f64)}) == "declined: a dtype other than f32" + by_nn);
    CHECK(reason({x, w.detach().requires_grad_(), b}) ==
          "declined: fewer than 512 rows, by weights that are trained" + by_nn);
    CHECK(reason({numbers({512, 128}), w.detach().requires_grad_(), b}) == by_dnnl);
    CHECK(reason({x.detach().requires_grad_(), w, b}) == by_dnnl);
    {
      const tenon::NoGrad no_grad;
      CHECK(reason({x, w.detach().requires_grad_(), b}) == by_dnnl);
    }
    CHECK(reason({x, w.t(), b}) == "declined: weights that are not contiguous" + by_nn);
    const Tensor base = numbers({128, 128}), view = base.view({128, 128});
    base.mul_(numbers({128, 128}).requires_grad_());  // and the view with it
    CHECK(reason({x, view, b}) ==
          "declined: fewer than 512 rows, by weights that are trained" + by_nn);
    std::vector<float> memory(128 * 128);
    const Tensor foreign =
        tenon::wrap_buffer(memory.data(), w.shape(), w.strides(), f32, nullptr, nullptr);
    CHECK(reason({x, foreign, b}) ==
          "declined: fewer than 512 rows, by weights that cannot be kept" + by_nn);
    CHECK(reason({numbers({512, 128}), foreign, b}) == by_dnnl);
    CHECK(reason({numbers({0, 128}), w, b}) == "declined: nothing to compute" + by_nn);
    CHECK(reason({numbers({15, 128}), w, b}) ==
          "declined: fewer than 262,144 multiplications" + by_nn);
    CHECK(reason({numbers({3, 1024}), numbers({128, 1024}), b}) ==
          "declined: fewer than 4 rows" + by_nn);
    const Tensor large = numbers({1024, 512});
    CHECK(reason({numbers({128, 512}), large, {}}) == by_dnnl);
    CHECK(reason({numbers({129, 512}), large, {}}) ==
          "declined: more than 128 rows, by more than 262,144 weights" + by_nn);
    const std::string message = compare::refusal([&] { call({x, numbers({128, 127}), b}); });
    CHECK(message.find("does not fit 'weight'") != std::string::npos);
  }

  TEST_CASE("elements that are not finite reach the results of no other rows") {
    const float inf = std::numeric_limits<float>::infinity();
    for (const int64_t features : {64, 257}) {
      const Tensor x = numbers({70, features}), w = numbers({130, features});
      const Tensor expected = call({x, w, {}});
      const Tensor changed = x.clone();
      changed.select(0, 3).select(0, features - 1).fill_(inf);
      changed.select(0, 66).select(0, 0).fill_(std::nanf(""));
      const Tensor found = call({changed, w, {}});
      for (int64_t row = 0; row < 70; ++row) {
        CAPTURE(row);
        if (row == 3 || row == 66) {
          CHECK(!found.select(0, row).isfinite().any().item<bool>());
        } else {
          CHECK((bits(found.select(0, row)) == bits(expected.select(0, row))));
        }
      }
    }
  }

  // Packed weights are kept while they do not change.
  TEST_CASE("changed weights never give an old result") {
    if (!is_taken_here()) return;
    const tenon::NoGrad no_grad;
    Draw draw(33);
    Tensors in = drawn(draw);
    for (int round = 0; round < 60; ++round) {
      CAPTURE(round);
      switch (draw.below(4)) {
        case 0:
          in[1].mul_(-0.9);
          break;
        case 1:
          in[1].select(0, 3).add_(0.25);
          break;
        case 2:
          in[1] = in[1].clone();
          break;
        default:
          break;
      }
      CHECK((bits(call(in)) == bits(call(each(in, [](const Tensor& x) { return x.clone(); })))));
    }
  }

  TEST_CASE("one, two and three threads give the same bits") {
    const int32_t threads = tenon::thread_count();
    Draw draw(34);
    for (int round = 0; round < 20; ++round) {
      const Tensors in = drawn(draw);
      CAPTURE_CALL(in);
      std::string expected;
      for (const int32_t count : {1, 2, 3}) {
        tenon::set_thread_count(count);
        const std::string found = bits(call(in));
        if (count == 1) expected = found;
        CHECK((found == expected));
      }
    }
    tenon::set_thread_count(threads);
  }
}
