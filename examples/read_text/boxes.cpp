// The rules of PP-OCR for boxes that are not turned.
#include "boxes.hpp"

#include <algorithm>

namespace {

constexpr float threshold = 0.3F;  // a pixel of text
constexpr double smallest_score = 0.6;
constexpr int64_t smallest_side = 3;
// The detector marks text without its rim: a box grows by this times its area, divided by its outline.
constexpr double growth = 1.5;

// Connected pixels of text.
struct Region {
  int64_t left, top, right, bottom;  // the last two are not in it
  int64_t pixels = 0;
  double sum = 0;
};

class Marks {
 public:
  Marks(const std::vector<float>& marks, int64_t height, int64_t width)
      : marks_(marks), height_(height), width_(width), seen_(marks.size()) {}

  // Whether the pixel is text of a region that was not taken yet; takes it.
  bool take(int64_t x, int64_t y) {
    if (x < 0 || y < 0 || x >= width_ || y >= height_) return false;
    const auto at = static_cast<size_t>(y * width_ + x);
    if (seen_[at] || !(marks_[at] > threshold)) return false;
    seen_[at] = true;
    return true;
  }

  // The region of a pixel that was taken.
  Region grow(int64_t x, int64_t y) {
    Region region{x, y, x + 1, y + 1};
    std::vector<std::pair<int64_t, int64_t>> open{{x, y}};
    while (!open.empty()) {
      const auto [column, row] = open.back();
      open.pop_back();
      region.left = std::min(region.left, column);
      region.top = std::min(region.top, row);
      region.right = std::max(region.right, column + 1);
      region.bottom = std::max(region.bottom, row + 1);
      region.sum += static_cast<double>(marks_[static_cast<size_t>(row * width_ + column)]);
      ++region.pixels;
      for (int64_t dy = -1; dy <= 1; ++dy)
        for (int64_t dx = -1; dx <= 1; ++dx)
          if (take(column + dx, row + dy)) open.emplace_back(column + dx, row + dy);
    }
    return region;
  }

 private:
  const std::vector<float>& marks_;
  int64_t height_, width_;
  std::vector<bool> seen_;
};

}  // namespace

std::vector<Box> find_boxes(const std::vector<float>& marks, int64_t height, int64_t width) {
  std::vector<Box> boxes;
  Marks map(marks, height, width);
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x) {
      if (!map.take(x, y)) continue;
      const Region region = map.grow(x, y);
      const int64_t columns = region.right - region.left, rows = region.bottom - region.top;
      const double score = region.sum / static_cast<double>(region.pixels);
      if (std::min(columns, rows) < smallest_side || score < smallest_score) continue;
      const double rim =
          growth * static_cast<double>(columns * rows) / static_cast<double>(2 * (columns + rows));
      boxes.push_back(
          {std::max(static_cast<double>(region.left) - rim, 0.0),
           std::max(static_cast<double>(region.top) - rim, 0.0),
           std::min(static_cast<double>(region.right) + rim, static_cast<double>(width)),
           std::min(static_cast<double>(region.bottom) + rim, static_cast<double>(height)), score});
    }
  }
  return boxes;
}
