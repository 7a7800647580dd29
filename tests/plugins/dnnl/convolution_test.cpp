// Convolutions by oneDNN against f64 ones of nn, of random sizes and settings; what they decline;
// weights that change; threads.
#include <algorithm>
#include <atomic>
#include <fstream>
#include <thread>
#include <unistd.h>

#include "against_f64.hpp"

using namespace dnnl_tests;
using compare::numbers;
using random_inputs::Draw;
using Sizes = std::vector<int64_t>;
using tenon::f32;
using tenon::f64;
using tenon::Op;

namespace {

// A convolution of some million multiplications, and what it is called with.
struct Case {
  std::string op;
  Sizes image, kernel, stride, padding, dilation;
  int64_t groups;
  Sizes input_shape, weight_shape, output_shape;
  bool with_bias;

  explicit Case(Draw& draw) {
    do {
      draw_sizes(draw);
    } while (products() < (1 << 18) || products() > (1 << 23));
  }
  int64_t channels() const { return input_shape[1]; }
  int64_t features() const { return weight_shape[0]; }
  int64_t terms() const { return count(weight_shape) / features(); }
  int64_t products() const { return count(output_shape) * terms(); }
  static int64_t count(const Sizes& shape) {
    int64_t product = 1;
    for (const int64_t size : shape) product *= size;
    return product;
  }
  Tensor forward(const Tensor& x, const Tensor& w, const Tensor& b) const {
    return Op(op).call<Tensor>(x, w, b, stride, padding, dilation, groups);
  }
  Tensor input(const Tensor& w, const Tensor& g) const {
    return Op(op + "_input").call<Tensor>(input_shape, w, g, stride, padding, dilation, groups);
  }
  Tensor weight(const Tensor& x, const Tensor& g) const {
    return Op(op + "_weight").call<Tensor>(x, weight_shape, g, stride, padding, dilation, groups);
  }

