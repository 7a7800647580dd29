// Rewrites of prepared models: operators of the format become ops that the rules of other plugins know.
#include <tenon/rewrite.hpp>

TENON_REWRITES(plain_operators, R"(
  onnx.plain_conv2d: onnx.conv(x, w, b, auto_pad="NOTSET", dilations=d, group=g, kernel_shape=_, pads=p, strides=s)
    => nn.functional.conv2d(x, w, b, stride=s, padding=[(p[0]), (p[1])], dilation=d, groups=g)
    where dim(x) == 4, len(d) == 2, len(s) == 2, len(p) == 4, p[0] == p[2], p[1] == p[3], p[0] >= 0, p[1] >= 0
  onnx.plain_conv2d_inside: onnx.conv(x, w, b, auto_pad="NOTSET", dilations=d, group=g, kernel_shape=_, pads=none, strides=s)
    => nn.functional.conv2d(x, w, b, stride=s, dilation=d, groups=g)
    where dim(x) == 4, len(d) == 2, len(s) == 2
  onnx.plain_conv1d: onnx.conv(x, w, b, dilations=d, group=g, kernel_shape=_, pads=p, strides=s)
    => nn.functional.conv1d(x, w, b, stride=s, padding=[(p[0])], dilation=d, groups=g)
    where dim(x) == 3, len(d) == 1, len(s) == 1, len(p) == 2, p[0] == p[1], p[0] >= 0
  onnx.plain_max_pool2d: onnx.max_pool(x, kernel_shape=k, dilations=none, pads=p, storage_order=_, strides=s).0
    => nn.functional.max_pool2d(x, k, s, padding=[(p[0]), (p[1])])
    where dim(x) == 4, dtype(x) in [f32, f64], len(k) == 2, len(s) == 2, len(p) == 4, p[0] == p[2], p[1] == p[3],
      p[0] >= 0, p[1] >= 0, 2 * p[0] <= k[0], 2 * p[1] <= k[1]
  onnx.plain_max_pool2d_dilated: onnx.max_pool(x, kernel_shape=k, dilations=d, pads=p, storage_order=_, strides=s).0
    => nn.functional.max_pool2d(x, k, s, padding=[(p[0]), (p[1])], dilation=d)
    where dim(x) == 4, dtype(x) in [f32, f64], len(k) == 2, len(s) == 2, len(d) == 2, len(p) == 4, p[0] == p[2],
      p[1] == p[3], p[0] >= 0, p[1] >= 0, 2 * p[0] <= k[0], 2 * p[1] <= k[1]
  onnx.plain_max_pool2d_inside: onnx.max_pool(x, kernel_shape=k, dilations=none, pads=none, storage_order=_, strides=s).0
    => nn.functional.max_pool2d(x, k, s)
    where dim(x) == 4, dtype(x) in [f32, f64], len(k) == 2, len(s) == 2
  onnx.plain_clip: onnx.clip(x, low, high) => clamp(x, (value(low)), (value(high)))
    where dtype(x) == f32, constant(low), constant(high), value(low) <= value(high)
  onnx.max_of_number: onnx.max([x, c]) => clamp(x, (value(c)))
    where constant(c), numel(c) == 1, dim(c) <= dim(x), dtype(x) in [f32, f64], dtype(c) == dtype(x), value(c) == value(c),
      value(c) != 0
  onnx.plain_global_average: onnx.global_pool(x, kind="average", p=_) => mean(x, [2, 3], true) where dim(x) == 4
  onnx.plain_global_average_line: onnx.global_pool(x, kind="average", p=_) => mean(x, [2], true) where dim(x) == 3
)")

// Projections of attention, which exporters join into one product: its parts are strided, and a reshape copies
// each. A part that is a product is not.
#define PART(begin, shape)                                          \
  "reshape(nn.functional.linear(x, contiguous(narrow(w, 0, (" begin \
  "), (size(w, 0) // 3))), contiguous(narrow(b, 0, (" begin "), (size(w, 0) // 3)))), " shape ")"
