// nms and nms_per_class: non-maximum suppression, the boxes that no better box covers.
#include <algorithm>
#include <numeric>

#include "common.hpp"

namespace {

using namespace nn;

// A box by its corners, low before high.
struct Box {
  double low[2], high[2];

  Box(const double* at, bool center_point_box) {
    for (int i = 0; i < 2; ++i) {
      const double a = center_point_box ? at[i] - at[i + 2] / 2 : at[i];
      const double b = center_point_box ? at[i] + at[i + 2] / 2 : at[i + 2];
      low[i] = std::min(a, b);
      high[i] = std::max(a, b);
    }
  }
  double area() const { return (high[0] - low[0]) * (high[1] - low[1]); }
  // The area of both together divided by that of either; 0 where they have none.
  double overlap(const Box& other) const {
    double shared = 1;
    for (int i = 0; i < 2; ++i) {
      shared *= std::max(std::min(high[i], other.high[i]) - std::max(low[i], other.low[i]), 0.0);
    }
    const double either = area() + other.area() - shared;
    return either > 0 ? shared / either : 0;
  }
};

struct Rule {
  const char* op;
  double iou_threshold;
  std::optional<double> score_threshold;
  std::optional<int64_t> most;
  bool center_point_box;

  void check(const Tensor& boxes, const Tensor& scores) const {
    check_floating(op, "boxes", boxes);
    check_floating(op, "scores", scores);
    if (!(iou_threshold >= 0 && iou_threshold <= 1)) {
      throw tenon::ValueError(std::string(op) + "(): iou_threshold must be from 0 to 1, got " +
                              tenon::Scalar(iou_threshold).text());
    }
    if (most && *most < 0) {
      throw tenon::ValueError(std::string(op) + "(): max_output_boxes must be 0 or more, got " +
                              std::to_string(*most));
    }
  }
  // The boxes that are kept, the best first.
  std::vector<int64_t> kept(const double* boxes, const double* scores, int64_t count) const {
    std::vector<int64_t> order;
    for (int64_t i = 0; i < count; ++i) {
      // NaN is not above any threshold.
      const bool good = score_threshold ? scores[i] > *score_threshold : scores[i] == scores[i];
      if (good) order.push_back(i);
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](int64_t a, int64_t b) { return scores[a] > scores[b]; });
    std::vector<int64_t> found;
    std::vector<Box> chosen;
    for (const int64_t i : order) {
      if (most && static_cast<int64_t>(found.size()) >= *most) break;
      const Box box(boxes + 4 * i, center_point_box);
      const bool covered = std::any_of(chosen.begin(), chosen.end(), [&](const Box& other) {
        return box.overlap(other) > iou_threshold;
      });
      if (covered) continue;
      chosen.push_back(box);
      found.push_back(i);
    }
    return found;
  }
};

Tensor as_doubles(const Tensor& tensor) { return tenon::contiguous_as(tensor, tenon::f64); }

struct Nms {
  static constexpr auto schema =
      "nn.functional.nms(Tensor boxes, Tensor scores, float iou_threshold, *, float? "
      "score_threshold=None, int? max_output_boxes=None, bool center_point_box=False) -> Tensor";
  static constexpr auto samples =
      R"([{"boxes": {"values": [[0, 0, 2, 2], [2, 2, 0, 0.1], [3, 3, 4, 5]], "requires_grad": false},
           "scores": {"values": [0.3, 0.9, 0.5], "requires_grad": false}, "iou_threshold": 0.5}])";
  static constexpr auto doc =
      "The indices of boxes [N, 4], the best score first, of which no better one has an "
      "intersection over union above iou_threshold. A box is two opposite corners, or with "
      "center_point_box its center and size. Scores must be above score_threshold; of equal ones "
      "the first counts, NaN does not.";
  static constexpr bool zero_gradient = true;
  static constexpr bool data_dependent_shape = true;

  static Tensor forward(const Tensor& boxes, const Tensor& scores, double iou_threshold,
                        std::optional<double> score_threshold,
                        std::optional<int64_t> max_output_boxes, bool center_point_box) {
    const Rule rule{"nms", iou_threshold, score_threshold, max_output_boxes, center_point_box};
    rule.check(boxes, scores);
    if (boxes.dim() != 2 || boxes.size(1) != 4) {
      throw tenon::ValueError("nms(): 'boxes' must have shape [N, 4], got " + shape_text(boxes));
    }
    const int64_t count = boxes.size(0);
    kernel::check_shape("nms", "scores", scores, IntList(&count, 1));
    const Tensor corners = as_doubles(boxes), values = as_doubles(scores);
    const auto found = rule.kept(kernel::elements<const double>(corners),
                                 kernel::elements<const double>(values), count);
    return tenon::from_range(found.begin(), found.end());
  }
};

struct NmsPerClass {
  static constexpr auto schema =
      "nn.functional.nms_per_class(Tensor boxes, Tensor scores, float iou_threshold, *, float? "
      "score_threshold=None, int? max_output_boxes=None, bool center_point_box=False) -> Tensor";
  static constexpr auto samples =
      R"([{"boxes": {"values": [[[0, 0, 2, 2], [2, 2, 0, 0.1], [3, 3, 4, 5]]], "requires_grad": false},
           "scores": {"values": [[[0.3, 0.9, 0.5], [0.1, 0.2, 0.3]]], "requires_grad": false},
           "iou_threshold": 0.5, "score_threshold": 0.15}])";
  static constexpr auto doc =
      "nms() of each image and class: boxes [B, N, 4] and scores [B, C, N] give rows (image, "
      "class, box). max_output_boxes counts those of a class (ONNX' NonMaxSuppression).";
  static constexpr bool zero_gradient = true;
  static constexpr bool data_dependent_shape = true;

  static Tensor forward(const Tensor& boxes, const Tensor& scores, double iou_threshold,
                        std::optional<double> score_threshold,
                        std::optional<int64_t> max_output_boxes, bool center_point_box) {
    const Rule rule{"nms_per_class", iou_threshold, score_threshold, max_output_boxes,
                    center_point_box};
    rule.check(boxes, scores);
    if (boxes.dim() != 3 || boxes.size(2) != 4 || scores.dim() != 3 ||
        scores.size(0) != boxes.size(0) || scores.size(2) != boxes.size(1)) {
      throw tenon::ValueError(
          "nms_per_class(): 'boxes' and 'scores' must be [B, N, 4] and [B, C, N], got shapes " +
          shape_text(boxes) + " and " + shape_text(scores));
    }
    const Tensor corners = as_doubles(boxes), values = as_doubles(scores);
    const int64_t count = boxes.size(1), classes = scores.size(1);
    const auto* box_at = kernel::elements<const double>(corners);
    const auto* score_at = kernel::elements<const double>(values);
    std::vector<int64_t> rows;
    for (int64_t image = 0; image < boxes.size(0); ++image) {
      for (int64_t k = 0; k < classes; ++k) {
        const auto found =
            rule.kept(box_at + image * count * 4, score_at + (image * classes + k) * count, count);
        for (const int64_t box : found) rows.insert(rows.end(), {image, k, box});
      }
    }
    return tenon::from_range(rows.begin(), rows.end()).reshape({-1, 3});
  }
};

}  // namespace
TENON_OPS(Nms, NmsPerClass)
