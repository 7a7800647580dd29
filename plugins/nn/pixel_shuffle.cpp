// pixel_shuffle and pixel_unshuffle: channels become pixels, and back.
#include "common.hpp"

namespace {

using namespace nn;

void check_image(const char* op, const Tensor& input) {
  if (input.dim() >= 3) return;
  throw tenon::ValueError(std::string(op) + "(): 'input' must have shape [..., C, H, W], got " +
                          shape_text(input));
}
std::vector<int64_t> front_of(const Tensor& input) {
  std::vector<int64_t> shape = input.sizes();
  shape.resize(shape.size() - 3);
  return shape;
}
// Permutes the last five dimensions.
Tensor permuted(const Tensor& tensor, std::initializer_list<int64_t> last) {
  std::vector<int64_t> order;
  const int64_t front = tensor.dim() - static_cast<int64_t>(last.size());
  for (int64_t i = 0; i < front; ++i) order.push_back(i);
  for (const int64_t i : last) order.push_back(front + i);
  return tensor.permute(order);
}

struct PixelShuffle {
  static constexpr auto schema =
      "nn.functional.pixel_shuffle(Tensor input, int upscale_factor) -> Tensor";
  static constexpr auto samples = R"([{"input": {"shape": [1, 4, 2, 3]}, "upscale_factor": 2}])";
  static constexpr auto doc =
      "[..., C * r^2, H, W] as [..., C, H * r, W * r], where r is upscale_factor: r^2 channels "
      "become a square of pixels (arXiv:1609.05158).";
  static constexpr bool composite = true;

  static Tensor forward(const Tensor& input, int64_t upscale_factor) {
    check_image("pixel_shuffle", input);
    check_setting("pixel_shuffle", "upscale_factor", upscale_factor, 1);
    const int64_t r = upscale_factor, channels = input.size(-3), height = input.size(-2),
                  width = input.size(-1);
    if (channels % (r * r) != 0) {
      throw tenon::ValueError("pixel_shuffle(): the " + std::to_string(channels) +
                              " channels of an input of shape " + shape_text(input) +
                              " must be a multiple of upscale_factor^2, " + std::to_string(r * r));
    }
    std::vector<int64_t> split = front_of(input), shape = split;
    split.insert(split.end(), {channels / (r * r), r, r, height, width});
    shape.insert(shape.end(), {channels / (r * r), height * r, width * r});
    return permuted(input.reshape(split), {0, 3, 1, 4, 2}).reshape(shape);
  }
};

struct PixelUnshuffle {
  static constexpr auto schema =
      "nn.functional.pixel_unshuffle(Tensor input, int downscale_factor) -> Tensor";
  static constexpr auto samples = R"([{"input": {"shape": [1, 2, 4, 2]}, "downscale_factor": 2}])";
  static constexpr auto doc =
      "[..., C, H * r, W * r] as [..., C * r^2, H, W], where r is downscale_factor: the inverse of "
      "pixel_shuffle.";
  static constexpr bool composite = true;

  static Tensor forward(const Tensor& input, int64_t downscale_factor) {
    check_image("pixel_unshuffle", input);
    check_setting("pixel_unshuffle", "downscale_factor", downscale_factor, 1);
    const int64_t r = downscale_factor, channels = input.size(-3), height = input.size(-2),
                  width = input.size(-1);
    if (height % r != 0 || width % r != 0) {
      throw tenon::ValueError("pixel_unshuffle(): height and width of an input of shape " +
                              shape_text(input) + " must be multiples of downscale_factor " +
                              std::to_string(r));
    }
    std::vector<int64_t> split = front_of(input), shape = split;
    split.insert(split.end(), {channels, height / r, r, width / r, r});
    shape.insert(shape.end(), {channels * r * r, height / r, width / r});
    if (input.numel() == 0) return input.reshape(shape);
    return permuted(input.reshape(split), {0, 2, 4, 1, 3}).reshape(shape);
  }
};

}  // namespace
TENON_OPS(PixelShuffle, PixelUnshuffle)
