// Convolutions and their transposes of one to three dimensions.
#include "modules/initialize.hpp"
#include "modules/printed_attributes.hpp"
#include "shared_ops/padding.hpp"

namespace {

using namespace nn;
using tenon::Argument;
using tenon::detail::Parameter;

// Weight and bias, and what both directions check and print.
template <class Definition>
struct ConvolutionLayer : ModuleOf<Definition> {
  static constexpr auto forward_schema = "forward(Tensor input) -> Tensor";
  Parameter weight{*this, "weight"}, bias{*this, "bias"};

  static void check(int64_t in_channels, int64_t out_channels, IntList kernel_size, IntList stride,
                    const Argument& padding, IntList dilation, int64_t groups) {
    const char* name = Definition::name;
    check_size(name, "in_channels", in_channels, 1);
    check_size(name, "out_channels", out_channels, 1);
    check_size(name, "groups", groups, 1);
    const ConvolutionPadding padded(name, padding, kernel_size.size());
    for (int64_t i = 0; i < kernel_size.size(); ++i) {
      check_size(name, "kernel_size", kernel_size[i], 1, largest_setting);
      check_size(name, "stride", stride[i], 1, largest_setting);
      check_size(name, "padding", padded.before[i], 0, largest_setting);
      check_size(name, "dilation", dilation[i], 1, largest_setting);
    }
    if (in_channels % groups != 0 || out_channels % groups != 0) {
      throw tenon::ValueError(std::string(name) + ": groups must divide in_channels " +
                              std::to_string(in_channels) + " and out_channels " +
                              std::to_string(out_channels) + ", got " + std::to_string(groups));
    }
  }
  // [first, second, kernel...]; the fan in is what one row has.
  void draw(int64_t first, int64_t second, IntList kernel_size, int64_t biases, bool with_bias) {
    std::vector<int64_t> shape{first, second};
    shape.insert(shape.end(), kernel_size.begin(), kernel_size.end());
    const Tensor values =
        tenon::empty_tensor(list_of(shape));  // refuses sizes whose product overflows
    const int64_t fan_in = values.numel() / first;
    weight = uniform_parameter(values, fan_in);
    if (with_bias) bias = uniform_parameter(tenon::empty_tensor({biases}), fan_in);
  }
  std::string text(IntList output_padding = {}) const {
    const auto& self = static_cast<const Definition&>(*this);
    const IntList kernel_size = self["kernel_size"_arg];
    const ConvolutionPadding padding(Definition::name, Argument(self["padding"_arg]),
                                     kernel_size.size());
    PrintedAttributes printed;
    printed.value(self["in_channels"_arg])
        .value(self["out_channels"_arg])
        .named("kernel_size", kernel_size)
        .named("stride", self["stride"_arg]);
    if (padding.same)
      printed.named("padding", "same");
    else
      printed.unless_all(0, "padding", IntList(padding.before, kernel_size.size()));
    return printed.unless_all(1, "dilation", self["dilation"_arg])
        .unless_all(0, "output_padding", output_padding)
        .unless(int64_t{1}, "groups", self["groups"_arg])
        .unless(true, "bias", bias.defined())
        .text();
  }
};

template <class Definition>
struct Convolution : ConvolutionLayer<Definition> {
  static constexpr auto doc =
      "Convolution with weight [out_channels, in_channels / groups, kernel size...]. padding is "
      "numbers, 'same' or 'valid', as the op's.";

  Convolution(int64_t in_channels, int64_t out_channels, IntList kernel_size, IntList stride,
              const Argument& padding, IntList dilation, int64_t groups, bool with_bias) {
    this->check(in_channels, out_channels, kernel_size, stride, padding, dilation, groups);
    this->draw(out_channels, in_channels / groups, kernel_size, out_channels, with_bias);
  }
  Tensor forward(const Tensor& input) const {
    static const tenon::Op op(Definition::op);
    const auto& self = static_cast<const Definition&>(*this);
    return op.call<Tensor>(input, this->weight, this->bias, self["stride"_arg], self["padding"_arg],
                           self["dilation"_arg], self["groups"_arg]);
  }
  std::string extra_repr() const { return this->text(); }
};

template <class Definition>
struct TransposedConvolution : ConvolutionLayer<Definition> {
  static constexpr auto doc =
      "Transposed convolution with weight [in_channels, out_channels / groups, kernel size...].";

  TransposedConvolution(int64_t in_channels, int64_t out_channels, IntList kernel_size,
                        IntList stride, IntList padding, IntList, int64_t groups, bool with_bias,
                        IntList dilation) {
    this->check(in_channels, out_channels, kernel_size, stride, padding, dilation, groups);
    this->draw(in_channels, out_channels / groups, kernel_size, out_channels, with_bias);
  }
  Tensor forward(const Tensor& input) const {
    static const tenon::Op op(Definition::op);
    const auto& self = static_cast<const Definition&>(*this);
    return op.call<Tensor>(input, this->weight, this->bias, self["stride"_arg], self["padding"_arg],
                           self["output_padding"_arg], self["groups"_arg], self["dilation"_arg]);
  }
  std::string extra_repr() const {
    return this->text(static_cast<const Definition&>(*this)["output_padding"_arg]);
  }
};

}  // namespace

#define NN_CONVOLUTION(n, sample)                                                                  \
  namespace {                                                                                      \
  struct Conv##n##d : Convolution<Conv##n##d> {                                                    \
    static constexpr auto name = "Conv" #n "d";                                                    \
    static constexpr auto op = "nn.functional.conv" #n "d";                                        \
    static constexpr auto schema =                                                                 \
        "Conv" #n "d(int in_channels, int out_channels, int[" #n "] kernel_size, int[" #n          \
        "] stride=1, any padding=0, int[" #n "] dilation=1, int groups=1, bool bias=True)";        \
    static constexpr auto samples = sample;                                                        \
    using Convolution::Convolution;                                                                \
  };                                                                                               \
  struct ConvTranspose##n##d : TransposedConvolution<ConvTranspose##n##d> {                        \
    static constexpr auto name = "ConvTranspose" #n "d";                                           \
    static constexpr auto op = "nn.functional.conv_transpose" #n "d";                              \
    static constexpr auto schema =                                                                 \
        "ConvTranspose" #n "d(int in_channels, int out_channels, int[" #n "] kernel_size, int[" #n \
        "] stride=1, int[" #n "] padding=0, int[" #n                                               \
        "] output_padding=0, int groups=1, bool bias=True, int[" #n "] dilation=1)";               \
    static constexpr auto samples = sample;                                                        \
    using TransposedConvolution::TransposedConvolution;                                            \
  };                                                                                               \
  }                                                                                                \
  TENON_MODULE(Conv##n##d)                                                                         \
  TENON_MODULE(ConvTranspose##n##d)

NN_CONVOLUTION(1, R"([{"in_channels": 2, "out_channels": 3, "kernel_size": 2}])")
NN_CONVOLUTION(2, R"([{"in_channels": 2, "out_channels": 3, "kernel_size": 2},
                      {"in_channels": 1, "out_channels": 2, "kernel_size": 3, "padding": 1}])")
NN_CONVOLUTION(3, R"([{"in_channels": 1, "out_channels": 2, "kernel_size": 2}])")