#define PROJECTIONS "onnx.split(nn.functional.linear(x, w, b), s, axis=a, parts=3)"
TENON_REWRITES(projections, "onnx.split_projections: [onnx.reshape(" PROJECTIONS
                            ".0, p, allowzero=_), onnx.reshape(" PROJECTIONS
                            ".1, q, allowzero=_), onnx.reshape(" PROJECTIONS
                            ".2, r, allowzero=_)] => [" PART("0", "p") ", " PART(
                                "size(w, 0) // 3", "q") ", " PART("2 * (size(w, 0) // 3)", "r") R"(]
  where constant(w), constant(b), dim(b) == 1, size(b, 0) == size(w, 0), size(w, 0) % 3 == 0, a == -1 or a == dim(x) - 1,
    s == none or s == [(size(w, 0) // 3), (size(w, 0) // 3), (size(w, 0) // 3)], 0 not in p, 0 not in q, 0 not in r,
    dtype(x) in [f32, f64], numel(x) >= 8 * size(w, 1)
  within 1e-5
)")

TENON_REWRITES(activations, R"(
  onnx.fuse_hard_sigmoid: onnx.hard_sigmoid(nn.functional.conv2d_fused(x, w, b, a, activation="none", alpha=_, beta=_, scale=1, shift=0, ...), alpha=s, beta=t)
    => nn.functional.conv2d_fused(x, w, b, a, activation="hardsigmoid", alpha=s, beta=t, ...)
    within 1e-6
  onnx.hardswish: mul(x, onnx.hard_sigmoid(x, alpha=s, beta=t)) => nn.functional.hardswish(x)
    where near(s, 1 / 6), t == 0.5, dtype(x) in [f32, f64]
    within 1e-6
)")

TENON_REWRITE_SAMPLES(of_operators, R"(
  onnx.plain_conv2d: [{"x": {"shape": [1, 2, 5, 5]}, "w": {"shape": [3, 2, 3, 3]}, "b": {"shape": [3]},
    "d": [1, 1], "g": 1, "p": [1, 1, 1, 1], "s": [1, 1]}]
  onnx.plain_conv2d_inside: [{"x": {"shape": [1, 2, 5, 5]}, "w": {"shape": [3, 2, 3, 1]}, "b": {"shape": [3]},
    "d": [1, 1], "g": 1, "s": [1, 1]}]
  onnx.plain_conv1d: [{"x": {"shape": [1, 2, 5]}, "w": {"shape": [3, 2, 3]}, "b": {"shape": [3]},
    "d": [1], "g": 1, "p": [1, 1], "s": [1]}]
  onnx.plain_max_pool2d: [{"x": {"shape": [1, 2, 5, 4]}, "k": [3, 2], "p": [1, 0, 1, 0], "s": [2, 1]}]
  onnx.plain_max_pool2d_dilated: [{"x": {"shape": [1, 2, 6, 5]}, "k": [3, 2], "d": [2, 1], "p": [1, 0, 1, 0], "s": [1, 2]}]
  onnx.plain_max_pool2d_inside: [{"x": {"shape": [1, 2, 5, 4]}, "k": [2, 2], "s": [2, 2]}]
  onnx.split_projections: [{"x": {"shape": [4, 3, 5], "dtype": "f32"}, "w": {"shape": [12, 5], "dtype": "f32"},
    "b": {"shape": [12], "dtype": "f32"}, "s": [4, 4, 4], "a": -1, "p": [4, 6, 2], "q": [4, 6, 2], "r": [4, 6, 2]}]
  onnx.max_of_number: [{"x": {"shape": [2, 3, 2], "dtype": "f32"}, "c": {"shape": [1, 1], "values": [[-0.25]], "dtype": "f32"}}]
  onnx.plain_clip: [{"x": {"shape": [2, 3], "dtype": "f32"},
    "low": {"shape": [], "values": [-0.25], "dtype": "f32"}, "high": {"shape": [], "values": [0.5], "dtype": "f32"}}]
  onnx.hardswish: [{"x": {"shape": [2, 3], "dtype": "f32", "low": -4, "high": 4}, "s": 0.16666666666666666, "t": 0.5}]
)")
