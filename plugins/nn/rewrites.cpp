// Rewrites of the calls of prepared models (<tenon/rewrite.hpp>): chains as exporters write them become one op.
// They expect constants on the right, products with itself as square, and cubes as math's rules have them.
#include <tenon/rewrite.hpp>

TENON_REWRITES(linear, R"(
nn.matmul_and_bias: add(matmul(x, w), b) => nn.functional.linear(x, contiguous(transpose(w, 0, 1)), b)
  where constant(w), dim(w) == 2, dim(x) >= 2, dim(b) == 1, size(b, 0) == size(w, 1),
        dtype(x) in [f32, f64], dtype(b) == dtype(x)
  within 1e-5
nn.matmul_of_constant: matmul(x, w) => nn.functional.linear(x, contiguous(transpose(w, 0, 1)))
  where constant(w), dim(w) == 2, dim(x) >= 3, dtype(x) in [f32, f64]
  within 1e-5
nn.linear_and_bias: add(nn.functional.linear(x, w), b) => nn.functional.linear(x, w, b)
  where dim(b) == 1, size(b, 0) == size(w, 0), dtype(x) in [f32, f64], dtype(b) == dtype(x)
  within 1e-5
)")

TENON_REWRITES(activations, R"(
nn.silu: mul(x, sigmoid(x)) => nn.functional.silu(x) where dtype(x) in [f32, f64] within 1e-6
nn.silu_from_right: mul(sigmoid(x), x) => nn.functional.silu(x) where dtype(x) in [f32, f64] within 1e-6
)")

// `gate` is the distribution function times 2.
#define GELU(name, op, gate, conditions)                                   \
  "nn." name "_1: mul(mul(x, " gate "), h) => " op "(x) where " conditions \
  " within 1e-6\n"                                                         \
  "nn." name "_2: mul(mul(x, h), " gate ") => " op "(x) where " conditions \
  " within 1e-6\n"                                                         \
  "nn." name "_3: mul(" gate ", mul(x, h)) => " op "(x) where " conditions \
  " within 1e-6\n"                                                         \
  "nn." name "_4: mul(x, mul(" gate ", h)) => " op "(x) where " conditions " within 1e-6\n"
#define GELU_CONDITIONS "value(one) == 1, value(h) == 0.5, dtype(x) in [f32, f64], "
TENON_REWRITES(gelu,
               GELU("gelu_by_division", "nn.functional.gelu_erf", "add(erf(div(x, root)), one)",
                    GELU_CONDITIONS "near(value(root), 1.4142135623730951)")
                   GELU("gelu_by_product", "nn.functional.gelu_erf", "add(erf(mul(x, root)), one)",
                        GELU_CONDITIONS "near(value(root), 0.7071067811865476)")
                       GELU("gelu_by_tanh", "nn.functional.gelu_tanh",
                            "add(tanh(mul(add(x, mul(mul(square(x), x), c)), k)), one)",
                            GELU_CONDITIONS
                            "near(value(c), 0.044715), near(value(k), 0.7978845608028654)"))

// The last dimension, without scale and shift; these follow.
#define OF_LAST(rows, op)                                                                         \
  " => nn.functional." op                                                                         \
  ", (value(e))) where d == [-1] or d == [dim(x) - 1], value(e) > 0, dtype(x) in [f32, f64]" rows \
  " within 1e-4\n"
