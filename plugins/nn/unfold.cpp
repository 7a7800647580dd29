// unfold and fold: sliding patches of images as columns, and their sums back.
#include "unfolding.hpp"

namespace {

using namespace nn;

// The patches of images of `height` x `width`.
Patches patches_of(const char* op, int64_t height, int64_t width, IntList kernel_size,
                   IntList dilation, IntList padding, IntList stride) {
  Patches patches;
  patches.in[1] = height;
  patches.in[2] = width;
  for (int64_t i = 0; i < 2; ++i) {
    check_setting(op, "kernel_size", kernel_size[i], 1);
    check_setting(op, "dilation", dilation[i], 1);
    check_setting(op, "padding", padding[i], 0);
    check_setting(op, "stride", stride[i], 1);
    patches.kernel[1 + i] = kernel_size[i];
    patches.dilation[1 + i] = dilation[i];
    patches.padding[1 + i] = padding[i];
    patches.stride[1 + i] = stride[i];
  }
  patches.measure();
  if (patches.positions() == 0) {
    throw tenon::ValueError(std::string(op) + "(): a kernel of " + shape_text(kernel_size) +
                            " with dilation " + shape_text(dilation) + " does not fit into " +
                            std::to_string(height) + " x " + std::to_string(width) +
                            " elements with padding " + shape_text(padding));
  }
  return patches;
}

// `batch` images, or columns, at a time; body(T{}, index).
template <class Body>
void each_image(const Tensor& result, int64_t batch, const Patches& patches, const Body& body) {
  visit_floating(result.dtype(), [&](auto zero) {
    kernel::for_rows(batch, patches.depth() * patches.positions(), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) body(zero, i);
    });
  });
}

// [..., a, b] with the input's batch dimension, if it has one.
Shape with_batch(const Tensor& input, bool batched, IntList last) {
  Shape shape;
  if (batched) shape.push(input.shape()[0]);
  for (const int64_t size : last) shape.push(size);
  return shape;
}
int64_t product_of(const char* op, std::initializer_list<int64_t> sizes) {
  int64_t product = 1;
  for (const int64_t size : sizes) {
    if (__builtin_mul_overflow(product, size, &product))
      throw tenon::ValueError(std::string(op) + "(): the patches have too many elements");
  }
  return product;
}

struct Unfold {
  static constexpr auto schema =
      "nn.functional.unfold(Tensor input, int[2] kernel_size, int[2] dilation=1, int[2] padding=0, "
      "int[2] stride=1) -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 2, 3, 4]}, "kernel_size": 2},
          {"input": {"shape": [2, 3, 3]}, "kernel_size": [2, 1], "dilation": [2, 1], "padding": [1, 0], "stride": 2}])";
  static constexpr auto doc =
      "The patches of images [N, C, H, W] or [C, H, W] as columns: [N, C * kernel height * kernel "
      "width, patches], patches from left to right, then down.";
  static constexpr auto saves = "shape(input)";

  static Tensor forward(const Tensor& input, IntList kernel_size, IntList dilation, IntList padding,
                        IntList stride) {
    constexpr auto op = "unfold";
    check_floating(op, "input", input);
    const int64_t rank = input.dim();
    if (rank != 3 && rank != 4) {
      throw tenon::ValueError("unfold(): 'input' must have shape [N, C, H, W] or [C, H, W], got " +
                              shape_text(input));
    }
    Patches patches =
        patches_of(op, input.size(-2), input.size(-1), kernel_size, dilation, padding, stride);
    patches.channels = input.size(-3);
    product_of(op, {rank == 4 ? input.shape()[0] : 1, patches.channels, kernel_size[0],
                    kernel_size[1], patches.out[1], patches.out[2]});
    const int64_t size = patches.depth() * patches.positions();
    const std::array<int64_t, 2> last{patches.depth(), patches.positions()};
    Tensor result =
        tenon::empty_tensor(with_batch(input, rank == 4, {last.data(), 2}), input.dtype());
    if (result.numel() == 0) return result;
    const Tensor whole = dense(input);
    const int64_t image = patches.channels * patches.plane();
    each_image(result, result.numel() / size, patches, [&](auto zero, int64_t i) {
      using T = decltype(zero);
      unfold(patches, kernel::elements<const T>(whole) + i * image,
             kernel::elements<T>(result) + i * size);
    });
    return result;
  }
  static Tensor backward(ContextOf<Unfold>& c, const Tensor& g) {
    const IntList shape = c["input"_arg].shape();
    return tenon::nn::functional::fold(g, IntList(shape.end() - 2, 2), c["kernel_size"_arg],
                                       c["dilation"_arg], c["padding"_arg], c["stride"_arg]);
  }
  static constexpr auto jvp = tenon::JvpKind::linear;
};

struct Fold {
  static constexpr auto schema =
      "nn.functional.fold(Tensor input, int[2] output_size, int[2] kernel_size, int[2] dilation=1, "
      "int[2] padding=0, int[2] stride=1) -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 8, 6]}, "output_size": [3, 4], "kernel_size": 2},
          {"input": {"shape": [4, 4]}, "output_size": 3, "kernel_size": [2, 1], "dilation": [2, 1], "padding": [1, 0], "stride": 2}])";
  static constexpr auto doc =
      "The sums of patches, [N, C * kernel height * kernel width, patches] or without N, where "
      "they "
      "came from: images [N, C, H, W] of output_size. The transpose of unfold.";

  static Tensor forward(const Tensor& input, IntList output_size, IntList kernel_size,
                        IntList dilation, IntList padding, IntList stride) {
    constexpr auto op = "fold";
    check_floating(op, "input", input);
    check_setting(op, "output_size", output_size[0], 1);
    check_setting(op, "output_size", output_size[1], 1);
    Patches patches =
        patches_of(op, output_size[0], output_size[1], kernel_size, dilation, padding, stride);
    const int64_t rank = input.dim(), kernel = kernel_size[0] * kernel_size[1];
    if ((rank != 2 && rank != 3) || input.size(-2) % kernel != 0 ||
        input.size(-1) != patches.positions()) {
      throw tenon::ValueError("fold(): 'input' must have shape [N, C * " + std::to_string(kernel) +
                              ", " + std::to_string(patches.positions()) + "] or [C * " +
                              std::to_string(kernel) + ", " + std::to_string(patches.positions()) +
                              "], got " + shape_text(input));
    }
    patches.channels = input.size(-2) / kernel;
    product_of(
        op, {rank == 3 ? input.shape()[0] : 1, patches.channels, output_size[0], output_size[1]});
    const std::array<int64_t, 3> last{patches.channels, output_size[0], output_size[1]};
    Tensor result =
        tenon::empty_tensor(with_batch(input, rank == 3, {last.data(), 3}), input.dtype());
    tenon::fill_elements(result, 0);
    if (result.numel() == 0) return result;
    const Tensor whole = dense(input);
    const int64_t size = patches.depth() * patches.positions(),
                  image = patches.channels * patches.plane();
    each_image(result, result.numel() / image, patches, [&](auto zero, int64_t i) {
      using T = decltype(zero);
      fold(patches, kernel::elements<const T>(whole) + i * size,
           kernel::elements<T>(result) + i * image);
    });
    return result;
  }
  static Tensor backward(ContextOf<Fold>& c, const Tensor& v) {
    return tenon::nn::functional::unfold(v, c["kernel_size"_arg], c["dilation"_arg],
                                         c["padding"_arg], c["stride"_arg]);
  }
  static constexpr auto jvp = tenon::JvpKind::linear;
};

}  // namespace
TENON_OPS(Unfold, Fold)
