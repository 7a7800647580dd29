// Pictures: other sizes, boxes, regions.
#include <limits>

#include "window.hpp"

namespace {

using namespace onnx;
using tenon::arg, tenon::Op;

// A list that a model gives may be empty where it stands for none.
template <class List>
std::optional<List> filled(const std::optional<List>& list) {
  return list && !list->empty() ? list : std::nullopt;
}

struct Resize {
  static constexpr auto schema =
      "onnx.resize(Tensor X, float[]? roi=None, float[]? scales=None, int[]? sizes=None, *, bool "
      "antialias=False, int[]? axes=None, str coordinate_transformation_mode='half_pixel', float "
      "cubic_coeff_a=-0.75, bool exclude_outside=False, float extrapolation_value=0.0, str "
      "keep_aspect_ratio_policy='stretch', str mode='nearest', str "
      "nearest_mode='round_prefer_floor') -> Tensor";
  static constexpr auto samples =
      R"([{"X": {"shape": [1, 1, 2, 3]}, "scales": [1, 1, 2, 2], "mode": "linear"}])";
  static constexpr auto doc =
      "nn.functional.resize with the names of ONNX, where an empty list stands for none.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& x, std::optional<FloatList> roi,
                        std::optional<FloatList> scales, std::optional<IntList> sizes,
                        bool antialias, std::optional<IntList> axes, std::string_view coordinates,
                        double cubic_coeff_a, bool exclude_outside, double extrapolation_value,
                        std::string_view policy, std::string_view mode,
                        std::string_view nearest_mode) {
    static const Op op("nn.functional.resize");
    const bool crops = coordinates == "tf_crop_and_resize";
    return op.call<Tensor>(
        x, Argument(filled(sizes)), Argument(filled(sizes) ? std::nullopt : filled(scales)),
        arg("dims") = Argument(filled(axes)), arg("mode") = mode, arg("coordinates") = coordinates,
        arg("rounding") = nearest_mode, arg("keep_aspect") = policy,
        arg("cubic_coefficient") = cubic_coeff_a, arg("exclude_outside") = exclude_outside,
        arg("antialias") = antialias, arg("roi") = Argument(crops ? filled(roi) : std::nullopt),
        arg("extrapolation_value") = extrapolation_value);
  }
};

struct NonMaxSuppression {
  static constexpr auto schema =
      "onnx.non_max_suppression(Tensor boxes, Tensor scores, int? max_output_boxes_per_class=None, "
      "float? iou_threshold=None, float? score_threshold=None, *, bool center_point_box=False) -> "
      "Tensor";
  static constexpr auto samples =
      R"([{"boxes": {"values": [[[0, 0, 2, 2], [3, 3, 4, 5]]], "requires_grad": false},
           "scores": {"values": [[[0.3, 0.9]]], "requires_grad": false}, "max_output_boxes_per_class": 1}])";
  static constexpr auto doc =
      "nn.functional.nms_per_class, which selects no box without a largest number of boxes.";
  static constexpr bool zero_gradient = true;
  static constexpr bool data_dependent_shape = true;
  static Tensor forward(const Tensor& boxes, const Tensor& scores, std::optional<int64_t> most,
                        std::optional<double> iou_threshold, std::optional<double> score_threshold,
                        bool center_point_box) {
    static const Op op("nn.functional.nms_per_class");
    if (most.value_or(0) <= 0) return tenon::zeros({0, 3}, tenon::i64);
    return op.call<Tensor>(boxes, scores, iou_threshold.value_or(0),
                           arg("score_threshold") = Argument(score_threshold),
                           arg("max_output_boxes") = *most,
                           arg("center_point_box") = center_point_box);
  }
};

// Bins of boxes along a dimension of `size` places: which of them each bin has, [boxes, bins, size]. Edges are
// computed in the dtype of the boxes, as the standard's examples do.
Tensor bins_of(const Tensor& first, const Tensor& last, int64_t count, int64_t size) {
  const Tensor length = (last - first + 1).clamp(1).reshape({-1, 1});
  const Tensor step = length / static_cast<double>(count);
  const Tensor bin = tenon::arange(count).to(first.dtype()), start = first.reshape({-1, 1});
  const Tensor low = (tenon::floor(bin * step) + start).unsqueeze(-1);
  const Tensor high = (tenon::ceil((bin + 1) * step) + start).unsqueeze(-1);
  const Tensor place = tenon::arange(size).to(first.dtype());
  return tenon::logical_and(tenon::ge(place, low), tenon::lt(place, high));
}
// The nearest integer, away from zero where two are as near.
Tensor rounded(const Tensor& x) { return tenon::floor(tenon::abs(x) + 0.5) * tenon::sign(x); }

