// affine_grid: the positions of grid_sample for affine maps of images.
#include "resampling.hpp"

namespace {

using namespace nn;

// Positions of `size` elements from -1 to 1: of the outer elements' centers with align_corners, else
// of their outer edges.
Tensor positions(int64_t size, bool align_corners, DType dtype) {
  const Tensor at = tenon::arange(size, tenon::none, 1, tenon::f64);
  const auto count = static_cast<double>(size);
  if (!align_corners) return ((at * 2 + 1) / count - 1).to(dtype);
  return (size == 1 ? at : at * (2 / (count - 1)) - 1).to(dtype);
}

struct AffineGrid {
  static constexpr auto schema =
      "nn.functional.affine_grid(Tensor theta, int[] size, bool align_corners=False) -> Tensor";
  static constexpr auto samples =
      R"([{"theta": {"shape": [2, 2, 3]}, "size": [2, 1, 3, 4]},
          {"theta": {"shape": [1, 3, 4]}, "size": [1, 2, 2, 1, 3], "align_corners": true}])";
  static constexpr auto doc =
      "A grid for grid_sample of the given size [N, C, H, W] or [N, C, D, H, W]: theta, [N, 2, 3] "
      "or [N, 3, 4], times the position (x, y, 1) or (x, y, z, 1) of each element, from -1 to 1. "
      "align_corners as for grid_sample (arXiv:1506.02025).";
  static constexpr bool composite = true;

  static Tensor forward(const Tensor& theta, IntList size, bool align_corners) {
    constexpr auto op = "affine_grid";
    check_floating(op, "theta", theta);
    const int64_t spatial = size.size() - 2;
    if (spatial != 2 && spatial != 3) {
      throw tenon::ValueError("affine_grid(): size must be [N, C, H, W] or [N, C, D, H, W], got " +
                              shape_text(size));
    }
    for (const int64_t each : size) check_setting(op, "size", each, 1);
    const int64_t expected[] = {size[0], spatial, spatial + 1};
    kernel::check_shape(op, "theta", theta, IntList(expected, 3));
    check_addressable(op, theta, size);
    std::vector<int64_t> shape(size.begin() + 2, size.end());
    std::vector<Tensor> columns;
    for (int64_t i = spatial - 1; i >= 0; --i) {
      std::vector<int64_t> along(static_cast<size_t>(spatial), 1);
      along[static_cast<size_t>(i)] = -1;
      columns.push_back(
          positions(size[2 + i], align_corners, theta.dtype()).reshape(along).expand(shape));
    }
    columns.push_back(tenon::ones(shape, theta.dtype()));
    const Tensor places = tenon::stack(columns, -1).flatten(0, -2);
    shape.insert(shape.begin(), size[0]);
    shape.push_back(spatial);
    return places.matmul(theta.transpose(1, 2)).reshape(shape);
  }
};

}  // namespace
TENON_OP(AffineGrid)
