// Transforms along several dimensions: fftn, ifftn, rfftn and irfftn, and fft2, ifft2, rfft2 and irfft2,
// which have the last two for their default.
#include <type_traits>

#include "shared_ops/op_family.hpp"
#include "transform.hpp"

namespace {

using namespace tenon;
using ::fft::Extent;
using shared_ops::family_text;
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

// Ops come in two forms: 1 takes any dimensions, 2 has the last two for its default.
template <int form>
using DimOf = std::conditional_t<form == 1, Sizes, IntList>;

template <int form>
struct Fft {
  static constexpr auto name = family_text<form>("fft.fft{n|2}");
  static constexpr auto schema = family_text<form>(
      "fft.fft{n|2}(Tensor input, int[]? s=None, int[]{?|} dim={None|[-2, -1]}, str? norm=None, *, "
      "Tensor(a!)? out=None) -> Tensor");
  static constexpr auto doc = family_text<form>(
      "{The discrete Fourier transform along dimensions: `dim`, or the last ones that s has sizes "
      "for, or all. Each is cut to its size in s, or followed by zeros; -1 keeps the input's. norm "
      "as for fft(), with the product of the sizes.|"
      "fftn() along the last two dimensions, or those of dim.}");
  static constexpr auto samples = form == 1
                                      ? R"([{"input": {"shape": [2, 3], "dtype": "c128"}},
          {"input": {"shape": [2, 3, 2]}, "s": [3, 2], "dim": [0, 1], "norm": "ortho"}])"
                                      : R"([{"input": {"shape": [2, 2, 3], "dtype": "c128"}}])";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input, Sizes s, DimOf<form> dim, Norm norm) {
    return transform(name, input, s, dim, norm, true);
  }
};

template <int form>
struct Ifft {
  static constexpr auto name = family_text<form>("fft.ifft{n|2}");
  static constexpr auto schema = family_text<form>(
      "fft.ifft{n|2}(Tensor input, int[]? s=None, int[]{?|} dim={None|[-2, -1]}, str? norm=None, "
      "*, Tensor(a!)? out=None) -> Tensor");
  static constexpr auto doc = family_text<form>(
      "{The inverse of fftn(); arguments as there.|"
      "ifftn() along the last two dimensions, or those of dim.}");
  static constexpr auto samples = form == 1
                                      ? R"([{"input": {"shape": [2, 3], "dtype": "c128"}},
                                      {"input": {"shape": [2, 3, 2]}, "s": [3, -1]}])"
                                      : R"([{"input": {"shape": [2, 2, 3], "dtype": "c128"}}])";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input, Sizes s, DimOf<form> dim, Norm norm) {
    return transform(name, input, s, dim, norm, false);
  }
};

template <int form>
struct Rfft {
  static constexpr auto name = family_text<form>("fft.rfft{n|2}");
  static constexpr auto schema = family_text<form>(
      "fft.rfft{n|2}(Tensor input, int[]? s=None, int[]{?|} dim={None|[-2, -1]}, str? norm=None, "
      "*, Tensor(a!)? out=None) -> Tensor");
  static constexpr auto doc = family_text<form>(
      "{fftn() of real numbers without the redundant half: n / 2 + 1 points along the last of the "
      "dimensions.|rfftn() along the last two dimensions, or those of dim.}");
  static constexpr auto samples =
      form == 1
          ? R"([{"input": {"shape": [2, 3]}}, {"input": {"shape": [4, 3, 2]}, "dim": [2, 0]}])"
          : R"([{"input": {"shape": [2, 2, 3]}}])";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input, Sizes s, DimOf<form> dim, Norm norm) {
    return transform_real(name, Fft<form>::name, input, s, dim, norm);
  }
};

template <int form>
struct Irfft {
  static constexpr auto name = family_text<form>("fft.irfft{n|2}");
  static constexpr auto schema = family_text<form>(
      "fft.irfft{n|2}(Tensor input, int[]? s=None, int[]{?|} dim={None|[-2, -1]}, str? norm=None, "
      "*, Tensor(a!)? out=None) -> Tensor");
  static constexpr auto doc = family_text<form>(
      "{The inverse of rfftn(). The last size of s is that of the result: 2 (m - 1) of m points "
      "when it is left out.|irfftn() along the last two dimensions, or those of dim.}");
  static constexpr auto samples = form == 1
                                      ? R"([{"input": {"shape": [2, 3], "dtype": "c128"}},
          {"input": {"shape": [3, 2, 2], "dtype": "c128"}, "s": [2, 5], "dim": [1, 0]}])"
                                      : R"([{"input": {"shape": [2, 2, 3], "dtype": "c128"}}])";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input, Sizes s, DimOf<form> dim, Norm norm) {
    return invert_real(name, input, s, dim, norm);
  }
};

using Fftn = Fft<1>;
using Fft2 = Fft<2>;
using Ifftn = Ifft<1>;
using Ifft2 = Ifft<2>;
using Rfftn = Rfft<1>;
using Rfft2 = Rfft<2>;
using Irfftn = Irfft<1>;
using Irfft2 = Irfft<2>;

}  // namespace
TENON_OPS(Fftn, Fft2, Ifftn, Ifft2, Rfftn, Rfft2, Irfftn, Irfft2)
