// Windows that move over the last dimensions of a tensor: sizes and padding of convolutions and pools.
#pragma once

#include "common.hpp"

namespace onnx {

struct Window {
  std::vector<int64_t> kernel, stride, dilation;
  std::vector<int64_t> begin, end;  // padding in front of and behind each dimension
  std::vector<int64_t> outputs;     // sizes of the result

  size_t rank() const { return kernel.size(); }
  bool is_symmetric() const { return begin == end; }
  // Elements that an input of the size lacks behind it, for all windows to be inside.
  int64_t missing(size_t i, int64_t size) const {
    const int64_t last = (outputs[i] - 1) * stride[i] + (kernel[i] - 1) * dilation[i] + 1;
    return std::max<int64_t>(0, last - size - begin[i] - end[i]);
  }
};

struct WindowAttributes {
  std::string_view auto_pad;
  std::optional<IntList> strides, pads, dilations;
  bool ceil_mode = false;
};

// The numbers of an attribute, the same for all places where it is absent or empty. ValueError for another count.
std::vector<int64_t> list_or(const std::optional<IntList>& list, size_t size, int64_t fallback,
                             const char* name);
// The window over an input [N, C, ...]. ValueError for attributes that do not fit it.
Window window_of(const Tensor& input, IntList kernel, const WindowAttributes& attributes);
// The window of a convolution, whose kernel is the weight's [M, C, ...].
Window window_of_weight(const Tensor& input, const Tensor& weight,
                        const std::optional<IntList>& kernel_shape,
                        const WindowAttributes& attributes);

// An input for an op that pads, but only as much in front as behind.
struct PaddedInput {
  Tensor tensor;
  std::vector<int64_t> padding;  // the op's
};
PaddedInput with_padding(const Tensor& input, const Window& window, const Scalar& value);

// The input with padding around its last dimensions.
Tensor padded(const Tensor& input, const std::vector<int64_t>& begin,
              const std::vector<int64_t>& end, const Scalar& value);
// The last dimensions up to the sizes.
Tensor cropped(const Tensor& input, const std::vector<int64_t>& sizes);
// "nn.functional.conv2d" of "nn.functional.conv" and 2.
std::string family_name(std::string_view name, size_t rank, std::string_view suffix = "");

}  // namespace onnx
