// Recurrent layers with ONNX's order of gates.
#include "gates.hpp"

namespace {

using namespace onnx;

using Texts = std::vector<std::string_view>;

// Steps up to which the gates of each are put in the order of nn: copying the weights takes longer.
constexpr int64_t kFewSteps = 8;
bool has_few_steps(const RecurrentInputs& inputs) { return inputs.x.size(0) <= kFewSteps; }

// Blocks in another order, one for each gate: rows of a weight, columns of gates.
Tensor reordered(const Tensor& whole, const std::vector<int64_t>& order, int64_t dim = 0) {
  if (!whole.defined()) return whole;
  const int64_t hidden = whole.shape()[dim] / static_cast<int64_t>(order.size());
  std::vector<Tensor> blocks;
  blocks.reserve(order.size());
  for (const int64_t gate : order)
    blocks.push_back(tenon::narrow(whole, dim, gate * hidden, hidden));
  return tenon::cat(blocks, dim);
}

void check_hidden_size(const std::optional<int64_t>& hidden_size, const Tensor& r) {
  if (!hidden_size || *hidden_size == r.size(-1)) return;
  throw tenon::ValueError("hidden_size is " + std::to_string(*hidden_size) +
                          ", and the recurrent weight is for " + std::to_string(r.size(-1)));
}

struct Lstm {
  static constexpr auto schema =
      "onnx.lstm(Tensor X, Tensor W, Tensor R, Tensor? B=None, Tensor? sequence_lens=None, Tensor? "
      "initial_h=None, Tensor? initial_c=None, Tensor? P=None, *, float[] activation_alpha=[], "
      "float[] activation_beta=[], str[] activations=[], float clip=0.0, str direction='forward', "
      "bool input_forget=False, int layout=0, int? hidden_size=None) -> (Tensor Y, Tensor Y_h, "
      "Tensor Y_c)";
  static constexpr auto samples =
      R"([{"X": {"shape": [3, 2, 4]}, "W": {"shape": [1, 12, 4]}, "R": {"shape": [1, 12, 3]}},
          {"X": {"shape": [2, 2, 3]}, "W": {"shape": [1, 8, 3]}, "R": {"shape": [1, 8, 2]}, "P": {"shape": [1, 6]}, "clip": 1.5}])";
  static constexpr auto doc =
      "An LSTM layer whose gates are in the order i, o, f, c; P are the peepholes of i, o, f.";
  static constexpr bool composite = true;
  static std::tuple<Tensor, Tensor, Tensor> forward(
      const Tensor& x, const Tensor& w, const Tensor& r, const Tensor& b, const Tensor& lengths,
      const Tensor& initial_h, const Tensor& initial_c, const Tensor& p, FloatList alphas,
      FloatList betas, const Texts& activations, double clip, std::string_view direction,
      bool input_forget, int64_t layout, std::optional<int64_t> hidden_size) {
    check_hidden_size(hidden_size, r);
    RecurrentInputs inputs =
        in_usual_layout({x, w, r, b, lengths, initial_h, initial_c, p}, layout);
    const RecurrentAttributes attributes{activations, alphas, betas, clip, direction, layout};
    const Texts usual{"Sigmoid", "Tanh", "Tanh"};
    const bool joined = !input_forget && is_usual(inputs, attributes, usual);
    if (joined && !has_few_steps(inputs)) {
      const RecurrentResults results = in_layout(fused(inputs, attributes), layout);
      return {results.outputs, results.hidden, results.cell};
    }
    if (joined) inputs.lengths = Tensor();  // all are of all steps
    if (!inputs.cell.defined())
      inputs.cell = tenon::zeros({w.size(0), inputs.x.size(1), r.size(2)}, x.dtype());
    const auto step = [&](const Direction& one, const Tensor& gates, const Tensor& hidden,
                          const Tensor& cell) {
      return joined ? joined_step(one, gates, hidden, cell)
                    : steps(one, gates, hidden, cell, input_forget);
    };
    const RecurrentResults results = in_layout(run_steps(inputs, attributes, usual, step), layout);
    return {results.outputs, results.hidden, results.cell};
  }

 private:
  // The order of the ops of nn: i, f, c, o.
  static std::vector<int64_t> order_of_nn() { return {0, 2, 3, 1}; }

  static std::pair<Tensor, Tensor> joined_step(const Direction& one, const Tensor& gates,
                                               const Tensor& hidden, const Tensor& cell) {
    const Tensor recurrent = functional::linear(hidden, one.r, one.recurrent_bias);
    const std::vector<int64_t> order = order_of_nn();
    auto [next, next_cell] =
        functional::lstm_step(reordered(gates, order, 1), reordered(recurrent, order, 1), cell);
    return {next, next_cell};
  }
  static RecurrentResults fused(const RecurrentInputs& inputs,
                                const RecurrentAttributes& attributes) {
    const std::vector<int64_t> order = order_of_nn();
    std::vector<Tensor> outputs, hiddens, cells;
    const int64_t count = direction_count(attributes.direction, inputs.w);
    for (int64_t d = 0; d < count; ++d) {
      auto [output, hidden, cell] = functional::lstm(
          inputs.x, state_of(inputs.hidden, d, inputs), state_of(inputs.cell, d, inputs),
          reordered(tenon::select(inputs.w, 0, d), order),
          reordered(tenon::select(inputs.r, 0, d), order),
          reordered(bias_of(inputs.b, d, 0), order), reordered(bias_of(inputs.b, d, 1), order),
          d == 1 || attributes.direction == "reverse");
      outputs.push_back(output);
      hiddens.push_back(hidden);
      cells.push_back(cell);
    }
    return {tenon::stack(outputs, 1), tenon::stack(hiddens), tenon::stack(cells)};
  }

  static std::pair<Tensor, Tensor> steps(const Direction& one, const Tensor& gates,
                                         const Tensor& hidden, const Tensor& cell,
                                         bool input_forget) {
    const Tensor whole = gates + functional::linear(hidden, one.r, one.recurrent_bias);
    const int64_t size = hidden.shape()[1];
    const auto gate = [&](int64_t i) { return tenon::narrow(whole, 1, i * size, size); };
    const auto peep = [&](int64_t i, const Tensor& state) {
      if (!one.peephole.defined()) return gate(i);
      return gate(i) + tenon::narrow(one.peephole, 0, i * size, size) * state;
    };
    const auto& [f, g, h] = std::tie(one.activations[0], one.activations[1], one.activations[2]);
    const Tensor input = f(one.bounded(peep(0, cell)));
    const Tensor forget = input_forget ? 1 - input : f(one.bounded(peep(2, cell)));
    const Tensor next = forget * cell + input * g(one.bounded(gate(3)));
    const Tensor output = f(one.bounded(peep(1, next)));
    return {output * h(next), next};
  }
};

