// Elementwise ops of the device, as one table: the kernels' source and the overrides come from it.
//
// X(kernel, op, expression of x): results follow IEEE, as the CPU's do, and OpenCL's bounds: exp, log and
// their like are within 3 or 4 ulp, tan within 5.
#pragma once

#define OPENCL_UNARY_OPS(X)                        \
  X(neg, "neg", "-x")                              \
  X(abs, "abs", "fabs(x)")                         \
  X(sqrt, "sqrt", "sqrt(x)")                       \
  X(rsqrt, "rsqrt", "1.0f / sqrt(x)")              \
  X(reciprocal, "reciprocal", "1.0f / x")          \
  X(square, "square", "x * x")                     \
  X(exp, "exp", "exp(x)")                          \
  X(exp2, "exp2", "exp2(x)")                       \
  X(expm1, "expm1", "expm1(x)")                    \
  X(log, "log", "log(x)")                          \
  X(log2, "log2", "log2(x)")                       \
  X(log10, "log10", "log10(x)")                    \
  X(log1p, "log1p", "log1p(x)")                    \
  X(sin, "sin", "sin(x)")                          \
  X(cos, "cos", "cos(x)")                          \
  X(tan, "tan", "tan(x)")                          \
  X(sinh, "sinh", "sinh(x)")                       \
  X(cosh, "cosh", "cosh(x)")                       \
  X(tanh, "tanh", "tanh(x)")                       \
  X(asin, "asin", "asin(x)")                       \
  X(acos, "acos", "acos(x)")                       \
  X(atan, "atan", "atan(x)")                       \
  X(asinh, "asinh", "asinh(x)")                    \
  X(acosh, "acosh", "acosh(x)")                    \
  X(atanh, "atanh", "atanh(x)")                    \
  X(erf, "erf", "erf(x)")                          \
  X(floor, "floor", "floor(x)")                    \
  X(ceil, "ceil", "ceil(x)")                       \
  X(trunc, "trunc", "trunc(x)")                    \
  X(sigmoid, "sigmoid", "1.0f / (1.0f + exp(-x))") \
  X(relu, "relu", "x < 0.0f ? 0.0f : x")

// X(kernel, op, expression of x and y). OpenCL's fmax and fmin pass over NaN, which the ops do not.
#define OPENCL_BINARY_OPS(X)                                       \
  X(mul, "mul", "x * y")                                           \
  X(div, "div", "x / y")                                           \
  X(maximum, "maximum", "isnan(x) || isnan(y) ? NAN : fmax(x, y)") \
  X(minimum, "minimum", "isnan(x) || isnan(y) ? NAN : fmin(x, y)")
