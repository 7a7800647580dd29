// Rewrites of prepared models: convolutions compute in blocks of channels, and images stay in blocks from
// one to the next. What comes before a block's end moves behind it; two conversions cancel.
#include <tenon/rewrite.hpp>

// A result that others read as well is the first result of a rule: it stays for them.
// dnnl.winograd is for blocks of 16 channels, those of AVX-512, for which oneDNN has kernels, and for images that
// are large enough for their transforms (README.md).
TENON_REWRITES(blocks, R"(
  dnnl.cancel: [dnnl.from_blocked(x, c), dnnl.to_blocked(dnnl.from_blocked(x, c))] => [dnnl.from_blocked(x, c), x]
  dnnl.cancel_alone: dnnl.to_blocked(dnnl.from_blocked(x, c)) => x
  dnnl.blocked: nn.functional.conv2d_fused(x, w, b, none, groups=g, ...)
    => dnnl.from_blocked(dnnl.conv2d_blocked(dnnl.to_blocked(x), w, b, none, groups=g, ...), (size(w, 0)))
    where dtype(x) == f32, dim(x) == 4, g * size(w, 1) > 3, size(w, 0) >= 8,
      g == 1 or (size(w, 1) == 1 and size(w, 0) == g) or (size(w, 1) % 16 == 0 and size(w, 0) // g % 16 == 0),
      size(x, 2) * size(x, 3) >= 16, size(x, 0) * size(x, 2) * size(x, 3) * numel(w) >= 65536
    within 1e-5
  dnnl.blocked_addend: nn.functional.conv2d_fused(x, w, b, a, groups=g, ...)
    => dnnl.from_blocked(dnnl.conv2d_blocked(dnnl.to_blocked(x), w, b, dnnl.to_blocked(a), groups=g, ...), (size(w, 0)))
    where is_tensor(a), dtype(x) == f32, dim(x) == 4, g * size(w, 1) > 3, size(w, 0) >= 8,
      g == 1 or (size(w, 1) == 1 and size(w, 0) == g) or (size(w, 1) % 16 == 0 and size(w, 0) // g % 16 == 0),
      size(x, 2) * size(x, 3) >= 16, size(x, 0) * size(x, 2) * size(x, 3) * numel(w) >= 65536
    within 1e-5
  dnnl.blocked_picture: nn.functional.conv2d_fused(x, w, b, none, groups=1, ...)
    => dnnl.from_blocked(dnnl.conv2d_blocked(x, w, b, none, groups=1, ...), (size(w, 0)))
    where dtype(x) == f32, dim(x) == 4, size(w, 1) <= 3, size(w, 0) >= 8,
      size(x, 2) * size(x, 3) >= 16, size(x, 0) * size(x, 2) * size(x, 3) * numel(w) >= 65536
    within 1e-5
  dnnl.winograd: dnnl.conv2d_blocked(x, w, b, a, stride=1, dilation=1, groups=1, winograd=false, ...)
    => dnnl.conv2d_blocked(x, w, b, a, stride=1, dilation=1, groups=1, winograd=true, ...)
    where dim(x) == 5, size(x, 4) == 16, size(w, 2) == 3, size(w, 3) == 3, numel(w) <= 147456, constant(w),
      min(size(w, 0), size(w, 1)) >= 32, size(x, 2) * size(x, 3) >= 784,
      min(size(w, 0), size(w, 1)) >= 64 or size(x, 2) * size(x, 3) >= 3136
    within 1e-4
)")

TENON_REWRITES(blocks_kept, R"(
  dnnl.keep_max_pool: nn.functional.max_pool2d(dnnl.from_blocked(x, c), k, s, ...)
    => dnnl.from_blocked(dnnl.max_pool2d_blocked(x, k, s, ...), c)
  dnnl.pool_joined: dnnl.max_pool2d_blocked(dnnl.conv2d_blocked(x, w, b, a, pool_size=1, pool_stride=none, pool_padding=0,
    pool_dilation=1, pool_ceil_mode=false, ...c), k, s, padding=p, dilation=d, ceil_mode=m)
    => dnnl.conv2d_blocked(x, w, b, a, pool_size=k, pool_stride=s, pool_padding=p, pool_dilation=d, pool_ceil_mode=m, ...c)
    where size(w, 0) * size(x, 2) * size(x, 3) <= 262144
  dnnl.keep_mean: [dnnl.from_blocked(x, c), mean(dnnl.from_blocked(x, c), [2, 3], true)]
    => [dnnl.from_blocked(x, c), dnnl.from_blocked(mean(x, [2, 3], true), c)]
    within 1e-5
  dnnl.keep_pool: nn.functional.adaptive_avg_pool2d(dnnl.from_blocked(x, c), [1, 1])
    => dnnl.from_blocked(mean(x, [2, 3], true), c)
    within 1e-5
  dnnl.keep_channels: mul(dnnl.from_blocked(x, c), s) => dnnl.from_blocked(mul(x, dnnl.to_blocked(s)), c)
    where dim(s) == 4, size(s, 1) == c, size(s, 2) == 1, size(s, 3) == 1, dtype(s) == f32
  dnnl.keep_channels_read: [dnnl.from_blocked(x, c), mul(dnnl.from_blocked(x, c), s)]
    => [dnnl.from_blocked(x, c), dnnl.from_blocked(mul(x, dnnl.to_blocked(s)), c)]
    where dim(s) == 4, size(s, 1) == c, size(s, 2) == 1, size(s, 3) == 1, dtype(s) == f32
  dnnl.keep_add: add(dnnl.from_blocked(x, c), dnnl.from_blocked(y, c)) => dnnl.from_blocked(add(x, y), c)
    where same_shape(x, y)
  dnnl.keep_add_read: [dnnl.from_blocked(x, c), add(dnnl.from_blocked(x, c), dnnl.from_blocked(y, c))]
    => [dnnl.from_blocked(x, c), dnnl.from_blocked(add(x, y), c)]
    where same_shape(x, y)
  dnnl.keep_mul: mul(dnnl.from_blocked(x, c), dnnl.from_blocked(y, c)) => dnnl.from_blocked(mul(x, y), c)
    where same_shape(x, y)
  dnnl.keep_relu: relu(dnnl.from_blocked(x, c)) => dnnl.from_blocked(relu(x), c)
  dnnl.keep_clamp: clamp(dnnl.from_blocked(x, c), low, high) => dnnl.from_blocked(clamp(x, low, high), c)
    where low == none or value(low) <= 0, high == none or value(high) >= 0
  dnnl.keep_relu_read: [dnnl.from_blocked(x, c), relu(dnnl.from_blocked(x, c))]
    => [dnnl.from_blocked(x, c), dnnl.from_blocked(relu(x), c)]
  dnnl.keep_hardswish: nn.functional.hardswish(dnnl.from_blocked(x, c)) => dnnl.from_blocked(nn.functional.hardswish(x), c)
  dnnl.keep_silu: nn.functional.silu(dnnl.from_blocked(x, c)) => dnnl.from_blocked(nn.functional.silu(x), c)
)")

// Rules of tensors in blocks have operands of another shape on each processor: tests/plugins/dnnl tries them.
TENON_REWRITE_SAMPLES(blocks, R"(
  dnnl.blocked: [{"x": {"shape": [1, 16, 16, 16], "dtype": "f32"}, "w": {"shape": [16, 16, 3, 3], "dtype": "f32"},
    "b": {"shape": [16], "dtype": "f32"}, "g": 1}]
  dnnl.blocked_addend: [{"x": {"shape": [1, 16, 16, 16], "dtype": "f32"}, "w": {"shape": [16, 16, 3, 3], "dtype": "f32"},
    "b": {"shape": [16], "dtype": "f32"}, "a": {"shape": [1, 16, 14, 14], "dtype": "f32"}, "g": 1}]
  dnnl.blocked_picture: [{"x": {"shape": [1, 3, 32, 32], "dtype": "f32"}, "w": {"shape": [16, 3, 7, 7], "dtype": "f32"},
    "b": {"shape": [16], "dtype": "f32"}}]
  dnnl.pool_joined: [{"x": {"shape": [2, 1, 9, 8], "dtype": "f32"}, "w": {"shape": [19, 1, 3, 3], "dtype": "f32"},
    "b": {"shape": [19], "dtype": "f32"}, "a": null, "k": [2, 2], "s": [2, 2], "p": [0, 0], "d": [1, 1], "m": false}]
)")