 private:
  void draw_sizes(Draw& draw) {
    const int64_t dimensions = draw.of(Sizes{1, 2, 2, 2, 3});
    op = "nn.functional.conv" + std::to_string(dimensions) + "d";
    const int64_t group_channels = draw.between(1, 24), group_features = draw.between(1, 40);
    groups = draw.of(Sizes{1, 1, 1, 2, 3, 16});
    input_shape = {draw.between(1, 9), groups * group_channels};
    weight_shape = {groups * group_features, group_channels};
    output_shape = {input_shape[0], groups * group_features};
    image.clear(), kernel.clear(), stride.clear(), padding.clear(), dilation.clear();
    for (int64_t d = 0; d < dimensions; ++d) {
      kernel.push_back(draw.between(1, 5));
      dilation.push_back(draw.between(1, 2));
      stride.push_back(draw.of(Sizes{1, 1, 2, 3}));
      padding.push_back(draw.between(0, 3));
      const int64_t reach = dilation.back() * (kernel.back() - 1) + 1;
      const int64_t most = dimensions == 1 ? 600 : dimensions == 2 ? 30 : 10;
      image.push_back(std::max<int64_t>(1, reach - 2 * padding.back()) + draw.below(most));
      input_shape.push_back(image.back());
      weight_shape.push_back(kernel.back());
      output_shape.push_back((image.back() + 2 * padding.back() - reach) / stride.back() + 1);
    }
    with_bias = draw.chance(50);
  }
};

Tensor drawn(const Sizes& shape, Draw& draw) {
  const Tensor x = numbers(shape, f32, static_cast<uint64_t>(draw.below(1 << 20)) + 1);
  return draw.chance(25) ? tenon::stack({x, x}, -1).select(-1, 1) : x;
}
Tensor wide(const Tensor& x) { return x.defined() ? x.to(f64) : x; }
Tensor magnitude(const Tensor& x) { return x.defined() ? x.to(f64).abs() : x; }

int64_t resident_kib() {
  int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages >> pages;
  return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

}  // namespace

TEST_SUITE("dnnl/convolution") {
  TEST_CASE("convolutions and their gradients agree with f64 ones") {
    Draw draw(3);
    int64_t taken = 0;
    for (int round = 0; round < 120; ++round) {
      const Case c(draw);
      const Tensor x = drawn(c.input_shape, draw), w = drawn(c.weight_shape, draw),
                   g = drawn(c.output_shape, draw),
                   b = c.with_bias ? drawn({c.features()}, draw) : Tensor();
      CAPTURE(c.op);
      CAPTURE(c.input_shape);
      CAPTURE(c.weight_shape);
      CAPTURE(c.stride);
      CAPTURE(c.padding);
      CAPTURE(c.dilation);
      CAPTURE(c.groups);
      Tensor y;
      taken += runs_in("dnnl", c.op, [&] { y = c.forward(x, w, b); });
      check_sums(y, c.forward(wide(x), wide(w), wide(b)),
                 c.forward(magnitude(x), magnitude(w), magnitude(b)), c.terms() + 1);
      check_sums(c.input(w, g), c.input(wide(w), wide(g)), c.input(magnitude(w), magnitude(g)),
                 c.terms() * c.features() / c.channels() + 1);
      check_sums(c.weight(x, g), c.weight(wide(x), wide(g)), c.weight(magnitude(x), magnitude(g)),
                 Case::count(c.output_shape) / c.features());
      const Tensor one = c.forward(x.select(0, 0), w, b);
      check_sums(one, y.select(0, 0).to(f64),
                 c.forward(magnitude(x.select(0, 0)), magnitude(w), magnitude(b)),
                 2 * c.terms() + 2);
    }
    CHECK(taken > 40);
  }

  TEST_CASE("few images are cut by features, for which the result is that of f64") {
    const tenon::NoGrad no_grad;
    const Tensor b = numbers({192}, f32, 3);
    for (const Tensor& w :
         {numbers({192, 32, 3, 3}, f32, 2), numbers({192, 32, 3, 3, 2}, f32, 2).select(-1, 1)}) {
      for (const int64_t batch : {1, 2, 9}) {
        CAPTURE(batch);
        const Tensor x = numbers({batch, 32, 16, 16});
        const auto call = [](const Tensor& image, const Tensor& weight, const Tensor& bias) {
          return tenon::nn::functional::conv2d(image, weight, bias, {1, 1}, {1, 1});
        };
        for (int times = 0; times < 3; ++times) {  // packed, kept, used again
          check_sums(call(x, w, b), call(wide(x), wide(w), wide(b)),
                     call(magnitude(x), magnitude(w), magnitude(b)), 289);
        }
      }
    }
  }

  TEST_CASE("padding 'same' with an odd row is that of f64") {
    const Tensor x = numbers({3, 16, 20, 21}), w = numbers({24, 16, 4, 2}, f32, 2);
    const auto call = [](const Tensor& a, const Tensor& b) {
      return tenon::nn::functional::conv2d(a, b, tenon::none, {1, 1}, "same");
    };
    CHECK(runs_in("dnnl", "nn.functional.conv2d", [&] { call(x, w); }));
    check_sums(call(x, w), call(wide(x), wide(w)), call(magnitude(x), magnitude(w)), 128);
  }

  TEST_CASE("recorded gradients of both orders, tangents and transposes agree with f64") {
    Draw draw(4);
    for (uint64_t round = 0; round < 12; ++round) {
      const Case c(draw);
      CAPTURE(c.op);
      CAPTURE(c.input_shape);
      CAPTURE(c.weight_shape);
      const auto all = [&](tenon::DType dtype) {
        Draw same(round + 1);
        Tensor x = drawn(c.input_shape, same).to(dtype).requires_grad_(),
               w = drawn(c.weight_shape, same).to(dtype).requires_grad_(),
               b = drawn({c.features()}, same).to(dtype).requires_grad_();
        const Tensor g = drawn(c.output_shape, same).to(dtype);
        const Tensor y = c.forward(x, w, b);
        tenon::GradientOptions first;
        first.seeds = {g};
        first.create_graph = true;
        Tensors found = tenon::gradients({y}, {x, w, b}, first);
        const Tensor sum = (found[0] * found[0]).mean() + (found[1] * found[1]).mean();
        const Tensors second = tenon::gradients({sum}, {x, w});
        found.insert(found.end(), second.begin(), second.end());
        found.push_back(tangent([&](const Tensors& in) { return c.forward(in[0], in[1], in[2]); },
                                {x, w, b}, {x, w, b}));
        return found;
      };
      const Tensors narrow = all(f32), exact = all(f64);
      check_relative(narrow, exact, 2e-5);
    }
  }

  TEST_CASE("what oneDNN is slow at, or cannot do, is declined with a reason") {
    const auto reason = [](const Tensor& x, const Tensor& w, int64_t groups = 1) {
      return traced("nn.functional.conv2d", [&] {
        tenon::nn::functional::conv2d(x, w, tenon::none, {1, 1}, {1, 1}, {1, 1}, groups);
      });
    };
    const Tensor x = numbers({8, 16, 20, 20}), w = numbers({32, 16, 3, 3});
    CHECK(reason(x, w) == "kernel nn.functional.conv2d (plugin dnnl)\n");
    const std::string by_nn = " (plugin dnnl)\nkernel nn.functional.conv2d (plugin nn)\n";
    CHECK(reason(x.to(f64), w.to(f64)) == "declined: a dtype other than f32" + by_nn);
    CHECK(reason(numbers({64, 1, 28, 28}), numbers({16, 1, 3, 3})) ==
          "declined: one input channel" + by_nn);
    CHECK(reason(numbers({8, 16, 20, 20}), numbers({32, 16, 1, 1})) ==
          "declined: a kernel of one element" + by_nn);
    CHECK(reason(numbers({8, 64, 20, 20}), numbers({64, 4, 3, 3}), 16) ==
          "declined: fewer than 8 channels in a group" + by_nn);
    CHECK(reason(numbers({8, 64, 20, 20}), numbers({64, 1, 3, 3}), 64) ==
          "kernel nn.functional.conv2d (plugin dnnl)\n");
    CHECK(reason(numbers({1, 4, 8, 8}), numbers({4, 4, 3, 3})) ==
          "declined: fewer than 131,072 multiplications" + by_nn);
    CHECK(reason(numbers({0, 16, 20, 20}), w) == "declined: nothing to compute" + by_nn);
    CHECK(compare::refusal([&] {
            reason(x, numbers({32, 8, 3, 3}));
          }).find("takes 8 channels") != std::string::npos);
  }

  // Packed weights are kept while they do not change; equal weights in new memory are packed again.
  TEST_CASE("changed weights never give an old result") {
    const tenon::NoGrad no_grad;
    Draw draw(5);
    const Tensor x = numbers({2, 16, 14, 14});
    Tensor w = numbers({32, 16, 3, 3}, f32, 2);
    const auto call = [&](const Tensor& weight) {
      return tenon::nn::functional::conv2d(x, weight, tenon::none, {1, 1}, {1, 1});
    };
    const std::vector<std::function<void()>> changes = {
        [&] { w.add_(0.25); },
        [&] {
          w.copy_(numbers({32, 16, 3, 3}, f32, 7));
        },
        [&] { w.select(0, 3).mul_(-1); },
        [&] { tenon::mul(w, w, w); },
        [&] { w.zero_(); },
        [&] {
          tenon::copy_elements(w, numbers({32, 16, 3, 3}, f32, 8));
        },
        [&] { tenon::fill_elements(w, 0.5); },
        [&] {
          w = numbers({32, 16, 3, 3}, f32, static_cast<uint64_t>(draw.between(1, 50)));
        },
        [&] { w = w.clone(); },
        [&] {
          w[{2, 1}] = 3;
        },
        [&] {
          tenon::optim::sgd_step_(w, numbers({32, 16, 3, 3}, f32, 9), {}, 0.1);
        },
        [] {},
        [] {}};
    for (int round = 0; round < 400; ++round) {
      draw.of(changes)();
      CAPTURE(round);
      CHECK((bits(call(w)) == bits(call(w.clone()))));
    }
  }

#if defined(__x86_64__)  // for other processors oneDNN may take weights as they are
  // One image has a block of features for each of several threads. Elements that are written outside of
  // any op show what was kept: the result is the old one.
  TEST_CASE("packed weights of every block of features are kept") {
    const tenon::NoGrad no_grad;
    const Tensor x = numbers({1, 512, 7, 7});
    const std::vector<Tensor> weights = {numbers({512, 512, 3, 3}),
                                         numbers({512, 512, 3, 3}, f32, 2)};
    const auto call = [&](const Tensor& weight) {
      return bits(tenon::nn::functional::conv2d(x, weight, tenon::none, {1, 1}, {1, 1}));
    };
    std::vector<std::string> before;
    for (int times = 0; times < 2; ++times) {
      for (const Tensor& weight : weights) before.push_back(call(weight));
    }
    for (const Tensor& weight : weights) std::fill_n(weight.data<float>(), weight.numel(), 0.F);
    CHECK((call(weights[0]) == before[0]));
    CHECK((call(weights[1]) == before[1]));
  }

  TEST_CASE("packed weights of tensors that are gone are dropped when others come again") {
    const tenon::NoGrad no_grad;
    const Tensor x = numbers({1, 512, 7, 7}), weight = numbers({512, 512, 3, 3});
    const auto models = [&](int count) {
      for (int i = 0; i < count; ++i) {
        const Tensor own = weight.clone();
        for (int times = 0; times < 3; ++times)
          tenon::nn::functional::conv2d(x, own, tenon::none, {1, 1}, {1, 1});
      }
    };
    models(2);
    const int64_t before = resident_kib();
    models(6);
    if (kCanMeasureMemory) CHECK(resident_kib() <= before + 12 * 1024);  // each has 9 MiB
  }
#endif

  TEST_CASE("threads that open and drop models at the same time get the results of their weights") {
    const Tensor x = numbers({2, 32, 14, 14}), base = numbers({32, 32, 3, 3}, f32, 2);
    const auto call = [&](const Tensor& weight) {
      return bits(tenon::nn::functional::conv2d(x, weight, tenon::none, {1, 1}, {1, 1}));
    };
    std::vector<std::string> expected;
    for (int factor = 0; factor < 5; ++factor) expected.push_back(call(base.mul(factor + 1)));
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int first = 0; first < 3; ++first) {
      threads.emplace_back([&, first] {
        for (int i = first; i < first + 40; ++i) {
          const Tensor weight = base.mul(i % 5 + 1);
          for (int times = 0; times < 3; ++times)
            wrong += call(weight) == expected[static_cast<size_t>(i % 5)] ? 0 : 1;
          weight.mul_(0);
          weight.add_(base);
          wrong += call(weight) == expected[0] ? 0 : 1;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(wrong == 0);
  }

  TEST_CASE("a training of 1,000 steps does not grow the process") {
    Tensor w = numbers({32, 16, 3, 3}, f32, 2).requires_grad_();
    const Tensor x = numbers({4, 16, 14, 14}).requires_grad_();
    const auto steps = [&](int count) {
      for (int i = 0; i < count; ++i) {
        const Tensor y = tenon::nn::functional::conv2d(x, w, tenon::none, {1, 1}, {1, 1});
        y.mean().backward();
        const tenon::NoGrad no_grad;
        w.sub_(w.grad(), 0.01);
        w.set_grad({});
      }
    };
    steps(100);
    const int64_t before = resident_kib();
    steps(1000);
    if (kCanMeasureMemory) CHECK(resident_kib() <= before + 256);
  }

  TEST_CASE("one, two and three threads give the same bits") {
    const int32_t threads = tenon::thread_count();
    Draw draw(6);
    for (int round = 0; round < 25; ++round) {
      const Case c(draw);
      const Tensor x = drawn(c.input_shape, draw), w = drawn(c.weight_shape, draw),
                   g = drawn(c.output_shape, draw);
      CAPTURE(c.op);
      CAPTURE(c.input_shape);
      CAPTURE(c.weight_shape);
      std::string expected;
      for (const int32_t count : {1, 2, 3}) {
        tenon::set_thread_count(count);
        const std::string found =
            bits(c.forward(x, w, {})) + bits(c.input(w, g)) + bits(c.weight(x, g));
        if (count == 1) expected = found;
        CHECK((found == expected));
      }
    }
    tenon::set_thread_count(threads);
  }

  TEST_CASE("several threads may call at once, with plans in common and not") {
    Draw draw(8);
    std::vector<Case> cases;
    std::vector<Tensors> operands;
    std::vector<std::string> expected;
    const auto run = [&](size_t i) {
      const tenon::NoGrad no_grad;
      const Tensors& t = operands[i];
      return bits(cases[i].forward(t[0], t[1], {})) + bits(cases[i].input(t[1], t[2])) +
             bits(cases[i].weight(t[0], t[2]));
    };
    for (size_t i = 0; i < 6; ++i) {
      cases.emplace_back(draw);
      operands.push_back({drawn(cases[i].input_shape, draw), drawn(cases[i].weight_shape, draw),
                          drawn(cases[i].output_shape, draw)});
      expected.push_back(run(i));
    }
    std::vector<int> wrong(4, 0);
    std::vector<std::thread> threads;
    for (size_t thread = 0; thread < wrong.size(); ++thread) {
      threads.emplace_back([&, thread] {
        for (size_t i = 0; i < 30; ++i) {
          const size_t at = (i + thread) % cases.size();
          wrong[thread] += run(at) != expected[at];
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(wrong == std::vector<int>(4, 0));
  }
}
