// Losses.
#include <tenon/plugin.hpp>
#include <tenon/conversion.hpp>

TENON_CONVERSIONS(losses, "onnx", R"(
NegativeLogLikelihoodLoss:12(input, target, weight?; ignore_index?, reduction='mean') = onnx.nll_loss(input, target, weight, ignore_index=ignore_index, reduction=reduction)
SoftmaxCrossEntropyLoss:12(scores, labels, weights?; ignore_index?, reduction='mean') = onnx.softmax_cross_entropy(scores, labels, weights, ignore_index=ignore_index, reduction=reduction)
)")
