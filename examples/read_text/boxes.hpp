// Boxes around what a detector has marked in a picture.
#pragma once

#include <cstdint>
#include <vector>

struct Box {
  double left, top, right, bottom;  // pixels of the map
  double score;                     // the mean of the marks in it
};

// `marks` are height rows of probabilities. Boxes are in the order of their highest pixels.
std::vector<Box> find_boxes(const std::vector<float>& marks, int64_t height, int64_t width);
