// gru_step: what a GRU does with its gates at one time, in one pass instead of ten ops.
#include <algorithm>

#include "common.hpp"

namespace {

using namespace nn;

// Columns that are worked on together, in whole registers of the widest kind: a vector function and its
// scalar form round differently.
template <class T>
constexpr int64_t kColumns = 256 / static_cast<int64_t>(sizeof(T));

// The gates of some columns of a row.
template <class T>
struct Gates {
  T reset[kColumns<T>], update[kColumns<T>], fresh[kColumns<T>];
  T hidden[kColumns<T>];  // the share of the hidden state in `fresh`, before its reset

  // `gates` and `hidden_gates` are rows of 3 n, of which columns [0, count) count.
  TENON_INLINE void compute(const T* gates, const T* hidden_gates, int64_t n, int64_t count) {
    add(gates, hidden_gates, reset, count);
    add(gates + n, hidden_gates + n, update, count);
    std::copy_n(gates + 2 * n, count, fresh);
    std::copy_n(hidden_gates + 2 * n, count, hidden);
    for (T* rest : {reset, update, fresh, hidden})
      std::fill(rest + count, rest + kColumns<T>, T{0});
    for (T* gate : {reset, update}) {
      TENON_INDEPENDENT
      for (int64_t k = 0; k < kColumns<T>; ++k) gate[k] = T{1} / (T{1} + kernel::exp(-gate[k]));
    }
    TENON_INDEPENDENT
    for (int64_t k = 0; k < kColumns<T>; ++k)
      fresh[k] = kernel::tanh(fresh[k] + reset[k] * hidden[k]);
  }

 private:
  TENON_INLINE static void add(const T* a, const T* b, T* sum, int64_t count) {
    TENON_INDEPENDENT
    for (int64_t k = 0; k < count; ++k) sum[k] = a[k] + b[k];
  }
};

template <class T>
struct StepRows {
  TENON_INLINE static void run(const T* gates, const T* hidden_gates, const T* before, T* hidden,
                               int64_t rows, int64_t n) {
    Gates<T> g;
    for (int64_t r = 0; r < rows; ++r, gates += 3 * n, hidden_gates += 3 * n) {
      for (int64_t from = 0; from < n; from += kColumns<T>) {
        const int64_t count = std::min(kColumns<T>, n - from), at = r * n + from;
        g.compute(gates + from, hidden_gates + from, n, count);
        TENON_INDEPENDENT
        for (int64_t k = 0; k < count; ++k)
          hidden[at + k] = (T{1} - g.update[k]) * g.fresh[k] + g.update[k] * before[at + k];
      }
    }
  }
};

// The gradients of both gates and of the hidden state, from that of the new one.
template <class T>
struct StepGradRows {
  TENON_INLINE static void run(const T* gates, const T* hidden_gates, const T* before,
                               const T* gradient, T* for_gates, T* for_hidden_gates, T* for_before,
                               int64_t rows, int64_t n) {
    Gates<T> g;
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t from = 0; from < n; from += kColumns<T>) {
        const int64_t count = std::min(kColumns<T>, n - from), at = r * n + from,
                      first = r * 3 * n + from;
        g.compute(gates + first, hidden_gates + first, n, count);
        T *const own = for_gates + first, *const share = for_hidden_gates + first;
        TENON_INDEPENDENT
        for (int64_t k = 0; k < count; ++k) {
          const T d = gradient[at + k], r_k = g.reset[k], u = g.update[k], f = g.fresh[k];
          const T for_fresh = d * (T{1} - u) * (T{1} - f * f);
          const T for_reset = for_fresh * g.hidden[k] * r_k * (T{1} - r_k);
          const T for_update = d * (before[at + k] - f) * u * (T{1} - u);
          own[k] = share[k] = for_reset;
          own[n + k] = share[n + k] = for_update;
          own[2 * n + k] = for_fresh;
          share[2 * n + k] = for_fresh * r_k;
          for_before[at + k] = d * u;
        }
      }
    }
  }
};

struct GruStep {
  static constexpr auto schema =
      "nn.functional.gru_step(Tensor gates, Tensor hidden_gates, Tensor hidden) -> Tensor";
  static constexpr auto samples =
      R"([{"gates": {"shape": [2, 9]}, "hidden_gates": {"shape": [2, 9]}, "hidden": {"shape": [2, 3]}}])";
  static constexpr auto doc =
      "One step of a gated recurrent unit: of the thirds of gates and hidden_gates [batch, 3 n] "
      "and "
      "of the hidden state [batch, n]. r and u are the sigmoid of the sums of their first and "
      "second thirds, f = tanh(third of gates + r times third of hidden_gates); the new state is "
      "(1 - u) f + u hidden.";
  static constexpr auto saves = "gates, hidden_gates, hidden";

  static Tensor shape_rule(const Tensor& gates, const Tensor& hidden_gates, const Tensor& hidden) {
    check_floating("gru_step", "gates", gates);
    check_same_dtype("gru_step", "gates", gates, "hidden_gates", hidden_gates);
    check_same_dtype("gru_step", "gates", gates, "hidden", hidden);
    if (hidden.dim() != 2 || gates.dim() != 2 || gates.size(0) != hidden.size(0) ||
        gates.size(1) / 3 != hidden.size(1) || gates.size(1) % 3 != 0 ||
        !kernel::same_shape(gates.shape(), hidden_gates.shape())) {
      throw tenon::ValueError(
          "gru_step(): 'gates' and 'hidden_gates' must have shape [batch, 3 n] and 'hidden' "
          "[batch, n], got shapes " +
          shape_text(gates) + ", " + shape_text(hidden_gates) + " and " + shape_text(hidden));
    }
    return tenon::empty_tensor(hidden.shape(), hidden.dtype());
  }

