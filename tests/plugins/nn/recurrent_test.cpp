// lstm and gru, layers over a sequence: their steps, refusals, and what a trace of a module has.
#include <tenon/trace.hpp>

#include "../compare.hpp"

using namespace compare;
using tenon::arg;
using tenon::Module;
using Three = std::tuple<Tensor, Tensor, Tensor>;
namespace functional = tenon::nn::functional;

namespace {

struct Operands {
  Tensor input, hidden, cell, weight_ih, weight_hh, bias_ih, bias_hh;
  explicit Operands(int64_t gates, int64_t steps = 3)
      : input(numbers({steps, 2, 3})),
        hidden(numbers({2, 4}, tenon::f32, 2)),
        cell(numbers({2, 4}, tenon::f32, 3)),
        weight_ih(numbers({gates * 4, 3}, tenon::f32, 4)),
        weight_hh(numbers({gates * 4, 4}, tenon::f32, 5)),
        bias_ih(numbers({gates * 4}, tenon::f32, 6)),
        bias_hh(numbers({gates * 4}, tenon::f32, 7)) {}
};

}  // namespace

TEST_SUITE("nn/recurrent") {
  TEST_CASE("lstm and gru are their steps, forwards and in reverse") {
    for (const bool reverse : {false, true}) {
      CAPTURE(reverse);
      const Operands l(4);
      const auto [output, hidden, cell] = functional::lstm(
          l.input, l.hidden, l.cell, l.weight_ih, l.weight_hh, l.bias_ih, tenon::none, reverse);
      Tensor h = l.hidden, c = l.cell;
      for (int64_t i = 0; i < 3; ++i) {
        const int64_t t = reverse ? 2 - i : i;
        std::tie(h, c) =
            functional::lstm_step(functional::linear(l.input.select(0, t), l.weight_ih, l.bias_ih),
                                  functional::linear(h, l.weight_hh), c);
        check_close(output.select(0, t), h, 1e-6);
      }
      check_close(hidden, h, 1e-6);
      check_close(cell, c, 1e-6);

      const Operands g(3);
      const auto [states, last] = functional::gru(g.input, g.hidden, g.weight_ih, g.weight_hh,
                                                  tenon::none, g.bias_hh, reverse);
      h = g.hidden;
      for (int64_t i = 0; i < 3; ++i) {
        const int64_t t = reverse ? 2 - i : i;
        h = functional::gru_step(functional::linear(g.input.select(0, t), g.weight_ih),
                                 functional::linear(h, g.weight_hh, g.bias_hh), h);
        check_close(states.select(0, t), h, 1e-6);
      }
      check_close(last, h, 1e-6);
    }
  }

  TEST_CASE("arguments that do not fit are refused by name") {
    const Operands l(4);
    const auto refused = [&](const std::function<void(Operands&)>& change) {
      Operands o = l;
      change(o);
      return refusal([&] {
        functional::lstm(o.input, o.hidden, o.cell, o.weight_ih, o.weight_hh, o.bias_ih, o.bias_hh);
      });
    };
    CHECK(refused([](Operands& o) {
            o.input = numbers({0, 2, 3});
          }).find("at least one step") != std::string::npos);
    CHECK(refused([](Operands& o) {
            o.input = numbers({2, 3});
          }).find("'input' must have shape [time, batch, features]") != std::string::npos);
    CHECK(refused([](Operands& o) {
            o.weight_hh = numbers({12, 4});
          }).find("'weight_hh' must have shape [4 n, n], got shape [12, 4]") != std::string::npos);
    CHECK(refused([](Operands& o) {
            o.weight_ih = numbers({16, 2});
          }).find("'weight_ih'") != std::string::npos);
    CHECK(refused([](Operands& o) {
            o.hidden = numbers({3, 4});
          }).find("'hidden'") != std::string::npos);
    CHECK(refused([](Operands& o) {
            o.cell = numbers({2, 5});
          }).find("'cell'") != std::string::npos);
    CHECK(refused([](Operands& o) { o.bias_hh = numbers({8}); }).find("'bias_hh'") !=
          std::string::npos);
    CHECK_THROWS_AS(
        functional::lstm(l.input, l.hidden, l.cell, l.weight_ih.to(tenon::f64), l.weight_hh),
        tenon::TypeError);
  }

  TEST_CASE("a module's layer is one op, recorded through the ops of its steps") {
    const Module module = Module::create("LSTM", arg("input_size") = 3, arg("hidden_size") = 4);
    tenon::TraceScope trace;
    const Tensor output = std::get<0>(module.call<Three>(numbers({2, 2, 3})));
    std::string lines;
    for (const std::string& line : trace.lines()) lines += line + "\n";
    CHECK(lines.find("composite nn.functional.lstm (plugin nn)") != std::string::npos);
    if (!runs_on_device())
      CHECK(lines.find("kernel nn.functional.lstm_step (plugin nn)") != std::string::npos);
    CHECK(output.requires_grad());
  }
}
