// Losses that are 0 beyond a margin: of cosines, rankings, triplets, and the hinge.
#include "distance.hpp"

namespace {

using namespace nn;

Tensor above_zero(const Tensor& tensor) { return tensor.clamp(0); }

struct CosineEmbeddingLoss {
  static constexpr auto schema =
      "nn.functional.cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, *, float "
      "margin=0, str reduction='mean') -> Tensor";
  static constexpr auto samples =
      R"([{"input1": {"shape": [3, 4]}, "input2": {"shape": [3, 4]},
           "target": {"values": [1, -1, 1], "dtype": "i64"}},
          {"input1": {"shape": [4]}, "input2": {"shape": [4]}, "margin": -0.9, "reduction": "none",
           "target": {"shape": [], "values": [-1], "dtype": "i64"}}])";
  static constexpr auto doc =
      "With the cosine of the vectors of input1 and input2, [N, D] or [D]: 1 - cosine where target "
      "is 1, what it is above margin where target is -1.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input1, const Tensor& input2, const Tensor& target,
                        double margin, std::string_view reduction) {
    constexpr auto op = "cosine_embedding_loss";
    const Reduction how = parse_reduction(op, reduction);
    check_floating(op, "input1", input1);
    check_floating(op, "input2", input2);
    kernel::check_same_shape(op, "input1", input1, "input2", input2);
    if (input1.dim() < 1 || input1.dim() > 2 || target.dim() != input1.dim() - 1 ||
        (target.dim() == 1 && target.shape()[0] != input1.shape()[0])) {
      throw tenon::ValueError(
          "cosine_embedding_loss(): the inputs must be [N, D] and the target [N], or [D] and [], "
          "got shapes " +
          shape_text(input1) + " and " + shape_text(target));
    }
    const Tensor cosine = cosine_of(op, input1, input2, -1, 1e-8);
    const Tensor apart = tenon::where(target.eq(-1), above_zero(cosine - margin), 0);
    return reduce(tenon::where(target.eq(1), 1 - cosine, apart), how);
  }
};

struct MarginRankingLoss {
  static constexpr auto schema =
      "nn.functional.margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, *, float "
      "margin=0, str reduction='mean') -> Tensor";
  static constexpr auto samples =
      R"([{"input1": {"shape": [4]}, "input2": {"shape": [4]}, "margin": 0.3,
           "target": {"values": [1, -1, 1, 1], "requires_grad": false}}])";
  static constexpr auto doc =
      "margin - target * (input1 - input2) where that is above 0: target is 1 where input1 must be "
      "the larger, -1 where input2 must be.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input1, const Tensor& input2, const Tensor& target,
                        double margin, std::string_view reduction) {
    constexpr auto op = "margin_ranking_loss";
    const Reduction how = parse_reduction(op, reduction);
    check_floating(op, "input1", input1);
    check_floating(op, "input2", input2);
    broadcast_shape(op, "input1", input1, "input2", input2);
    broadcast_shape(op, "input1", input1, "target", target);
    broadcast_shape(op, "input2", input2, "target", target);
    return reduce(above_zero(margin - target * (input1 - input2)), how);
  }
};

struct HingeEmbeddingLoss {
  static constexpr auto schema =
      "nn.functional.hinge_embedding_loss(Tensor input, Tensor target, *, float margin=1, str "
      "reduction='mean') -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [4]}, "target": {"values": [1, -1, 1, -1], "requires_grad": false}}])";
  static constexpr auto doc =
      "input where target is 1, what it is below margin where target is -1.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input, const Tensor& target, double margin,
                        std::string_view reduction) {
    constexpr auto op = "hinge_embedding_loss";
    const Reduction how = parse_reduction(op, reduction);
    check_floating(op, "input", input);
    warn_of_broadcast(op, input, target,
                      IntList(broadcast_shape(op, "input", input, "target", target)));
    const Tensor below = tenon::where(target.eq(-1), above_zero(margin - input), 0);
    return reduce(tenon::where(target.eq(1), input, below), how);
  }
};

struct SoftMarginLoss {
  static constexpr auto schema =
      "nn.functional.soft_margin_loss(Tensor input, Tensor target, *, str reduction='mean') -> "
      "Tensor";
  static constexpr auto doc = "log(1 + exp(-target * input)), where target is 1 or -1.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input, const Tensor& target, std::string_view reduction) {
    constexpr auto op = "soft_margin_loss";
    const Reduction how = parse_reduction(op, reduction);
    check_floating(op, "input", input);
    warn_of_broadcast(op, input, target,
                      IntList(broadcast_shape(op, "input", input, "target", target)));
    return reduce(-tenon::nn::functional::logsigmoid(target * input), how);
  }
};

struct TripletMarginLoss {
  static constexpr auto schema =
      "nn.functional.triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, *, float "
      "margin=1, float p=2, float eps=1e-6, bool swap=False, str reduction='mean') -> Tensor";
  static constexpr auto samples =
      R"([{"anchor": {"shape": [3, 4]}, "positive": {"shape": [3, 4]}, "negative": {"shape": [3, 4]}},
          {"anchor": {"shape": [3, 4]}, "positive": {"shape": [3, 4]}, "negative": {"shape": [3, 4]},
           "swap": true, "reduction": "none"}])";
  static constexpr auto doc =
      "margin + the distance of anchor from positive - that from negative, where it is above 0; "
      "with swap the distance of positive from negative counts where it is the smaller.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                        double margin, double p, double eps, bool swap,
                        std::string_view reduction) {
    constexpr auto op = "triplet_margin_loss";
    const Reduction how = parse_reduction(op, reduction);
    check_floating(op, "anchor", anchor);
    check_floating(op, "positive", positive);
    check_floating(op, "negative", negative);
    check_norm_order(op, p);
    broadcast_shape(op, "anchor", anchor, "positive", positive);
    broadcast_shape(op, "anchor", anchor, "negative", negative);
    broadcast_shape(op, "positive", positive, "negative", negative);
    Tensor far = distance_of(anchor, negative, p, eps, false);
    if (swap) far = far.minimum(distance_of(positive, negative, p, eps, false));
    return reduce(above_zero(distance_of(anchor, positive, p, eps, false) - far + margin), how);
  }
};

}  // namespace
TENON_OPS(CosineEmbeddingLoss, MarginRankingLoss, HingeEmbeddingLoss, SoftMarginLoss,
          TripletMarginLoss)
