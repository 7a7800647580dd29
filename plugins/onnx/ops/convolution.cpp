// Convolutions with ONNX's padding.
#include "window.hpp"

namespace {

using namespace onnx;

struct Conv {
  static constexpr auto schema =
      "onnx.conv(Tensor X, Tensor W, Tensor? B=None, *, str auto_pad='NOTSET', int[]? "
      "dilations=None, int group=1, int[]? kernel_shape=None, int[]? pads=None, int[]? "
      "strides=None) -> Tensor";
  static constexpr auto samples =
      R"([{"X": {"shape": [1, 2, 5, 5]}, "W": {"shape": [3, 2, 3, 3]}, "pads": [1, 0, 1, 2]}])";
  static constexpr auto doc =
      "A convolution over 1 to 3 dimensions; pads has those in front of each, then those behind.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& x, const Tensor& w, const Tensor& b,
                        std::string_view auto_pad, std::optional<IntList> dilations, int64_t group,
                        std::optional<IntList> kernel_shape, std::optional<IntList> pads,
                        std::optional<IntList> strides) {
    const Window window =
        window_of_weight(x, w, kernel_shape, {auto_pad, strides, pads, dilations, false});
    const PaddedInput input = with_padding(x, window, 0);
    return tenon::Op(family_name("nn.functional.conv", window.rank()))
        .call<Tensor>(input.tensor, w, b, window.stride, input.padding, window.dilation, group);
  }
};

struct ConvTranspose {
  static constexpr auto schema =
      "onnx.conv_transpose(Tensor X, Tensor W, Tensor? B=None, *, str auto_pad='NOTSET', int[]? "
      "dilations=None, int group=1, int[]? kernel_shape=None, int[]? output_padding=None, int[]? "
      "output_shape=None, int[]? pads=None, int[]? strides=None) -> Tensor";
  static constexpr auto samples =
      R"([{"X": {"shape": [1, 2, 3, 3]}, "W": {"shape": [2, 3, 3, 3]}, "strides": [2, 2], "pads": [0, 1, 1, 0]}])";
  static constexpr auto doc =
      "A transposed convolution; pads, or what output_shape says, is removed from the result.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& x, const Tensor& w, const Tensor& b,
                        std::string_view auto_pad, std::optional<IntList> dilations, int64_t group,
                        std::optional<IntList>, std::optional<IntList> output_padding,
                        std::optional<IntList> output_shape, std::optional<IntList> pads,
                        std::optional<IntList> strides) {
    if (w.dim() < 3 || x.dim() != w.dim())
      throw tenon::ValueError("onnx.conv_transpose(): the weight has " + std::to_string(w.dim()) +
                              " dimensions, the input " + std::to_string(x.dim()));
    const auto rank = static_cast<size_t>(w.dim() - 2);
    const std::vector<int64_t> stride = list_or(strides, rank, 1, "strides"),
                               dilation = list_or(dilations, rank, 1, "dilations"),
                               extra = list_or(output_padding, rank, 0, "output_padding"),
                               ends = list_or(pads, 2 * rank, 0, "pads");
    std::vector<int64_t> front, behind;
    for (size_t i = 0; i < rank; ++i) {
      const auto dim = static_cast<int64_t>(i) + 2;
      const int64_t whole =
          stride[i] * (x.shape()[dim] - 1) + (w.shape()[dim] - 1) * dilation[i] + 1;
      int64_t begin = auto_pad == "NOTSET" ? ends[i] : 0;
      int64_t end = auto_pad == "NOTSET" ? ends[i + rank] : 0;
      if (output_shape || auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") {
        const int64_t size =
            output_shape ? (*output_shape)[output_shape->size() - static_cast<int64_t>(rank - i)]
                         : x.shape()[dim] * stride[i];
        const int64_t total = whole + extra[i] - size;
        // The larger half of odd padding is at the beginning but for SAME_UPPER.
        begin = total < 0 ? 0 : auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
        end = total - begin;
      }
      front.push_back(begin);
      behind.push_back(extra[i] - end);
    }
    const std::vector<int64_t> none(rank, 0);
    auto result = tenon::Op(family_name("nn.functional.conv_transpose", rank))
                      .call<Tensor>(x, w, Tensor(), stride, none, none, group, dilation);
    for (int64_t& one : front) one = -one;
    result = padded(result, front, behind, 0);
    if (!b.defined()) return result;
    std::vector<int64_t> shape(rank + 1, 1);
    shape[0] = b.numel();
    return result + b.reshape(list_of(shape));
  }
};

struct Col2Im {
  static constexpr auto schema =
      "onnx.col2im(Tensor input, int[] image_shape, int[] block_shape, *, int[]? dilations=None, "
      "int[]? pads=None, int[]? strides=None) -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [1, 4, 4]}, "image_shape": [3, 2], "block_shape": [2, 2], "pads": [0, 1, 0, 0]},
          {"input": {"shape": [1, 2, 3]}, "image_shape": [4], "block_shape": [2]}])";
  static constexpr auto doc = "nn.functional.fold with the padding of ONNX, also of one dimension.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input, IntList image_shape, IntList block_shape,
                        std::optional<IntList> dilations, std::optional<IntList> pads,
                        std::optional<IntList> strides) {
    const auto rank = static_cast<size_t>(image_shape.size());
    if (rank != static_cast<size_t>(block_shape.size()))
      throw tenon::ValueError("onnx.col2im(): image_shape has " + std::to_string(rank) +
                              " numbers, block_shape " + std::to_string(block_shape.size()));
    if (rank < 1 || rank > 2)
      throw tenon::NotImplementedError("onnx.col2im(): images have 1 or 2 dimensions, not " +
                                       std::to_string(rank));
    const std::vector<int64_t> ends = list_or(pads, 2 * rank, 0, "pads");
    std::vector<int64_t> sizes, front, behind;
    for (size_t i = 0; i < rank; ++i) {
      sizes.push_back(image_shape[static_cast<int64_t>(i)] + ends[i] + ends[i + rank]);
      front.push_back(-ends[i]);
      behind.push_back(-ends[i + rank]);
    }
    std::vector<int64_t> kernel = vector_of(block_shape),
                         step = list_or(strides, rank, 1, "strides"),
                         dilation = list_or(dilations, rank, 1, "dilations");
    // A line is a plane of one row.
    for (std::vector<int64_t>* one : {&sizes, &kernel, &step, &dilation}) {
      if (rank == 1) one->insert(one->begin(), 1);
    }
    const std::vector<int64_t> none(2, 0);
    const Tensor image = functional::fold(input, sizes, kernel, dilation, none, step);
    return padded(rank == 1 ? image.squeeze(-2) : image, front, behind, 0);
  }
};

}  // namespace
TENON_OP(Conv)
TENON_OP(ConvTranspose)
TENON_OP(Col2Im)
