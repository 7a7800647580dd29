// data.read_png: one image as a tensor.
#include "png_image.hpp"

namespace {

using tenon::Tensor;

struct ReadPng {
  static constexpr auto schema = "data.read_png(str path, *, int? channels=None) -> Tensor";
  static constexpr auto doc =
      "A PNG image as an f32 tensor [channels, height, width] from 0 to 1. channels: 1 (grey), 2 "
      "(grey, alpha), 3 (RGB) or 4 (RGBA), to which the image is converted; those of the file "
      "where "
      "it is omitted.";
  static constexpr auto samples = R"([
      {"prepare": [{"file": "1.png", "hex": "89504e470d0a1a0a0000000d494844520000000200000002080000000057dd52f80000000e4944415478da6360086558f51f0003ad01ff7a93847f0000000049454e44ae426082"}],
       "path": {"file": "1.png"}},
      {"prepare": [{"file": "1.png", "hex": "89504e470d0a1a0a0000000d494844520000000200000002080000000057dd52f80000000e4944415478da63f8cfc0d0c00e000608018729ab15060000000049454e44ae426082"}],
       "path": {"file": "1.png"}, "channels": 3}])";

  static Tensor forward(std::string_view path, std::optional<int64_t> channels) {
    return read(path, channels, true);
  }
  // Opens the file's header alone.
  static Tensor shape_rule(std::string_view path, std::optional<int64_t> channels) {
    return read(path, channels, false);
  }

 private:
  static Tensor read(std::string_view path, std::optional<int64_t> channels, bool pixels) {
    if (channels && (*channels < 1 || *channels > 4))
      throw tenon::ValueError("channels must be 1 (grey), 2 (grey, alpha), 3 (RGB) or 4 (RGBA)");
    const std::string file(path);
    data::ImageShape shape = data::png_shape(file);
    shape.channels = channels.value_or(shape.channels);
    const Tensor image =
        tenon::empty_tensor({shape.channels, shape.height, shape.width}, tenon::f32);
    if (pixels) data::read_png(file, shape, image.data<float>());
    return image;
  }
};

}  // namespace
TENON_OP(ReadPng)
