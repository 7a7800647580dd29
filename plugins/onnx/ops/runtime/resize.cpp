// Resize with a region as ONNX Runtime computes it.
#include "ops/common.hpp"

namespace {

using namespace onnx;
using tenon::arg, tenon::Op;

struct RuntimeResize {
  static constexpr auto schema =
      "onnx._runtime.crop_and_resize(Tensor X, float[]? roi=None, float[]? scales=None, int[]? "
      "sizes=None, *, bool antialias=False, int[]? axes=None, float cubic_coeff_a=-0.75, bool "
      "exclude_outside=False, float extrapolation_value=0.0, str "
      "keep_aspect_ratio_policy='stretch', "
      "str mode='nearest', str nearest_mode='round_prefer_floor') -> Tensor";
  static constexpr auto samples =
      R"([{"X": {"shape": [1, 1, 1, 4]}, "roi": [0, 0, 0, 0.2, 1, 1, 1, 0.9], "sizes": [1, 1, 1, 3], "mode": "linear"}])";
  static constexpr auto doc =
      "onnx.resize of the region roi; the whole input where the result has its shape.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& x, std::optional<FloatList> roi,
                        std::optional<FloatList> scales, std::optional<IntList> sizes,
                        bool antialias, std::optional<IntList> axes, double cubic_coeff_a,
                        bool exclude_outside, double extrapolation_value, std::string_view policy,
                        std::string_view mode, std::string_view nearest_mode) {
    static const Op op("onnx.resize");
    const auto result = op.call<Tensor>(
        x, Argument(roi), Argument(scales), Argument(sizes), arg("antialias") = antialias,
        arg("axes") = Argument(axes), arg("coordinate_transformation_mode") = "tf_crop_and_resize",
        arg("cubic_coeff_a") = cubic_coeff_a, arg("exclude_outside") = exclude_outside,
        arg("extrapolation_value") = extrapolation_value, arg("keep_aspect_ratio_policy") = policy,
        arg("mode") = mode, arg("nearest_mode") = nearest_mode);
    return vector_of(result.shape()) == vector_of(x.shape()) ? x.clone() : result;
  }
};

}  // namespace
TENON_OP(RuntimeResize)
