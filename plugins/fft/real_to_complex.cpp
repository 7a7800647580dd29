// fft.r2c, which the transforms of real numbers are made of.
#include "transform.hpp"

namespace {

using namespace tenon;

struct RealToComplex {
  static constexpr auto schema = "fft.r2c(Tensor input, int[] dim, float scale=1.0) -> Tensor";
  static constexpr auto doc =
      "The discrete Fourier transform of f32 or f64 along dimensions, times scale, without the "
      "redundant half: along the last of `dim`, n points give n / 2 + 1. What rfft() and its like "
      "are made of.";
  static constexpr auto samples = R"([{"input": {"shape": [2, 5]}, "dim": [1]},
                                      {"input": {"shape": [2, 3, 4]}, "dim": [0, 2], "scale": 0.5}])";
  static constexpr auto saves = "shape(input)";
  static constexpr auto jvp = JvpKind::linear;

  static Tensor shape_rule(const Tensor& input, IntList dim, double) {
    kernel::check_dtype("fft.r2c", "input", input.dtype(), floating_dtypes);
    const ::fft::Dims dims = ::fft::check_dims("fft.r2c", dim, input.dim());
    kernel::Shape shape(input.shape());
    for (const int64_t d : dims) ::fft::check_points("fft.r2c", shape[d], d, false);
    shape[dims.back()] = shape[dims.back()] / 2 + 1;
    return empty_tensor(shape, complex_dtype(input.dtype()));
  }
  static Tensor forward(const Tensor& input, IntList dim, double scale) {
    const Tensor result = shape_rule(input, dim, scale);
    ::fft::Dims dims = ::fft::check_dims("fft.r2c", dim, input.dim());
    ::fft::run_transform(::fft::Kind::real_to_complex, true, input, result, {dims.back()});
    dims.pop_back();
    if (!dims.empty())
      ::fft::run_transform(::fft::Kind::complex_to_complex, true, result, result, dims);
    ::fft::scale_elements(result, scale);
    return result;
  }
  // c2r counts the points that have a redundant like twice; the transpose counts each once.
  static Tensor backward(ContextOf<RealToComplex>& c, const Tensor& g) {
    const IntList dim = c["dim"_arg];
    const IntList shape = c["input"_arg].shape();
    const int64_t last = kernel::wrap_dimension("fft.r2c", dim[dim.size() - 1], shape.size());
    return tenon::fft::c2r(g * ::fft::redundancy(g, last, shape[last], 0.5), dim, shape[last],
                           c["scale"_arg]);
  }
};

}  // namespace
TENON_OP(RealToComplex)
