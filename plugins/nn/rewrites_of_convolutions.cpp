// Rewrites of prepared models: batch norm and factors that go into a layer's weights, and what follows a
// convolution as a part of it.
#include <tenon/rewrite.hpp>

// Constants are computed once, by ops: what is left is a layer with other weights. An infinite factor in the
// weights, of a variance of -eps, say, would give nan where terms of a sum have both signs. batch_norm subtracts the mean times the factor: where
// that is most of the value before it, few digits are left, and both sides have lost others.
TENON_REWRITES(folded_batch_norm, R"(
  nn.fold_batch_norm_conv1d: nn.functional.batch_norm(nn.functional.conv1d(x, w, b, ...), m, v, g, h, momentum=_, eps=e)
    => nn.functional.conv1d(x, nn.functional.scale_features(w, nn.functional.batch_norm_factor(v, g, e)),
         nn.functional.batch_norm_term(m, nn.functional.batch_norm_factor(v, g, e), h, b), ...)
    where constant(w), constant(m), least(v) >= 0, finite(g), e > 0, dim(x) == 3, dtype(x) in [f32, f64]
    within 1e-3
  nn.fold_batch_norm_conv2d: nn.functional.batch_norm(nn.functional.conv2d(x, w, b, ...), m, v, g, h, momentum=_, eps=e)
    => nn.functional.conv2d(x, nn.functional.scale_features(w, nn.functional.batch_norm_factor(v, g, e)),
         nn.functional.batch_norm_term(m, nn.functional.batch_norm_factor(v, g, e), h, b), ...)
    where constant(w), constant(m), least(v) >= 0, finite(g), e > 0, dim(x) == 4, dtype(x) in [f32, f64]
    within 1e-3
  nn.fold_batch_norm_conv3d: nn.functional.batch_norm(nn.functional.conv3d(x, w, b, ...), m, v, g, h, momentum=_, eps=e)
    => nn.functional.conv3d(x, nn.functional.scale_features(w, nn.functional.batch_norm_factor(v, g, e)),
         nn.functional.batch_norm_term(m, nn.functional.batch_norm_factor(v, g, e), h, b), ...)
    where constant(w), constant(m), least(v) >= 0, finite(g), e > 0, dim(x) == 5, dtype(x) in [f32, f64]
    within 1e-3
  nn.fold_batch_norm_linear: nn.functional.batch_norm(nn.functional.linear(x, w, b), m, v, g, h, momentum=_, eps=e)
    => nn.functional.linear(x, nn.functional.scale_features(w, nn.functional.batch_norm_factor(v, g, e)),
         nn.functional.batch_norm_term(m, nn.functional.batch_norm_factor(v, g, e), h, b))
    where constant(w), constant(m), least(v) >= 0, finite(g), e > 0, dim(x) == 2, dtype(x) in [f32, f64]
    within 1e-3
)")

TENON_REWRITES(folded_factors, R"(
  nn.fold_factor_conv2d: mul(nn.functional.conv2d(x, w, b, ...), c)
    => nn.functional.conv2d(x, nn.functional.scale_features(w, c), nn.functional.shift_features(b, w, c), ...)
    where constant(w), finite(c), dim(x) == 4, dtype(x) in [f32, f64], dtype(c) == dtype(x),
      numel(c) == 1 or shape(c) == [size(w, 0), 1, 1] or shape(c) == [1, size(w, 0), 1, 1]
    within 1e-5
  nn.fold_factor_conv2d_behind: mul(c, nn.functional.conv2d(x, w, b, ...))
    => nn.functional.conv2d(x, nn.functional.scale_features(w, c), nn.functional.shift_features(b, w, c), ...)
    where constant(w), finite(c), dim(x) == 4, dtype(x) in [f32, f64], dtype(c) == dtype(x),
      numel(c) == 1 or shape(c) == [size(w, 0), 1, 1] or shape(c) == [1, size(w, 0), 1, 1]
    within 1e-5
  nn.fold_term_conv2d: add(nn.functional.conv2d(x, w, b, ...), c)
    => nn.functional.conv2d(x, w, nn.functional.shift_features(b, w, none, c), ...)
    where constant(w), constant(c), dim(x) == 4, dtype(x) in [f32, f64], dtype(c) == dtype(x),
      numel(c) == 1 or shape(c) == [size(w, 0), 1, 1] or shape(c) == [1, size(w, 0), 1, 1]
    within 1e-5
  nn.fold_term_conv2d_behind: add(c, nn.functional.conv2d(x, w, b, ...))
    => nn.functional.conv2d(x, w, nn.functional.shift_features(b, w, none, c), ...)
    where constant(w), constant(c), dim(x) == 4, dtype(x) in [f32, f64], dtype(c) == dtype(x),
      numel(c) == 1 or shape(c) == [size(w, 0), 1, 1] or shape(c) == [1, size(w, 0), 1, 1]
    within 1e-5
)")

