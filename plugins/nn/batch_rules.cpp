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
nn.grad.layer_norm: loop("its kernel adds up the rows of a sample")
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
nn.functional.gru: rows(input=3, hidden=2)
nn.functional.lstm: rows(input=3, hidden=2, cell=2)
nn.functional.lstm_packed: rows(input=3, hidden=2, cell=2)
nn.functional.linear_packed: leading(input=1)
nn.functional.pack_features: loop("prepared models pack a weight once")
nn.functional.pack_taps: refuse("the number of taps that are used differs between samples")
nn.functional.nms, nn.functional.nms_per_class: refuse("the number of boxes that are selected differs between samples")
nn.grad.softmax, nn.grad.log_softmax: dims(dim)
nn.grad.embedding(grad_output, indices, rows) =
  scatter_add(constant_pad_nd(narrow(flatten(grad_output, 0, -2), 0, 0, 0), [0, 0, 0, rows]), 0,
  expand(unsqueeze(flatten(indices), 1), [size(flatten(indices), 0), size(grad_output, -1)]),
  flatten(grad_output, 0, -2)) where padding_idx == none, rank(indices) >= 1
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
nn.functional.conv1d_packed: fold(input=3)
nn.functional.conv2d_tail: fold(input=4, addend=4) where rank(input) == 4
nn.functional.conv1d_input: fold(grad_output=3, input_size)
nn.functional.conv2d_input: fold(grad_output=4, input_size)
nn.functional.conv3d_input: fold(grad_output=5, input_size)
nn.functional.conv1d_input, nn.functional.conv2d_input, nn.functional.conv3d_input: groups(input_size=1, weight=0, grad_output=1, groups)
nn.functional.conv1d_weight, nn.functional.conv2d_weight, nn.functional.conv3d_weight: groups(input=1, weight_size=0, grad_output=1, groups)
nn.grad.max_pool: placed(input_size)
nn.grad.adaptive_avg_pool: fold(grad_output=3, input_size) where dimensions == 1
nn.grad.adaptive_avg_pool: fold(grad_output=4, input_size) where dimensions == 2
nn.grad.adaptive_avg_pool: fold(grad_output=5, input_size) where dimensions == 3
nn.grad.avg_pool: fold(grad_output=3, input_size) where kernel_size == [0]
nn.grad.avg_pool: fold(grad_output=4, input_size) where kernel_size == [0, 0]
nn.grad.avg_pool: fold(grad_output=5, input_size) where kernel_size == [0, 0, 0]
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
nn.grad.smoothed_nll_loss: fold(input=2, target=1) where reduction == "none", rank(input) <= 2
nn.grad.smoothed_nll_loss(input, target, weight, ignore_index, reduction, label_smoothing) =
  sum(nn.grad.smoothed_nll_loss(input, target, weight, ignore_index=ignore_index, reduction="none", label_smoothing=label_smoothing))
  where reduction == "sum", rank(input) <= 2
nn.grad.smoothed_nll_loss(input, target, weight, ignore_index, reduction, label_smoothing) =
  div(sum(nn.grad.smoothed_nll_loss(input, target, weight, ignore_index=ignore_index, reduction="none", label_smoothing=label_smoothing)), sum(ne(target, ignore_index)))
  where reduction == "mean", rank(input) <= 2, not given(weight)
nn.grad.nll_loss: fold(grad_output=1, target=1, input_size) where reduction == "none", rank(target) <= 1
nn.grad.nll_loss(grad_output, target, weight, input_size, ignore_index, reduction, label_smoothing) =
  nn.grad.nll_loss(expand(grad_output, shape(target)), target, weight, input_size, ignore_index=ignore_index, reduction="none", label_smoothing=label_smoothing)
  where reduction == "sum", rank(target) <= 1
nn.grad.nll_loss(grad_output, target, weight, input_size, ignore_index, reduction, label_smoothing) =
  nn.grad.nll_loss(expand(div(grad_output, sum(ne(target, ignore_index))), shape(target)), target, weight, input_size, ignore_index=ignore_index, reduction="none", label_smoothing=label_smoothing)
  where reduction == "mean", rank(target) <= 1, not given(weight)
nn.grad.cross_entropy: fold(grad_output=1, input=2, target=1) where reduction == "none", rank(input) <= 2
nn.grad.cross_entropy(grad_output, input, target, weight, ignore_index, reduction, label_smoothing) =
  nn.grad.cross_entropy(expand(grad_output, shape(target)), input, target, weight, ignore_index=ignore_index, reduction="none", label_smoothing=label_smoothing)
  where reduction == "sum", rank(input) <= 2
nn.grad.cross_entropy(grad_output, input, target, weight, ignore_index, reduction, label_smoothing) =
  nn.grad.cross_entropy(expand(div(grad_output, sum(ne(target, ignore_index))), shape(target)), input, target, weight, ignore_index=ignore_index, reduction="none", label_smoothing=label_smoothing)
  where reduction == "mean", rank(input) <= 2, not given(weight)
)")
