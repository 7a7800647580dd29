// lstm and gru: a layer over a whole sequence, of ops for each step. One op, so that a plugin which
// computes a sequence at once can provide it.
#include "shared_ops/recurrent.hpp"

#include "recurrence.hpp"

namespace {

using namespace nn;

struct Lstm : LstmDeclaration {
  static constexpr auto samples =
      R"([{"input": {"shape": [3, 2, 3]}, "hidden": {"shape": [2, 2]}, "cell": {"shape": [2, 2]},
           "weight_ih": {"shape": [8, 3]}, "weight_hh": {"shape": [8, 2]}, "bias_ih": {"shape": [8]}, "bias_hh": {"shape": [8]}},
          {"input": {"shape": [2, 1, 1]}, "hidden": {"shape": [1, 2]}, "cell": {"shape": [1, 2]},
           "weight_ih": {"shape": [8, 1]}, "weight_hh": {"shape": [8, 2]}, "reverse": true}])";
  static constexpr bool composite = true;

  static std::tuple<Tensor, Tensor, Tensor> forward(const Tensor& input, const Tensor& hidden,
                                                    const Tensor& cell, const Tensor& weight_ih,
                                                    const Tensor& weight_hh, const Tensor& bias_ih,
                                                    const Tensor& bias_hh, bool reverse) {
    Recurrence{input, hidden, cell, weight_ih, weight_hh, bias_ih, bias_hh, reverse}.check(name,
                                                                                           gates);
    State state{hidden, cell};
    Tensor output = lstm_scan(input, {weight_ih, weight_hh, bias_ih, bias_hh}, reverse, state);
    return {std::move(output), std::move(state.hidden), std::move(state.cell)};
  }
};

struct Gru : GruDeclaration {
  static constexpr auto samples =
      R"([{"input": {"shape": [3, 2, 3]}, "hidden": {"shape": [2, 2]},
           "weight_ih": {"shape": [6, 3]}, "weight_hh": {"shape": [6, 2]}, "bias_ih": {"shape": [6]}, "bias_hh": {"shape": [6]}},
          {"input": {"shape": [2, 1, 1]}, "hidden": {"shape": [1, 2]},
           "weight_ih": {"shape": [6, 1]}, "weight_hh": {"shape": [6, 2]}, "reverse": true}])";
  static constexpr bool composite = true;

  static std::tuple<Tensor, Tensor> forward(const Tensor& input, const Tensor& hidden,
                                            const Tensor& weight_ih, const Tensor& weight_hh,
                                            const Tensor& bias_ih, const Tensor& bias_hh,
                                            bool reverse) {
    Recurrence{input, hidden, Tensor(), weight_ih, weight_hh, bias_ih, bias_hh, reverse}.check(
        name, gates);
    State state{hidden, {}};
    Tensor output = gru_scan(input, {weight_ih, weight_hh, bias_ih, bias_hh}, reverse, state);
    return {std::move(output), std::move(state.hidden)};
  }
};

}  // namespace
TENON_OPS(Lstm, Gru)
