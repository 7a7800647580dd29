// Conv2d: a module around nn.functional.conv2d.
#include "modules/initialize.hpp"

namespace {

using namespace nn;

struct Conv2d : ModuleOf<Conv2d> {
  static constexpr auto schema =
      "Conv2d(int in_channels, int out_channels, int[2] kernel_size, int[2] stride=1, int[2] "
      "padding=0, "
      "int[2] dilation=1, int groups=1, bool bias=True)";
  static constexpr auto forward_schema = "forward(Tensor input) -> Tensor";
  static constexpr auto doc =
      "Convolution with weight [out_channels, in_channels / groups, kernel height, kernel width].";

  Parameter weight{*this, "weight"}, bias{*this, "bias"};

  Conv2d(int64_t in_channels, int64_t out_channels, IntList kernel_size, IntList stride,
         IntList padding, IntList dilation, int64_t groups, bool with_bias) {
    check_size("Conv2d", "in_channels", in_channels, 1);
    check_size("Conv2d", "out_channels", out_channels, 1);
    check_size("Conv2d", "groups", groups, 1);
    for (int64_t i = 0; i < 2; ++i) {
      check_size("Conv2d", "kernel_size", kernel_size[i], 1, largest_setting);
      check_size("Conv2d", "stride", stride[i], 1, largest_setting);
      check_size("Conv2d", "padding", padding[i], 0, largest_setting);
      check_size("Conv2d", "dilation", dilation[i], 1, largest_setting);
    }
    if (in_channels % groups != 0 || out_channels % groups != 0) {
      throw tenon::ValueError("Conv2d: groups must divide in_channels " +
                              std::to_string(in_channels) + " and out_channels " +
                              std::to_string(out_channels) + ", got " + std::to_string(groups));
    }
    const int64_t shape[] = {out_channels, in_channels / groups, kernel_size[0], kernel_size[1]};
    const Tensor values = tenon::empty_tensor({shape, 4});  // refuses sizes whose product overflows
    const int64_t fan_in = values.numel() / out_channels;
    weight = uniform_parameter(values, fan_in);
    if (with_bias) bias = uniform_parameter(tenon::empty_tensor({out_channels}), fan_in);
  }
  Tensor forward(const Tensor& input) const {
    const Conv2d& self = *this;
    return tenon::nn::functional::conv2d(input, weight, bias, self["stride"_arg],
                                         self["padding"_arg], self["dilation"_arg],
                                         self["groups"_arg]);
  }
  std::string extra_repr() const {
    const Conv2d& self = *this;
    std::string text = std::to_string(self["in_channels"_arg]) + ", " +
                       std::to_string(self["out_channels"_arg]) +
                       ", kernel_size=" + pair_text(self["kernel_size"_arg]) +
                       ", stride=" + pair_text(self["stride"_arg]);
    const IntList padding = self["padding"_arg], dilation = self["dilation"_arg];
    if (padding[0] != 0 || padding[1] != 0) text += ", padding=" + pair_text(padding);
    if (dilation[0] != 1 || dilation[1] != 1) text += ", dilation=" + pair_text(dilation);
    if (self["groups"_arg] != 1) text += ", groups=" + std::to_string(self["groups"_arg]);
    if (!bias.defined()) text += ", bias=False";
    return text;
  }
};

}  // namespace
TENON_MODULE(Conv2d)
