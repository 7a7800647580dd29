// fft, ifft, rfft and irfft: transforms along one dimension.
#include <tenon/ops.hpp>

#include "transform.hpp"

namespace {

using namespace tenon;
using ::fft::Dims;

// The dimension, from 0 on, and the points along it.
struct Line {
  int64_t dim, points;
};
Line line_of(const char* op, const Tensor& input, std::optional<int64_t> n, int64_t dim) {
  const int64_t along = ::fft::check_dims(op, IntList(&dim, 1), input.dim())[0];
  const Line line{along, n ? *n : input.shape()[along]};
  ::fft::check_points(op, line.points, dim, n.has_value());
  return line;
}

Tensor transform(const char* op, const Tensor& input, std::optional<int64_t> n, int64_t dim,
                 std::optional<std::string_view> norm, bool forward) {
  const Line line = line_of(op, input, n, dim);
  const double scale = ::fft::scale_of(op, norm, static_cast<double>(line.points), forward);
  return tenon::fft::c2c(::fft::resized(::fft::as_complex(input), line.dim, line.points),
                         Dims{line.dim}, forward, scale);
}

struct Fft {
  static constexpr auto schema =
      "fft.fft(Tensor input, int? n=None, int dim=-1, str? norm=None, *, Tensor(a!)? out=None) -> "
      "Tensor";
  static constexpr auto doc =
      "The discrete Fourier transform along a dimension of n points: the input is cut to them, or "
      "followed by zeros. c128 of f64 and c128, else c64. norm: 'backward' (the default) scales "
      "the "
      "inverse by 1 / n, 'forward' this one, 'ortho' both by 1 / sqrt(n).";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 5], "dtype": "c128"}},
          {"input": {"shape": [3, 2]}, "n": 4, "dim": 0, "norm": "ortho"}])";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input, std::optional<int64_t> n, int64_t dim,
                        std::optional<std::string_view> norm) {
    return transform("fft.fft", input, n, dim, norm, true);
  }
};

struct Ifft {
  static constexpr auto schema =
      "fft.ifft(Tensor input, int? n=None, int dim=-1, str? norm=None, *, Tensor(a!)? out=None) -> "
      "Tensor";
  static constexpr auto doc =
      "The inverse of fft() along a dimension of n points: the input is cut to them, or followed "
      "by "
      "zeros. norm as for fft().";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 5], "dtype": "c128"}},
          {"input": {"shape": [3, 2]}, "n": 2, "dim": 0, "norm": "forward"}])";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input, std::optional<int64_t> n, int64_t dim,
                        std::optional<std::string_view> norm) {
    return transform("fft.ifft", input, n, dim, norm, false);
  }
};

struct Rfft {
  static constexpr auto schema =
      "fft.rfft(Tensor input, int? n=None, int dim=-1, str? norm=None, *, Tensor(a!)? out=None) -> "
      "Tensor";
  static constexpr auto doc =
      "fft() of real numbers without the redundant half: n / 2 + 1 points along the dimension.";
  static constexpr auto samples = R"([{"input": {"shape": [2, 5]}},
                                      {"input": {"shape": [3, 2]}, "n": 4, "dim": 0}])";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input, std::optional<int64_t> n, int64_t dim,
                        std::optional<std::string_view> norm) {
    const Tensor real = ::fft::as_real("fft.rfft", input, "fft.fft");
    const Line line = line_of("fft.rfft", real, n, dim);
    const double scale = ::fft::scale_of("fft.rfft", norm, static_cast<double>(line.points), true);
    return tenon::fft::r2c(::fft::resized(real, line.dim, line.points), Dims{line.dim}, scale);
  }
};

struct Irfft {
  static constexpr auto schema =
      "fft.irfft(Tensor input, int? n=None, int dim=-1, str? norm=None, *, Tensor(a!)? out=None) "
      "-> Tensor";
  static constexpr auto doc =
      "The inverse of rfft(): n real points, 2 (m - 1) of m when n is left out, so that an odd n "
      "must be given. The input is cut to n / 2 + 1 points, or followed by zeros.";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 3], "dtype": "c128"}},
          {"input": {"shape": [3, 2], "dtype": "c128"}, "n": 5, "dim": 0, "norm": "ortho"}])";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input, std::optional<int64_t> n, int64_t dim,
                        std::optional<std::string_view> norm) {
    const int64_t along = ::fft::check_dims("fft.irfft", IntList(&dim, 1), input.dim())[0];
    const int64_t points = n ? *n : 2 * (input.shape()[along] - 1);
    if (!n && input.shape()[along] == 0) ::fft::check_points("fft.irfft", 0, dim, false);
    ::fft::check_points("fft.irfft", points, dim, true);
    const double scale = ::fft::scale_of("fft.irfft", norm, static_cast<double>(points), false);
    return tenon::fft::c2r(::fft::resized(::fft::as_complex(input), along, points / 2 + 1),
                           Dims{along}, points, scale);
  }
};

}  // namespace
TENON_OPS(Fft, Ifft, Rfft, Irfft)
