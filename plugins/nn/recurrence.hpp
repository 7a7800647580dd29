// A recurrent layer over a sequence in one direction, of ops: what lstm, gru and the module RNN do.
#pragma once

#include <utility>
#include <vector>

#include "common.hpp"

namespace nn {

// The result of a step: the new hidden state and, of an LSTM, the new cell state.
struct State {
  Tensor hidden, cell;
};
struct CellWeights {
  const Tensor &input_weight, &hidden_weight, &input_bias, &hidden_bias;
};

// The hidden state after each step of `steps` [time, batch, features]; `state` becomes the last one.
// `step(gates, hidden_gates, state)` gives the next state of the input's share and the hidden state's,
// which it only adds where `adds_shares`.
template <class Step>
Tensor scan(const Tensor& steps, const CellWeights& cell, bool adds_shares, bool reverse,
            State& state, const Step& step) {
  // The input's share of all steps is one product. With it comes the bias of the hidden state's, where
  // both are only added.
  const bool joins = adds_shares && cell.input_bias.defined() && cell.hidden_bias.defined();
  const Tensor input_bias = joins ? cell.input_bias + cell.hidden_bias : cell.input_bias,
               hidden_bias = joins ? Tensor() : cell.hidden_bias;
  const std::vector<Tensor> gates =
      tenon::unbind(tenon::nn::functional::linear(steps, cell.input_weight, input_bias), 0);
  // Stored by columns, as a product with few rows reads it: otherwise every step would transpose it.
  // A product with one row reads rows, and so does backward.
  const Tensor& rows = cell.hidden_weight;
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
    state = step(gates[t], hidden_gates, state);
    outputs[t] = state.hidden;
  }
  return tenon::stack(outputs, 0);
}

inline Tensor lstm_scan(const Tensor& steps, const CellWeights& cell, bool reverse, State& state) {
  return scan(steps, cell, true, reverse, state,
              [](const Tensor& gates, const Tensor& hidden_gates, const State& before) {
                auto [hidden, next] =
                    tenon::nn::functional::lstm_step(gates, hidden_gates, before.cell);
                return State{std::move(hidden), std::move(next)};
              });
}
// The reset gate multiplies a part of the hidden state's share.
inline Tensor gru_scan(const Tensor& steps, const CellWeights& cell, bool reverse, State& state) {
  static const tenon::Op gru_step("nn.functional.gru_step");
  return scan(steps, cell, false, reverse, state,
              [](const Tensor& gates, const Tensor& hidden_gates, const State& before) {
                return State{gru_step.call<Tensor>(gates, hidden_gates, before.hidden), {}};
              });
}

}  // namespace nn