#define CENTERED "sub(x, mean(x, d, true))"
#define VARIANCE "add(mean(square(" CENTERED "), d, true), e)"
#define LAYER_NORM "layer_norm(x, [(size(x, -1))], none, none"
#define SQUARES "add(mean(square(x), d, true), e)"
#define RMS_NORM "rms_norm(x, [(size(x, -1))], none"
TENON_REWRITES(
    norms,
    "nn.layer_norm_by_division: div(" CENTERED ", sqrt(" VARIANCE "))" OF_LAST("", LAYER_NORM)
    "nn.layer_norm_by_root: mul(" CENTERED ", rsqrt(" VARIANCE "))" OF_LAST("", LAYER_NORM)
    "nn.layer_norm_by_inverse: mul(" CENTERED ", reciprocal(sqrt(" VARIANCE
    ")))" OF_LAST("", LAYER_NORM)
    "nn.layer_norm_by_quotient: mul(" CENTERED ", div(one, sqrt(" VARIANCE
    ")))" OF_LAST(", value(one) == 1", LAYER_NORM)
    "nn.rms_norm_by_division: div(x, sqrt(" SQUARES "))" OF_LAST("", RMS_NORM)
    "nn.rms_norm_by_root: mul(x, rsqrt(" SQUARES "))" OF_LAST("", RMS_NORM)
    "nn.rms_norm_by_inverse: mul(x, reciprocal(sqrt(" SQUARES ")))" OF_LAST("", RMS_NORM)
    "nn.rms_norm_by_quotient: mul(x, div(one, sqrt(" SQUARES
    ")))" OF_LAST(", value(one) == 1", RMS_NORM) R"(
nn.layer_norm_weight: mul(nn.functional.layer_norm(x, s, none, none, e), w) => nn.functional.layer_norm(x, s, w, none, e)
  where shape(w) == s, dtype(w) == dtype(x) within 1e-6
nn.layer_norm_bias: add(nn.functional.layer_norm(x, s, w, none, e), b) => nn.functional.layer_norm(x, s, w, b, e)
  where shape(b) == s, dtype(b) == dtype(x) within 1e-6
nn.rms_norm_weight: mul(nn.functional.rms_norm(x, s, none, e), w) => nn.functional.rms_norm(x, s, w, e)
  where shape(w) == s, dtype(w) == dtype(x) within 1e-6
)")

// Scores of queries and keys that have the same dimensions in front.
#define ATTENTION(name, scores, mask, scale, conditions)                                    \
  "nn." name ": matmul(nn.functional.softmax(" scores                                       \
  ", d), v) => "                                                                            \
  "nn.functional.flash_attention(q, transpose(k, -2, -1), v, " mask ", scale=" scale        \
  ") where d == -1 or d == dim(q) - 1, dtype(q) in [f32, f64], dim(q) in [3, 4], "          \
  "dim(k) == dim(q), dim(v) == dim(q), size(k, 0) == size(q, 0), size(v, 0) == size(q, 0)," \
  " dim(q) == 3 or size(k, 1) == size(q, 1) and size(v, 1) == size(q, 1)" conditions        \
  " within 1e-5\n"
#define MASKED                                                           \
  ", constant(m), dtype(m) == dtype(q), dim(m) <= dim(q), dim(m) >= 2, " \
  "size(m, -1) == size(k, -1), size(m, -2) == size(q, -2) or size(m, -2) == 1"
TENON_REWRITES(attention,
               ATTENTION("attention", "matmul(q, k)", "none", "1.0", "")
                   ATTENTION("attention_divided", "div(matmul(q, k), c)", "none", "(1 / value(c))",
                             ", value(c) > 0") ATTENTION("attention_scaled", "mul(matmul(q, k), c)",
                                                         "none", "(1.0 * value(c))", "")
                       ATTENTION("attention_masked", "add(matmul(q, k), m)", "m", "1.0", MASKED)
                           ATTENTION("attention_divided_and_masked", "add(div(matmul(q, k), c), m)",
                                     "m", "(1 / value(c))", ", value(c) > 0" MASKED)
                               ATTENTION("attention_scaled_and_masked",
                                         "add(mul(matmul(q, k), c), m)", "m", "(1.0 * value(c))",
                                         MASKED)
                                   R"(
nn.attention_of_divided_queries: nn.functional.flash_attention(div(q, c), k, v, m, i, scale=s)
  => nn.functional.flash_attention(q, k, v, m, i, scale=(s / value(c))) where value(c) > 0 within 1e-5
nn.attention_of_scaled_queries: nn.functional.flash_attention(mul(q, c), k, v, m, i, scale=s)
  => nn.functional.flash_attention(q, k, v, m, i, scale=(s * value(c))) within 1e-5
nn.attention_of_scaled_keys: nn.functional.flash_attention(q, transpose(mul(k, c), a, b), v, m, i, scale=s)
  => nn.functional.flash_attention(q, transpose(k, a, b), v, m, i, scale=(s * value(c))) within 1e-5
)")
