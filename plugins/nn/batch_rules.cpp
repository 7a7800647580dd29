// Batch rules (<tenon/transforms/batch_rules.hpp>) of functions that are neither loops over elements nor made of
// ops.
#include <tenon/transforms/batch_rules.hpp>

TENON_BATCH_RULES(functions, R"(
nn.functional.softmax, nn.functional.log_softmax: dims(dim)
nn.functional.layer_norm, nn.functional.rms_norm: leading(input=0)
nn.functional.layer_norm(input, normalized_shape, weight, bias, eps) =
  add(mul(nn.functional.layer_norm(input, normalized_shape, none, none, eps), weight), bias) where given(weight), given(bias)
nn.functional.layer_norm(input, normalized_shape, weight, bias, eps) =
  mul(nn.functional.layer_norm(input, normalized_shape, none, none, eps), weight) where given(weight)
nn.functional.rms_norm(input, normalized_shape, weight, eps) =
  mul(nn.functional.rms_norm(input, normalized_shape, none, eps), weight) where given(weight)
nn.functional.linear: leading(input=1) where not batched(weight)
# The gradient of the weight is written in the order of its elements.
nn.functional.linear(input, weight, bias) = add(matmul(weight, input), bias) where given(bias), rank(input) == 1
nn.functional.linear(input, weight, bias) = matmul(weight, input) where rank(input) == 1
nn.functional.linear(input, weight, bias) = add(matmul(input, transpose(weight, 0, 1)), bias) where given(bias)
nn.functional.linear(input, weight, bias) = matmul(input, transpose(weight, 0, 1))
nn.functional.embedding: leading(input=0) where not batched(weight)
nn.functional.dropout: elementwise where training == false
nn.functional.dropout: random
nn.functional.gumbel_softmax, nn.init.orthogonal_, nn.init.trunc_normal_: random
nn.functional.flash_attention: fold(query=4, key=4, value=4)
nn.functional.gru_step: fold(gates=2, hidden_gates=2, hidden=2)
nn.functional.lstm_step: fold(gates=2, hidden_gates=2, cell=2)
)")

TENON_BATCH_RULES(pictures, R"(
nn.functional.conv1d: fold(input=3)
nn.functional.conv1d: groups(input, weight, bias, groups) where rank(input) == 3
nn.functional.conv2d: fold(input=4)
nn.functional.conv2d: groups(input, weight, bias, groups) where rank(input) == 4
nn.functional.conv3d: fold(input=5)
nn.functional.conv3d: groups(input, weight, bias, groups) where rank(input) == 5
nn.functional.avg_pool1d, nn.functional.max_pool1d, nn.functional.max_pool1d_with_indices: fold(input=3)
nn.functional.avg_pool2d, nn.functional.max_pool2d, nn.functional.max_pool2d_with_indices: fold(input=4)
nn.functional.avg_pool3d, nn.functional.max_pool3d, nn.functional.max_pool3d_with_indices: fold(input=5)
nn.functional.adaptive_avg_pool1d, nn.functional.adaptive_max_pool1d_with_indices: fold(input=3)
nn.functional.adaptive_avg_pool2d, nn.functional.adaptive_max_pool2d_with_indices: fold(input=4)
nn.functional.adaptive_avg_pool3d, nn.functional.adaptive_max_pool3d_with_indices: fold(input=5)
nn.functional.unfold: fold(input=4)
nn.functional.fold: fold(input=3)
)")

TENON_BATCH_RULES(losses, R"(
nn.functional.binary_cross_entropy: each where reduction == "none"
nn.functional.binary_cross_entropy(input, target, weight) =
  mean(nn.functional.binary_cross_entropy(input, target, weight, reduction="none")) where reduction == "mean"
nn.functional.binary_cross_entropy(input, target, weight) =
  sum(nn.functional.binary_cross_entropy(input, target, weight, reduction="none")) where reduction == "sum"
nn.functional.nll_loss, nn.functional.cross_entropy: fold(input=2, target=1) where reduction == "none", not floating(target), rank(input) <= 2
nn.functional.nll_loss(input, target, weight, ignore_index) =
  sum(nn.functional.nll_loss(input, target, weight, ignore_index=ignore_index, reduction="none"))
  where reduction == "sum", not floating(target), rank(input) <= 2
nn.functional.nll_loss(input, target, weight, ignore_index) =
  div(sum(nn.functional.nll_loss(input, target, weight, ignore_index=ignore_index, reduction="none")), sum(ne(target, ignore_index)))
  where reduction == "mean", not floating(target), rank(input) <= 2, not given(weight)
nn.functional.cross_entropy(input, target, weight, ignore_index, label_smoothing) =
  sum(nn.functional.cross_entropy(input, target, weight, ignore_index=ignore_index, reduction="none", label_smoothing=label_smoothing))
  where reduction == "sum", not floating(target), rank(input) <= 2
nn.functional.cross_entropy(input, target, weight, ignore_index, label_smoothing) =
  div(sum(nn.functional.cross_entropy(input, target, weight, ignore_index=ignore_index, reduction="none", label_smoothing=label_smoothing)), sum(ne(target, ignore_index)))
  where reduction == "mean", not floating(target), rank(input) <= 2, not given(weight)
)")
