// local_response_norm: channels weakened by their neighbours.
#include <algorithm>

#include "common.hpp"

namespace {

using namespace nn;

struct LocalResponseNorm {
  static constexpr auto schema =
      "nn.functional.local_response_norm(Tensor input, int size, float alpha=0.0001, float "
      "beta=0.75, float k=1) -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 4, 3]}, "size": 3, "alpha": 0.5},
          {"input": {"shape": [1, 3, 2, 2]}, "size": 2, "alpha": 2, "beta": 1.5, "k": 0.5}])";
  static constexpr auto doc =
      "input / (k + alpha / size * s)^beta, where s sums the squares of `size` neighbouring "
      "channels, size / 2 of them before, as far as there are any; input is [N, C, ...] "
      "(Krizhevsky, Sutskever and Hinton, 2012).";
  static constexpr bool composite = true;

  static Tensor forward(const Tensor& input, int64_t size, double alpha, double beta, double k) {
    constexpr auto op = "local_response_norm";
    check_floating(op, "input", input);
    check_setting(op, "size", size, 1);
    if (input.dim() < 2) {
      throw tenon::ValueError("local_response_norm(): 'input' must have shape [N, C, ...], got " +
                              shape_text(input));
    }
    if (input.numel() == 0) return input.clone();
    // No channel has more neighbours than there are.
    const int64_t before = std::min(size / 2, input.size(1) - 1),
                  after = std::min((size - 1) / 2, input.size(1) - 1);
    std::vector<int64_t> pads(static_cast<size_t>(2 * (input.dim() - 1)));
    pads[pads.size() - 2] = before;
    pads[pads.size() - 1] = after;
    const Tensor squares = tenon::constant_pad_nd(input.square(), pads);
    const Tensor sums = squares.unfold(1, before + 1 + after, 1).sum(-1);
    return input / (sums * (alpha / static_cast<double>(size)) + k).pow(beta);
  }
};

}  // namespace
TENON_OP(LocalResponseNorm)
