// grid_sample: elements of images between which a grid of positions chooses.
#include <limits>

#include "common.hpp"

namespace {

using namespace nn;

constexpr auto kName = "grid_sample";

[[noreturn]] void refuse(const std::string& text) {
  throw tenon::ValueError(std::string(kName) + "(): " + text);
}

enum class Beyond { zeros, border, reflection };
Beyond parse_padding(std::string_view text) {
  if (text == "zeros") return Beyond::zeros;
  if (text == "border") return Beyond::border;
  if (text == "reflection") return Beyond::reflection;
  refuse("'" + std::string(text) + "' is not a padding_mode; choose zeros, border or reflection");
}

// Along one dimension: an element beside each position, its share of the result, and whether it is
// one of the image. The index is valid in any case.
struct Neighbour {
  Tensor index, share, inside;  // i64, floating (undefined: 1), bool
};

Neighbour neighbour_at(const Tensor& place, int64_t size, const Tensor& share) {
  const Tensor last = place.clamp(0, size - 1);
  return {last.to(tenon::i64), share, last.eq(place)};
}

// Positions from -1 to 1 in elements, 0 to size - 1: of the outer elements' centers with
// align_corners, else of their outer edges.
Tensor in_elements(const Tensor& position, int64_t size, bool align_corners) {
  const auto count = static_cast<double>(size);
  return align_corners ? (position + 1) * ((count - 1) / 2) : ((position + 1) * count - 1) / 2;
}

// Positions thrown back at both ends until they are between.
Tensor reflected(const Tensor& position, int64_t size, bool align_corners) {
  const double low = align_corners ? 0 : -0.5,
               span = static_cast<double>(align_corners ? size - 1 : size);
  if (span == 0) return position * 0;
  const Tensor distance = (position - low).abs();
  const Tensor turns = (distance / span).floor(), rest = distance - turns * span;
  const Tensor odd = (turns - (turns / 2).floor() * 2).ne(0);
  return tenon::where(odd, span - rest, rest) + low;
}

// A dimension of the image.
struct Axis {
  int64_t size;
  Beyond beyond;
  bool align_corners;

