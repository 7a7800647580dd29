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

struct DeformConv {
  static constexpr auto schema =
      "onnx.deform_conv(Tensor X, Tensor W, Tensor offset, Tensor? B=None, Tensor? mask=None, *, "
      "int[]? dilations=None, int group=1, int[]? kernel_shape=None, int offset_group=1, int[]? "
      "pads=None, int[]? strides=None) -> Tensor";
  static constexpr auto samples =
      R"([{"X": {"shape": [1, 2, 4, 4]}, "W": {"shape": [3, 2, 2, 2]}, "offset": {"shape": [1, 16, 4, 5], "low": 0.1, "high": 0.4},
           "mask": {"shape": [1, 8, 4, 5]}, "offset_group": 2, "pads": [0, 1, 1, 1]}])";
  static constexpr auto doc = "nn.functional.deform_conv2d with the padding of ONNX.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& x, const Tensor& w, const Tensor& offset, const Tensor& b,
                        const Tensor& mask, std::optional<IntList> dilations, int64_t group,
                        std::optional<IntList> kernel_shape, int64_t offset_group,
                        std::optional<IntList> pads, std::optional<IntList> strides) {
    static const tenon::Op op("nn.functional.deform_conv2d");
    if (x.dim() != 4)
      throw tenon::NotImplementedError("onnx.deform_conv(): images have 2 dimensions, not " +
                                       std::to_string(x.dim() - 2));
    const Window window =
        window_of_weight(x, w, kernel_shape, {"NOTSET", strides, pads, dilations, false});
    const int64_t numbers = 2 * window.kernel[0] * window.kernel[1];
    if (offset.dim() != 4 || offset_group < 1 || offset.size(1) / numbers != offset_group)
      throw tenon::ValueError(
          "onnx.deform_conv(): 'offset' must have offset_group times 2 numbers for each place of "
          "the "
          "kernel, 4 dimensions");
    // Outside of the image is 0, as padding is: more in front than behind is a larger image.
    const PaddedInput input = with_padding(x, window, 0);
    return op.call<Tensor>(input.tensor, offset, w, b, window.stride, input.padding,
                           window.dilation, mask, tenon::arg("groups") = group);
  }
};

// Adds the columns of blocks to images of any rank; one place in the images for each element of a column.
Tensor folded(const Tensor& input, const std::vector<int64_t>& sizes,
              const std::vector<int64_t>& kernel, const std::vector<int64_t>& dilation,
              const std::vector<int64_t>& step) {
  std::vector<int64_t> places{0};
  int64_t blocks = 1, windows = 1;
  const auto spread = [&](const std::vector<int64_t>& counts, const std::vector<int64_t>& steps) {
    int64_t stride = 1;
    std::vector<int64_t> strides(sizes.size());
    for (size_t d = sizes.size(); d-- > 0; stride *= sizes[d]) strides[d] = stride;
    for (size_t d = 0; d < sizes.size(); ++d) {
      std::vector<int64_t> more;
      for (const int64_t place : places) {
        for (int64_t i = 0; i < counts[d]; ++i) more.push_back(place + i * steps[d] * strides[d]);
      }
      places = std::move(more);
    }
  };
  std::vector<int64_t> counts;
  int64_t elements = 1;
  for (size_t d = 0; d < sizes.size(); ++d) {
    const int64_t room = sizes[d] - (kernel[d] - 1) * dilation[d] - 1;
    if (kernel[d] < 1 || dilation[d] < 1 || step[d] < 1 || room < 0)
      throw tenon::ValueError("onnx.col2im(): a block of " + std::to_string(kernel[d]) +
                              " does not fit an image of " + std::to_string(sizes[d]) +
                              " in dimension " + std::to_string(d));
    counts.push_back(room / step[d] + 1);
    if (__builtin_mul_overflow(blocks, kernel[d], &blocks) ||
        __builtin_mul_overflow(windows, counts[d], &windows) ||
        __builtin_mul_overflow(elements, sizes[d], &elements))
      throw tenon::ValueError("onnx.col2im(): the image is too large");
  }
  if (input.dim() != 3 || input.size(1) % blocks != 0 || input.size(2) != windows)
    throw tenon::ValueError("onnx.col2im(): 'input' must be [N, C * " + std::to_string(blocks) +
                            ", " + std::to_string(windows) + "] for these images and blocks");
  spread(kernel, dilation);
  spread(counts, step);
  const int64_t channels = input.size(1) / blocks;
  const auto count = static_cast<int64_t>(places.size());
  const Tensor index = tenon::from_buffer(places.data(), IntList(&count, 1));
  const Tensor columns = input.reshape({input.size(0), channels, blocks * windows});
  std::vector<int64_t> shape{input.size(0), channels};
  shape.insert(shape.end(), sizes.begin(), sizes.end());
  return tenon::index_add(tenon::zeros({input.size(0), channels, elements}, input.dtype()), 2,
                          index, columns)
      .reshape(list_of(shape));
}

struct Col2Im {
  static constexpr auto schema =
      "onnx.col2im(Tensor input, int[] image_shape, int[] block_shape, *, int[]? dilations=None, "
      "int[]? pads=None, int[]? strides=None) -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [1, 4, 4]}, "image_shape": [3, 2], "block_shape": [2, 2], "pads": [0, 1, 0, 0]},
          {"input": {"shape": [1, 2, 3]}, "image_shape": [4], "block_shape": [2]},
          {"input": {"shape": [1, 16, 2]}, "image_shape": [2, 2, 3], "block_shape": [2, 2, 2]}])";
  static constexpr auto doc =
      "nn.functional.fold with the padding of ONNX, in any number of dimensions.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input, IntList image_shape, IntList block_shape,
                        std::optional<IntList> dilations, std::optional<IntList> pads,
                        std::optional<IntList> strides) {
    const auto rank = static_cast<size_t>(image_shape.size());
    if (rank != static_cast<size_t>(block_shape.size()))
      throw tenon::ValueError("onnx.col2im(): image_shape has " + std::to_string(rank) +
                              " numbers, block_shape " + std::to_string(block_shape.size()));
    if (rank < 1) throw tenon::ValueError("onnx.col2im(): image_shape is empty");
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
    if (rank > 2) return padded(folded(input, sizes, kernel, dilation, step), front, behind, 0);
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
TENON_OP(DeformConv)
TENON_OP(Col2Im)
