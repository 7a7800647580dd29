// Normalizations.
#include "common.hpp"

namespace {

using namespace onnx;

// A vector of channels with the dimensions that broadcast against [N, C, ...].
Tensor per_channel(const Tensor& vector, int64_t rank) {
  std::vector<int64_t> shape(static_cast<size_t>(std::max<int64_t>(rank - 1, 1)), 1);
  shape[0] = vector.numel();
  return vector.reshape(list_of(shape));
}

struct BatchNormTraining {
  static constexpr auto schema =
      "onnx.batch_norm_training(Tensor X, Tensor scale, Tensor B, Tensor running_mean, Tensor "
      "running_var, *, float epsilon=1e-05, float momentum=0.9) -> (Tensor Y, Tensor mean, Tensor "
      "var)";
  static constexpr auto samples =
      R"([{"X": {"shape": [4, 2]}, "scale": {"shape": [2]}, "B": {"shape": [2]}, "running_mean": {"shape": [2]}, "running_var": {"values": [1.0, 2.0]}}])";
  static constexpr auto doc =
      "Normalized by the batch's own statistics, and the running ones with a part of these: the "
      "population's variance, momentum weighs the old value.";
  static constexpr bool composite = true;
  static std::tuple<Tensor, Tensor, Tensor> forward(const Tensor& x, const Tensor& scale,
                                                    const Tensor& b, const Tensor& mean,
                                                    const Tensor& var, double epsilon,
                                                    double momentum) {
    std::vector<int64_t> axes = all_axes(x.dim());
    if (axes.size() > 1) axes.erase(axes.begin() + 1);
    const Tensor own_mean = tenon::mean(x, axes);
    const Tensor centred = x - per_channel(own_mean, x.dim());
    const Tensor own_var = tenon::mean(centred * centred, axes);
    const Tensor factor = scale * tenon::rsqrt(own_var + epsilon);
    return {centred * per_channel(factor, x.dim()) + per_channel(b, x.dim()),
            mean * momentum + own_mean * (1 - momentum), var * momentum + own_var * (1 - momentum)};
  }
};

struct LayerNorm {
  static constexpr auto schema =
      "onnx.layer_norm(Tensor X, Tensor Scale, Tensor? B=None, *, int axis=-1, float "
      "epsilon=1e-05, int outputs=1) -> (Tensor Y, Tensor? Mean, Tensor? InvStdDev)";
  static constexpr auto samples = R"([{"X": {"shape": [2, 3]}, "Scale": {"shape": [3]}}])";
  static constexpr auto doc =
      "Normalized over the dimensions from axis on; with more outputs their mean and the inverse "
      "of "
      "the standard deviation.";
  static constexpr bool composite = true;
  static std::tuple<Tensor, Tensor, Tensor> forward(const Tensor& x, const Tensor& scale,
                                                    const Tensor& b, int64_t axis, double epsilon,
                                                    int64_t outputs) {
    const int64_t from = axis_of(axis, x.dim());
    const IntList inner(x.shape().begin() + from, x.dim() - from);
    const bool plain = vector_of(scale.shape()) == vector_of(inner) &&
                       (!b.defined() || vector_of(b.shape()) == vector_of(inner));
    Tensor y =
        functional::layer_norm(x, inner, plain ? scale : Tensor(), plain ? b : Tensor(), epsilon);
    if (!plain) {
      y = y * scale;
      if (b.defined()) y = y + b;
    }
    if (outputs < 2) return {y, Tensor(), Tensor()};
    std::vector<int64_t> axes = all_axes(x.dim());
    axes.erase(axes.begin(), axes.begin() + from);
    const Tensor mean = tenon::mean(x, axes, true);
    const Tensor centred = x - mean;
    return {y, mean, tenon::rsqrt(tenon::mean(centred * centred, axes, true) + epsilon)};
  }
};

struct GroupNorm {
  static constexpr auto schema =
      "onnx.group_norm(Tensor X, Tensor scale, Tensor bias, *, int num_groups, float "
      "epsilon=1e-05) -> Tensor";
  static constexpr auto samples =
      R"([{"X": {"shape": [2, 4, 3]}, "scale": {"shape": [4]}, "bias": {"shape": [4]}, "num_groups": 2}])";
  static constexpr auto doc =
      "Each group of channels normalized; scale and bias are of channels, or of groups as in opset "
      "18.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& x, const Tensor& scale, const Tensor& bias,
                        int64_t num_groups, double epsilon) {
    const int64_t channels = x.size(1);
    const auto each = [&](const Tensor& one) {
      return one.numel() == channels ? one
                                     : tenon::repeat_interleave(one, channels / num_groups, 0);
    };
    return functional::group_norm(x, num_groups, each(scale), each(bias), epsilon);
  }
};

