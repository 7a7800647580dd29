// depth_to_space and space_to_depth: pixel shuffles with the block in front of the channels.
#include "common.hpp"

namespace {

using namespace nn;

void check_image(const char* op, const Tensor& input, int64_t block_size) {
  check_setting(op, "block_size", block_size, 1);
  if (input.dim() == 4) return;
  throw tenon::ValueError(std::string(op) + "(): 'input' must have shape [N, C, H, W], got " +
                          shape_text(input));
}

struct DepthToSpace {
  static constexpr auto schema =
      "nn.functional.depth_to_space(Tensor input, int block_size, str mode='DCR') -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [1, 8, 2, 3]}, "block_size": 2},
          {"input": {"shape": [2, 4, 1, 2]}, "block_size": 2, "mode": "CRD"}])";
  static constexpr auto doc =
      "[N, C * b^2, H, W] as [N, C, H * b, W * b], where b is block_size. mode names the order of "
      "what the channels hold: 'DCR' block before channel, 'CRD' channel before block, which is "
      "pixel_shuffle (ONNX' DepthToSpace).";
  static constexpr bool composite = true;

  static Tensor forward(const Tensor& input, int64_t block_size, std::string_view mode) {
    check_image("depth_to_space", input, block_size);
    const int64_t b = block_size, count = input.size(0), channels = input.size(1),
                  height = input.size(2), width = input.size(3);
    if (mode != "DCR" && mode != "CRD") {
      throw tenon::ValueError("depth_to_space(): '" + std::string(mode) +
                              "' is not a mode; choose DCR or CRD");
    }
    if (channels % (b * b) != 0) {
      throw tenon::ValueError("depth_to_space(): the " + std::to_string(channels) +
                              " channels of an input of shape " + shape_text(input) +
                              " must be a multiple of block_size^2, " + std::to_string(b * b));
    }
    const int64_t depth = channels / (b * b);
    const std::vector<int64_t> shape{count, depth, height * b, width * b};
    if (input.numel() == 0) return input.reshape(shape);
    if (mode == "CRD") return tenon::nn::functional::pixel_shuffle(input, b);
    return input.reshape({count, b, b, depth, height, width})
        .permute({0, 3, 4, 1, 5, 2})
        .reshape(shape);
  }
};

struct SpaceToDepth {
  static constexpr auto schema =
      "nn.functional.space_to_depth(Tensor input, int block_size) -> Tensor";
  static constexpr auto samples = R"([{"input": {"shape": [1, 2, 4, 2]}, "block_size": 2}])";
  static constexpr auto doc =
      "[N, C, H * b, W * b] as [N, C * b^2, H, W], where b is block_size: the inverse of "
      "depth_to_space with mode 'DCR' (ONNX' SpaceToDepth).";
  static constexpr bool composite = true;

  static Tensor forward(const Tensor& input, int64_t block_size) {
    check_image("space_to_depth", input, block_size);
    const int64_t b = block_size, count = input.size(0), channels = input.size(1),
                  height = input.size(2), width = input.size(3);
    if (height % b != 0 || width % b != 0) {
      throw tenon::ValueError("space_to_depth(): height and width of an input of shape " +
                              shape_text(input) + " must be multiples of block_size " +
                              std::to_string(b));
    }
    const std::vector<int64_t> shape{count, channels * b * b, height / b, width / b};
    if (input.numel() == 0) return input.reshape(shape);
    return input.reshape({count, channels, height / b, b, width / b, b})
        .permute({0, 3, 5, 1, 2, 4})
        .reshape(shape);
  }
};

}  // namespace
TENON_OPS(DepthToSpace, SpaceToDepth)
