// data.images: samples from PNG images.
#include <algorithm>
#include <tuple>

#include <tenon/json.hpp>

#include "image_list.hpp"
#include "png_image.hpp"

namespace {

using tenon::Tensor;

struct Images {
  static constexpr auto schema =
      "data.images(str path, *, int? channels=None, bool with_targets=True, str fitted='') -> "
      "(Tensor inputs, Tensor targets, str fitted)";
  static constexpr auto doc =
      "Samples from PNG images: inputs [images, channels, height, width] from 0 to 1. `path` is a "
      "folder with a folder of images for each class, a CSV file of image names and targets, or "
      "without targets one image.";

  static constexpr auto samples = R"([
      {"prepare": [{"file": "all/cat/1.png", "hex": "89504e470d0a1a0a0000000d494844520000000200000002080000000057dd52f80000000e4944415478da6360086558f51f0003ad01ff7a93847f0000000049454e44ae426082"},
                   {"file": "all/dog/1.png", "hex": "89504e470d0a1a0a0000000d494844520000000200000002080000000057dd52f80000000e4944415478da63f8cfc0d0c00e000608018729ab15060000000049454e44ae426082"}],
       "path": {"file": "all"}},
      {"prepare": [{"file": "1.png", "hex": "89504e470d0a1a0a0000000d494844520000000200000002080000000057dd52f80000000e4944415478da6360086558f51f0003ad01ff7a93847f0000000049454e44ae426082"},
                   {"file": "list.csv", "text": "image,target\n1.png,0.5\n"}],
       "path": {"file": "list.csv"}, "channels": 3}])";

  using Samples = std::tuple<Tensor, Tensor, std::string>;

  static Samples forward(std::string_view path, std::optional<int64_t> channels, bool with_targets,
                         std::string_view fitted) {
    return read(path, channels, with_targets, fitted, true);
  }
  // Opens the first image alone.
  static Samples shape_rule(std::string_view path, std::optional<int64_t> channels,
                            bool with_targets, std::string_view fitted) {
    return read(path, channels, with_targets, fitted, false);
  }

 private:
  static Samples read(std::string_view path, std::optional<int64_t> channels, bool with_targets,
                      std::string_view fitted, bool pixels) {
    if (channels && (*channels < 1 || *channels > 4))
      throw tenon::ValueError("channels must be 1 (grey), 2 (grey, alpha), 3 (RGB) or 4 (RGBA)");
    const tenon::Json known = fitted.empty() ? tenon::Json() : tenon::Json::parse(fitted);
    std::vector<std::string> classes;
    for (int64_t i = 0; i < known["classes"].size(); ++i)
      classes.push_back(known["classes"][i].text());
    const data::ImageList list = data::list_images(std::string(path), with_targets, classes);

    data::ImageShape shape = data::png_shape(list.files.front());
    if (const tenon::Json sizes = known["shape"]; sizes.defined()) {
      if (sizes.size() != 3)
        throw tenon::ValueError("fitted: expected a shape of channels, height and width");
      shape = {sizes[0].integer(), sizes[1].integer(), sizes[2].integer()};
      constexpr int64_t kLongest = int64_t{1} << 20;
      if (shape.channels < 1 || shape.channels > 4 || shape.height < 1 || shape.height > kLongest ||
          shape.width < 1 || shape.width > kLongest)
        throw tenon::ValueError("fitted: expected 1 to 4 channels, and sizes from 1 to 1048576");
    } else if (channels)
      shape.channels = *channels;
    const auto count = static_cast<int64_t>(list.files.size());
    const Tensor inputs =
        tenon::empty_tensor({count, shape.channels, shape.height, shape.width}, tenon::f32);
    if (pixels) {
      auto* to = inputs.data<float>();
      for (const std::string& file : list.files) {
        if (!channels && !known.defined()) check_channels(file, shape);
        data::read_png(file, shape, to);
        to += shape.size();
      }
    }
    return {inputs, list.targets,
            fitted.empty() ? describe(shape, list.classes) : std::string(fitted)};
  }

  // Unless channels are given no colour is lost, and none made.
  static void check_channels(const std::string& file, const data::ImageShape& shape) {
    const int64_t found = data::png_shape(file).channels;
    if (found == shape.channels) return;
    throw tenon::ValueError(file + ": the image has " + std::to_string(found) +
                            " channels, those before it have " + std::to_string(shape.channels) +
                            "; say channels=" + std::to_string(std::max(found, shape.channels)) +
                            " to convert all");
  }

  static std::string describe(const data::ImageShape& shape,
                              const std::vector<std::string>& classes) {
    tenon::JsonArray names;
    for (const std::string& name : classes) names.add(name);
    return tenon::JsonObject()
        .set("shape",
             tenon::JsonArray().add(shape.channels).add(shape.height).add(shape.width).json())
        .set("classes", names.json())
        .json()
        .dump();
  }
};

}  // namespace
TENON_OP(Images)
