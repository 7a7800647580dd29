// lstm_step: what an LSTM does with its gates at one time, in one pass instead of twelve ops.
#include <algorithm>

#include "lstm_gates.hpp"

namespace {

using namespace nn;

// The gradients of the sum of both gates and of the cell state, from those of the new states.
template <class T>
struct StepGradRows {
  TENON_INLINE static void run(const T* gates, const T* hidden_gates, const T* cells,
                               const T* for_hidden, const T* for_next, T* for_gates, T* for_cells,
                               int64_t rows, int64_t n) {
    LstmGates<T> g;
    for (int64_t r = 0; r < rows; ++r, gates += 4 * n, hidden_gates += 4 * n, for_gates += 4 * n) {
      for (int64_t from = 0; from < n; from += lstm_columns<T>) {
        const int64_t count = std::min(lstm_columns<T>, n - from), at = r * n + from;
        g.compute(gates + from, hidden_gates + from, cells + at, n, count);
        T* const to = for_gates + from;
        TENON_INDEPENDENT
        for (int64_t k = 0; k < count; ++k) {
          const T h = for_hidden[at + k], i = g.input[k], f = g.forget[k], u = g.fresh[k],
                  o = g.output[k], b = g.bent[k];
          const T c = for_next[at + k] + h * o * (T{1} - b * b);
          to[k] = c * u * i * (T{1} - i);
          to[n + k] = c * g.before[k] * f * (T{1} - f);
          to[2 * n + k] = c * i * (T{1} - u * u);
          to[3 * n + k] = h * b * o * (T{1} - o);
          for_cells[at + k] = c * f;
        }
      }
    }
  }
};

struct LstmStep {
  static constexpr auto schema =
      "nn.functional.lstm_step(Tensor gates, Tensor hidden_gates, Tensor cell) -> (Tensor hidden, "
      "Tensor next_cell)";
  static constexpr auto samples =
      R"([{"gates": {"shape": [2, 12]}, "hidden_gates": {"shape": [2, 12]}, "cell": {"shape": [2, 3]}}])";
  static constexpr auto doc =
      "One step of a long short-term memory: of i, f, g and o, the quarters of gates + "
      "hidden_gates "
      "[batch, 4 n], and of the cell state [batch, n], next_cell = sigmoid(f) cell + sigmoid(i) "
      "tanh(g) and hidden = sigmoid(o) tanh(next_cell).";
  static constexpr auto saves = "gates, hidden_gates, cell";

  static std::tuple<Tensor, Tensor> shape_rule(const Tensor& gates, const Tensor& hidden_gates,
                                               const Tensor& cell) {
    check_floating("lstm_step", "gates", gates);
    check_same_dtype("lstm_step", "gates", gates, "hidden_gates", hidden_gates);
    check_same_dtype("lstm_step", "gates", gates, "cell", cell);
    if (cell.dim() != 2 || gates.dim() != 2 || gates.size(0) != cell.size(0) ||
        gates.size(1) / 4 != cell.size(1) || gates.size(1) % 4 != 0 ||
        !kernel::same_shape(gates.shape(), hidden_gates.shape())) {
      throw tenon::ValueError(
          "lstm_step(): 'gates' and 'hidden_gates' must have shape [batch, 4 n] and 'cell' [batch, "
          "n], got shapes " +
          shape_text(gates) + ", " + shape_text(hidden_gates) + " and " + shape_text(cell));
    }
    return {tenon::empty_tensor(cell.shape(), cell.dtype()),
            tenon::empty_tensor(cell.shape(), cell.dtype())};
  }

  static std::tuple<Tensor, Tensor> forward(const Tensor& gates, const Tensor& hidden_gates,
                                            const Tensor& cell) {
    Tensor hidden, next;
    std::tie(hidden, next) = shape_rule(gates, hidden_gates, cell);
    const Tensor a = dense(gates), b = dense(hidden_gates), c = dense(cell);
    const int64_t rows = cell.size(0), n = cell.size(1);
    visit_floating(cell.dtype(), [&](auto zero) {
      using T = decltype(zero);
      T *const to = kernel::elements<T>(hidden), *const cells = kernel::elements<T>(next);
      kernel::for_rows(rows, lstm_step_work * n, [&](int64_t begin, int64_t end) {
        kernel::run<LstmStepRows<T>>(kernel::elements<const T>(a) + begin * 4 * n,
                                     kernel::elements<const T>(b) + begin * 4 * n,
                                     kernel::elements<const T>(c) + begin * n, to + begin * n,
                                     cells + begin * n, end - begin, n);
      });
    });
    return {std::move(hidden), std::move(next)};
  }

