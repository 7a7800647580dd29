// Modules without parameters: activations, pools, Flatten, Dropout.
#include "common.hpp"

namespace {

using namespace nn;
using tenon::ModuleOf;
namespace functional = tenon::nn::functional;

struct ReLU : ModuleOf<ReLU> {
  static constexpr auto schema = "ReLU()";
  static constexpr auto forward_schema = "forward(Tensor input) -> Tensor";
  static constexpr auto doc = "The larger of each element and zero.";
  Tensor forward(const Tensor& input) const { return input.relu(); }
};

struct Tanh : ModuleOf<Tanh> {
  static constexpr auto schema = "Tanh()";
  static constexpr auto forward_schema = "forward(Tensor input) -> Tensor";
  static constexpr auto doc = "The hyperbolic tangent of each element.";
  Tensor forward(const Tensor& input) const { return input.tanh(); }
};

struct Sigmoid : ModuleOf<Sigmoid> {
  static constexpr auto schema = "Sigmoid()";
  static constexpr auto forward_schema = "forward(Tensor input) -> Tensor";
  static constexpr auto doc = "1 / (1 + exp(-x)) of each element.";
  Tensor forward(const Tensor& input) const { return input.sigmoid(); }
};

struct GELU : ModuleOf<GELU> {
  static constexpr auto schema = "GELU()";
  static constexpr auto forward_schema = "forward(Tensor input) -> Tensor";
  static constexpr auto doc = "Each element times the normal distribution function of it.";
  Tensor forward(const Tensor& input) const { return functional::gelu(input); }
};

struct SiLU : ModuleOf<SiLU> {
  static constexpr auto schema = "SiLU()";
  static constexpr auto forward_schema = "forward(Tensor input) -> Tensor";
  static constexpr auto doc = "Each element times its sigmoid.";
  Tensor forward(const Tensor& input) const { return functional::silu(input); }
};

struct Softmax : ModuleOf<Softmax> {
  static constexpr auto schema = "Softmax(int dim)";
  static constexpr auto forward_schema = "forward(Tensor input) -> Tensor";
  static constexpr auto doc = "exp(input) scaled so that it sums to 1 along dim.";
  Tensor forward(const Tensor& input) const {
    const Softmax& self = *this;
    return functional::softmax(input, self["dim"_arg]);
  }
};

struct Flatten : ModuleOf<Flatten> {
  static constexpr auto schema = "Flatten(int start_dim=1, int end_dim=-1)";
  static constexpr auto forward_schema = "forward(Tensor input) -> Tensor";
  static constexpr auto doc = "Makes one dimension of several.";
  Tensor forward(const Tensor& input) const {
    const Flatten& self = *this;
    return input.flatten(self["start_dim"_arg], self["end_dim"_arg]);
  }
};

struct Dropout : ModuleOf<Dropout> {
  static constexpr auto schema = "Dropout(float p=0.5)";
  static constexpr auto forward_schema = "forward(Tensor input) -> Tensor";
  static constexpr auto doc =
      "During training, zeroes each element with probability p; otherwise returns its input.";
  explicit Dropout(double p) {
    if (!(p >= 0 && p <= 1)) {
      throw tenon::ValueError("Dropout: p must be a probability, between 0 and 1, got " +
                              std::to_string(p));
    }
  }
  Tensor forward(const Tensor& input) const {
    const Dropout& self = *this;
    return training() ? functional::dropout(input, self["p"_arg], true) : input;
  }
};

struct MaxPool2d : ModuleOf<MaxPool2d> {
  static constexpr auto schema =
      "MaxPool2d(int[2] kernel_size, int[2]? stride=None, int[2] padding=0, int[2] dilation=1, "
      "bool ceil_mode=False)";
  static constexpr auto forward_schema = "forward(Tensor input) -> Tensor";
  static constexpr auto doc = "The largest element of each window.";
  Tensor forward(const Tensor& input) const {
    const MaxPool2d& self = *this;
    return functional::max_pool2d(input, self["kernel_size"_arg], self["stride"_arg],
                                  self["padding"_arg], self["dilation"_arg], self["ceil_mode"_arg]);
  }
};

struct AvgPool2d : ModuleOf<AvgPool2d> {
  static constexpr auto schema =
      "AvgPool2d(int[2] kernel_size, int[2]? stride=None, int[2] padding=0, bool ceil_mode=False, "
      "bool count_include_pad=True)";
  static constexpr auto forward_schema = "forward(Tensor input) -> Tensor";
  static constexpr auto doc = "The mean of each window.";
  Tensor forward(const Tensor& input) const {
    const AvgPool2d& self = *this;
    return functional::avg_pool2d(input, self["kernel_size"_arg], self["stride"_arg],
                                  self["padding"_arg], self["ceil_mode"_arg],
                                  self["count_include_pad"_arg]);
  }
};

}  // namespace
TENON_MODULE(ReLU)
TENON_MODULE(Tanh)
TENON_MODULE(Sigmoid)
TENON_MODULE(GELU)
TENON_MODULE(SiLU)
TENON_MODULE(Softmax)
TENON_MODULE(Flatten)
TENON_MODULE(Dropout)
TENON_MODULE(MaxPool2d)
TENON_MODULE(AvgPool2d)
