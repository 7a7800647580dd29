// Images from PNG files.
#pragma once

#include <cstdint>
#include <string>

#include <tenon/plugin.hpp>

namespace data {

struct ImageShape {
  int64_t channels = 0, height = 0, width = 0;  // 1: grey, 2: grey and alpha, 3: RGB, 4: RGBA
  int64_t size() const { return channels * height * width; }
  bool operator==(const ImageShape& other) const {
    return channels == other.channels && height == other.height && width == other.width;
  }
  std::string text() const;  // [3, 8, 8]
};

// Both name the file in errors: ValueError for what is not a PNG image, IOError for one that cannot
// be read or ends early.

// The shape in the file's header.
ImageShape png_shape(const std::string& path);
// The pixels as [channels, height, width], 0 to 1, to `to`. Channels that the file does not have are
// converted: grey to colour and back, transparent pixels over black. ValueError where height or width
// differ from `shape`.
void read_png(const std::string& path, const ImageShape& shape, float* to);

}  // namespace data
