// Windows of spectral analysis, and the mel filters behind it: hann_window, hamming_window,
// blackman_window, mel_weight_matrix.
#include <algorithm>
#include <cmath>

#include <tenon/kernel/view.hpp>

#include "dimensions.hpp"

using namespace tenon;
using namespace math;

namespace {

constexpr double kWholeTurn = 6.28318530717958647693;

DType floating_or_default(const char* op, DType dtype) {
  if (dtype == DType::none) return f32;
  kernel::check_floating(op, "dtype", dtype);
  return dtype;
}

// a - b cos(t) + c cos(2 t) at points of a turn: the length of them, or, where the window is not
// periodic, one less, so that the last point is the first.
Tensor cosine_window(const char* op, int64_t length, bool periodic, double a, double b, double c,
                     DType dtype) {
  if (length < 0 || length > INT32_MAX) {
    throw ValueError(std::string(op) + "(): window_length must be from 0 to " +
                     std::to_string(INT32_MAX) + ", got " + std::to_string(length));
  }
  const DType result_dtype = floating_or_default(op, dtype);
  const Tensor result = empty_tensor({length}, f64);
  auto* to = kernel::elements<double>(result);
  const auto points = static_cast<double>(periodic ? length : length - 1);
  for (int64_t i = 0; i < length; ++i) {
    const double at = length == 1 ? 0 : kWholeTurn * static_cast<double>(i) / points;
    to[i] = length == 1 ? 1 : a - b * std::cos(at) + c * std::cos(2 * at);
  }
  return contiguous_as(result, result_dtype);
}

struct HannWindow {
  static constexpr auto schema =
      "hann_window(int window_length, bool periodic=True, *, dtype? dtype=None) -> Tensor";
  static constexpr auto samples =
      R"([{"window_length": 5}, {"window_length": 4, "periodic": false, "dtype": "f64"}])";
  static constexpr auto doc =
      "0.5 - 0.5 cos(t) over a turn: periodic, for spectra, or symmetric, for filters.";
  static Tensor forward(int64_t window_length, bool periodic, DType dtype) {
    return cosine_window("hann_window", window_length, periodic, 0.5, 0.5, 0, dtype);
  }
};

struct HammingWindow {
  static constexpr auto schema =
      "hamming_window(int window_length, bool periodic=True, float alpha=0.54, float beta=0.46, *, "
      "dtype? dtype=None) -> Tensor";
  static constexpr auto samples =
      R"([{"window_length": 5}, {"window_length": 4, "periodic": false, "dtype": "f64"}])";
  static constexpr auto doc =
      "alpha - beta cos(t) over a turn, as hann_window. ONNX' HammingWindow has 25/46 and 21/46.";
  static Tensor forward(int64_t window_length, bool periodic, double alpha, double beta,
                        DType dtype) {
    return cosine_window("hamming_window", window_length, periodic, alpha, beta, 0, dtype);
  }
};

struct BlackmanWindow {
  static constexpr auto schema =
      "blackman_window(int window_length, bool periodic=True, *, dtype? dtype=None) -> Tensor";
  static constexpr auto samples =
      R"([{"window_length": 5}, {"window_length": 4, "periodic": false, "dtype": "f64"}])";
  static constexpr auto doc = "0.42 - 0.5 cos(t) + 0.08 cos(2 t) over a turn, as hann_window.";
  static Tensor forward(int64_t window_length, bool periodic, DType dtype) {
    return cosine_window("blackman_window", window_length, periodic, 0.42, 0.5, 0.08, dtype);
  }
};

// The bins of a spectrum at which triangles begin, have their top, and end: two more than triangles.
std::vector<int64_t> mel_edges(int64_t count, int64_t dft_length, int64_t sample_rate, double low,
                               double high) {
  const auto mel_of = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const double first = mel_of(low), step = (mel_of(high) - first) / static_cast<double>(count + 2);
  std::vector<int64_t> edges;
  for (int64_t i = 0; i < count + 2; ++i) {
    const double hertz = 700 * (std::pow(10, (first + static_cast<double>(i) * step) / 2595) - 1);
    edges.push_back(static_cast<int64_t>(std::floor(static_cast<double>(dft_length + 1) * hertz /
                                                    static_cast<double>(sample_rate))));
  }
  return edges;
}

struct MelWeightMatrix {
  static constexpr auto schema =
      "mel_weight_matrix(int num_mel_bins, int dft_length, int sample_rate, float "
      "lower_edge_hertz, "
      "float upper_edge_hertz, *, dtype? dtype=None) -> Tensor";
  static constexpr auto samples =
      R"([{"num_mel_bins": 4, "dft_length": 32, "sample_rate": 8192, "lower_edge_hertz": 0,
           "upper_edge_hertz": 4096}])";
  static constexpr auto doc =
      "[dft_length / 2 + 1, num_mel_bins]: what turns a spectrum of frequencies into one of mels, "
      "2595 log10(1 + f / 700), by triangles whose edges are whole bins (ONNX' MelWeightMatrix).";
  static Tensor forward(int64_t num_mel_bins, int64_t dft_length, int64_t sample_rate,
                        double lower_edge_hertz, double upper_edge_hertz, DType dtype) {
    constexpr auto op = "mel_weight_matrix";
    const DType result_dtype = floating_or_default(op, dtype);
    const auto check = [](const char* name, int64_t value) {
      if (value >= 1 && value <= INT32_MAX) return;
      throw ValueError(std::string(op) + "(): " + name + " must be from 1 to " +
                       std::to_string(INT32_MAX) + ", got " + std::to_string(value));
    };
    check("num_mel_bins", num_mel_bins);
    check("dft_length", dft_length);
    check("sample_rate", sample_rate);
    const auto rate = static_cast<double>(sample_rate);
    if (!(lower_edge_hertz >= 0 && lower_edge_hertz <= upper_edge_hertz &&
          upper_edge_hertz <= rate / 2)) {
      throw ValueError("mel_weight_matrix(): needs 0 <= lower_edge_hertz <= upper_edge_hertz <= " +
                       Scalar(rate / 2).text() + ", half of sample_rate, got " +
                       Scalar(lower_edge_hertz).text() + " and " + Scalar(upper_edge_hertz).text());
    }
    const int64_t bins = dft_length / 2 + 1;
    const auto edges =
        mel_edges(num_mel_bins, dft_length, sample_rate, lower_edge_hertz, upper_edge_hertz);
    const Tensor weights = empty_tensor({bins, num_mel_bins}, f64);
    fill_elements(weights, 0);
    auto* to = kernel::elements<double>(weights);
    for (int64_t k = 0; k < num_mel_bins; ++k) {
      const auto i = static_cast<size_t>(k);
      const int64_t low = edges[i], top = edges[i + 1], high = edges[i + 2];
      const auto set = [&](int64_t bin, int64_t part, int64_t whole) {
        if (bin < bins)
          to[bin * num_mel_bins + k] = static_cast<double>(part) / static_cast<double>(whole);
      };
      for (int64_t bin = low; bin < top; ++bin) set(bin, bin - low, top - low);
      set(top, 1, 1);
      for (int64_t bin = top + 1; bin < high; ++bin) set(bin, high - bin, high - top);
    }
    return contiguous_as(weights, result_dtype);
  }
};

}  // namespace

TENON_OPS(HannWindow, HammingWindow, BlackmanWindow, MelWeightMatrix)