struct MaxRoiPool {
  static constexpr auto schema =
      "onnx.max_roi_pool(Tensor X, Tensor rois, *, int[] pooled_shape, float spatial_scale=1.0) -> "
      "Tensor";
  static constexpr auto samples =
      R"([{"X": {"shape": [2, 2, 5, 6]}, "pooled_shape": [2, 3], "spatial_scale": 0.5,
           "rois": {"values": [[0, 0, 0, 9, 9], [1, 2, 3, 20, 4]], "requires_grad": false}}])";
  static constexpr auto doc =
      "The maxima of pooled_shape bins of each box. rois: [boxes, 5], the index of a picture and "
      "x1, y1, x2, y2, which are multiplied by spatial_scale and rounded; a bin outside of the "
      "picture is 0.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& x, const Tensor& rois, IntList pooled_shape, double scale) {
    if (x.dim() != 4 || rois.dim() != 2 || rois.size(1) != 5 || pooled_shape.size() != 2 ||
        pooled_shape[0] < 1 || pooled_shape[1] < 1)
      throw tenon::ValueError(
          "onnx.max_roi_pool(): expected X of 4 dimensions, rois of shape [boxes, 5] and two "
          "positive sizes in pooled_shape");
    const Tensor pictures = tenon::index_select(x, 0, tenon::select(rois, 1, 0).to(tenon::i64));
    const auto edge = [&](int64_t column) {
      return rounded(tenon::select(rois, 1, column) * scale);
    };
    const Tensor rows = bins_of(edge(2), edge(4), pooled_shape[0], x.size(2));
    const Tensor columns = bins_of(edge(1), edge(3), pooled_shape[1], x.size(3));
    const Tensor lowest = number_like(x, -std::numeric_limits<double>::infinity());
    std::vector<Tensor> wide, made;
    for (int64_t i = 0; i < pooled_shape[1]; ++i) {
      const Tensor inside = tenon::select(columns, 1, i).reshape({-1, 1, 1, x.size(3)});
      wide.push_back(tenon::amax(tenon::where(inside, pictures, lowest), 3));
    }
    const Tensor narrow = tenon::stack(wide, -1);  // [boxes, channels, rows, bins]
    for (int64_t i = 0; i < pooled_shape[0]; ++i) {
      const Tensor inside = tenon::select(rows, 1, i).reshape({-1, 1, x.size(2), 1});
      made.push_back(tenon::amax(tenon::where(inside, narrow, lowest), 2));
    }
    const Tensor some_rows = tenon::any(rows, 2).reshape({-1, 1, pooled_shape[0], 1});
    const Tensor some_columns = tenon::any(columns, 2).reshape({-1, 1, 1, pooled_shape[1]});
    return tenon::where(tenon::logical_and(some_rows, some_columns), tenon::stack(made, 2),
                        number_like(x, 0));
  }
};

struct RoiAlign {
  static constexpr auto schema =
      "onnx.roi_align(Tensor X, Tensor rois, Tensor batch_indices, *, str "
      "coordinate_transformation_mode='half_pixel', str mode='avg', int output_height=1, int "
      "output_width=1, int sampling_ratio=0, float spatial_scale=1.0) -> Tensor";
  static constexpr auto samples =
      R"([{"X": {"shape": [1, 2, 4, 5]}, "rois": {"values": [[0.2, 0.4, 3.1, 2.9]], "requires_grad": false},
           "batch_indices": {"values": [0], "dtype": "i64"}, "output_height": 2, "output_width": 2}])";
  static constexpr auto doc = "nn.functional.roi_align with the names of ONNX.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& x, const Tensor& rois, const Tensor& batch_indices,
                        std::string_view coordinates, std::string_view mode, int64_t height,
                        int64_t width, int64_t sampling_ratio, double spatial_scale) {
    static const Op op("nn.functional.roi_align");
    return op.call<Tensor>(x, rois, batch_indices, std::vector<int64_t>{height, width},
                           spatial_scale, sampling_ratio, coordinates == "half_pixel", mode);
  }
};

// The elements of X at their indices in the tensor that was pooled.
struct MaxUnpool {
  static constexpr auto schema =
      "onnx.max_unpool(Tensor X, Tensor I, int[]? output_shape=None, *, int[] kernel_shape, int[]? "
      "pads=None, int[]? strides=None) -> Tensor";
  static constexpr auto samples =
      R"([{"X": {"shape": [1, 1, 2]}, "I": {"values": [[[1, 2]]], "dtype": "i64"}, "kernel_shape": [2], "strides": [2]}])";
  static constexpr auto doc =
      "The elements of X where their indices say in the tensor that was pooled, 0 elsewhere.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& x, const Tensor& indices, std::optional<IntList> output_shape,
                        IntList kernel_shape, std::optional<IntList> pads,
                        std::optional<IntList> strides) {
    const int64_t rank = kernel_shape.size();
    if (x.dim() != rank + 2)
      throw tenon::ValueError("onnx.max_unpool(): the input has " + std::to_string(x.dim()) +
                              " dimensions for a kernel of " + std::to_string(rank));
    const std::vector<int64_t> none(static_cast<size_t>(rank), 0);
    std::vector<int64_t> stride, sizes;
    int64_t plane = 1;
    for (int64_t i = 0; i < rank; ++i) {
      stride.push_back(strides ? (*strides)[i] : 1);
      const int64_t padding = pads ? (*pads)[i] + (*pads)[i + rank] : 0;
      sizes.push_back((x.shape()[i + 2] - 1) * stride.back() + kernel_shape[i] - padding);
      plane *= sizes.back();
    }
    if (plane <= 0)
      throw tenon::ValueError("onnx.max_unpool(): the padding leaves no element of a plane");
    const auto whole =
        Op(family_name("nn.functional.max_unpool", static_cast<size_t>(rank)))
            .call<Tensor>(x, tenon::remainder(indices, plane), kernel_shape, stride, none, sizes);
    if (!output_shape || output_shape->empty()) return whole;
    std::vector<int64_t> end;
    for (int64_t i = 0; i < rank; ++i)
      end.push_back((*output_shape)[i + 2] - sizes[static_cast<size_t>(i)]);
    return padded(whole, none, end, 0);
  }
};

}  // namespace
TENON_OP(Resize)
TENON_OP(NonMaxSuppression)
TENON_OP(MaxRoiPool)
TENON_OP(RoiAlign)
TENON_OP(MaxUnpool)
