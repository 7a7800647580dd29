// Rewrites of prepared models: layers whose constant weights are packed once, with what follows them.
#include <tenon/rewrite.hpp>

// Longer sums of one row are as fast from the weight as it is: adding across lanes is the smaller part of them.
TENON_REWRITES(packed_layers, R"(
nn.pack_linear: nn.functional.linear(x, w, b)
  => nn.functional.linear_packed(x, nn.functional.pack_features(w), (size(w, 0)), b)
  where constant(w), numel(x) >= 2 * size(w, 1) or size(w, 1) <= 512, size(w, 0) >= 8, size(w, 1) >= 8, dtype(x) in [f32, f64],
    not is_tensor(b) or shape(b) == [size(w, 0)]
  within 1e-5
nn.pack_conv1d: nn.functional.conv1d(x, w, b, dilation=1, groups=1, ...)
  => nn.functional.conv1d_packed(x, nn.functional.pack_taps(w), (size(w, 0)), (size(w, 2)), b, taps=nn.functional.pack_taps(w).1, ...)
  where constant(w), size(w, 0) >= 8, size(w, 1) * size(w, 2) >= 8, dtype(x) in [f32, f64]
  within 1e-5
nn.pack_lstm: nn.functional.lstm(x, h, c, u, w, a, b, reverse=r)
  => nn.functional.lstm_packed(x, h, c, nn.functional.pack_features(u), nn.functional.pack_features(w), add(a, b), reverse=r)
  where constant(u), constant(w), constant(a), constant(b), size(w, 1) >= 8, dtype(x) in [f32, f64]
  within 1e-3
nn.pack_lstm_without_bias: nn.functional.lstm(x, h, c, u, w, none, none, reverse=r)
  => nn.functional.lstm_packed(x, h, c, nn.functional.pack_features(u), nn.functional.pack_features(w), none, reverse=r)
  where constant(u), constant(w), size(w, 1) >= 8, dtype(x) in [f32, f64]
  within 1e-3
nn.packed_linear_relu: relu(nn.functional.linear_packed(x, p, n, b))
  => nn.functional.linear_packed(x, p, n, b, true) where dtype(x) in [f32, f64]
nn.packed_conv1d_relu: relu(nn.functional.conv1d_packed(x, p, n, k, b, ...))
  => nn.functional.conv1d_packed(x, p, n, k, b, true, ...) where dtype(x) in [f32, f64]
)")

TENON_REWRITE_SAMPLES(packed_layers, R"(
nn.pack_linear: [{"x": {"shape": [3, 9], "dtype": "f32"}, "w": {"shape": [10, 9], "dtype": "f32"}, "b": {"shape": [10], "dtype": "f32"}},
  {"x": {"shape": [2, 3, 8]}, "w": {"shape": [17, 8]}, "b": null},
  {"x": {"shape": [1, 9], "dtype": "f32"}, "w": {"shape": [133, 9], "dtype": "f32"}, "b": {"shape": [133], "dtype": "f32"}}]
nn.pack_conv1d: [{"x": {"shape": [1, 3, 7], "dtype": "f32"}, "w": {"shape": [9, 3, 3], "dtype": "f32"}, "b": {"shape": [9], "dtype": "f32"},
  "stride": [2], "padding": [1]},
  {"x": {"shape": [1, 1, 29], "dtype": "f32"}, "w": {"values": [[[0, 0, 1, 2, 3, 0, 1, -1, 0, 0, 0]], [[0, 0, 0, -2, 1, 4, 1, 0, 0, 0, 0]],
  [[0, 0, 0, 2, 1, 1, 2, 0, 0, 0, 0]], [[0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]], [[0, 0, 0, 2, 1, 4, 1, 0, 0, 0, 0]],
  [[0, 0, 0, 1, 1, 4, 1, 0, 0, 0, 0]], [[0, 0, 0, 3, 1, 4, 1, 0, 0, 0, 0]], [[0, 0, 0, 4, 1, 4, 1, 0, 0, 0, 0]]], "dtype": "f32"}, "b": null,
  "stride": [4], "padding": [0]}]
nn.pack_lstm: [{"x": {"shape": [3, 2, 4], "dtype": "f32"}, "h": {"shape": [2, 8], "dtype": "f32"}, "c": {"shape": [2, 8], "dtype": "f32"},
  "u": {"shape": [32, 4], "dtype": "f32"}, "w": {"shape": [32, 8], "dtype": "f32"}, "a": {"shape": [32], "dtype": "f32"},
  "b": {"shape": [32], "dtype": "f32"}, "r": false}]
nn.pack_lstm_without_bias: [{"x": {"shape": [3, 1, 4], "dtype": "f32"}, "h": {"shape": [1, 9], "dtype": "f32"},
  "c": {"shape": [1, 9], "dtype": "f32"}, "u": {"shape": [36, 4], "dtype": "f32"}, "w": {"shape": [36, 9], "dtype": "f32"}, "r": true}]
nn.packed_linear_relu: [{"x": {"shape": [3, 4], "dtype": "f32"}, "p": {"shape": [2, 4, 32], "dtype": "f32"}, "n": 33,
  "b": {"shape": [33], "dtype": "f32"}}]
nn.packed_conv1d_relu: [{"x": {"shape": [2, 3, 5], "dtype": "f32"}, "p": {"shape": [1, 6, 32], "dtype": "f32"}, "n": 9, "k": 2,
  "b": {"shape": [9], "dtype": "f32"}}]
)")
