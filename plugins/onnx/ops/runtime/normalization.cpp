// Normalizations in the number format of their input, as ONNX Runtime computes them.
#include "ops/common.hpp"

namespace {

using namespace onnx;

struct RuntimeMeanVariance {
  static constexpr auto schema = "onnx._runtime.mean_variance_norm(Tensor X, int[] axes) -> Tensor";
  static constexpr auto samples = R"([{"X": {"shape": [2, 3]}, "axes": [1]}])";
  static constexpr auto doc =
      "nn.functional.mean_variance_norm without its epsilon: constant slices become NaN.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& x, IntList axes) {
    const Tensor centred = x - tenon::mean(x, axes, true);
    return centred / tenon::sqrt(tenon::mean(centred * centred, axes, true));
  }
};

struct RuntimeLpNormalization {
  static constexpr auto schema =
      "onnx._runtime.lp_normalization(Tensor input, *, int axis=-1, int p=2) -> Tensor";
  static constexpr auto samples = R"([{"input": {"shape": [2, 3]}}])";
  static constexpr auto doc = "onnx.lp_normalization, whose squares are in the dtype.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input, int64_t axis, int64_t p) {
    static const tenon::Op op("onnx.lp_normalization");
    if (p != 2) return op.call<Tensor>(input, tenon::arg("axis") = axis, tenon::arg("p") = p);
    const Tensor norm = tenon::sqrt(tenon::sum(input * input, {axis}, true));
    const Tensor zero = tenon::eq(norm, 0);
    return tenon::where(zero, number_like(input, 0),
                        input / tenon::where(zero, number_like(norm, 1), norm));
  }
};

struct RuntimeGroupNorm {
  static constexpr auto schema =
      "onnx._runtime.group_norm(Tensor X, Tensor scale, Tensor bias, *, int num_groups, float "
      "epsilon=1e-05) -> Tensor";
  static constexpr auto samples =
      R"([{"X": {"shape": [2, 4, 3]}, "scale": {"shape": [4]}, "bias": {"shape": [4]}, "num_groups": 2}])";
  static constexpr auto doc =
      "onnx.group_norm with the variance as the mean of squares less the square of the mean, both "
      "in the dtype, up to the order of sums.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& x, const Tensor& scale, const Tensor& bias,
                        int64_t num_groups, double epsilon) {
    const int64_t channels = x.size(1);
    const Tensor rows = x.reshape({x.size(0), num_groups, -1});
    const Tensor mean = tenon::mean(rows, {-1}, true);
    const Tensor variance = tenon::mean(rows * rows, {-1}, true) - mean * mean;
    const Tensor normal = ((rows - mean) / tenon::sqrt(variance + epsilon)).reshape(x.shape());
    std::vector<int64_t> shape(static_cast<size_t>(x.dim()) - 1, 1);
    shape[0] = channels;
    const auto each = [&](const Tensor& one) {
      const Tensor list =
          one.numel() == channels ? one : tenon::repeat_interleave(one, channels / num_groups, 0);
      return list.reshape(list_of(shape));
    };
    return normal * each(scale) + each(bias);
  }
};

}  // namespace
TENON_OP(RuntimeMeanVariance)
TENON_OP(RuntimeLpNormalization)
TENON_OP(RuntimeGroupNorm)