struct Gru {
  static constexpr auto schema =
      "onnx.gru(Tensor X, Tensor W, Tensor R, Tensor? B=None, Tensor? sequence_lens=None, Tensor? "
      "initial_h=None, *, float[] activation_alpha=[], float[] activation_beta=[], str[] "
      "activations=[], float clip=0.0, str direction='forward', int layout=0, bool "
      "linear_before_reset=False, int? hidden_size=None) -> (Tensor Y, Tensor Y_h)";
  static constexpr auto samples =
      R"([{"X": {"shape": [3, 2, 4]}, "W": {"shape": [1, 9, 4]}, "R": {"shape": [1, 9, 3]}},
          {"X": {"shape": [2, 2, 3]}, "W": {"shape": [1, 6, 3]}, "R": {"shape": [1, 6, 2]}, "linear_before_reset": true}])";
  static constexpr auto doc = "A GRU layer whose gates are in the order z, r, h.";
  static constexpr bool composite = true;
  static std::tuple<Tensor, Tensor> forward(const Tensor& x, const Tensor& w, const Tensor& r,
                                            const Tensor& b, const Tensor& lengths,
                                            const Tensor& initial_h, FloatList alphas,
                                            FloatList betas, const Texts& activations, double clip,
                                            std::string_view direction, int64_t layout,
                                            bool linear_before_reset,
                                            std::optional<int64_t> hidden_size) {
    check_hidden_size(hidden_size, r);
    RecurrentInputs inputs =
        in_usual_layout({x, w, r, b, lengths, initial_h, Tensor(), Tensor()}, layout);
    const RecurrentAttributes attributes{activations, alphas, betas, clip, direction, layout};
    const Texts usual{"Sigmoid", "Tanh"};
    const bool joined = linear_before_reset && is_usual(inputs, attributes, usual);
    if (joined && !has_few_steps(inputs)) {
      const RecurrentResults results = in_layout(fused(inputs, attributes), layout);
      return {results.outputs, results.hidden};
    }
    if (joined) inputs.lengths = Tensor();  // all are of all steps
    const auto step = [&](const Direction& one, const Tensor& gates, const Tensor& hidden,
                          const Tensor&) {
      return std::pair(
          joined ? joined_step(one, gates, hidden) : steps(one, gates, hidden, linear_before_reset),
          Tensor());
    };
    const RecurrentResults results = in_layout(run_steps(inputs, attributes, usual, step), layout);
    return {results.outputs, results.hidden};
  }

 private:
  // The order of the ops of nn: r, z, h.
  static std::vector<int64_t> order_of_nn() { return {1, 0, 2}; }

  static Tensor joined_step(const Direction& one, const Tensor& gates, const Tensor& hidden) {
    static const tenon::Op step("nn.functional.gru_step");
    const Tensor recurrent = functional::linear(hidden, one.r, one.recurrent_bias);
    const std::vector<int64_t> order = order_of_nn();
    return step.call<Tensor>(reordered(gates, order, 1), reordered(recurrent, order, 1), hidden);
  }
  static RecurrentResults fused(const RecurrentInputs& inputs,
                                const RecurrentAttributes& attributes) {
    const std::vector<int64_t> order = order_of_nn();
    std::vector<Tensor> outputs, hiddens;
    const int64_t count = direction_count(attributes.direction, inputs.w);
    for (int64_t d = 0; d < count; ++d) {
      auto [output, hidden] = functional::gru(inputs.x, state_of(inputs.hidden, d, inputs),
                                              reordered(tenon::select(inputs.w, 0, d), order),
                                              reordered(tenon::select(inputs.r, 0, d), order),
                                              reordered(bias_of(inputs.b, d, 0), order),
                                              reordered(bias_of(inputs.b, d, 1), order),
                                              d == 1 || attributes.direction == "reverse");
      outputs.push_back(output);
      hiddens.push_back(hidden);
    }
    return {tenon::stack(outputs, 1), tenon::stack(hiddens), Tensor()};
  }

  static Tensor steps(const Direction& one, const Tensor& gates, const Tensor& hidden,
                      bool linear_before_reset) {
    const int64_t size = hidden.shape()[1];
    const auto part = [&](const Tensor& whole, int64_t dim, int64_t i, int64_t count) {
      return whole.defined() ? tenon::narrow(whole, dim, i * size, count * size) : whole;
    };
    const Tensor first =
        part(gates, 1, 0, 2) +
        functional::linear(hidden, part(one.r, 0, 0, 2), part(one.recurrent_bias, 0, 0, 2));
    const auto& [f, g] = std::tie(one.activations[0], one.activations[1]);
    const Tensor update = f(one.bounded(part(first, 1, 0, 1)));
    const Tensor reset = f(one.bounded(part(first, 1, 1, 1)));
    const Tensor weight = part(one.r, 0, 2, 1), bias = part(one.recurrent_bias, 0, 2, 1);
    const Tensor recurrent = linear_before_reset ? reset * functional::linear(hidden, weight, bias)
                                                 : functional::linear(reset * hidden, weight, bias);
    const Tensor candidate = g(one.bounded(part(gates, 1, 2, 1) + recurrent));
    return (1 - update) * candidate + update * hidden;
  }
};

