// lstm by packed weights, for prepared models: a layer over a sequence in one op, without a call for each step.
#include "lstm_gates.hpp"
#include "packed_product.hpp"

namespace {

using namespace nn;

// Rows of gates of the input that are computed at once: they stay in the second-level cache until their steps.
constexpr int64_t kRowsAtOnce = 96;

struct LstmPacked {
  static constexpr auto schema =
      "nn.functional.lstm_packed(Tensor input, Tensor hidden, Tensor cell, Tensor panels_ih, "
      "Tensor panels_hh, Tensor? bias=None, bool reverse=False) -> (Tensor output, Tensor "
      "last_hidden, Tensor last_cell)";
  static constexpr auto samples =
      R"([{"input": {"shape": [3, 2, 3], "requires_grad": false}, "hidden": {"shape": [2, 9], "requires_grad": false},
           "cell": {"shape": [2, 9], "requires_grad": false}, "panels_ih": {"shape": [2, 3, 32], "requires_grad": false},
           "panels_hh": {"shape": [2, 9, 32], "requires_grad": false}, "bias": {"shape": [36], "requires_grad": false}},
          {"input": {"shape": [2, 1, 1], "requires_grad": false}, "hidden": {"shape": [1, 2], "requires_grad": false},
           "cell": {"shape": [1, 2], "requires_grad": false}, "panels_ih": {"shape": [1, 1, 32], "requires_grad": false},
           "panels_hh": {"shape": [1, 2, 32], "requires_grad": false}, "reverse": true}])";
  static constexpr auto doc =
      "lstm by weights that pack_features has packed; bias is the sum of both.";

  static std::tuple<Tensor, Tensor, Tensor> shape_rule(const Tensor& input, const Tensor& hidden,
                                                       const Tensor& cell, const Tensor& panels_ih,
                                                       const Tensor& panels_hh, const Tensor& bias,
                                                       bool) {
    constexpr auto op = "lstm_packed";
    check_floating(op, "input", input);
    check_same_dtype(op, "input", input, "hidden", hidden);
    check_same_dtype(op, "input", input, "cell", cell);
    if (input.dim() != 3 || input.shape()[0] == 0) {
      throw tenon::ValueError(
          "lstm_packed(): 'input' must have shape [time, batch, features] and at least one step, "
          "got shape " +
          shape_text(input));
    }
    if (hidden.dim() != 2 || hidden.shape()[0] != input.shape()[1] ||
        !kernel::same_shape(hidden.shape(), cell.shape())) {
      throw tenon::ValueError(
          "lstm_packed(): 'hidden' and 'cell' must have shape [batch, n] with the batch of "
          "'input', "
          "got shapes " +
          shape_text(hidden) + " and " + shape_text(cell));
    }
    const int64_t n = hidden.shape()[1];
    check_panels(op, input, panels_ih, 4 * n, input.shape()[2], bias, "panels_ih");
    check_panels(op, input, panels_hh, 4 * n, n, {}, "panels_hh");
    return {tenon::empty_tensor({input.shape()[0], hidden.shape()[0], n}, input.dtype()),
            tenon::empty_tensor(hidden.shape(), input.dtype()),
            tenon::empty_tensor(hidden.shape(), input.dtype())};
  }
  static int64_t multiply_adds(const Tensor& input, const Tensor& hidden, const Tensor&,
                               const Tensor&, const Tensor&, const Tensor&, bool) {
    return 4 * input.shape()[0] * hidden.numel() * (input.shape()[2] + hidden.shape()[1]);
  }

  static std::tuple<Tensor, Tensor, Tensor> forward(const Tensor& input, const Tensor& hidden,
                                                    const Tensor& cell, const Tensor& panels_ih,
                                                    const Tensor& panels_hh, const Tensor& bias,
                                                    bool reverse) {
    Tensor output, last, next;
    std::tie(output, last, next) =
        shape_rule(input, hidden, cell, panels_ih, panels_hh, bias, reverse);
    if (last.numel() == 0) return {output, last, next};
    const Tensor x = dense(input), h = dense(hidden), c = dense(cell), wi = dense(panels_ih),
                 wh = dense(panels_hh), b = bias.defined() ? dense(bias) : bias;
    visit_floating(x.dtype(), [&](auto zero) {
      using T = decltype(zero);
      std::copy_n(kernel::elements<const T>(c), c.numel(), kernel::elements<T>(next));
      const Layer<T> layer{kernel::elements<const T>(x),
                           kernel::elements<const T>(h),
                           kernel::elements<const T>(wi),
                           kernel::elements<const T>(wh),
                           b.defined() ? kernel::elements<const T>(b) : nullptr,
                           kernel::elements<T>(output),
                           kernel::elements<T>(next),
                           x.shape()[0],
                           h.shape()[0],
                           x.shape()[2],
                           h.shape()[1]};
      std::copy_n(layer.run(reverse, x.dtype()), last.numel(), kernel::elements<T>(last));
    });
    return {output, last, next};
  }

 private:
  template <class T>
  struct Layer {
    const T *x, *hidden, *input_panels, *hidden_panels, *bias;
    T *output, *cells;
    int64_t steps, batch, features, n;

    // The last hidden state.
    const T* run(bool reverse, DType dtype) const {
      const int64_t width = 4 * n, size = batch * n;
      const int64_t group = std::min(steps, (kRowsAtOnce + batch - 1) / batch);
      const Tensor memory = tenon::empty_tensor({group + 1, batch, width}, dtype);
      T* const gates = kernel::elements<T>(memory);
      T* const hidden_gates = gates + group * batch * width;
      const T* state = hidden;
      for (int64_t done = 0; done < steps; done += group) {
        const int64_t count = std::min(group, steps - done),
                      first = reverse ? steps - done - count : done;
        product(x + first * batch * features, features, count * batch, input_panels, bias, gates,
                false)
            .run();
        for (int64_t i = 0; i < count; ++i) {
          const int64_t t = reverse ? count - 1 - i : i;
          product(state, n, batch, hidden_panels, nullptr, hidden_gates, i % 2 != 0).run();
          T* const to = output + (first + t) * size;
          kernel::for_rows(batch, lstm_step_work * n, [&](int64_t begin, int64_t end) {
            kernel::run<LstmStepRows<T>>(static_cast<const T*>(gates) + (t * batch + begin) * width,
                                         static_cast<const T*>(hidden_gates) + begin * width,
                                         static_cast<const T*>(cells) + begin * n, to + begin * n,
                                         cells + begin * n, end - begin, n);
          });
          state = to;
        }
      }
      return state;
    }

   private:
    PackedProduct<T> product(const T* rows, int64_t depth, int64_t count, const T* panels,
                             const T* added, T* to, bool backwards) const {
      return {rows, depth, count, panels, depth, 4 * n, added, false, to, 4 * n, 1, backwards};
    }
  };
};

}  // namespace
TENON_OP(LstmPacked)
