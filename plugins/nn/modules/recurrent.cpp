// RNN, LSTM and GRU, of several layers and directions. Equations, parameter names and shapes are
// PyTorch's (torch.nn.LSTM), so that its state files load.
#include <deque>

#include "modules/initialize.hpp"

namespace {

using namespace nn;
using tenon::detail::Parameter;

// One layer in one direction.
struct Cell {
  const Tensor *input_weight, *hidden_weight, *input_bias, *hidden_bias;
};

// What a step gives: the new hidden state and, of an LSTM, the new cell state.
struct State {
  Tensor hidden, cell;
};

// `gates` is the input's share, [batch, gates * hidden]; `hidden_gates` that of the hidden state.
State rnn_step(const Tensor& gates, const Tensor& hidden_gates, bool relu) {
  const Tensor sum = gates + hidden_gates;
  return {relu ? sum.relu() : sum.tanh(), {}};
}
State lstm_step(const Tensor& gates, const Tensor& hidden_gates, const State& state) {
  auto [hidden, cell] = tenon::nn::functional::lstm_step(gates, hidden_gates, state.cell);
  return {std::move(hidden), std::move(cell)};
}
State gru_step(const Tensor& gates, const Tensor& hidden_gates, const State& state) {
  static const tenon::Op step("nn.functional.gru_step");
  return {step.call<Tensor>(gates, hidden_gates, state.hidden), {}};
}

template <class Definition>
struct Recurrent : ModuleOf<Definition> {
  // weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0, then with _reverse, then those of layer 1.
  std::deque<Parameter> parameters;

  Recurrent(int64_t input_size, int64_t hidden_size, int64_t num_layers, bool bias, double dropout,
            bool bidirectional) {
    const char* name = Definition::name;
    check_size(name, "input_size", input_size, 1);
    check_size(name, "hidden_size", hidden_size, 1, most_features);
    check_size(name, "num_layers", num_layers, 1, most_layers);
    if (!(dropout >= 0 && dropout <= 1)) {
      throw tenon::ValueError(std::string(name) +
                              ": dropout must be a probability, between 0 and 1, got " +
                              std::to_string(dropout));
    }
    const int64_t directions = bidirectional ? 2 : 1, rows = Definition::gates * hidden_size;
    for (int64_t layer = 0; layer < num_layers; ++layer) {
      for (int64_t direction = 0; direction < directions; ++direction) {
        const std::string suffix =
            "_l" + std::to_string(layer) + (direction == 1 ? "_reverse" : "");
        const int64_t width = layer == 0 ? input_size : hidden_size * directions;
        add("weight_ih" + suffix, tenon::empty_tensor({rows, width}), hidden_size);
        add("weight_hh" + suffix, tenon::empty_tensor({rows, hidden_size}), hidden_size);
        if (!bias) continue;
        add("bias_ih" + suffix, tenon::empty_tensor({rows}), hidden_size);
        add("bias_hh" + suffix, tenon::empty_tensor({rows}), hidden_size);
      }
    }
  }

 protected:
  // [batch, time, features] or [time, batch, features], or without the batch; the states are
  // [layers * directions, batch, hidden]. Returns the outputs and the last states of all layers.
  State run(const Tensor& given, const Tensor& hidden, const Tensor& cell, Tensor& output) const {
    const auto& self = static_cast<const Definition&>(*this);
    const bool batched = given.dim() == 3, batch_first = batched && self["batch_first"_arg];
    if (!batched && given.dim() != 2) {
      throw tenon::ValueError(std::string(Definition::name) +
                              ": expected an input of 2 or 3 dimensions, got " +
                              std::to_string(given.dim()));
    }
    const int64_t features = given.size(-1), expected = self["input_size"_arg];
    if (features != expected) {
      throw tenon::ValueError(std::string(Definition::name) + ": the last size of the input is " +
                              std::to_string(features) + ", but input_size is " +
                              std::to_string(expected));
    }
    Tensor steps = batched ? (batch_first ? given.transpose(0, 1) : given) : given.unsqueeze(1);
    const int64_t directions = self["bidirectional"_arg] ? 2 : 1, layers = self["num_layers"_arg];
    const int64_t batch = steps.size(1), width = self["hidden_size"_arg];
    const Tensor first_hidden = initial("hidden", hidden, given, layers * directions, batch, width);
    const Tensor first_cell = Definition::has_cell
                                  ? initial("cell", cell, given, layers * directions, batch, width)
                                  : Tensor();
    std::vector<Tensor> hiddens, cells;
    for (int64_t layer = 0; layer < layers; ++layer) {
      std::vector<Tensor> outputs;
      for (int64_t direction = 0; direction < directions; ++direction) {
        const int64_t index = layer * directions + direction;
        State state{first_hidden.select(0, index),
                    Definition::has_cell ? first_cell.select(0, index) : Tensor()};
        outputs.push_back(scan(steps, index, direction == 1, state));
        hiddens.push_back(state.hidden);
        cells.push_back(state.cell);
      }
      steps = directions == 1 ? outputs[0] : tenon::cat(outputs, 2);
      const double dropout = self["dropout"_arg];
      if (dropout > 0 && self.training() && layer + 1 < layers)
        steps = tenon::nn::functional::dropout(steps, dropout, true);
    }
    output = batched ? (batch_first ? steps.transpose(0, 1) : steps) : steps.squeeze(1);
    const auto joined = [&](const std::vector<Tensor>& states) {
      const Tensor all = tenon::stack(states, 0);
      return batched ? all : all.squeeze(1);
    };
    return {joined(hiddens), Definition::has_cell ? joined(cells) : Tensor()};
  }

