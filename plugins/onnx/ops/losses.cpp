// Losses of class numbers.
#include "common.hpp"

namespace {

using namespace onnx;

// -weight[target] * log_probability[target], with 0 where the target is to be ignored.
Tensor nll(const Tensor& input, const Tensor& target, const Tensor& weight,
           std::optional<int64_t> ignore_index, std::string_view reduction) {
  const Tensor labels = target.to(tenon::i64);
  const Tensor zero = number_like(input, 0);
  Tensor ignored = tenon::full(labels.shape(), false, tenon::boolean);
  if (ignore_index) ignored = tenon::eq(labels, *ignore_index);
  const Tensor places = tenon::where(ignored, tenon::full(IntList(), 0, tenon::i64), labels);
  Tensor factor = tenon::where(ignored, zero, number_like(input, 1));
  if (weight.defined()) {
    const Tensor own = tenon::index_select(weight, 0, places.reshape({-1})).reshape(labels.shape());
    factor = tenon::where(ignored, zero, own);
  }
  const Tensor picked = tenon::gather(input, 1, places.unsqueeze(1)).squeeze(1);
  const Tensor loss = tenon::where(ignored, zero, tenon::neg(picked) * factor);
  if (reduction == "none") return loss;
  if (reduction == "sum") return tenon::sum(loss);
  if (reduction != "mean")
    throw tenon::ValueError("'reduction' is '" + std::string(reduction) +
                            "'; there are none, sum and mean");
  return tenon::sum(loss) / tenon::sum(factor);
}

struct NllLoss {
  static constexpr auto schema =
      "onnx.nll_loss(Tensor input, Tensor target, Tensor? weight=None, *, int? ignore_index=None, "
      "str reduction='mean') -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [3, 4]}, "target": {"values": [0, 3, 1], "dtype": "i64"}}])";
  static constexpr auto doc =
      "Minus the log probability of each target, weighted; targets of ignore_index count nothing.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input, const Tensor& target, const Tensor& weight,
                        std::optional<int64_t> ignore_index, std::string_view reduction) {
    return nll(input, target, weight, ignore_index, reduction);
  }
};

struct SoftmaxCrossEntropy {
  static constexpr auto schema =
      "onnx.softmax_cross_entropy(Tensor scores, Tensor labels, Tensor? weights=None, *, int? "
      "ignore_index=None, str reduction='mean') -> (Tensor output, Tensor log_prob)";
  static constexpr auto samples =
      R"([{"scores": {"shape": [3, 4]}, "labels": {"values": [0, 3, 1], "dtype": "i64"}}])";
  static constexpr auto doc = "onnx.nll_loss of the log softmax of scores, and this.";
  static constexpr bool composite = true;
  static std::tuple<Tensor, Tensor> forward(const Tensor& scores, const Tensor& labels,
                                            const Tensor& weights,
                                            std::optional<int64_t> ignore_index,
                                            std::string_view reduction) {
    const Tensor log_prob = functional::log_softmax(scores, 1);
    return {nll(log_prob, labels, weights, ignore_index, reduction), log_prob};
  }
};

}  // namespace
TENON_OP(NllLoss)
TENON_OP(SoftmaxCrossEntropy)