  static Tensor forward(const Tensor& gates, const Tensor& hidden_gates, const Tensor& hidden) {
    Tensor result = shape_rule(gates, hidden_gates, hidden);
    const Tensor a = dense(gates), b = dense(hidden_gates), h = dense(hidden);
    const int64_t rows = hidden.size(0), n = hidden.size(1);
    visit_floating(hidden.dtype(), [&](auto zero) {
      using T = decltype(zero);
      T* const to = kernel::elements<T>(result);
      kernel::for_rows(rows, kWork * n, [&](int64_t begin, int64_t end) {
        kernel::run<StepRows<T>>(kernel::elements<const T>(a) + begin * 3 * n,
                                 kernel::elements<const T>(b) + begin * 3 * n,
                                 kernel::elements<const T>(h) + begin * n, to + begin * n,
                                 end - begin, n);
      });
    });
    return result;
  }

  static std::tuple<Tensor, Tensor, Tensor> backward(ContextOf<GruStep>& c, const Tensor& g) {
    const Tensor &gates = c["gates"_arg], &hidden_gates = c["hidden_gates"_arg],
                 &hidden = c["hidden"_arg];
    for (const Tensor* operand : {&gates, &hidden_gates, &hidden, &g}) {
      if (c.create_graph() || !is_plain(*operand))
        return of_ops(Parts(gates, hidden_gates), hidden, g);
    }
    Tensor for_gates = tenon::empty_tensor(gates.shape(), gates.dtype());
    Tensor for_hidden_gates = tenon::empty_tensor(gates.shape(), gates.dtype());
    Tensor for_hidden = tenon::empty_tensor(hidden.shape(), hidden.dtype());
    const Tensor a = dense(gates), b = dense(hidden_gates), h = dense(hidden), d = dense(g);
    const int64_t rows = hidden.size(0), n = hidden.size(1);
    visit_floating(hidden.dtype(), [&](auto zero) {
      using T = decltype(zero);
      T *const own = kernel::elements<T>(for_gates),
               *const share = kernel::elements<T>(for_hidden_gates),
               *const states = kernel::elements<T>(for_hidden);
      kernel::for_rows(rows, 2 * kWork * n, [&](int64_t begin, int64_t end) {
        const int64_t at = begin * n;
        kernel::run<StepGradRows<T>>(
            kernel::elements<const T>(a) + 3 * at, kernel::elements<const T>(b) + 3 * at,
            kernel::elements<const T>(h) + at, kernel::elements<const T>(d) + at, own + 3 * at,
            share + 3 * at, states + at, end - begin, n);
      });
    });
    return {std::move(for_gates), std::move(for_hidden_gates), std::move(for_hidden)};
  }

  static Tensor jvp(ContextOf<GruStep>& c, TensorList t) {
    const Tensor& hidden = c["hidden"_arg];
    const Parts p(c["gates"_arg], c["hidden_gates"_arg]);
    const auto third = [](const Tensor& tangent, int i) {
      return tangent.defined() ? tenon::chunk(tangent, 3, 1)[static_cast<size_t>(i)] : Tensor();
    };
    const Tensor reset = plus(third(t[0], 0), third(t[1], 0)),
                 update = plus(third(t[0], 1), third(t[1], 1));
    Tensor fresh = third(t[0], 2);
    if (reset.defined()) fresh = plus(fresh, reset * slope(p.reset) * p.share);
    if (t[1].defined()) fresh = plus(fresh, p.reset * third(t[1], 2));
    Tensor result;
    if (fresh.defined()) result = fresh * (1 - p.fresh.square()) * (1 - p.update);
    if (update.defined()) result = plus(result, update * slope(p.update) * (hidden - p.fresh));
    if (t[2].defined()) result = plus(result, t[2] * p.update);
    return result;
  }

 private:
  static constexpr int64_t kWork = 48;  // work for an element, in additions

  // The gates, of ops.
  struct Parts {
    Tensor reset, update, fresh, share;
    Parts(const Tensor& gates, const Tensor& hidden_gates) {
      const std::vector<Tensor> own = tenon::chunk(gates, 3, 1),
                                before = tenon::chunk(hidden_gates, 3, 1);
      reset = (own[0] + before[0]).sigmoid();
      update = (own[1] + before[1]).sigmoid();
      share = before[2];
      fresh = (own[2] + reset * share).tanh();
    }
  };
  // The slope of a sigmoid, from its value.
  static Tensor slope(const Tensor& value) { return value * (1 - value); }

  // The gradients as ops, which can be differentiated.
  static std::tuple<Tensor, Tensor, Tensor> of_ops(const Parts& p, const Tensor& hidden,
                                                   const Tensor& g) {
    const Tensor fresh = g * (1 - p.update) * (1 - p.fresh.square()),
                 reset = fresh * p.share * slope(p.reset),
                 update = g * (hidden - p.fresh) * slope(p.update);
    return {tenon::cat(std::vector<Tensor>{reset, update, fresh}, 1),
            tenon::cat(std::vector<Tensor>{reset, update, fresh * p.reset}, 1), g * p.update};
  }
};

}  // namespace
TENON_OP(GruStep)
