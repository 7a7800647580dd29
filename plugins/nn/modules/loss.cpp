// Losses as modules: an op of the output and the target, with its options as attributes.
#include <string_view>

#include "modules/op_layer.hpp"

#define NN_LOSS(Name, attributes, op_name, doc_text)                                         \
  namespace {                                                                                \
  struct Name : nn::ModuleOf<Name> {                                                         \
    static constexpr auto schema = #Name attributes;                                         \
    static constexpr auto forward_schema = "forward(Tensor input, Tensor target) -> Tensor"; \
    static constexpr auto op = "nn.functional." op_name;                                     \
    static constexpr auto doc = doc_text;                                                    \
    nn::Tensor forward(const nn::Tensor& input, const nn::Tensor& target) const {            \
      return nn::apply_op(*this, input, target);                                             \
    }                                                                                        \
  };                                                                                         \
  }                                                                                          \
  TENON_MODULE(Name)

NN_LOSS(MSELoss, "(str reduction='mean')", "mse_loss", "The mean of (input - target)^2.")
NN_LOSS(L1Loss, "(str reduction='mean')", "l1_loss", "The mean of |input - target|.")
NN_LOSS(SmoothL1Loss, "(str reduction='mean', float beta=1)", "smooth_l1_loss",
        "Quadratic within beta of the target, linear beyond.")
NN_LOSS(HuberLoss, "(str reduction='mean', float delta=1)", "huber_loss",
        "Quadratic within delta of the target, linear beyond.")
NN_LOSS(KLDivLoss, "(str reduction='mean', bool log_target=False)", "kl_div",
        "The Kullback-Leibler divergence of the target from exp(input).")
NN_LOSS(SoftMarginLoss, "(str reduction='mean')", "soft_margin_loss",
        "log(1 + exp(-target * input)), for targets of 1 and -1.")
NN_LOSS(HingeEmbeddingLoss, "(float margin=1, str reduction='mean')", "hinge_embedding_loss",
        "input where the target is 1, max(0, margin - input) where it is -1.")

namespace {

// The tensor itself is the caller's, who may use it elsewhere: a conversion of the module must not reach it.
nn::Tensor own_handle(const nn::Tensor& given) {
  return given.requires_grad() ? given : given.detach();
}

// Weights are converted with the module; files of its state do not have them.
template <class Definition>
struct WeightedLoss : nn::ModuleOf<Definition> {
  static constexpr auto forward_schema = "forward(Tensor input, Tensor target) -> Tensor";
  typename nn::ModuleOf<Definition>::Buffer weight{*this, "weight", false};
  explicit WeightedLoss(const nn::Tensor& given) {
    if (given.defined()) weight = own_handle(given);
  }
  nn::Tensor forward(const nn::Tensor& input, const nn::Tensor& target) const {
    return nn::apply_op_with(*this, {{"weight", weight}}, input, target);
  }
};

struct CrossEntropyLoss : WeightedLoss<CrossEntropyLoss> {
  static constexpr auto schema =
      "CrossEntropyLoss(Tensor? weight=None, int ignore_index=-100, str reduction='mean', float "
      "label_smoothing=0)";
  static constexpr auto op = "nn.functional.cross_entropy";
  static constexpr auto doc = "The cross entropy of scores against class numbers or probabilities.";
  CrossEntropyLoss(const nn::Tensor& given, int64_t, std::string_view, double)
      : WeightedLoss(given) {}
};
struct NLLLoss : WeightedLoss<NLLLoss> {
  static constexpr auto schema =
      "NLLLoss(Tensor? weight=None, int ignore_index=-100, str reduction='mean')";
  static constexpr auto op = "nn.functional.nll_loss";
  static constexpr auto doc = "Minus the log-probability of each target's class.";
  NLLLoss(const nn::Tensor& given, int64_t, std::string_view) : WeightedLoss(given) {}
};
struct BCELoss : WeightedLoss<BCELoss> {
  static constexpr auto schema = "BCELoss(Tensor? weight=None, str reduction='mean')";
  static constexpr auto op = "nn.functional.binary_cross_entropy";
  static constexpr auto doc = "The cross entropy of probabilities against targets from 0 to 1.";
  BCELoss(const nn::Tensor& given, std::string_view) : WeightedLoss(given) {}
};
struct BCEWithLogitsLoss : WeightedLoss<BCEWithLogitsLoss> {
  static constexpr auto schema =
      "BCEWithLogitsLoss(Tensor? weight=None, str reduction='mean', Tensor? pos_weight=None)";
  static constexpr auto op = "nn.functional.binary_cross_entropy_with_logits";
  static constexpr auto doc = "BCELoss of the sigmoid of scores, computed in one step.";
  Buffer pos_weight{*this, "pos_weight", false};
  BCEWithLogitsLoss(const nn::Tensor& given, std::string_view, const nn::Tensor& positive)
      : WeightedLoss(given) {
    if (positive.defined()) pos_weight = own_handle(positive);
  }
  nn::Tensor forward(const nn::Tensor& input, const nn::Tensor& target) const {
    return nn::apply_op_with(*this, {{"weight", weight}, {"pos_weight", pos_weight}}, input,
                             target);
  }
};

}  // namespace

TENON_MODULE(CrossEntropyLoss)
TENON_MODULE(NLLLoss)
TENON_MODULE(BCELoss)
TENON_MODULE(BCEWithLogitsLoss)
