// A picture with boxes as an SVG document.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "boxes.hpp"

// `png` is a file of height by width pixels. It becomes part of the document, which can be moved
// without it.
std::string draw_boxes(const std::vector<Box>& boxes, const std::string& png, int64_t height,
                       int64_t width);
