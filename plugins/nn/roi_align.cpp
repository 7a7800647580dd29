// roi_align: regions of images at one size.
#include <algorithm>
#include <cmath>

#include "common.hpp"

namespace {

using namespace nn;

constexpr auto kName = "roi_align";

[[noreturn]] void refuse(const std::string& text) {
  throw tenon::ValueError(std::string(kName) + "(): " + text);
}

// The input elements that the cells of all regions weigh: an element is a place in [N * H * W].
struct Terms {
  std::vector<int64_t> place, cell;
  std::vector<double> weight;
  std::vector<double> samples;  // the number for each cell

  void add(int64_t in_place, int64_t in_cell, double share) {
    place.push_back(in_place);
    cell.push_back(in_cell);
    weight.push_back(share);
  }
};

// A position along one dimension, between two elements.
struct Between {
  int64_t low = 0, high = 0;
  double part = 0;  // the share of high
  bool inside = false;

  Between(double position, int64_t size) {
    const auto count = static_cast<double>(size);
    if (!(position >= -1 && position <= count)) return;
    inside = true;
    const double at = std::clamp(position, 0.0, count - 1);
    low = static_cast<int64_t>(at);
    high = std::min(low + 1, size - 1);
    part = at - static_cast<double>(low);
  }
};

// The samples along one dimension of a region: `cells` cells of `each` samples.
struct SampledLine {
  int64_t each;
  double start, cell, step;

