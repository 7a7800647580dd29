// RNN, LSTM and GRU, of several layers and directions. Equations, parameter names and shapes are
// PyTorch's (torch.nn.LSTM), so that its state files load.
#include <deque>

#include "modules/initialize.hpp"
#include "recurrence.hpp"

namespace {

using namespace nn;
using tenon::detail::Parameter;

// Whether an operand is of a tensor type, which may handle the ops of a step and not a layer's.
bool any_typed(std::initializer_list<const Tensor*> operands) {
  for (const Tensor* operand : operands) {
    if (operand->defined() && (operand->view_record().flags & TENON_TENSOR_TYPED) != 0) return true;
  }
  return false;
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
        outputs.push_back(self.layer(steps, cell_at(index), direction == 1, state));
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
  CellWeights cell_at(int64_t index) const {
    const bool bias = static_cast<const Definition&>(*this)["bias"_arg];
    static const Tensor none;
    const auto first = static_cast<size_t>(index * (bias ? 4 : 2));
    return {parameters[first], parameters[first + 1], bias ? parameters[first + 2] : none,
            bias ? parameters[first + 3] : none};
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
};

#define NN_RECURRENT_ATTRIBUTES                                                                 \
  "int input_size, int hidden_size, int num_layers=1, bool bias=True, bool batch_first=False, " \
  "float dropout=0, bool bidirectional=False"

struct RNN : Recurrent<RNN> {
  static constexpr auto name = "RNN";
  static constexpr int64_t gates = 1;
  static constexpr bool has_cell = false;
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
  // All steps of one layer in one direction; `state` becomes the last one.
  Tensor layer(const Tensor& steps, const CellWeights& cell, bool reverse, State& state) const {
    const bool relu = (*this)["nonlinearity"_arg] == "relu";
    return scan(steps, cell, true, reverse, state,
                [&](const Tensor& own, const Tensor& before, const State&) {
                  const Tensor sum = own + before;
                  return State{relu ? sum.relu() : sum.tanh(), {}};
                });
  }
};

struct LSTM : Recurrent<LSTM> {
  static constexpr auto name = "LSTM";
  static constexpr int64_t gates = 4;
  static constexpr bool has_cell = true;
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
  static Tensor layer(const Tensor& steps, const CellWeights& w, bool reverse, State& state) {
    static const tenon::Op lstm("nn.functional.lstm");
    if (any_typed({&steps, &state.hidden, &state.cell, &w.input_weight, &w.hidden_weight,
                   &w.input_bias, &w.hidden_bias})) {
      return lstm_scan(steps, w, reverse, state);
    }
    auto [output, hidden, cell] = lstm.call<std::tuple<Tensor, Tensor, Tensor>>(
        steps, state.hidden, state.cell, w.input_weight, w.hidden_weight, w.input_bias,
        w.hidden_bias, reverse);
    state = {std::move(hidden), std::move(cell)};
    return output;
  }
};

struct GRU : Recurrent<GRU> {
  static constexpr auto name = "GRU";
  static constexpr int64_t gates = 3;
  static constexpr bool has_cell = false;
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
  static Tensor layer(const Tensor& steps, const CellWeights& w, bool reverse, State& state) {
    static const tenon::Op gru("nn.functional.gru");
    if (any_typed({&steps, &state.hidden, &w.input_weight, &w.hidden_weight, &w.input_bias,
                   &w.hidden_bias})) {
      return gru_scan(steps, w, reverse, state);
    }
    auto [output, hidden] = gru.call<std::tuple<Tensor, Tensor>>(
        steps, state.hidden, w.input_weight, w.hidden_weight, w.input_bias, w.hidden_bias, reverse);
    state = {std::move(hidden), {}};
    return output;
  }
};

}  // namespace
TENON_MODULE(RNN)
TENON_MODULE(LSTM)
TENON_MODULE(GRU)
