// Activations behind a convolution, by name: conv2d_fused and what runs it in other layouts have one list.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include <tenon/plugin.hpp>
#include <tenon/ops.hpp>

namespace nn {

// f(x) * scale + shift.
struct Activation {
  enum class Kind : int64_t {
    none,
    relu,
    leaky_relu,
    clip,
    sigmoid,
    tanh,
    silu,
    hardswish,
    hardsigmoid
  };
  Kind kind = Kind::none;
  double alpha = 0, beta = 0, scale = 1, shift = 0;

  // ValueError for another name.
  Activation(const char* op, std::string_view name, double a, double b, double factor, double term)
      : alpha(a), beta(b), scale(factor), shift(term) {
    constexpr std::array<std::string_view, 9> names = {"none", "relu",      "leaky_relu",
                                                       "clip", "sigmoid",   "tanh",
                                                       "silu", "hardswish", "hardsigmoid"};
    size_t at = 0;
    while (at < names.size() && names[at] != name) ++at;
    if (at == names.size()) {
      std::string known;
      for (const std::string_view one : names)
        known += (known.empty() ? "'" : ", '") + std::string(one) + "'";
      throw tenon::ValueError(std::string(op) + "(): 'activation' is '" + std::string(name) +
                              "'; there are " + known);
    }
    kind = static_cast<Kind>(at);
    if (kind == Kind::leaky_relu && alpha == 0) kind = Kind::relu;
    if (kind == Kind::clip && alpha > beta) {
      throw tenon::ValueError(std::string(op) +
                              "(): clip needs alpha, the least value, up to beta");
    }
  }
  bool is_scaled() const { return scale != 1 || shift != 0; }
};

// The activation by ops, without scale and shift; none and relu are left to convolutions.
inline tenon::Tensor activated(const tenon::Tensor& y, const Activation& activation) {
  static const tenon::Op leaky_relu("nn.functional.leaky_relu"),
      hardswish("nn.functional.hardswish"), silu("nn.functional.silu");
  using Kind = Activation::Kind;
  switch (activation.kind) {
    case Kind::leaky_relu:
      return leaky_relu.call<tenon::Tensor>(y, activation.alpha);
    case Kind::clip:
      return y.clamp(activation.alpha, activation.beta);
    case Kind::sigmoid:
      return y.sigmoid();
    case Kind::tanh:
      return y.tanh();
    case Kind::silu:
      return silu.call<tenon::Tensor>(y);
    case Kind::hardswish:
      return hardswish.call<tenon::Tensor>(y);
    case Kind::hardsigmoid:
      return (y * activation.alpha + activation.beta).clamp(0, 1);
    default:
      return y;
  }
}

// The parameters of conv2d that fused convolutions have as well, and those of the activation.
#define NN_FUSED_PARAMETERS                                                                      \
  "Tensor? bias=None, Tensor? addend=None, str activation='none', float alpha=0, float beta=0, " \
  "float scale=1, float shift=0, int[2] stride=1, any padding=0, int[2] dilation=1, int groups=1"

}  // namespace nn
