#include "window.hpp"

namespace onnx {

std::vector<int64_t> list_or(const std::optional<IntList>& list, size_t size, int64_t fallback,
                             const char* name) {
  if (!list || list->empty()) return std::vector<int64_t>(size, fallback);
  if (static_cast<size_t>(list->size()) != size)
    throw tenon::ValueError(std::string("'") + name + "' has " + std::to_string(list->size()) +
                            " numbers, expected " + std::to_string(size));
  return vector_of(*list);
}

Window window_of(const Tensor& input, IntList kernel, const WindowAttributes& attributes) {
  const auto rank = static_cast<size_t>(kernel.size());
  if (rank == 0 || input.dim() != static_cast<int64_t>(rank) + 2)
    throw tenon::ValueError("the input has " + std::to_string(input.dim()) +
                            " dimensions, and the kernel " + std::to_string(rank));
  Window window;
  window.kernel = vector_of(kernel);
  window.stride = list_or(attributes.strides, rank, 1, "strides");
  window.dilation = list_or(attributes.dilations, rank, 1, "dilations");
  const std::vector<int64_t> pads = list_or(attributes.pads, 2 * rank, 0, "pads");
  const bool same = attributes.auto_pad == "SAME_UPPER" || attributes.auto_pad == "SAME_LOWER";
  const bool valid = attributes.auto_pad == "VALID";
  if (!same && !valid && attributes.auto_pad != "NOTSET")
    throw tenon::ValueError("'auto_pad' is '" + std::string(attributes.auto_pad) +
                            "'; there are NOTSET, SAME_UPPER, SAME_LOWER and VALID");
  for (size_t i = 0; i < rank; ++i) {
    const int64_t size = input.shape()[static_cast<int64_t>(i) + 2], stride = window.stride[i];
    if (stride < 1 || window.dilation[i] < 1 || window.kernel[i] < 1)
      throw tenon::ValueError("strides, dilations and kernel sizes are at least 1");
    const int64_t reach = (window.kernel[i] - 1) * window.dilation[i] + 1;
    int64_t begin = valid || same ? 0 : pads[i], end = valid || same ? 0 : pads[i + rank];
    int64_t outputs = 0;
    if (same) {
      outputs = (size + stride - 1) / stride;
      const int64_t total = std::max<int64_t>(0, (outputs - 1) * stride + reach - size);
      begin = attributes.auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
      end = total - begin;
    } else {
      const int64_t room = size + begin + end - reach;
      if (room < 0)
        throw tenon::ValueError("a window of " + std::to_string(reach) + " does not fit " +
                                std::to_string(size + begin + end) + " elements");
      outputs = (attributes.ceil_mode ? (room + stride - 1) / stride : room / stride) + 1;
      // No window begins in the padding at the end.
      if (attributes.ceil_mode && (outputs - 1) * stride >= size + begin) --outputs;
    }
    window.begin.push_back(begin);
    window.end.push_back(end);
    window.outputs.push_back(outputs);
  }
  return window;
}

Window window_of_weight(const Tensor& input, const Tensor& weight,
                        const std::optional<IntList>& kernel_shape,
                        const WindowAttributes& attributes) {
  if (weight.dim() < 3) throw tenon::ValueError("the weight has no kernel dimensions");
  const IntList kernel(weight.shape().begin() + 2, weight.dim() - 2);
  if (kernel_shape && vector_of(*kernel_shape) != vector_of(kernel))
    throw tenon::ValueError("kernel_shape is not that of the weight");
  return window_of(input, kernel, attributes);
}

PaddedInput with_padding(const Tensor& input, const Window& window, const Scalar& value) {
  if (window.is_symmetric()) return {input, window.begin};
  return {padded(input, window.begin, window.end, value), std::vector<int64_t>(window.rank(), 0)};
}

Tensor padded(const Tensor& input, const std::vector<int64_t>& begin,
              const std::vector<int64_t>& end, const Scalar& value) {
  std::vector<int64_t> pads;
  bool any = false;
  for (size_t i = begin.size(); i-- > 0;) {
    pads.push_back(begin[i]);
    pads.push_back(end[i]);
    any = any || begin[i] != 0 || end[i] != 0;
  }
  return any ? tenon::constant_pad_nd(input, list_of(pads), value) : input;
}

Tensor cropped(const Tensor& input, const std::vector<int64_t>& sizes) {
  Tensor result = input;
  const int64_t from = input.dim() - static_cast<int64_t>(sizes.size());
  for (size_t i = 0; i < sizes.size(); ++i) {
    const int64_t dim = from + static_cast<int64_t>(i);
    if (result.shape()[dim] > sizes[i]) result = tenon::narrow(result, dim, 0, sizes[i]);
  }
  return result;
}

std::string family_name(std::string_view name, size_t rank, std::string_view suffix) {
  if (rank < 1 || rank > 3)
    throw tenon::NotImplementedError("there are windows of 1 to 3 dimensions, not of " +
                                     std::to_string(rank));
  return std::string(name) + std::to_string(rank) + "d" + std::string(suffix);
}

}  // namespace onnx
