// channel_shuffle: the channels of groups in turn.
#include "common.hpp"

namespace {

using namespace nn;

struct ChannelShuffle {
  static constexpr auto schema =
      "nn.functional.channel_shuffle(Tensor input, int groups) -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [1, 6, 2]}, "groups": 3}, {"input": {"shape": [2, 4]}, "groups": 2}])";
  static constexpr auto doc =
      "[N, C, ...] whose channels are groups of neighbours, with the first channel of each group, "
      "then the second of each, and so on (arXiv:1707.01083).";
  static constexpr bool composite = true;

  static Tensor forward(const Tensor& input, int64_t groups) {
    check_setting("channel_shuffle", "groups", groups, 1);
    if (input.dim() < 2 || input.size(1) % groups != 0) {
      throw tenon::ValueError(
          "channel_shuffle(): 'input' must be [N, C, ...] with channels that are a multiple of "
          "groups, " +
          std::to_string(groups) + ", got shape " + shape_text(input));
    }
    if (input.numel() == 0) return input.clone();
    const int64_t count = input.size(0), channels = input.size(1);
    return input.reshape({count, groups, channels / groups, -1})
        .transpose(1, 2)
        .clone()
        .reshape(input.sizes());
  }
};

}  // namespace
TENON_OP(ChannelShuffle)
