// dropout: zeroes elements at random and scales the others up.
#include "common.hpp"

namespace {

using namespace nn;

template <class T>
struct FillMask {
  TENON_INLINE static void run(T* to, int64_t begin, int64_t end, tenon::Draws draws,
                               uint64_t threshold, T scale) {
    TENON_INDEPENDENT
    for (int64_t i = begin; i < end; ++i) to[i] = draws.bits(i) >> 11 >= threshold ? scale : T{0};
  }
};

struct Dropout {
  static constexpr auto schema =
      "nn.functional.dropout(Tensor input, float p=0.5, bool training=True) -> Tensor";
  static constexpr auto doc =
      "In training each element becomes zero with probability p, the others are divided by 1 - p; "
      "else a copy.";

  static Tensor forward(Context& c, const Tensor& input, double p, bool training) {
    if (!(p >= 0 && p <= 1)) {
      throw tenon::ValueError("dropout(): p must be a probability, between 0 and 1, got " +
                              std::to_string(p));
    }
    check_floating("dropout", "input", input);
    if (!training || p == 0) {
      c.save_for_backward({Tensor()});
      c.save_for_forward({Tensor()});
      return input.clone();
    }
    Tensor mask = tenon::empty_tensor(input.shape(), input.dtype());
    const int64_t count = mask.numel();
    const tenon::Draws draws = tenon::reserve_draws(count);
    const auto threshold = static_cast<uint64_t>(p * 0x1p53);
    const double scale = p == 1 ? 0 : 1 / (1 - p);
    if (count > 0) {
      visit_floating(input.dtype(), [&](auto zero) {
        using T = decltype(zero);
        T* to = mask.data<T>();
        tenon::parallel_for(0, count, 32768, [&](int64_t begin, int64_t end) {
          kernel::run<FillMask<T>>(to, begin, end, draws, threshold, static_cast<T>(scale));
        });
      });
    }
    if (!is_plain(input)) mask = tenon::zeros_like(input.detach()).copy_(mask);  // on its device
    c.save_for_backward({mask});
    c.save_for_forward({mask});
    c.mark_non_differentiable({mask});  // chance does not depend on the input
    return input * mask;
  }
  static Tensor backward(Context& c, const Tensor& g) {
    const Tensor mask = c.saved(0);
    return mask.defined() ? g * mask : g;
  }
  static Tensor jvp(Context& c, TensorList t) {
    const Tensor mask = c.saved(0);
    return mask.defined() ? t[0] * mask : t[0].clone();
  }
};

}  // namespace
TENON_OP(Dropout)
