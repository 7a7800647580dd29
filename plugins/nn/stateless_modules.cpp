// Modules without parameters: activations, pools, Flatten, Dropout.
#include "common.hpp"

namespace {

using namespace nn;
using tenon::Module;
namespace functional = tenon::nn::functional;

struct ReLU {
  static constexpr auto schema = "ReLU()";
  static constexpr auto doc = "The larger of each element and zero.";
  static Tensor forward(const Module&, const Tensor& input) { return input.relu(); }
};

struct Tanh {
  static constexpr auto schema = "Tanh()";
  static constexpr auto doc = "The hyperbolic tangent of each element.";
  static Tensor forward(const Module&, const Tensor& input) { return input.tanh(); }
};

struct Sigmoid {
  static constexpr auto schema = "Sigmoid()";
  static constexpr auto doc = "1 / (1 + exp(-x)) of each element.";
  static Tensor forward(const Module&, const Tensor& input) { return input.sigmoid(); }
};

struct GELU {
  static constexpr auto schema = "GELU()";
  static constexpr auto doc = "Each element times the normal distribution function of it.";
  static Tensor forward(const Module&, const Tensor& input) { return functional::gelu(input); }
};

struct SiLU {
  static constexpr auto schema = "SiLU()";
  static constexpr auto doc = "Each element times its sigmoid.";
  static Tensor forward(const Module&, const Tensor& input) { return functional::silu(input); }
};

struct Softmax {
  static constexpr auto schema = "Softmax(int dim)";
  static constexpr auto doc = "exp(input) scaled so that it sums to 1 along dim.";
  static Tensor forward(const Module& self, const Tensor& input) {
    return functional::softmax(input, self.attribute<int64_t>(0));
  }
};

struct Flatten {
  static constexpr auto schema = "Flatten(int start_dim=1, int end_dim=-1)";
  static constexpr auto doc = "Makes one dimension of several.";
  static Tensor forward(const Module& self, const Tensor& input) {
    return input.flatten(self.attribute<int64_t>(0), self.attribute<int64_t>(1));
  }
};

struct Dropout {
  static constexpr auto schema = "Dropout(float p=0.5)";
  static constexpr auto doc =
      "During training, zeroes each element with probability p; otherwise returns its input.";
  static void create(Module&, double p) {
    if (!(p >= 0 && p <= 1)) {
      throw tenon::ValueError("Dropout: p must be a probability, between 0 and 1, got " +
                              std::to_string(p));
    }
  }
  static Tensor forward(const Module& self, const Tensor& input) {
    return self.training() ? functional::dropout(input, self.attribute<double>(0), true) : input;
  }
};

struct MaxPool2d {
  static constexpr auto schema =
      "MaxPool2d(int[2] kernel_size, int[2]? stride=None, int[2] padding=0, int[2] dilation=1, "
      "bool ceil_mode=False)";
  static constexpr auto doc = "The largest element of each window.";
  static Tensor forward(const Module& self, const Tensor& input) {
    return functional::max_pool2d(
        input, self.attribute<IntList>(0), self.attribute<std::optional<IntList>>(1),
        self.attribute<IntList>(2), self.attribute<IntList>(3), self.attribute<bool>(4));
  }
};

struct AvgPool2d {
  static constexpr auto schema =
      "AvgPool2d(int[2] kernel_size, int[2]? stride=None, int[2] padding=0, bool ceil_mode=False, "
      "bool count_include_pad=True)";
  static constexpr auto doc = "The mean of each window.";
  static Tensor forward(const Module& self, const Tensor& input) {
    return functional::avg_pool2d(
        input, self.attribute<IntList>(0), self.attribute<std::optional<IntList>>(1),
        self.attribute<IntList>(2), self.attribute<bool>(3), self.attribute<bool>(4));
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
