// Activations as modules.
#include "modules/op_layer.hpp"

#define NN_ACTIVATION(Name, attributes, op_name, doc_text) \
  NN_OP_MODULE(Name, attributes, op_name, R"([{}])", doc_text)

NN_ACTIVATION(ReLU, "()", "relu", "The larger of each element and zero.")
NN_ACTIVATION(Tanh, "()", "tanh", "The hyperbolic tangent of each element.")
NN_ACTIVATION(Sigmoid, "()", "sigmoid", "1 / (1 + exp(-x)) of each element.")
NN_ACTIVATION(ReLU6, "()", "nn.functional.relu6", "Each element, clamped to 0 to 6.")
NN_ACTIVATION(SiLU, "()", "nn.functional.silu", "Each element times its sigmoid.")
NN_ACTIVATION(Mish, "()", "nn.functional.mish", "x * tanh(softplus(x)) (Misra, 2019).")
NN_ACTIVATION(SELU, "()", "nn.functional.selu",
              "The self-normalizing ELU (Klambauer et al., 2017).")
NN_ACTIVATION(CELU, "(float alpha=1)", "nn.functional.celu",
              "max(0, x) + min(0, alpha * (exp(x / alpha) - 1)).")
NN_ACTIVATION(ELU, "(float alpha=1)", "nn.functional.elu",
              "x where it is positive, else alpha * (exp(x) - 1).")
NN_ACTIVATION(LeakyReLU, "(float negative_slope=0.01)", "nn.functional.leaky_relu",
              "x where it is positive, else negative_slope * x.")
NN_ACTIVATION(Softplus, "(float beta=1, float threshold=20)", "nn.functional.softplus",
              "log(1 + exp(beta * x)) / beta; x where beta * x is above threshold.")
NN_ACTIVATION(Softsign, "()", "nn.functional.softsign", "x / (1 + |x|).")
NN_ACTIVATION(Tanhshrink, "()", "nn.functional.tanhshrink", "x - tanh(x).")
NN_ACTIVATION(Softshrink, "(float lambd=0.5)", "nn.functional.softshrink",
              "x moved by lambd towards zero; zero within lambd of it.")
NN_ACTIVATION(Hardshrink, "(float lambd=0.5)", "nn.functional.hardshrink",
              "x; zero within lambd of it.")
NN_ACTIVATION(Hardsigmoid, "()", "nn.functional.hardsigmoid", "clamp(x / 6 + 1/2, 0, 1).")
NN_ACTIVATION(Hardswish, "()", "nn.functional.hardswish", "x * clamp(x / 6 + 1/2, 0, 1).")
NN_ACTIVATION(Hardtanh, "(Scalar min_val=-1, Scalar max_val=1)", "nn.functional.hardtanh",
              "Each element, clamped to min_val to max_val.")
NN_ACTIVATION(LogSigmoid, "()", "nn.functional.logsigmoid", "log(sigmoid(x)).")
NN_OP_MODULE(Threshold, "(float threshold, float value)", "nn.functional.threshold",
             R"([{"threshold": 0.1, "value": -1}])", "x where it is above threshold, else value.")
NN_OP_MODULE(GLU, "(int dim=-1)", "nn.functional.glu", R"([{"dim": 0}])",
             "The first half along dim times the sigmoid of the second.")
NN_OP_MODULE(Softmax, "(int dim)", "nn.functional.softmax", R"([{"dim": -1}])",
             "exp(input) scaled so that it sums to 1 along dim.")
NN_OP_MODULE(LogSoftmax, "(int dim)", "nn.functional.log_softmax", R"([{"dim": -1}])",
             "The logarithm of softmax, computed in one step.")
NN_OP_MODULE(Softmin, "(int dim)", "nn.functional.softmin", R"([{"dim": -1}])",
             "softmax(-input, dim).")

namespace {

using namespace nn;

struct GELU : ModuleOf<GELU> {
  static constexpr auto schema = "GELU(str approximate='none')";
  static constexpr auto forward_schema = "forward(Tensor input) -> Tensor";
  static constexpr auto samples = R"([{}, {"approximate": "tanh"}])";
  static constexpr auto doc =
      "nn.functional.gelu: each element times the normal distribution function of it; approximate "
      "is "
      "'none' or 'tanh'.";

  explicit GELU(std::string_view approximate) {
    if (approximate != "none" && approximate != "tanh") {
      throw tenon::ValueError("GELU: approximate must be 'none' or 'tanh', got '" +
                              std::string(approximate) + "'");
    }
  }
  Tensor forward(const Tensor& input) const {
    static const tenon::Op gelu("nn.functional.gelu");
    return gelu.call<Tensor>(input, tenon::arg("approximate") = (*this)["approximate"_arg]);
  }
};

// One slope, or one for each channel (dimension 1).
struct PReLU : ModuleOf<PReLU> {
  static constexpr auto schema = "PReLU(int num_parameters=1, float init=0.25)";
  static constexpr auto forward_schema = "forward(Tensor input) -> Tensor";
  static constexpr auto doc = "x where it is positive, else weight * x, with a trained weight.";

  Parameter weight{*this, "weight"};

  PReLU(int64_t num_parameters, double init) {
    if (num_parameters < 1)
      throw tenon::ValueError("PReLU: num_parameters must be at least 1, got " +
                              std::to_string(num_parameters));
    const Tensor values = tenon::empty_tensor({num_parameters});
    tenon::fill_elements(values, init);
    weight = values;
  }
  Tensor forward(const Tensor& input) const {
    static const tenon::Op prelu("nn.functional.prelu");
    return prelu.call<Tensor>(input, weight);
  }
};

}  // namespace
TENON_MODULE(GELU)
TENON_MODULE(PReLU)