  SampledLine(double low, double high, int64_t cells, int64_t sampling_ratio, bool aligned) {
    double length = high - low;
    if (!aligned) length = std::max(length, 1.0);
    start = low;
    cell = length / static_cast<double>(cells);
    const double natural =
        sampling_ratio > 0 ? static_cast<double>(sampling_ratio) : std::max(std::ceil(cell), 0.0);
    if (natural > static_cast<double>(largest_setting))
      refuse("a region is too large for the samples of its cells: choose sampling_ratio");
    each = static_cast<int64_t>(natural);
    step = each == 0 ? 0 : cell / static_cast<double>(each);
  }
  double position(int64_t at, int64_t sample) const {
    return start + static_cast<double>(at) * cell + (static_cast<double>(sample) + 0.5) * step;
  }
};

struct RoiAlign {
  static constexpr auto schema =
      "nn.functional.roi_align(Tensor input, Tensor rois, Tensor batch_indices, int[2] "
      "output_size, float spatial_scale=1, int sampling_ratio=0, bool aligned=False, str "
      "mode='avg') -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 2, 4, 5]}, "rois": {"values": [[0.2, 0.4, 3.1, 2.9], [-1, 1, 2, 5]],
           "requires_grad": false}, "batch_indices": {"values": [1, 0], "dtype": "i64"},
           "output_size": [2, 3]},
          {"input": {"shape": [1, 1, 4, 4]}, "rois": {"values": [[0.5, 1, 6.2, 7.1]],
           "requires_grad": false}, "batch_indices": {"values": [0], "dtype": "i64"},
           "output_size": 2, "spatial_scale": 0.5, "sampling_ratio": 2, "aligned": true,
           "mode": "max"}])";
  static constexpr auto doc =
      "The regions rois, [K, 4] as (x1, y1, x2, y2), of images [N, C, H, W], each at the size "
      "output_size: [K, C, out height, out width]. A cell is the mean of its samples, "
      "sampling_ratio^2, or with 0 about one for each element of the image, between the elements "
      "around them (arXiv:1703.06870); mode 'max' takes the largest of their weighted elements, as "
      "ONNX' RoiAlign does. batch_indices names the image of each region, whose corners are "
      "multiplied by spatial_scale and, with aligned, moved by half an element. rois have no "
      "gradient.";
  static constexpr bool composite = true;

  static Tensor forward(const Tensor& input, const Tensor& rois, const Tensor& batch_indices,
                        IntList output_size, double spatial_scale, int64_t sampling_ratio,
                        bool aligned, std::string_view mode) {
    check(input, rois, batch_indices, mode);
    check_setting(kName, "output_size", output_size[0], 1);
    check_setting(kName, "output_size", output_size[1], 1);
    check_setting(kName, "sampling_ratio", sampling_ratio, 0);
    const int64_t count = rois.size(0), channels = input.size(1), height = input.size(2),
                  width = input.size(3), rows = output_size[0], columns = output_size[1];
    const auto corners = rois.detach().to(tenon::f64).to_vector<double>();
    const auto images = batch_indices.to(tenon::i64).to_vector<int64_t>();
    const double offset = aligned ? 0.5 : 0;
    Terms terms;
    for (int64_t k = 0; k < count; ++k) {
      double box[4];
      for (size_t i = 0; i < 4; ++i) {
        box[i] = corners[static_cast<size_t>(k) * 4 + i] * spatial_scale - offset;
        if (!std::isfinite(box[i])) refuse("region " + std::to_string(k) + " is not finite");
      }
      const int64_t image = images[static_cast<size_t>(k)];
      if (image < 0 || image >= input.size(0)) {
        throw tenon::IndexError("roi_align(): batch index " + std::to_string(image) +
                                " is out of range for " + std::to_string(input.size(0)) +
                                " images");
      }
      const SampledLine across(box[0], box[2], columns, sampling_ratio, aligned),
          down(box[1], box[3], rows, sampling_ratio, aligned);
      check_samples(across.each * down.each, count * rows * columns);
      for (int64_t cell = 0; cell < rows * columns; ++cell) {
        terms.samples.push_back(static_cast<double>(std::max<int64_t>(across.each * down.each, 1)));
        const int64_t first = image * height * width, place = k * rows * columns + cell;
        bool outside = false;
        for (int64_t sample = 0; sample < across.each * down.each; ++sample) {
          const Between y(down.position(cell / columns, sample / across.each), height),
              x(across.position(cell % columns, sample % across.each), width);
          if (y.inside && x.inside)
            add_sample(terms, y, x, first, width, place);
          else
            outside = true;
        }
        // One 0 for all samples outside, which may be many more than the image has elements.
        if (outside) terms.add(first, place, 0);
      }
    }
    const Tensor cells = pooled(input, terms, count * rows * columns, mode == "max");
    return cells.reshape({count, rows, columns, channels}).permute({0, 3, 1, 2});
  }

 private:
  static void check(const Tensor& input, const Tensor& rois, const Tensor& batch_indices,
                    std::string_view mode) {
    check_floating(kName, "input", input);
    check_floating(kName, "rois", rois);
    kernel::check_dtype(kName, "batch_indices", batch_indices.dtype(), tenon::integer_dtypes);
    if (input.dim() != 4 || input.size(2) == 0 || input.size(3) == 0)
      refuse("'input' must be images [N, C, H, W] with elements, got " + shape_text(input));
    if (rois.dim() != 2 || rois.size(1) != 4)
      refuse("'rois' must have shape [K, 4], got " + shape_text(rois));
    const int64_t count = rois.size(0);
    kernel::check_shape(kName, "batch_indices", batch_indices, IntList(&count, 1));
    if (mode != "avg" && mode != "max")
      refuse("'" + std::string(mode) + "' is not a mode; choose avg or max");
  }
  static void check_samples(int64_t each, int64_t cells) {
    int64_t all = 0;
    if (!__builtin_mul_overflow(each, cells, &all) && all <= largest_setting / 4) return;
    refuse(std::to_string(cells) + " cells of " + std::to_string(each) +
           " samples are too many: choose sampling_ratio");
  }
  static void add_sample(Terms& terms, const Between& y, const Between& x, int64_t image,
                         int64_t width, int64_t cell) {
    const double shares[] = {(1 - y.part) * (1 - x.part), (1 - y.part) * x.part,
                             y.part * (1 - x.part), y.part * x.part};
    for (int i = 0; i < 4; ++i) {
      const int64_t place =
          image + (i < 2 ? y.low : y.high) * width + (i % 2 == 0 ? x.low : x.high);
      terms.add(place, cell, shares[i]);
    }
  }
  // [cells, C]
  static Tensor pooled(const Tensor& input, const Terms& terms, int64_t cells, bool largest) {
    const DType dtype = input.dtype();
    const int64_t channels = input.size(1);
    const Tensor weight =
        tenon::from_range(terms.weight.begin(), terms.weight.end()).to(dtype).unsqueeze(1);
    const Tensor cell = tenon::from_range(terms.cell.begin(), terms.cell.end());
    const Tensor elements =
        input.permute({0, 2, 3, 1})
            .reshape({-1, channels})
            .index_select(0, tenon::from_range(terms.place.begin(), terms.place.end()));
    // An element without weight counts for nothing, NaN included.
    const Tensor parts = (elements * weight).masked_fill(weight.eq(0), 0);
    const Tensor zeros = tenon::zeros({cells, channels}, dtype);
    if (largest) {
      return zeros.scatter_reduce(0, cell.unsqueeze(1).expand(parts.sizes()), parts, "amax",
                                  /*include_self*/ false);
    }
    const Tensor count =
        tenon::from_range(terms.samples.begin(), terms.samples.end()).to(dtype).unsqueeze(1);
    return zeros.index_add(0, cell, parts) / count;
  }
};

}  // namespace
TENON_OP(RoiAlign)