  // Positions in elements, as the padding mode has those beyond the image.
  Tensor padded(const Tensor& position) const {
    if (beyond == Beyond::zeros) return position;
    if (beyond == Beyond::border) return position.clamp(0, size - 1);
    const Tensor inside = reflected(position, size, align_corners);
    return inside.masked_fill(inside.isnan(), 0).clamp(0, size - 1);
  }
};

std::vector<Neighbour> nearest_neighbours(const Tensor& position, const Axis& axis) {
  return {neighbour_at(axis.padded(position).round(), axis.size, {})};
}
std::vector<Neighbour> linear_neighbours(const Tensor& position, const Axis& axis) {
  const Tensor inside = axis.padded(position), low = inside.floor(), part = inside - low;
  return {neighbour_at(low, axis.size, 1 - part), neighbour_at(low + 1, axis.size, part)};
}
// Cubic convolution (Keys 1981) with a = -0.75: the padding mode finds each of the four elements.
std::vector<Neighbour> cubic_neighbours(const Tensor& position, const Axis& axis) {
  constexpr double a = -0.75;
  const auto near = [](const Tensor& x) { return ((x * (a + 2)) - (a + 3)) * x * x + 1; };
  const auto far = [](const Tensor& x) { return ((x * a - 5 * a) * x + 8 * a) * x - 4 * a; };
  // Positions that far beyond the image have no neighbour in it; infinities would have no part.
  const Tensor known = position.clamp(-1e9, 1e9);
  const Tensor low = known.floor(), part = known - low;
  const Tensor shares[] = {far(part + 1), near(part), near(1 - part), far(2 - part)};
  std::vector<Neighbour> found;
  found.reserve(4);
  for (int k = 0; k < 4; ++k)
    found.push_back(neighbour_at(axis.padded(low + (k - 1)), axis.size, shares[k]));
  return found;
}

void check_arguments(const Tensor& input, const Tensor& grid) {
  check_floating(kName, "input", input);
  check_same_dtype(kName, "input", input, "grid", grid);
  const int64_t spatial = input.dim() - 2;
  if (spatial != 2 && spatial != 3) {
    refuse("'input' must have shape [N, C, H, W] or [N, C, D, H, W], got " + shape_text(input));
  }
  if (grid.dim() != input.dim() || grid.shape()[0] != input.shape()[0] ||
      grid.shape()[grid.dim() - 1] != spatial) {
    refuse("'grid' must have shape [" + std::to_string(input.shape()[0]) +
           (spatial == 2 ? ", H, W, 2]" : ", D, H, W, 3]") + " for an input of shape " +
           shape_text(input) + ", got " + shape_text(grid));
  }
  for (int64_t i = 2; i < input.dim(); ++i) {
    if (input.shape()[i] == 0)
      refuse("the images of 'input' must not be empty, got shape " + shape_text(input));
  }
}

// The elements of every corner around each position, each multiplied by its shares.
Tensor sampled(const Tensor& input, const std::vector<std::vector<Neighbour>>& axes) {
  const auto spatial = axes.size();
  const Tensor planes = input.flatten(2);
  size_t corners = 1;
  for (const auto& axis : axes) corners *= axis.size();
  Tensor result;
  for (size_t corner = 0; corner < corners; ++corner) {
    Tensor index, share, inside;
    size_t rest = corner;
    for (size_t i = 0; i < spatial; ++i) {
      const Neighbour& one = axes[i][rest % axes[i].size()];
      rest /= axes[i].size();
      const int64_t size = input.shape()[2 + static_cast<int64_t>(i)];
      index = index.defined() ? index * size + one.index : one.index;
      inside = inside.defined() ? inside.logical_and(one.inside) : one.inside;
      if (one.share.defined()) share = share.defined() ? share * one.share : one.share;
    }
    const std::vector<int64_t> shape{input.shape()[0], input.shape()[1], index.shape()[1]};
    const Tensor found = planes.gather(2, index.unsqueeze(1).expand(shape));
    const Tensor part = found.masked_fill(inside.logical_not().unsqueeze(1), 0);
    result = plus(result, share.defined() ? product_or_zero(share.unsqueeze(1), part) : part);
  }
  return result;
}

struct GridSample {
  static constexpr auto schema =
      "nn.functional.grid_sample(Tensor input, Tensor grid, str mode='bilinear', str "
      "padding_mode='zeros', bool? align_corners=None) -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [1, 2, 3, 4]}, "grid": {"shape": [1, 2, 2, 2]}},
          {"input": {"shape": [2, 1, 3, 2]}, "grid": {"shape": [2, 1, 3, 2], "low": -2, "high": 2},
           "padding_mode": "reflection", "align_corners": true},
          {"input": {"shape": [1, 1, 2, 2, 3]}, "grid": {"shape": [1, 1, 2, 2, 3], "low": -2, "high": 2},
           "padding_mode": "border"},
          {"input": {"shape": [1, 1, 3, 3]}, "grid": {"shape": [1, 2, 2, 2], "low": -2, "high": 2},
           "mode": "nearest"},
          {"input": {"shape": [1, 1, 3, 4]}, "grid": {"shape": [1, 2, 2, 2]}, "mode": "bicubic"}])";
  static constexpr auto doc =
      "Elements of images [N, C, H, W] at positions grid [N, out height, out width, 2], x before "
      "y: "
      "[N, C, out height, out width]; volumes [N, C, D, H, W] with positions of three numbers. -1 "
      "and 1 are the image's edges, or with align_corners the centers of its outer elements. mode "
      "'bilinear' weighs the elements around a position, of volumes eight, 'nearest' takes one, "
      "half-way the even one, and 'bicubic', for images alone, weighs sixteen. Beyond the image "
      "padding_mode 'zeros' finds 0, 'border' the nearest "
      "element, and 'reflection' turns back at the edges. NaN is the position -1.";
  static constexpr bool composite = true;

  static Tensor forward(const Tensor& input, const Tensor& grid, std::string_view mode,
                        std::string_view padding_mode, std::optional<bool> align_corners) {
    check_arguments(input, grid);
    if (mode != "bilinear" && mode != "nearest" && mode != "bicubic")
      refuse("'" + std::string(mode) + "' is not a mode; choose bilinear, nearest or bicubic");
    if (mode == "bicubic" && input.dim() != 4)
      refuse("mode 'bicubic' is for images [N, C, H, W], got " + shape_text(input));
    const Beyond beyond = parse_padding(padding_mode);
    const bool aligned = align_corners.value_or(false);
    // Halves have too few digits for positions.
    const DType dtype = input.dtype(), compute = tenon::compute_dtype(dtype);
    const int64_t spatial = input.dim() - 2;
    const Tensor positions = grid.to(compute).flatten(1, -2);
    std::vector<std::vector<Neighbour>> axes;
    for (int64_t i = 0; i < spatial; ++i) {
      const Axis axis{input.shape()[2 + i], beyond, aligned};
      const Tensor given = positions.select(-1, spatial - 1 - i);
      // NaN takes the first corner.
      const Tensor at = in_elements(given.masked_fill(given.isnan(), -1), axis.size, aligned);
      axes.push_back(mode == "nearest"   ? nearest_neighbours(at, axis)
                     : mode == "bicubic" ? cubic_neighbours(at, axis)
                                         : linear_neighbours(at, axis));
    }
    std::vector<int64_t> shape{input.shape()[0], input.shape()[1]};
    shape.insert(shape.end(), grid.shape().begin() + 1, grid.shape().end() - 1);
    return sampled(input.to(compute), axes).reshape(shape).to(dtype);
  }
};

}  // namespace
TENON_OP(GridSample)
