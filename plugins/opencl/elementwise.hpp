// Elementwise ops of the device, as tables of one row for each: kernels and overrides come from them.
//
// Expressions are of vectors x, y of type VT, K(1.5) is such a number. Results follow IEEE, as the CPU's
// do, and OpenCL's bounds: exp, log and their like are within 3 or 4 ulp, tan within 5, pow within 16.
#pragma once

// X(kernel, whether there is a form in place, op, expression of x): floating operands.
#define OPENCL_UNARY_OPS(X)                                                                      \
  X(abs, yes, "abs", "fabs(x)")                                                                  \
  X(sqrt, yes, "sqrt", "sqrt(x)")                                                                \
  X(rsqrt, yes, "rsqrt", "K(1.0) / sqrt(x)")                                                     \
  X(reciprocal, yes, "reciprocal", "K(1.0) / x")                                                 \
  X(exp, yes, "exp", "exp(x)")                                                                   \
  X(exp2, yes, "exp2", "exp2(x)")                                                                \
  X(expm1, yes, "expm1", "expm1(x)")                                                             \
  X(log, yes, "log", "log(x)")                                                                   \
  X(log2, yes, "log2", "log2(x)")                                                                \
  X(log10, yes, "log10", "log10(x)")                                                             \
  X(log1p, yes, "log1p", "log1p(x)")                                                             \
  X(sin, yes, "sin", "each_sin(x)")                                                              \
  X(cos, yes, "cos", "each_cos(x)")                                                              \
  X(tan, yes, "tan", "each_tan(x)")                                                              \
  X(sinh, yes, "sinh", "sinh(x)")                                                                \
  X(cosh, yes, "cosh", "cosh(x)")                                                                \
  X(tanh, yes, "tanh", "tanh(x)")                                                                \
  X(asin, yes, "asin", "asin(x)")                                                                \
  X(acos, yes, "acos", "acos(x)")                                                                \
  X(atan, yes, "atan", "atan(x)")                                                                \
  X(asinh, yes, "asinh", "asinh(x)")                                                             \
  X(acosh, yes, "acosh", "acosh(x)")                                                             \
  X(atanh, yes, "atanh", "atanh(x)")                                                             \
  X(erf, yes, "erf", "erf(x)")                                                                   \
  X(erfc, yes, "erfc", "erfc(x)")                                                                \
  X(floor, yes, "floor", "floor(x)")                                                             \
  X(ceil, yes, "ceil", "ceil(x)")                                                                \
  X(round, yes, "round", "rint(x)")                                                              \
  X(trunc, yes, "trunc", "trunc(x)")                                                             \
  X(frac, yes, "frac", "x - trunc(x)")                                                           \
  X(sign, yes, "sign", "sign(x) + K(0.0)")                                                       \
  X(sigmoid, yes, "sigmoid", "(x < K(0.0) ? exp(-fabs(x)) : K(1.0)) / (K(1.0) + exp(-fabs(x)))") \
  X(relu, yes, "relu", "x < K(0.0) ? K(0.0) : x")                                                \
  X(silu, no, "nn.functional.silu", "x / (K(1.0) + exp(-x))")                                    \
  X(gelu_erf, no, "nn.functional.gelu_erf", "x * (K(0.5) * erfc(x * K(-0.70710678118654752)))")  \
  X(gelu_tanh, no, "nn.functional.gelu_tanh",                                                    \
    "x / (K(1.0) + exp(K(-1.5957691216057307) * (x + K(0.044715) * (x * x * x))))")              \
  X(logsigmoid, no, "nn.functional.logsigmoid",                                                  \
    "(x < K(0.0) ? x : K(0.0)) - log1p(exp(-fabs(x)))")                                          \
  X(softsign, no, "nn.functional.softsign", "isinf(x) ? sign(x) : x / (K(1.0) + fabs(x))")

// X(kernel, in place, op, expression): every number.
#define OPENCL_UNARY_NUMBER_OPS(X) \
  X(neg, yes, "neg", "-x")         \
  X(square, yes, "square", "x * x")

// X(kernel, op, expression that is true or false): floating operands.
#define OPENCL_TEST_OPS(X)      \
  X(isnan, "isnan", "isnan(x)") \
  X(isinf, "isinf", "isinf(x)") \
  X(isfinite, "isfinite", "isfinite(x)")
// Every number, and bool.
#define OPENCL_TEST_ELEMENT_OPS(X) X(logical_not, "logical_not", "x == (VT)(0)")

