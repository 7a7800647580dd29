// lstm and gru by oneDNN against f64 ones of nn, of random sizes, layouts and settings; what they
// decline; weights that change; threads.
#include <fstream>
#include <unistd.h>

#include "against_f64.hpp"

using namespace dnnl_tests;
using compare::numbers;
using random_inputs::Draw;
using Sizes = std::vector<int64_t>;
using tenon::arg;
using tenon::f32;
using tenon::f64;
using tenon::Module;
using tenon::Op;

namespace {

// A layer that oneDNN takes, and its operands.
struct Layer {
  bool is_lstm, reverse;
  int64_t steps, batch, features, width;
  Tensors operands;  // input, hidden, cell of an LSTM, weights, biases, which may be undefined

  explicit Layer(Draw& draw) {
    do {
      is_lstm = draw.chance(50);
      reverse = draw.chance(50);
      steps = draw.of(Sizes{1, 2, 7, 16, 17, 40});
      batch = draw.of(Sizes{2, 3, 5, 16, 33, 70});
      features = draw.of(Sizes{1, 3, 16, 20, 65});
      width = draw.of(Sizes{16, 32, 48, 64, 70});
    } while (products() < (1 << 17) || products() > (1 << 25));
    const int64_t rows = gates() * width;
    operands = {drawn({steps, batch, features}, draw), drawn({batch, width}, draw)};
    if (is_lstm) operands.push_back(drawn({batch, width}, draw));
    operands.push_back(drawn({rows, features}, draw) * 0.1);
    operands.push_back(drawn({rows, width}, draw) * 0.1);
    for (int i = 0; i < 2; ++i)
      operands.push_back(draw.chance(70) ? drawn({rows}, draw) : Tensor());
  }
  int64_t gates() const { return is_lstm ? 4 : 3; }
  int64_t products() const { return steps * batch * gates() * width * (features + width); }
  std::string op() const { return is_lstm ? "nn.functional.lstm" : "nn.functional.gru"; }

  // All results of the op.
  Tensors call(const Tensors& in) const {
    if (is_lstm) {
      const auto [output, hidden, cell] = Op(op()).call<std::tuple<Tensor, Tensor, Tensor>>(
          in[0], in[1], in[2], in[3], in[4], in[5], in[6], reverse);
      return {output, hidden, cell};
    }
    const auto [output, hidden] = Op(op()).call<std::tuple<Tensor, Tensor>>(
        in[0], in[1], in[2], in[3], in[4], in[5], reverse);
    return {output, hidden};
  }

