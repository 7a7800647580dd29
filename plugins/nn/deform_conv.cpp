// deform_conv2d: a convolution whose kernel places move by an offset.
#include "common.hpp"

namespace {

using namespace nn;

constexpr auto kName = "deform_conv2d";

[[noreturn]] void refuse(const std::string& text) {
  throw tenon::ValueError(std::string(kName) + "(): " + text);
}

// Sizes of a call; names as in the schema's documentation.
struct Sizes {
  int64_t batch, channels, height, width, out_channels, kernel_height, kernel_width, offset_groups;
  int64_t out_height, out_width;

  int64_t places() const { return kernel_height * kernel_width; }
  int64_t samples() const { return places() * out_height * out_width; }
};

// Kernel places of the windows without an offset, along one dimension: [kernel, outputs].
Tensor grid(int64_t kernel, int64_t outputs, int64_t stride, int64_t padding, int64_t dilation,
            const Tensor& like) {
  const Tensor starts = tenon::arange(outputs, tenon::none, 1, tenon::i64) * stride - padding;
  const Tensor steps = tenon::arange(kernel, tenon::none, 1, tenon::i64) * dilation;
  return (steps.unsqueeze(1) + starts.unsqueeze(0)).to(like.dtype());
}

// The input at fractional places [B, groups, samples], linear between pixels, 0 outside.
Tensor sampled(const Tensor& input, const Tensor& y, const Tensor& x, const Sizes& sizes) {
  const int64_t groups = sizes.offset_groups, each = sizes.channels / groups;
  const Tensor planes = input.reshape({sizes.batch, groups, each, sizes.height * sizes.width});
  const Tensor top = tenon::floor(y.detach()), left = tenon::floor(x.detach());
  const Tensor down = y - top, right = x - left;
  Tensor sum;
  for (const int64_t dy : {0, 1}) {
    for (const int64_t dx : {0, 1}) {
      const Tensor row = top + dy, column = left + dx;
      const Tensor inside = tenon::logical_and(
          tenon::logical_and(tenon::ge(row, 0), tenon::lt(row, sizes.height)),
          tenon::logical_and(tenon::ge(column, 0), tenon::lt(column, sizes.width)));
      const Tensor place = row.clamp(0, sizes.height - 1).to(tenon::i64) * sizes.width +
                           column.clamp(0, sizes.width - 1).to(tenon::i64);
      const Tensor index = place.unsqueeze(2).expand({sizes.batch, groups, each, sizes.samples()});
      const Tensor weight = (dy == 1 ? down : 1 - down) * (dx == 1 ? right : 1 - right);
      const Tensor part =
          tenon::gather(planes, 3, index) * (weight * inside.to(weight.dtype())).unsqueeze(2);
      sum = sum.defined() ? sum + part : part;
    }
  }
  return sum;
}

struct DeformConv2d {
  static constexpr auto schema =
      "nn.functional.deform_conv2d(Tensor input, Tensor offset, Tensor weight, Tensor? bias=None, "
      "int[2] stride=1, int[2] padding=0, int[2] dilation=1, Tensor? mask=None, *, int groups=1) "
      "-> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [1, 2, 4, 5]}, "offset": {"shape": [1, 8, 3, 4]}, "weight": {"shape": [3, 2, 2, 2]}, "bias": {"shape": [3]}},
          {"input": {"shape": [2, 4, 4, 3]}, "offset": {"shape": [2, 16, 2, 2]}, "weight": {"shape": [2, 2, 2, 2]},
           "stride": [2, 1], "padding": [1, 0], "dilation": [2, 1], "mask": {"shape": [2, 8, 2, 2]}, "groups": 2}])";
  static constexpr auto doc =
      "conv2d over input [B, C, H, W] whose kernel places move by offset [B, 2 * offset groups * "
      "kh * kw, out H, out W], rows before columns, and are weighted by mask [B, offset groups * "
      "kh * kw, out H, out W]; between pixels it is linear, outside 0. Each offset group is for "
      "its "
      "part of the channels (arXiv:1703.06211, ONNX' DeformConv).";
  static constexpr bool composite = true;

  static Tensor forward(const Tensor& input, const Tensor& offset, const Tensor& weight,
                        const Tensor& bias, IntList stride, IntList padding, IntList dilation,
                        const Tensor& mask, int64_t groups) {
    check_floating(kName, "input", input);
    check_same_dtype(kName, "input", input, "offset", offset);
    check_same_dtype(kName, "input", input, "weight", weight);
    const Sizes sizes = sizes_of(input, offset, weight, stride, padding, dilation, groups);
    const Tensor moves = offset.reshape(
        {sizes.batch, sizes.offset_groups, sizes.places(), 2, sizes.out_height, sizes.out_width});
    const auto places = [&](int64_t which, const Tensor& along, int64_t dim) {
      // Kernel places and windows as [kh, kw, out H, out W], of which `along` has one pair.
      const Tensor still =
          dim == 0 ? along.unsqueeze(1).unsqueeze(3) : along.unsqueeze(0).unsqueeze(2);
      const Tensor whole = still.expand(
          {sizes.kernel_height, sizes.kernel_width, sizes.out_height, sizes.out_width});
      return (moves.select(3, which) +
              whole.reshape({sizes.places(), sizes.out_height, sizes.out_width}))
          .reshape({sizes.batch, sizes.offset_groups, sizes.samples()});
    };
    const Tensor y = places(
        0, grid(sizes.kernel_height, sizes.out_height, stride[0], padding[0], dilation[0], offset),
        0);
    const Tensor x = places(
        1, grid(sizes.kernel_width, sizes.out_width, stride[1], padding[1], dilation[1], offset),
        1);
    Tensor columns = sampled(input, y, x, sizes);
    if (mask.defined()) {
      check_same_dtype(kName, "input", input, "mask", mask);
      if (mask.numel() != sizes.batch * sizes.offset_groups * sizes.samples())
        refuse("'mask' must have one number for each pair of 'offset', got shape " +
               shape_text(mask));
      columns = columns * mask.reshape({sizes.batch, sizes.offset_groups, 1, sizes.samples()});
    }
    const int64_t rows = sizes.channels / groups * sizes.places();
    const Tensor factors = weight.reshape({1, groups, sizes.out_channels / groups, rows});
    Tensor result =
        tenon::matmul(factors, columns.reshape({sizes.batch, groups, rows, -1}))
            .reshape({sizes.batch, sizes.out_channels, sizes.out_height, sizes.out_width});
    if (bias.defined()) result = result + bias.reshape({-1, 1, 1});
    return result;
  }

 private:
  static Sizes sizes_of(const Tensor& input, const Tensor& offset, const Tensor& weight,
                        IntList stride, IntList padding, IntList dilation, int64_t groups) {
    if (input.dim() != 4 || weight.dim() != 4 || offset.dim() != 4)
      refuse("'input', 'offset' and 'weight' must have 4 dimensions, got shapes " +
             shape_text(input) + ", " + shape_text(offset) + " and " + shape_text(weight));
    if (groups < 1 || input.size(1) != weight.size(1) * groups || weight.size(0) % groups != 0)
      refuse("'weight' of shape " + shape_text(weight) + " does not fit " +
             std::to_string(input.size(1)) + " channels in " + std::to_string(groups) + " groups");
    Sizes sizes{};
    sizes.batch = input.size(0);
    sizes.channels = input.size(1);
    sizes.height = input.size(2);
    sizes.width = input.size(3);
    sizes.out_channels = weight.size(0);
    sizes.kernel_height = weight.size(2);
    sizes.kernel_width = weight.size(3);
    sizes.out_height = offset.size(2);
    sizes.out_width = offset.size(3);
    for (int64_t i = 0; i < 2; ++i) {
      check_setting(kName, "stride", stride[i], 1);
      check_setting(kName, "padding", padding[i], 0);
      check_setting(kName, "dilation", dilation[i], 1);
      const int64_t room =
          input.size(i + 2) + 2 * padding[i] - dilation[i] * (weight.size(i + 2) - 1) - 1;
      if (room < 0 || offset.size(i + 2) != room / stride[i] + 1)
        refuse("'offset' of shape " + shape_text(offset) + " must have " +
               std::to_string(room < 0 ? 0 : room / stride[i] + 1) + " windows in dimension " +
               std::to_string(i + 2));
    }
    const int64_t pairs = 2 * sizes.places();
    sizes.offset_groups = pairs == 0 ? 0 : offset.size(1) / pairs;
    if (offset.size(0) != sizes.batch || sizes.offset_groups < 1 ||
        offset.size(1) != sizes.offset_groups * pairs || sizes.channels % sizes.offset_groups != 0)
      refuse("'offset' of shape " + shape_text(offset) + " must have a multiple of " +
             std::to_string(pairs) + " channels, whose number divides the channels of 'input'");
    return sizes;
  }
};

}  // namespace
TENON_OP(DeformConv2d)