// X(kernel, op, further parameters, expression of x and numbers p, q, s).
#define OPENCL_UNARY_NUMBERS_OPS(X)                                                                \
  X(leaky_relu, "nn.functional.leaky_relu", "float negative_slope=0.01", "x > K(0.0) ? x : x * p") \
  X(softplus, "nn.functional.softplus", "float beta=1, float threshold=20",                        \
    "x * p > (VT)(q) ? x : log1p(exp(x * p)) / p")                                                 \
  X(elu, "nn.functional.elu", "float alpha=1, *, float scale=1, float input_scale=1",              \
    "x > K(0.0) ? q * x : (p * q) * expm1(x * s)")

// X(kernel, in place, op, operands, expression of x and y): floating operands.
#define OPENCL_BINARY_OPS(X)                                                                \
  X(div, yes, "div", "Tensor|Scalar input, Tensor|Scalar other", "x / y")                   \
  X(pow, yes, "pow", "Tensor|Scalar input, Tensor|Scalar exponent", "each_pow(x, y)")       \
  X(atan2, yes, "atan2", "Tensor|Scalar input, Tensor|Scalar other", "atan2(x, y)")         \
  X(fmod, yes, "fmod", "Tensor|Scalar input, Tensor|Scalar other", "fmod(x, y)")            \
  X(fmax, no, "fmax", "Tensor|Scalar input, Tensor|Scalar other", "fmax(x, y)")             \
  X(fmin, no, "fmin", "Tensor|Scalar input, Tensor|Scalar other", "fmin(x, y)")             \
  X(relu_backward, no, "relu_backward", "Tensor gradient, Tensor output",                   \
    "y <= K(0.0) ? K(0.0) : x")                                                             \
  X(sigmoid_backward, no, "sigmoid_backward", "Tensor gradient, Tensor input",              \
    "sigmoid_slope(x, exp(-fabs(y)))")                                                      \
  X(tanh_backward, no, "tanh_backward", "Tensor gradient, Tensor input",                    \
    "sigmoid_slope(K(4.0) * x, exp(K(-2.0) * fabs(y)))")                                    \
  X(asin_backward, no, "asin_backward", "Tensor gradient, Tensor input",                    \
    "x / sqrt((K(1.0) - y) * (K(1.0) + y))")                                                \
  X(acosh_backward, no, "acosh_backward", "Tensor gradient, Tensor input",                  \
    "x / (sqrt(y - K(1.0)) * sqrt(y + K(1.0)))")                                            \
  X(exp_backward, no, "exp_backward", "Tensor gradient, Tensor input", "x * exp(y)")        \
  X(softsign_grad, no, "nn.grad.softsign", "Tensor grad_output, Tensor input",              \
    "x / (K(1.0) + fabs(y)) / (K(1.0) + fabs(y))")                                          \
  X(erf_backward, no, "erf_backward", "Tensor gradient, Tensor input",                      \
    "x * (K(1.1283791670955126) * exp(-y * y))")                                            \
  X(gelu_grad, no, "nn.grad.gelu", "Tensor grad_output, Tensor input", "x * gelu_slope(y)") \
  X(silu_grad, no, "nn.grad.silu", "Tensor grad_output, Tensor input", "x * silu_slope(y, exp(-y))")

// Every number.
#define OPENCL_BINARY_NUMBER_OPS(X)                                                     \
  X(mul, yes, "mul", "Tensor|Scalar input, Tensor|Scalar other", "x * y")               \
  X(maximum, no, "maximum", "Tensor|Scalar input, Tensor|Scalar other", "LARGER(x, y)") \
  X(minimum, no, "minimum", "Tensor|Scalar input, Tensor|Scalar other", "SMALLER(x, y)")

// With a factor `alpha`: every number.
#define OPENCL_SCALED_OPS(X)                                                      \
  X(add, yes, "add", "Tensor|Scalar input, Tensor|Scalar other", "x + alpha * y") \
  X(sub, yes, "sub", "Tensor|Scalar input, Tensor|Scalar other", "x - alpha * y")

// X(kernel, op, expression that is true or false): every number, and bool.
#define OPENCL_COMPARE_OPS(X)                                      \
  X(eq, "eq", "x == y")                                            \
  X(ne, "ne", "x != y")                                            \
  X(lt, "lt", "x < y")                                             \
  X(le, "le", "x <= y")                                            \
  X(gt, "gt", "x > y")                                             \
  X(ge, "ge", "x >= y")                                            \
  X(logical_and, "logical_and", "(x != (VT)(0)) & (y != (VT)(0))") \
  X(logical_or, "logical_or", "(x != (VT)(0)) | (y != (VT)(0))")   \
  X(logical_xor, "logical_xor", "(x != (VT)(0)) ^ (y != (VT)(0))")