 private:
  static Tensor drawn(const Sizes& shape, Draw& draw) {
    const Tensor x = numbers(shape, f32, static_cast<uint64_t>(draw.below(1 << 20)) + 1);
    return draw.chance(25) ? tenon::stack({x, x}, -1).select(-1, 1) : x;
  }
};

Tensors wide(const Tensors& tensors) {
  Tensors result;
  for (const Tensor& tensor : tensors)
    result.push_back(tensor.defined() ? tensor.detach().to(f64) : tensor);
  return result;
}
void check_near(const Tensors& found, const Tensors& expected, double tolerance) {
  REQUIRE(found.size() == expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    CAPTURE(i);
    REQUIRE(found[i].sizes() == expected[i].sizes());
    CHECK(found[i].dtype() == f32);
    CHECK((found[i].to(f64) - expected[i]).abs().amax().item<double>() <= tolerance);
  }
}
#define CAPTURE_LAYER(layer) \
  CAPTURE((layer).is_lstm);  \
  CAPTURE((layer).reverse);  \
  CAPTURE((layer).steps);    \
  CAPTURE((layer).batch);    \
  CAPTURE((layer).features); \
  CAPTURE((layer).width)

std::string all_bits(const Tensors& tensors) {
  std::string all;
  for (const Tensor& tensor : tensors) all += bits(tensor);
  return all;
}
int64_t resident_kib() {
  int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages >> pages;
  return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

}  // namespace

TEST_SUITE("dnnl/recurrent") {
  TEST_CASE("layers over a sequence agree with f64 ones") {
    const tenon::NoGrad no_grad;
    Draw draw(11);
    for (int round = 0; round < 60; ++round) {
      const Layer layer(draw);
      CAPTURE_LAYER(layer);
      Tensors found;
      CHECK(runs_in("dnnl", layer.op(), [&] { found = layer.call(layer.operands); }));
      // Differences of f32 products grow with the steps, as states are fed back.
      check_near(found, layer.call(wide(layer.operands)), 2e-5);
      CHECK((bits(found[1]) == bits(found[0].select(0, layer.reverse ? 0 : layer.steps - 1))));
    }
  }

  TEST_CASE("with gradients or tangents nn computes them, as in f64") {
    Draw draw(12);
    for (int round = 0; round < 6; ++round) {
      const Layer layer(draw);
      CAPTURE_LAYER(layer);
      const auto gradients = [&](Tensors in) {
        for (Tensor& operand : in) {
          if (operand.defined()) operand = operand.detach().clone().requires_grad_();
        }
        Tensors leaves;
        for (const Tensor& operand : in) {
          if (operand.defined()) leaves.push_back(operand);
        }
        CHECK(!runs_in("dnnl", layer.op(), [&] { layer.call(in); }));
        Tensor sum;
        for (const Tensor& result : layer.call(in))
          sum = sum.defined() ? sum + (result * result).mean() : (result * result).mean();
        return tenon::gradients({sum}, leaves);
      };
      check_near(gradients(layer.operands), gradients(wide(layer.operands)), 2e-5);
      Tensors given, tangents;
      for (const Tensor& operand : layer.operands) {
        given.push_back(operand.defined() ? operand : tenon::zeros({layer.gates() * layer.width}));
        tangents.push_back(numbers(given.back().sizes(), f32, 5));
      }
      const auto output = [&](const Tensors& in) { return layer.call(in)[0]; };
      check_near({tangent(output, given, tangents)}, {tangent(output, wide(given), wide(tangents))},
                 2e-4);
    }
  }

  TEST_CASE("what oneDNN is slow at, or cannot do, is declined with a reason") {
    const auto reason = [](const Tensor& x, int64_t width,
                           const std::function<Tensor(Tensor)>& as) {
      const int64_t batch = x.size(1), features = x.size(2);
      const Tensor h = as(numbers({batch, width})), w = as(numbers({3 * width, features})),
                   v = as(numbers({3 * width, width}));
      return traced("nn.functional.gru", [&] {
        Op("nn.functional.gru").call<std::tuple<Tensor, Tensor>>(as(x), h, w, v);
      });
    };
    const auto same = [](const Tensor& t) { return t; };
    const std::string by_dnnl = "kernel nn.functional.gru (plugin dnnl)\n",
                      by_nn = " (plugin dnnl)\n";
    const Tensor x = numbers({20, 8, 32});
    CHECK(reason(x, 64, same) == by_dnnl);
    CHECK(reason(x, 64, [](const Tensor& t) { return t.to(f64); }) ==
          "declined: a dtype other than f32" + by_nn);
    CHECK(reason(x, 64, [](const Tensor& t) { return t.to(tenon::bf16); }) ==
          "declined: a dtype other than f32" + by_nn);
    const auto leaf = [](const Tensor& t) { return t.detach().requires_grad_(); };
    CHECK(reason(x, 64, leaf) == "declined: a gradient is needed" + by_nn);
    {
      const tenon::NoGrad no_grad;
      CHECK(reason(x, 64, leaf) == by_dnnl);
    }
    CHECK(reason(numbers({100, 1, 32}), 64, same) == "declined: one sample" + by_nn);
    CHECK(reason(numbers({4, 2, 16}), 16, same) ==
          "declined: fewer than 131,072 multiplications" + by_nn);
    CHECK(reason(numbers({4, 0, 16}), 16, same) == "declined: nothing to compute" + by_nn);
    CHECK(reason(x, 40, same) ==
          "declined: fewer than 64 hidden features, and not a multiple of 16" + by_nn);
    CHECK(reason(x, 48, same) == by_dnnl);
  }

  TEST_CASE("modules of several layers and both directions agree with f64 ones") {
    const tenon::NoGrad no_grad;
    for (const std::string type : {"LSTM", "GRU"}) {
      for (const bool batch_first : {false, true}) {
        CAPTURE(type);
        CAPTURE(batch_first);
        Module module = Module::create(type, arg("input_size") = 24, arg("hidden_size") = 32,
                                       arg("num_layers") = 2, arg("bidirectional") = true,
                                       arg("batch_first") = batch_first);
        const Tensor x = numbers({18, 20, 24});
        const auto call = [&](const Tensor& input) {
          if (type == "LSTM") {
            const auto [a, b, c] = module.call<std::tuple<Tensor, Tensor, Tensor>>(input);
            return Tensors{a, b, c};
          }
          const auto [a, b] = module.call<std::tuple<Tensor, Tensor>>(input);
          return Tensors{a, b};
        };
        const std::string op = type == "LSTM" ? "nn.functional.lstm" : "nn.functional.gru";
        Tensors found;
        CHECK(runs_in("dnnl", op, [&] { found = call(x); }));
        module.to(f64);
        check_near(found, call(x.to(f64)), 2e-5);
      }
    }
  }

  // Packed weights are kept while they do not change.
  TEST_CASE("changed weights never give an old result") {
    const tenon::NoGrad no_grad;
    Draw draw(13);
    Layer layer(draw);
    const size_t first = layer.is_lstm ? 3 : 2;
    for (int round = 0; round < 60; ++round) {
      CAPTURE(round);
      const size_t which = first + static_cast<size_t>(draw.below(2));
      Tensor& weight = layer.operands[which];
      switch (draw.below(4)) {
        case 0:
          weight.mul_(-0.9);
          break;
        case 1:
          weight.select(0, 3).add_(0.25);
          break;
        case 2:
          weight = weight.clone();
          break;
        default:
          break;
      }
      Tensors copies;
      for (const Tensor& operand : layer.operands)
        copies.push_back(operand.defined() ? operand.clone() : operand);
      CHECK((all_bits(layer.call(layer.operands)) == all_bits(layer.call(copies))));
    }
  }

  TEST_CASE("one, two and three threads give the same bits") {
    const tenon::NoGrad no_grad;
    const int32_t threads = tenon::thread_count();
    Draw draw(14);
    for (int round = 0; round < 20; ++round) {
      const Layer layer(draw);
      CAPTURE_LAYER(layer);
      std::string expected;
      for (const int32_t count : {1, 2, 3}) {
        tenon::set_thread_count(count);
        const std::string found = all_bits(layer.call(layer.operands));
        if (count == 1) expected = found;
        CHECK((found == expected));
      }
    }
    tenon::set_thread_count(threads);
  }

  // Weights that change in each step are packed and forgotten; plans depend on no length of a sequence
  // beyond the steps that are computed at once.
  TEST_CASE("training between evaluations, of sequences of any length, does not grow the process") {
    Module module = Module::create("LSTM", arg("input_size") = 16, arg("hidden_size") = 32);
    const auto rounds = [&](int count) {
      for (int i = 0; i < count; ++i) {
        const Tensor x = numbers({20 + i % 50, 8, 16});
        std::get<0>(module.call<std::tuple<Tensor, Tensor, Tensor>>(x)).mean().backward();
        const tenon::NoGrad no_grad;
        for (const Tensor& parameter : module.parameters()) {
          parameter.sub_(parameter.grad(), 0.01);
          Tensor(parameter).set_grad({});
        }
        module.call<std::tuple<Tensor, Tensor, Tensor>>(x);
      }
    };
    rounds(200);
    const int64_t before = resident_kib();
    rounds(600);
    if (kCanMeasureMemory) CHECK(resident_kib() <= before + 512);
  }
}
