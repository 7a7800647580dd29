// fftfreq and rfftfreq: the frequency of each point of a transform.
#include "transform.hpp"

namespace {

using namespace tenon;

// k / (n d) for `count` points, with those from `negative` on counted from -n.
Tensor frequencies(const char* op, int64_t n, double d, DType dtype, int64_t count,
                   int64_t negative) {
  ::fft::check_points(op, n, 0, true);
  if (d == 0 || d != d) {
    throw ValueError(std::string(op) + "(): d, the distance of the samples, is " +
                     Scalar(d).text() + ": it must be a number other than 0");
  }
  const DType result_dtype = dtype == DType::none ? f32 : dtype;
  kernel::check_dtype(op, "dtype", result_dtype, floating_dtypes);
  const Tensor exact = empty_tensor({count}, f64);
  auto* to = exact.data<double>();
  for (int64_t i = 0; i < count; ++i)
    to[i] = static_cast<double>(i < negative ? i : i - n) / (static_cast<double>(n) * d);
  return contiguous_as(exact, result_dtype);
}

struct Fftfreq {
  static constexpr auto schema = "fft.fftfreq(int n, float d=1.0, *, dtype? dtype=None) -> Tensor";
  static constexpr auto doc =
      "The frequencies of the n points of fft() of samples d apart: [0, 1, ..., -2, -1] / (n d), "
      "f32 "
      "unless dtype says otherwise.";
  static constexpr auto samples = R"([{"n": 5}, {"n": 4, "d": 0.5, "dtype": "f64"}])";
  static constexpr bool zero_gradient = true;
  static Tensor forward(int64_t n, double d, DType dtype) {
    return frequencies("fft.fftfreq", n, d, dtype, n, (n + 1) / 2);
  }
};

struct Rfftfreq {
  static constexpr auto schema = "fft.rfftfreq(int n, float d=1.0, *, dtype? dtype=None) -> Tensor";
  static constexpr auto doc =
      "The frequencies of the n / 2 + 1 points of rfft() of n samples d apart: [0, 1, ..., n / 2] "
      "/ "
      "(n d), f32 unless dtype says otherwise.";
  static constexpr auto samples = R"([{"n": 5}, {"n": 4, "d": 0.5, "dtype": "f64"}])";
  static constexpr bool zero_gradient = true;
  static Tensor forward(int64_t n, double d, DType dtype) {
    return frequencies("fft.rfftfreq", n, d, dtype, n / 2 + 1, n / 2 + 1);
  }
};

}  // namespace
TENON_OPS(Fftfreq, Rfftfreq)