struct Rnn {
  static constexpr auto schema =
      "onnx.rnn(Tensor X, Tensor W, Tensor R, Tensor? B=None, Tensor? sequence_lens=None, Tensor? "
      "initial_h=None, *, float[] activation_alpha=[], float[] activation_beta=[], str[] "
      "activations=[], float clip=0.0, str direction='forward', int layout=0, int? "
      "hidden_size=None) -> "
      "(Tensor Y, Tensor Y_h)";
  static constexpr auto samples =
      R"([{"X": {"shape": [3, 2, 4]}, "W": {"shape": [1, 3, 4]}, "R": {"shape": [1, 3, 3]}}])";
  static constexpr auto doc = "A recurrent layer of one activation, tanh unless another is named.";
  static constexpr bool composite = true;
  static std::tuple<Tensor, Tensor> forward(const Tensor& x, const Tensor& w, const Tensor& r,
                                            const Tensor& b, const Tensor& lengths,
                                            const Tensor& initial_h, FloatList alphas,
                                            FloatList betas, const Texts& activations, double clip,
                                            std::string_view direction, int64_t layout,
                                            std::optional<int64_t> hidden_size) {
    check_hidden_size(hidden_size, r);
    const RecurrentInputs inputs =
        in_usual_layout({x, w, r, b, lengths, initial_h, Tensor(), Tensor()}, layout);
    const RecurrentAttributes attributes{activations, alphas, betas, clip, direction, layout};
    const auto step = [](const Direction& one, const Tensor& gates, const Tensor& hidden,
                         const Tensor&) {
      const Tensor whole = gates + functional::linear(hidden, one.r, one.recurrent_bias);
      return std::pair(one.activations[0](one.bounded(whole)), Tensor());
    };
    const RecurrentResults results =
        in_layout(run_steps(inputs, attributes, {"Tanh"}, step), layout);
    return {results.outputs, results.hidden};
  }
};

}  // namespace
TENON_OP(Lstm)
TENON_OP(Gru)
TENON_OP(Rnn)
