// Losses as modules: an op of the output and the target, with its options as attributes.
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

NN_LOSS(CrossEntropyLoss,
        "(Tensor? weight=None, int ignore_index=-100, str reduction='mean', float "
        "label_smoothing=0)",
        "cross_entropy", "The cross entropy of scores against class numbers or probabilities.")
NN_LOSS(NLLLoss, "(Tensor? weight=None, int ignore_index=-100, str reduction='mean')", "nll_loss",
        "Minus the log-probability of each target's class.")
NN_LOSS(BCELoss, "(Tensor? weight=None, str reduction='mean')", "binary_cross_entropy",
        "The cross entropy of probabilities against targets from 0 to 1.")
NN_LOSS(BCEWithLogitsLoss, "(Tensor? weight=None, str reduction='mean', Tensor? pos_weight=None)",
        "binary_cross_entropy_with_logits",
        "BCELoss of the sigmoid of scores, computed in one step.")