 private:
  void add(const std::string& name, const Tensor& values, int64_t hidden_size) {
    parameters.emplace_back(*this, name);
    parameters.back() = uniform_parameter(values, hidden_size);
  }
  Cell cell_at(int64_t index) const {
    const bool bias = static_cast<const Definition&>(*this)["bias"_arg];
    static const Tensor none;
    const auto first = static_cast<size_t>(index * (bias ? 4 : 2));
    return {&parameters[first], &parameters[first + 1], bias ? &parameters[first + 2] : &none,
            bias ? &parameters[first + 3] : &none};
  }
  Tensor initial(const char* what, const Tensor& state, const Tensor& input, int64_t count,
                 int64_t batch, int64_t width) const {
    const std::vector<int64_t> shape{count, batch, width};
    if (!state.defined()) {
      const Tensor zeros = tenon::empty_tensor(list_of(shape), input.dtype());
      tenon::fill_elements(zeros, 0);
      return zeros;
    }
    const Tensor whole = state.dim() == 2 && input.dim() == 2 ? state.unsqueeze(1) : state;
    if (whole.sizes() == shape) return whole;
    throw tenon::ValueError(std::string(Definition::name) + ": expected " + what + " of shape " +
                            shape_text(list_of(shape)) + ", got " + shape_text(state));
  }
  // All steps of one layer in one direction; `state` becomes the last one.
  Tensor scan(const Tensor& steps, int64_t index, bool reverse, State& state) const {
    const auto& self = static_cast<const Definition&>(*this);
    const Cell cell = cell_at(index);
    // The input's share of all steps is one product. With it comes the bias of the hidden state's, where
    // both are only added.
    const bool joins =
        Definition::adds_shares && cell.input_bias->defined() && cell.hidden_bias->defined();
    const Tensor input_bias = joins ? *cell.input_bias + *cell.hidden_bias : *cell.input_bias,
                 hidden_bias = joins ? Tensor() : *cell.hidden_bias;
    const std::vector<Tensor> gates =
        tenon::unbind(tenon::nn::functional::linear(steps, *cell.input_weight, input_bias), 0);
    // Stored by columns, as a product with few rows reads it: otherwise every step would transpose it.
    // A product with one row reads rows, and so does backward.
    const Tensor& rows = *cell.hidden_weight;
    const bool recorded =
        tenon::GradMode::enabled() &&
        (rows.requires_grad() || gates.front().requires_grad() || state.hidden.requires_grad());
    const bool by_columns =
        !recorded && gates.size() > 1 && state.hidden.numel() > state.hidden.size(-1);
    const Tensor weight = by_columns ? rows.t().contiguous().t() : rows;
    std::vector<Tensor> outputs(gates.size());
    for (size_t i = 0; i < gates.size(); ++i) {
      const size_t t = reverse ? gates.size() - 1 - i : i;
      const Tensor hidden_gates = tenon::nn::functional::linear(state.hidden, weight, hidden_bias);
      state = self.step(gates[t], hidden_gates, state);
      outputs[t] = state.hidden;
    }
    return tenon::stack(outputs, 0);
  }
};

#define NN_RECURRENT_ATTRIBUTES                                                                 \
  "int input_size, int hidden_size, int num_layers=1, bool bias=True, bool batch_first=False, " \
  "float dropout=0, bool bidirectional=False"

struct RNN : Recurrent<RNN> {
  static constexpr auto name = "RNN";
  static constexpr int64_t gates = 1;
  static constexpr bool has_cell = false, adds_shares = true;
  static constexpr auto schema =
      "RNN(int input_size, int hidden_size, int num_layers=1, str nonlinearity='tanh', bool "
      "bias=True, bool batch_first=False, float dropout=0, bool bidirectional=False)";
  static constexpr auto forward_schema =
      "forward(Tensor input, Tensor? hidden=None) -> (Tensor output, Tensor hidden)";
  static constexpr auto samples = R"([{"input_size": 3, "hidden_size": 2}])";
  static constexpr auto doc =
      "h = tanh(W_ih x + b_ih + W_hh h + b_hh) at each step; input [time, batch, input_size].";