  static std::tuple<Tensor, Tensor, Tensor> backward(ContextOf<LstmStep>& c,
                                                     const Tensor& for_hidden,
                                                     const Tensor& for_next) {
    const Tensor &gates = c["gates"_arg], &hidden_gates = c["hidden_gates"_arg],
                 &cell = c["cell"_arg];
    for (const Tensor* operand : {&gates, &hidden_gates, &cell, &for_hidden, &for_next}) {
      if (c.create_graph() || !is_plain(*operand))
        return of_ops(Parts(gates, hidden_gates, cell), cell, for_hidden, for_next);
    }
    Tensor for_gates = tenon::empty_tensor(gates.shape(), gates.dtype());
    Tensor for_cell = tenon::empty_tensor(cell.shape(), cell.dtype());
    const Tensor a = dense(gates), b = dense(hidden_gates), before = dense(cell);
    const Tensor g = dense(for_hidden), g_next = dense(for_next);
    const int64_t rows = cell.size(0), n = cell.size(1);
    visit_floating(cell.dtype(), [&](auto zero) {
      using T = decltype(zero);
      T *const to = kernel::elements<T>(for_gates), *const cells = kernel::elements<T>(for_cell);
      kernel::for_rows(rows, 2 * lstm_step_work * n, [&](int64_t begin, int64_t end) {
        const int64_t at = begin * n;
        kernel::run<StepGradRows<T>>(
            kernel::elements<const T>(a) + 4 * at, kernel::elements<const T>(b) + 4 * at,
            kernel::elements<const T>(before) + at, kernel::elements<const T>(g) + at,
            kernel::elements<const T>(g_next) + at, to + 4 * at, cells + at, end - begin, n);
      });
    });
    return {for_gates, for_gates, for_cell};
  }

  static std::tuple<Tensor, Tensor> jvp(ContextOf<LstmStep>& c, TensorList t) {
    const Tensor& cell = c["cell"_arg];
    const Parts p(c["gates"_arg], c["hidden_gates"_arg], cell);
    Tensor next, hidden;
    if (const Tensor sum = plus(t[0], t[1]); sum.defined()) {
      const std::vector<Tensor> parts = tenon::chunk(sum, 4, 1);
      next = parts[0] * slope(p.input) * p.fresh + parts[1] * slope(p.forget) * cell +
             parts[2] * (1 - p.fresh.square()) * p.input;
      hidden = parts[3] * slope(p.output) * p.bent;
    }
    if (t[2].defined()) next = plus(next, t[2] * p.forget);
    hidden = plus(hidden, next * (1 - p.bent.square()) * p.output);
    return {std::move(hidden), std::move(next)};
  }

 private:
  // The gates and the state that follows, of ops.
  struct Parts {
    Tensor input, forget, fresh, output, bent;
    Parts(const Tensor& gates, const Tensor& hidden_gates, const Tensor& cell) {
      const std::vector<Tensor> parts = tenon::chunk(gates + hidden_gates, 4, 1);
      input = parts[0].sigmoid();
      forget = parts[1].sigmoid();
      fresh = parts[2].tanh();
      output = parts[3].sigmoid();
      bent = (forget * cell + input * fresh).tanh();
    }
  };
  // The slope of a sigmoid, from its value.
  static Tensor slope(const Tensor& value) { return value * (1 - value); }

  // The gradients as ops, which can be differentiated.
  static std::tuple<Tensor, Tensor, Tensor> of_ops(const Parts& p, const Tensor& cell,
                                                   const Tensor& for_hidden,
                                                   const Tensor& for_next) {
    const Tensor next = for_next + for_hidden * p.output * (1 - p.bent.square());
    const Tensor gates = tenon::cat(
        std::vector<Tensor>{next * p.fresh * slope(p.input), next * cell * slope(p.forget),
                            next * p.input * (1 - p.fresh.square()),
                            for_hidden * p.bent * slope(p.output)},
        1);
    return {gates, gates, next * p.forget};
  }
};

}  // namespace
TENON_OP(LstmStep)
