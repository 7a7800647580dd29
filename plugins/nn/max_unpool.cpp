// max_unpool1d, max_unpool2d and max_unpool3d: the largest elements of windows, back at their places.
#include "pooling.hpp"

namespace {

using namespace nn;

// The spatial sizes: those given, or those of which pooling makes the input's.
std::vector<int64_t> sizes_of(const char* op, const Tensor& input, IntList kernel_size,
                              const std::optional<IntList>& stride, IntList padding,
                              const std::optional<IntList>& output_size) {
  const int64_t d = kernel_size.size(), rank = input.dim();
  std::vector<int64_t> sizes;
  for (int64_t i = 0; i < d; ++i) {
    const int64_t step = stride ? (*stride)[i] : kernel_size[i];
    check_setting(op, "kernel_size", kernel_size[i], 1);
    check_setting(op, "stride", step, 1);
    check_setting(op, "padding", padding[i], 0);
    const int64_t natural =
        (input.shape()[rank - d + i] - 1) * step - 2 * padding[i] + kernel_size[i];
    sizes.push_back(output_size ? (*output_size)[output_size->size() - d + i] : natural);
    check_setting(op, "output_size", sizes.back(), 1);
  }
  return sizes;
}

template <int d>
struct MaxUnpool {
  static constexpr auto name = family_text<d>("max_unpool{d}d");
  static constexpr auto schema = family_text<d>(
      "nn.functional.max_unpool{d}d(Tensor input, Tensor indices, int[{d}] kernel_size, int[{d}]? "
      "stride=None, int[{d}] padding=0, int[]? output_size=None) -> Tensor");
  static constexpr auto samples = shared_ops::family_choice<d>(
      R"([{"input": {"shape": [1, 2, 2]}, "kernel_size": 2,
           "indices": {"values": [[[1, 2], [0, 3]]], "dtype": "i64"}}])",
      R"([{"input": {"shape": [1, 2, 2]}, "kernel_size": 2, "output_size": [4, 5],
           "indices": {"values": [[[1, 3], [10, 19]]], "dtype": "i64"}}])",
      R"([{"input": {"shape": [1, 1, 1, 1, 2]}, "kernel_size": 2,
           "indices": {"values": [[[[[7, 10]]]]], "dtype": "i64"}}])");
  static constexpr auto doc = family_text<d>(
      "The inverse of max_pool{d}d_with_indices, as far as there is one: each element at its "
      "position in its {row|plane|volume}, 0 elsewhere. output_size has the spatial sizes, where "
      "pooling cut some off; of several elements for one position the last counts.");
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input, const Tensor& indices, IntList kernel_size,
                        std::optional<IntList> stride, IntList padding,
                        std::optional<IntList> output_size) {
    check_pool_input(name, input, d);
    kernel::check_same_shape(name, "input", input, "indices", indices);
    if (output_size && output_size->size() != d && output_size->size() != input.dim()) {
      throw tenon::ValueError(std::string(name) + "(): output_size must have " + std::to_string(d) +
                              " sizes, got " + shape_text(*output_size));
    }
    const std::vector<int64_t> sizes =
        sizes_of(name, input, kernel_size, stride, padding, output_size);
    const Shape shape = with_last(input.shape(), IntList(sizes.data(), d));
    Shape flat({input.shape().data(), input.dim() - d});
    flat.push(kernel::count_elements(IntList(sizes.data(), d)));
    if (input.numel() == 0) return tenon::zeros(IntList(shape), input.dtype());
    return tenon::zeros(IntList(flat), input.dtype())
        .scatter(-1, indices.flatten(-d, -1), input.flatten(-d, -1))
        .reshape(IntList(shape));
  }
};

}  // namespace
TENON_OPS_1D_TO_3D(MaxUnpool)
