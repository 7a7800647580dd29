// Activations that have more parameters than those of nn.
#include <cmath>

#include "common.hpp"

namespace {

using namespace onnx;

struct HardSigmoid {
  static constexpr auto schema =
      "onnx.hard_sigmoid(Tensor X, *, float alpha=0.2, float beta=0.5) -> Tensor";
  static constexpr auto doc = "alpha * X + beta, clamped to 0 and 1.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& x, double alpha, double beta) {
    return tenon::clamp(x * alpha + beta, 0, 1);
  }
};

struct Shrink {
  static constexpr auto schema =
      "onnx.shrink(Tensor input, *, float bias=0.0, float lambd=0.5) -> Tensor";
  static constexpr auto doc =
      "input + bias below -lambd, input - bias above lambd, 0 between them; NaN stays.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input, double bias, double lambd) {
    const Tensor zero = number_like(input, 0);
    const bool whole = !tenon::is_floating(input.dtype()) && bias == std::floor(bias);
    const Scalar moved = whole ? Scalar(static_cast<int64_t>(bias)) : Scalar(bias);
    const Tensor lower = (input + moved).to(input.dtype());
    const Tensor upper = (input - moved).to(input.dtype());
    const Tensor inside = tenon::where(tenon::isnan(input), input, zero);
    return tenon::where(tenon::lt(input, -lambd), lower,
                        tenon::where(tenon::gt(input, lambd), upper, inside));
  }
};

struct PRelu {
  static constexpr auto schema = "onnx.prelu(Tensor X, Tensor slope) -> Tensor";
  static constexpr auto doc = "slope * X where X is below 0, else X; slope is broadcast.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& x, const Tensor& slope) {
    return tenon::where(tenon::lt(x, number_like(x, 0)), x * slope, x);
  }
};

struct Sign {
  static constexpr auto schema = "onnx.sign(Tensor X) -> Tensor";
  static constexpr auto doc = "1 above 0, -1 below, else X: 0, or NaN.";
  static constexpr bool zero_gradient = true;
  static Tensor forward(const Tensor& x) {
    const Tensor sign = tenon::sign(x);
    return tenon::is_floating(x.dtype()) ? tenon::where(tenon::isnan(x), x, sign) : sign;
  }
};

struct Swish {
  static constexpr auto schema = "onnx.swish(Tensor X, *, float alpha=1.0) -> Tensor";
  static constexpr auto doc = "X * sigmoid(alpha * X).";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& x, double alpha) { return x * tenon::sigmoid(x * alpha); }
};

// Two dimensions, as the operators before opset 13 see a tensor.
Tensor rows_of(const Tensor& input, int64_t axis) {
  int64_t rows = 1, columns = 1;
  for (int64_t i = 0; i < input.dim(); ++i) (i < axis ? rows : columns) *= input.shape()[i];
  return input.reshape({rows, columns});
}

struct RowSoftmax {
  static constexpr auto schema = "onnx.softmax_rows(Tensor input, *, int axis=1) -> Tensor";
  static constexpr auto doc =
      "softmax over all dimensions from axis on, as Softmax before opset 13 has it.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input, int64_t axis) {
    const int64_t from = axis == input.dim() ? axis : axis_of(axis, input.dim());
    return functional::softmax(rows_of(input, from), 1).reshape(input.shape());
  }
};
struct RowLogSoftmax {
  static constexpr auto schema = "onnx.log_softmax_rows(Tensor input, *, int axis=1) -> Tensor";
  static constexpr auto doc =
      "log_softmax over all dimensions from axis on, as LogSoftmax before opset 13 has it.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input, int64_t axis) {
    const int64_t from = axis == input.dim() ? axis : axis_of(axis, input.dim());
    return functional::log_softmax(rows_of(input, from), 1).reshape(input.shape());
  }
};

struct Hardmax {
  static constexpr auto schema =
      "onnx.hardmax(Tensor input, *, int axis=-1, bool rows=False) -> Tensor";
  static constexpr auto doc =
      "1 at the first largest element along axis, else 0; `rows`: over all dimensions from axis "
      "on.";
  static constexpr bool zero_gradient = true;
  static Tensor forward(const Tensor& input, int64_t axis, bool rows) {
    const int64_t from = axis_of(axis, input.dim());
    const Tensor whole = rows ? rows_of(input, from) : input;
    const int64_t dim = rows ? 1 : from;
    const Tensor first = tenon::argmax(whole, dim, true);
    return tenon::scatter(tenon::zeros_like(whole), dim, first, 1).reshape(input.shape());
  }
};

}  // namespace
TENON_OP(HardSigmoid)
TENON_OP(Shrink)
TENON_OP(PRelu)
TENON_OP(Sign)
TENON_OP(Swish)
TENON_OP(RowSoftmax)
TENON_OP(RowLogSoftmax)
TENON_OP(Hardmax)