struct RmsNorm {
  static constexpr auto schema =
      "onnx.rms_norm(Tensor X, Tensor scale, *, int axis=-1, float epsilon=1e-05) -> Tensor";
  static constexpr auto samples = R"([{"X": {"shape": [2, 3]}, "scale": {"shape": [3]}}])";
  static constexpr auto doc =
      "Divided by the root of the mean square of the dimensions from axis on.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& x, const Tensor& scale, int64_t axis, double epsilon) {
    const int64_t from = axis_of(axis, x.dim());
    const IntList inner(x.shape().begin() + from, x.dim() - from);
    if (vector_of(scale.shape()) == vector_of(inner))
      return functional::rms_norm(x, inner, scale, epsilon);
    return functional::rms_norm(x, inner, Tensor(), epsilon) * scale;
  }
};

struct LpNormalization {
  static constexpr auto schema =
      "onnx.lp_normalization(Tensor input, *, int axis=-1, int p=2) -> Tensor";
  static constexpr auto doc = "Divided by the p-norm along axis, p being 1 or 2.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input, int64_t axis, int64_t p) {
    const Tensor norm = tenon::vector_norm(input, static_cast<double>(p), {axis}, true);
    return input / tenon::where(tenon::eq(norm, 0), number_like(norm, 1), norm);
  }
};

struct Lrn {
  static constexpr auto schema =
      "onnx.lrn(Tensor X, *, float alpha=0.0001, float beta=0.75, float bias=1.0, int size) -> "
      "Tensor";
  static constexpr auto samples =
      R"([{"X": {"shape": [1, 5, 2, 2]}, "size": 3}, {"X": {"shape": [1, 5, 2]}, "size": 4}])";
  static constexpr auto doc =
      "nn.functional.local_response_norm, with the larger half of an even size behind a channel.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& x, double alpha, double beta, double bias, int64_t size) {
    if (size % 2 != 0) return functional::local_response_norm(x, size, alpha, beta, bias);
    // The op has the larger half in front.
    const Tensor reversed = tenon::flip(x, {1});
    return tenon::flip(functional::local_response_norm(reversed, size, alpha, beta, bias), {1});
  }
};

struct Dropout {
  static constexpr auto schema =
      "onnx.dropout(Tensor data, float? ratio=None, bool? training_mode=None, *, int outputs=1) -> "
      "(Tensor output, Tensor? mask)";
  static constexpr auto doc =
      "Where training_mode is true elements are 0 with the probability ratio, and the others grow.";
  static constexpr bool composite = true;
  static std::tuple<Tensor, Tensor> forward(const Tensor& data, std::optional<double> ratio,
                                            std::optional<bool> training_mode, int64_t outputs) {
    const double p = ratio.value_or(0.5);
    if (!training_mode.value_or(false) || p == 0) {
      return {data.clone(),
              outputs > 1 ? tenon::full(data.shape(), true, tenon::boolean) : Tensor()};
    }
    const Tensor mask = tenon::ge(tenon::rand(data.shape()), p);
    return {tenon::where(mask, data * (1 / (1 - p)), number_like(data, 0)), mask};
  }
};

}  // namespace
TENON_OP(BatchNormTraining)
TENON_OP(LayerNorm)
TENON_OP(GroupNorm)
TENON_OP(RmsNorm)
TENON_OP(LpNormalization)
TENON_OP(Lrn)
TENON_OP(Dropout)