  RNN(int64_t input_size, int64_t hidden_size, int64_t num_layers, std::string_view nonlinearity,
      bool bias, bool, double dropout, bool bidirectional)
      : Recurrent(input_size, hidden_size, num_layers, bias, dropout, bidirectional) {
    if (nonlinearity != "tanh" && nonlinearity != "relu") {
      throw tenon::ValueError("RNN: nonlinearity must be 'tanh' or 'relu', got '" +
                              std::string(nonlinearity) + "'");
    }
  }
  std::tuple<Tensor, Tensor> forward(const Tensor& input, const Tensor& hidden) const {
    Tensor output;
    State last = run(input, hidden, {}, output);
    return {output, last.hidden};
  }
  State step(const Tensor& own, const Tensor& before, const State&) const {
    return rnn_step(own, before, (*this)["nonlinearity"_arg] == "relu");
  }
};

struct LSTM : Recurrent<LSTM> {
  static constexpr auto name = "LSTM";
  static constexpr int64_t gates = 4;
  static constexpr bool has_cell = true, adds_shares = true;
  static constexpr auto schema = "LSTM(" NN_RECURRENT_ATTRIBUTES ")";
  static constexpr auto forward_schema =
      "forward(Tensor input, Tensor? hidden=None, Tensor? cell=None) -> (Tensor output, Tensor "
      "hidden, Tensor cell)";
  static constexpr auto samples = R"([{"input_size": 3, "hidden_size": 2}])";
  static constexpr auto doc =
      "Long short-term memory (Hochreiter and Schmidhuber, 1997); gates in the order input, "
      "forget, "
      "cell, output; input [time, batch, input_size].";

  LSTM(int64_t input_size, int64_t hidden_size, int64_t num_layers, bool bias, bool, double dropout,
       bool bidirectional)
      : Recurrent(input_size, hidden_size, num_layers, bias, dropout, bidirectional) {}
  std::tuple<Tensor, Tensor, Tensor> forward(const Tensor& input, const Tensor& hidden,
                                             const Tensor& cell) const {
    Tensor output;
    State last = run(input, hidden, cell, output);
    return {output, last.hidden, last.cell};
  }
  State step(const Tensor& own, const Tensor& before, const State& state) const {
    return lstm_step(own, before, state);
  }
};

struct GRU : Recurrent<GRU> {
  static constexpr auto name = "GRU";
  static constexpr int64_t gates = 3;
  static constexpr bool has_cell = false, adds_shares = false;
  static constexpr auto schema = "GRU(" NN_RECURRENT_ATTRIBUTES ")";
  static constexpr auto forward_schema =
      "forward(Tensor input, Tensor? hidden=None) -> (Tensor output, Tensor hidden)";
  static constexpr auto samples = R"([{"input_size": 3, "hidden_size": 2}])";
  static constexpr auto doc =
      "Gated recurrent unit (Cho et al., 2014); gates in the order reset, update, new; input "
      "[time, "
      "batch, input_size].";

  GRU(int64_t input_size, int64_t hidden_size, int64_t num_layers, bool bias, bool, double dropout,
      bool bidirectional)
      : Recurrent(input_size, hidden_size, num_layers, bias, dropout, bidirectional) {}
  std::tuple<Tensor, Tensor> forward(const Tensor& input, const Tensor& hidden) const {
    Tensor output;
    State last = run(input, hidden, {}, output);
    return {output, last.hidden};
  }
  State step(const Tensor& own, const Tensor& before, const State& state) const {
    return gru_step(own, before, state);
  }
};

}  // namespace
TENON_MODULE(RNN)
TENON_MODULE(LSTM)
TENON_MODULE(GRU)
