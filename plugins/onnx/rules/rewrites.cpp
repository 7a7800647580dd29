// Rewrites of the calls of prepared models (<tenon/rewrite.hpp>): composites of this plugin become the ops that
// they call for these operands, which rules of other plugins know.
#include <tenon/rewrite.hpp>

TENON_REWRITES(plain, R"(
onnx.div_of_numbers: onnx.div(x, y) => div(x, y) where dtype(x) in [f32, f64], dtype(y) == dtype(x)
onnx.pow_square: onnx.pow(x, c) => square(x) where value(c) == 2, dim(c) == 0, dtype(x) in [f32, f64],
  dtype(c) in [f32, f64]
onnx.pow_of_numbers: onnx.pow(x, c) => pow(x, c) where dtype(x) in [f32, f64], dtype(c) == dtype(x), value(c) != 2
onnx.mean_of_axes: onnx.reduce(x, axes, kind="mean", keepdims=k) => mean(x, axes, k)
  where dtype(x) in [f32, f64], dim(x) > 0, len(axes) > 0
onnx.transpose_by_perm: onnx.transpose(x, perm=p) => permute(x, p) where len(p) > 0
onnx.reshape_to_sizes: onnx.reshape(x, s, allowzero=_) => reshape(x, s) where 0 not in s
onnx.unsqueeze_one: onnx.unsqueeze(x, [d]) => unsqueeze(x, d)
onnx.squeeze_one: onnx.squeeze(x, [d]) => squeeze(x, d)
onnx.gemm_linear: onnx.gemm(a, b, c, transB=true) => nn.functional.linear(a, b, c)
  where dtype(a) in [f32, f64], dim(c) == 1, size(c, 0) == size(b, 0)
onnx.gemm_linear_without_bias: onnx.gemm(a, b, none, transB=true) => nn.functional.linear(a, b) where dtype(a) in [f32, f64]
onnx.gemm_columns: onnx.gemm(a, b, c) => nn.functional.linear(a, contiguous(transpose(b, 0, 1)), c)
  where constant(b), dtype(a) in [f32, f64], dim(c) == 1, size(c, 0) == size(b, 1)
  within 1e-5
onnx.layer_norm_of_outputs: onnx.layer_norm(x, w, b, axis=a, epsilon=e).0 => nn.functional.layer_norm(x, [(size(x, -1))], w, b, (e))
  where a == -1 or a == dim(x) - 1, shape(w) == [size(x, -1)], shape(b) == [size(x, -1)]
)")

TENON_REWRITE_SAMPLES(of_plain, R"(
onnx.mean_of_axes: [{"x": {"shape": [2, 3, 4], "dtype": "f32"}, "axes": [1, 2], "k": true},
  {"x": {"shape": [2, 3]}, "axes": [-1], "k": false}]
onnx.transpose_by_perm: [{"x": {"shape": [2, 3, 4]}, "p": [1, 2, 0]}]
)")

// Gates of files are in the order i, o, f, c, those of nn in the order i, f, c, o: of constants, once.
#define GATES(whole)                                          \
  "cat([narrow(" whole ", 0, 0, (size(r, 2))), narrow(" whole \
  ", 0, (2 * size(r, 2)), (size(r, 2))), narrow(" whole       \
  ", 0, (3 * size(r, 2)), (size(r, 2))), narrow(" whole       \
  ", 0, (size(r, 2)), (size(r, 2)))], "                       \
  "0)"
#define GATES_OF_BIAS(half) \
  GATES("narrow(select(b, 0, 0), 0, (" half " * size(r, 2)), (4 * size(r, 2)))")
#define LSTM(biases)                                                                              \
  "nn.functional.lstm(x, select(h, 0, 0), select(c, 0, 0), " GATES("select(w, 0, 0)") ", " GATES( \
      "select(r, 0, 0)") biases ", reverse=(direction == \"reverse\"))"
#define LSTM_OF_FILE(bias)                                                           \
  "onnx.lstm(x, w, r, " bias                                                         \
  ", none, h, c, none, activation_alpha=[], activation_beta=[], activations=names, " \
  "direction=direction, hidden_size=_)"
#define LSTM_RULE(bias, biases, more) \
  "[" LSTM_OF_FILE(bias) ".0, " LSTM_OF_FILE(bias) ".1, " LSTM_OF_FILE(bias) ".2] => "         \
  "[unsqueeze(" LSTM(biases) ".0, 1), unsqueeze(" LSTM(biases) ".1, 0), unsqueeze(" LSTM(      \
      biases) ".2, 0)] where constant(w), constant(r)" more                                    \
  ", names == [] or names == [\"Sigmoid\", \"Tanh\", \"Tanh\"], "                              \
  "direction in [\"forward\", \"reverse\"], dtype(x) in [f32, f64] within 1e-4\n"

TENON_REWRITES(recurrent, "onnx.lstm_of_constants: " LSTM_RULE(
                              "b", ", " GATES_OF_BIAS("0") ", " GATES_OF_BIAS("4"),
                              ", constant(b)") "onnx.lstm_without_bias: " LSTM_RULE("none", "", ""))

TENON_REWRITE_SAMPLES(of_recurrent, R"(
onnx.lstm_of_constants: [{"x": {"shape": [3, 2, 4], "dtype": "f32"}, "w": {"shape": [1, 12, 4], "dtype": "f32"},
  "r": {"shape": [1, 12, 3], "dtype": "f32"}, "b": {"shape": [1, 24], "dtype": "f32"}, "h": {"shape": [1, 2, 3], "dtype": "f32"},
  "c": {"shape": [1, 2, 3], "dtype": "f32"}, "direction": "forward"}]
onnx.lstm_without_bias: [{"x": {"shape": [3, 2, 4], "dtype": "f32"}, "w": {"shape": [1, 12, 4], "dtype": "f32"},
  "r": {"shape": [1, 12, 3], "dtype": "f32"}, "h": {"shape": [1, 2, 3], "dtype": "f32"},
  "c": {"shape": [1, 2, 3], "dtype": "f32"}, "direction": "reverse"}]
)")
