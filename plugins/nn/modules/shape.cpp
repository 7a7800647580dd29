// Modules that change shapes: Flatten, Unflatten, Identity, PixelShuffle, Upsample, padding.
#include "modules/op_layer.hpp"

NN_OP_MODULE(Flatten, "(int start_dim=1, int end_dim=-1)", "flatten", R"([{}])",
             "Makes one dimension of several.")
NN_OP_MODULE(PixelShuffle, "(int upscale_factor)", "nn.functional.pixel_shuffle",
             R"([{"upscale_factor": 1}])",
             "[N, C r^2, H, W] to [N, C, H r, W r] (Shi et al., 2016).")
NN_OP_MODULE(PixelUnshuffle, "(int downscale_factor)", "nn.functional.pixel_unshuffle",
             R"([{"downscale_factor": 2}])", "[N, C, H r, W r] to [N, C r^2, H, W].")
NN_OP_MODULE(
    Fold,
    "(int[2] output_size, int[2] kernel_size, int[2] dilation=1, int[2] padding=0, "
    "int[2] stride=1)",
    "nn.functional.fold",
    R"([{"output_size": [4, 5], "kernel_size": [2, 2], "inputs": {"input": {"shape": [2, 8, 12]}}}])",
    "Sums columns of windows into an image.")
NN_OP_MODULE(Unfold, "(int[2] kernel_size, int[2] dilation=1, int[2] padding=0, int[2] stride=1)",
             "nn.functional.unfold", R"([{"kernel_size": 2}])",
             "The windows of an image as columns.")

namespace {

using namespace nn;

struct Identity : ModuleOf<Identity> {
  static constexpr auto schema = "Identity()";
  static constexpr auto forward_schema = "forward(Tensor input) -> Tensor";
  static constexpr auto doc = "Its input.";
  Tensor forward(const Tensor& input) const { return input; }
};

struct Unflatten : ModuleOf<Unflatten> {
  static constexpr auto schema = "Unflatten(int dim, int[] unflattened_size)";
  static constexpr auto forward_schema = "forward(Tensor input) -> Tensor";
  static constexpr auto samples = R"([{"dim": 1, "unflattened_size": [1, -1]}])";
  static constexpr auto doc = "Makes several dimensions of one; one size may be -1.";
  Tensor forward(const Tensor& input) const {
    const IntList size = (*this)["unflattened_size"_arg];
    const int64_t given = (*this)["dim"_arg], dim = given < 0 ? given + input.dim() : given;
    if (dim < 0 || dim >= input.dim()) {
      throw tenon::IndexError("Unflatten: dim " + std::to_string(given) +
                              " is out of range for an input of " + std::to_string(input.dim()) +
                              " dimensions");
    }
    std::vector<int64_t> shape = input.sizes();
    const int64_t whole = shape[static_cast<size_t>(dim)];
    int64_t product = 1;
    for (const int64_t part : size) product *= part < 0 ? 1 : part;
    shape.erase(shape.begin() + dim);
    std::vector<int64_t> parts(size.begin(), size.end());
    for (int64_t& part : parts) {
      if (part < 0) part = product == 0 ? 0 : whole / product;
    }
    shape.insert(shape.begin() + dim, parts.begin(), parts.end());
    return input.reshape(shape);
  }
};

struct Upsample : ModuleOf<Upsample> {
  static constexpr auto schema =
      "Upsample(int[]? size=None, float[]? scale_factor=None, str mode='nearest', bool? "
      "align_corners=None)";
  static constexpr auto forward_schema = "forward(Tensor input) -> Tensor";
  static constexpr auto op = "nn.functional.interpolate";
  static constexpr auto samples = R"([{"scale_factor": [2, 2]}])";
  static constexpr auto doc = "The input in another size: nearest, linear, bilinear, trilinear.";
  Tensor forward(const Tensor& input) const { return apply_op(*this, input); }
};

// Pads the last dimensions, given as (left, right, top, bottom, ...); one number stands for all.
template <class Definition>
struct Padding : ModuleOf<Definition> {
  static constexpr auto forward_schema = "forward(Tensor input) -> Tensor";
  Tensor forward(const Tensor& input) const {
    static const tenon::Op pad("pad");
    const auto& self = static_cast<const Definition&>(*this);
    return pad.call<Tensor>(input, self["padding"_arg], tenon::arg("mode") = Definition::mode);
  }
};

}  // namespace
TENON_MODULE(Identity)
TENON_MODULE(Unflatten)
TENON_MODULE(Upsample)

#define NN_PADDING(Name, count, mode_name, doc_text)                  \
  namespace {                                                         \
  struct Name : Padding<Name> {                                       \
    static constexpr auto schema = #Name "(int[" #count "] padding)"; \
    static constexpr auto samples = R"([{"padding": 1}])";            \
    static constexpr auto doc = doc_text;                             \
    static constexpr auto mode = mode_name;                           \
  };                                                                  \
  }                                                                   \
  TENON_MODULE(Name)
NN_PADDING(ZeroPad1d, 2, "constant", "Puts zeros around the last dimension.")
NN_PADDING(ZeroPad2d, 4, "constant", "Puts zeros around the last two dimensions.")
NN_PADDING(ZeroPad3d, 6, "constant", "Puts zeros around the last three dimensions.")
NN_PADDING(ReflectionPad1d, 2, "reflect", "Mirrors the last dimension at its borders.")
NN_PADDING(ReflectionPad2d, 4, "reflect", "Mirrors the last two dimensions at their borders.")
NN_PADDING(ReplicationPad1d, 2, "replicate", "Repeats the borders of the last dimension.")
NN_PADDING(ReplicationPad2d, 4, "replicate", "Repeats the borders of the last two dimensions.")
NN_PADDING(CircularPad1d, 2, "circular", "Continues the last dimension at its other end.")
NN_PADDING(CircularPad2d, 4, "circular", "Continues the last two dimensions at their other ends.")
