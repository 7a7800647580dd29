// Transforms along several dimensions: fftn, ifftn, rfftn and irfftn, and fft2, ifft2, rfft2 and irfft2,
// which have the last two for their default.
#include "transform.hpp"

namespace {

using namespace tenon;
using ::fft::Extent;
using Sizes = std::optional<IntList>;
using Norm = std::optional<std::string_view>;

Tensor resized(Tensor input, const Extent& extent) {
  for (size_t i = 0; i < extent.dims.size(); ++i)
    input = ::fft::resized(input, extent.dims[i], extent.sizes[i]);
  return input;
}

Tensor transform(const char* op, const Tensor& input, Sizes s, Sizes dim, Norm norm, bool forward) {
  const Extent extent = ::fft::extent_of(op, input, s, dim);
  return tenon::fft::c2c(resized(::fft::as_complex(input), extent), extent.dims, forward,
                         ::fft::scale_of(op, norm, extent.points(), forward));
}

Tensor transform_real(const char* op, const char* instead, const Tensor& input, Sizes s, Sizes dim,
                      Norm norm) {
  const Tensor real = ::fft::as_real(op, input, instead);
  const Extent extent = ::fft::extent_of(op, real, s, dim);
  return tenon::fft::r2c(resized(real, extent), extent.dims,
                         ::fft::scale_of(op, norm, extent.points(), true));
}

// The last of the sizes is that of the result.
Tensor invert_real(const char* op, const Tensor& input, Sizes s, Sizes dim, Norm norm) {
  Extent extent = ::fft::extent_of(op, input, s, dim);
  const bool given = s && (*s)[s->size() - 1] != -1;
  const int64_t points = given ? extent.sizes.back() : 2 * (extent.sizes.back() - 1);
  ::fft::check_points(op, points, extent.dims.back(), true);
  extent.sizes.back() = points;
  const double scale = ::fft::scale_of(op, norm, extent.points(), false);
  extent.sizes.back() = points / 2 + 1;
  return tenon::fft::c2r(resized(::fft::as_complex(input), extent), extent.dims, points, scale);
}

struct Fftn {
  static constexpr auto schema =
      "fft.fftn(Tensor input, int[]? s=None, int[]? dim=None, str? norm=None, *, Tensor(a!)? "
      "out=None) -> Tensor";
  static constexpr auto doc =
      "The discrete Fourier transform along dimensions: `dim`, or the last ones that s has sizes "
      "for, "
      "or all. Each is cut to its size in s, or followed by zeros; -1 keeps the input's. norm as "
      "for "
      "fft(), with the product of the sizes.";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 3], "dtype": "c128"}},
          {"input": {"shape": [2, 3, 2]}, "s": [3, 2], "dim": [0, 1], "norm": "ortho"}])";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input, Sizes s, Sizes dim, Norm norm) {
    return transform("fft.fftn", input, s, dim, norm, true);
  }
};
struct Ifftn {
  static constexpr auto schema =
      "fft.ifftn(Tensor input, int[]? s=None, int[]? dim=None, str? norm=None, *, Tensor(a!)? "
      "out=None) -> Tensor";
  static constexpr auto doc = "The inverse of fftn(); arguments as there.";
  static constexpr auto samples = R"([{"input": {"shape": [2, 3], "dtype": "c128"}},
                                      {"input": {"shape": [2, 3, 2]}, "s": [3, -1]}])";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input, Sizes s, Sizes dim, Norm norm) {
    return transform("fft.ifftn", input, s, dim, norm, false);
  }
};
struct Rfftn {
  static constexpr auto schema =
      "fft.rfftn(Tensor input, int[]? s=None, int[]? dim=None, str? norm=None, *, Tensor(a!)? "
      "out=None) -> Tensor";
  static constexpr auto doc =
      "fftn() of real numbers without the redundant half: n / 2 + 1 points along the last of the "
      "dimensions.";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 3]}}, {"input": {"shape": [4, 3, 2]}, "dim": [2, 0]}])";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input, Sizes s, Sizes dim, Norm norm) {
    return transform_real("fft.rfftn", "fft.fftn", input, s, dim, norm);
  }
};
struct Irfftn {
  static constexpr auto schema =
      "fft.irfftn(Tensor input, int[]? s=None, int[]? dim=None, str? norm=None, *, Tensor(a!)? "
      "out=None) -> Tensor";
  static constexpr auto doc =
      "The inverse of rfftn(). The last size of s is that of the result: 2 (m - 1) of m points "
      "when "
      "it is left out.";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 3], "dtype": "c128"}},
          {"input": {"shape": [3, 2, 2], "dtype": "c128"}, "s": [2, 5], "dim": [1, 0]}])";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input, Sizes s, Sizes dim, Norm norm) {
    return invert_real("fft.irfftn", input, s, dim, norm);
  }
};

struct Fft2 {
  static constexpr auto schema =
      "fft.fft2(Tensor input, int[]? s=None, int[] dim=[-2, -1], str? norm=None, *, Tensor(a!)? "
      "out=None) -> Tensor";
  static constexpr auto doc = "fftn() along the last two dimensions, or those of dim.";
  static constexpr auto samples = R"([{"input": {"shape": [2, 2, 3], "dtype": "c128"}}])";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input, Sizes s, IntList dim, Norm norm) {
    return transform("fft.fft2", input, s, dim, norm, true);
  }
};
struct Ifft2 {
  static constexpr auto schema =
      "fft.ifft2(Tensor input, int[]? s=None, int[] dim=[-2, -1], str? norm=None, *, Tensor(a!)? "
      "out=None) -> Tensor";
  static constexpr auto doc = "ifftn() along the last two dimensions, or those of dim.";
  static constexpr auto samples = R"([{"input": {"shape": [2, 2, 3], "dtype": "c128"}}])";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input, Sizes s, IntList dim, Norm norm) {
    return transform("fft.ifft2", input, s, dim, norm, false);
  }
};
struct Rfft2 {
  static constexpr auto schema =
      "fft.rfft2(Tensor input, int[]? s=None, int[] dim=[-2, -1], str? norm=None, *, Tensor(a!)? "
      "out=None) -> Tensor";
  static constexpr auto doc = "rfftn() along the last two dimensions, or those of dim.";
  static constexpr auto samples = R"([{"input": {"shape": [2, 2, 3]}}])";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input, Sizes s, IntList dim, Norm norm) {
    return transform_real("fft.rfft2", "fft.fft2", input, s, dim, norm);
  }
};
struct Irfft2 {
  static constexpr auto schema =
      "fft.irfft2(Tensor input, int[]? s=None, int[] dim=[-2, -1], str? norm=None, *, Tensor(a!)? "
      "out=None) -> Tensor";
  static constexpr auto doc = "irfftn() along the last two dimensions, or those of dim.";
  static constexpr auto samples = R"([{"input": {"shape": [2, 2, 3], "dtype": "c128"}}])";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input, Sizes s, IntList dim, Norm norm) {
    return invert_real("fft.irfft2", input, s, dim, norm);
  }
};

}  // namespace
TENON_OPS(Fftn, Ifftn, Rfftn, Irfftn, Fft2, Ifft2, Rfft2, Irfft2)
