// Decodes PNG files by libpng into channels from 0 to 1.
#include "png_image.hpp"

#include <png.h>
#include <vector>

#include "file.hpp"

namespace data {

namespace {

constexpr png_uint_32 kFormats[] = {0, PNG_FORMAT_GRAY, PNG_FORMAT_GA, PNG_FORMAT_RGB,
                                    PNG_FORMAT_RGBA};

class Decoder {
 public:
  explicit Decoder(const std::string& path) : file_(path), bytes_(file_.size()) {
    file_.read(bytes_.data(), 0, file_.size());
    image_.version = PNG_IMAGE_VERSION;
    if (png_image_begin_read_from_memory(&image_, bytes_.data(),
                                         static_cast<size_t>(bytes_.size())) == 0)
      refuse();
  }
  ~Decoder() { png_image_free(&image_); }
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  ImageShape shape() const {
    const bool colour = (image_.format & PNG_FORMAT_FLAG_COLOR) != 0;
    const bool alpha = (image_.format & PNG_FORMAT_FLAG_ALPHA) != 0;
    return {(colour ? 3 : 1) + (alpha ? 1 : 0), image_.height, image_.width};
  }
  // Rows of pixels, `channels` bytes each.
  std::vector<unsigned char> pixels(int64_t channels) {
    constexpr int64_t most = int64_t{1} << 30;
    const int64_t size = shape().height * shape().width * channels;
    if (size > most) throw tenon::ValueError(file_.path() + ": the image has too many pixels");
    std::vector<unsigned char> bytes(static_cast<size_t>(size));
    const png_color black{0, 0, 0};
    image_.format = kFormats[channels];
    if (png_image_finish_read(&image_, &black, bytes.data(), 0, nullptr) == 0) refuse();
    return bytes;
  }

 private:
  [[noreturn]] void refuse() const {
    constexpr unsigned char signature[] = {0x89, 'P', 'N', 'G'};
    const bool png = bytes_.size() >= 8 && std::memcmp(bytes_.data(), signature, 4) == 0;
    if (!png) throw tenon::ValueError(file_.path() + ": it is not a PNG image");
    throw tenon::IOError(file_.path() + ": the image is broken or ends early: " + image_.message);
  }

  File file_;
  Bytes bytes_;
  png_image image_{};
};

}  // namespace

std::string ImageShape::text() const {
  return "[" + std::to_string(channels) + ", " + std::to_string(height) + ", " +
         std::to_string(width) + "]";
}

ImageShape png_shape(const std::string& path) { return Decoder(path).shape(); }

void read_png(const std::string& path, const ImageShape& shape, float* to) {
  Decoder decoder(path);
  const ImageShape found = decoder.shape();
  if (found.height != shape.height || found.width != shape.width)
    throw tenon::ValueError(path + ": the image has " + std::to_string(found.width) + " by " +
                            std::to_string(found.height) + " pixels, those before it " +
                            std::to_string(shape.width) + " by " + std::to_string(shape.height) +
                            "; resize them to one size");
  const std::vector<unsigned char> pixels = decoder.pixels(shape.channels);
  const int64_t plane = shape.height * shape.width;
  const unsigned char* from = pixels.data();
  for (int64_t i = 0; i < plane; ++i) {
    for (int64_t c = 0; c < shape.channels; ++c)
      to[c * plane + i] = static_cast<float>(*from++) / 255.0F;
  }
}

}  // namespace data