// Activations as exporters write them.
TENON_REWRITES(activations, R"(
  nn.hardswish_of_clamp: div(mul(x, clamp(add(x, a), low, high)), c) => nn.functional.hardswish(x)
    where value(a) == 3, value(low) == 0, value(high) == 6, value(c) == 6, dtype(x) in [f32, f64]
    within 1e-6
  nn.hardswish_of_hardsigmoid: mul(x, nn.functional.hardsigmoid(x)) => nn.functional.hardswish(x)
    within 1e-6
)")

// conv2d_fused is made in steps: of a convolution, then with what follows it.
TENON_REWRITES(fused_convolutions, R"(
  nn.fuse_conv2d: nn.functional.conv2d(x, w, b, ...) => nn.functional.conv2d_fused(x, w, b, ...)
    where dim(x) == 4, dtype(x) in [f32, f64]
    within 1e-6
  nn.fuse_tail: nn.functional.conv2d_tail(x, w, b, none, none, a, relu=false, ...)
    => nn.functional.conv2d_fused(x, w, b, a, ...)
    where dim(x) == 4, dtype(x) in [f32, f64]
    within 1e-6
  nn.fuse_tail_relu: nn.functional.conv2d_tail(x, w, b, none, none, a, relu=true, ...)
    => nn.functional.conv2d_fused(x, w, b, a, activation="relu", ...)
    where dim(x) == 4, dtype(x) in [f32, f64]
    within 1e-6
  nn.fuse_tail_factor: nn.functional.conv2d_tail(x, w, b, f, t, a, relu=false, ...)
    => nn.functional.conv2d_fused(x, nn.functional.scale_features(w, f), nn.functional.shift_features(b, w, f, t), a, ...)
    where constant(w), constant(f), finite(f), dim(x) == 4, dtype(x) in [f32, f64]
    within 1e-5
  nn.fuse_tail_factor_relu: nn.functional.conv2d_tail(x, w, b, f, t, a, relu=true, ...)
    => nn.functional.conv2d_fused(x, nn.functional.scale_features(w, f), nn.functional.shift_features(b, w, f, t), a,
         activation="relu", ...)
    where constant(w), constant(f), finite(f), dim(x) == 4, dtype(x) in [f32, f64]
    within 1e-5
  nn.fuse_addend: add(nn.functional.conv2d_fused(x, w, b, none, activation="none", alpha=_, beta=_, scale=1, shift=0, ...), y)
    => nn.functional.conv2d_fused(x, w, b, y, ...)
    where dim(y) == 4, not constant(y), size(y, 1) == size(w, 0), dtype(y) == dtype(x)
    within 1e-6
  nn.fuse_addend_before: add(y, nn.functional.conv2d_fused(x, w, b, none, activation="none", alpha=_, beta=_, scale=1, shift=0, ...))
    => nn.functional.conv2d_fused(x, w, b, y, ...)
    where dim(y) == 4, not constant(y), size(y, 1) == size(w, 0), dtype(y) == dtype(x)
    within 1e-6
  nn.fuse_relu: relu(nn.functional.conv2d_fused(x, w, b, a, activation="none", alpha=_, beta=_, scale=1, shift=0, ...))
    => nn.functional.conv2d_fused(x, w, b, a, activation="relu", ...)
    within 1e-6
  nn.fuse_leaky_relu: nn.functional.leaky_relu(nn.functional.conv2d_fused(x, w, b, a, activation="none", alpha=_, beta=_, scale=1, shift=0, ...), s)
    => nn.functional.conv2d_fused(x, w, b, a, activation="leaky_relu", alpha=(value(s)), ...)
    within 1e-6
  nn.fuse_clamp: clamp(nn.functional.conv2d_fused(x, w, b, a, activation="none", alpha=_, beta=_, scale=1, shift=0, ...), low, high)
    => nn.functional.conv2d_fused(x, w, b, a, activation="clip", alpha=(value(low)), beta=(value(high)), ...)
    where value(low) <= value(high)
    within 1e-6
  nn.fuse_relu6: nn.functional.relu6(nn.functional.conv2d_fused(x, w, b, a, activation="none", alpha=_, beta=_, scale=1, shift=0, ...))
    => nn.functional.conv2d_fused(x, w, b, a, activation="clip", alpha=0, beta=6, ...)
    within 1e-6
  nn.fuse_hardtanh: nn.functional.hardtanh(nn.functional.conv2d_fused(x, w, b, a, activation="none", alpha=_, beta=_, scale=1, shift=0, ...), low, high)
    => nn.functional.conv2d_fused(x, w, b, a, activation="clip", alpha=(value(low)), beta=(value(high)), ...)
    where value(low) <= value(high)
    within 1e-6
  nn.fuse_sigmoid: sigmoid(nn.functional.conv2d_fused(x, w, b, a, activation="none", alpha=_, beta=_, scale=1, shift=0, ...))
    => nn.functional.conv2d_fused(x, w, b, a, activation="sigmoid", ...)
    within 1e-6
  nn.fuse_tanh: tanh(nn.functional.conv2d_fused(x, w, b, a, activation="none", alpha=_, beta=_, scale=1, shift=0, ...))
    => nn.functional.conv2d_fused(x, w, b, a, activation="tanh", ...)
    within 1e-6
  nn.fuse_silu: nn.functional.silu(nn.functional.conv2d_fused(x, w, b, a, activation="none", alpha=_, beta=_, scale=1, shift=0, ...))
    => nn.functional.conv2d_fused(x, w, b, a, activation="silu", ...)
    within 1e-6
  nn.fuse_silu_of_sigmoid: mul(nn.functional.conv2d_fused(x, w, b, a, activation="none", alpha=_, beta=_, scale=1, shift=0, ...r),
      sigmoid(nn.functional.conv2d_fused(x, w, b, a, activation="none", alpha=_, beta=_, scale=1, shift=0, ...r)))
    => nn.functional.conv2d_fused(x, w, b, a, activation="silu", ...r)
    within 1e-6
  nn.fuse_hardswish: nn.functional.hardswish(nn.functional.conv2d_fused(x, w, b, a, activation="none", alpha=_, beta=_, scale=1, shift=0, ...))
    => nn.functional.conv2d_fused(x, w, b, a, activation="hardswish", ...)
    within 1e-6
  nn.fuse_hardsigmoid: nn.functional.hardsigmoid(nn.functional.conv2d_fused(x, w, b, a, activation="none", alpha=_, beta=_, scale=1, shift=0, ...))
    => nn.functional.conv2d_fused(x, w, b, a, activation="hardsigmoid", alpha=(1 / 6), beta=0.5, ...)
    within 1e-6
  nn.fuse_scale: mul(nn.functional.conv2d_fused(x, w, b, a, scale=s, shift=t, ...), c)
    => nn.functional.conv2d_fused(x, w, b, a, scale=(s * value(c)), shift=(t * value(c)), ...)
    where value(c) == value(c)
    within 1e-5
  nn.fuse_scale_behind: mul(c, nn.functional.conv2d_fused(x, w, b, a, scale=s, shift=t, ...))
    => nn.functional.conv2d_fused(x, w, b, a, scale=(s * value(c)), shift=(t * value(c)), ...)
    where value(c) == value(c)
    within 1e-5
  nn.fuse_shift: add(nn.functional.conv2d_fused(x, w, b, a, shift=t, ...), c)
    => nn.functional.conv2d_fused(x, w, b, a, shift=(t + value(c)), ...)
    where value(c) == value(c)
    within 1e-5
  nn.fuse_shift_behind: add(c, nn.functional.conv2d_fused(x, w, b, a, shift=t, ...))
    => nn.functional.conv2d_fused(x, w, b, a, shift=(t + value(c)), ...)
    where value(c) == value(c)
    within 1e-5
)")
