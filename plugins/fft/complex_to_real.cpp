// fft.c2r, which the inverses of transforms of real numbers are made of.
#include "transform.hpp"

namespace {

using namespace tenon;

struct ComplexToReal {
  static constexpr auto schema =
      "fft.c2r(Tensor input, int[] dim, int size, float scale=1.0) -> Tensor";
  static constexpr auto doc =
      "The inverse of fft.r2c but for the scale: c64 or c128 with size / 2 + 1 points along the "
      "last "
      "of `dim` give `size` real ones. Along that dimension the points that are left out are taken "
      "to "
      "be the conjugates of those that are there, and imaginary parts of the first, and for an "
      "even "
      "size the last, point are not read.";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 3], "dtype": "c128"}, "dim": [1], "size": 5},
          {"input": {"shape": [3, 3, 2], "dtype": "c128"}, "dim": [2, 0], "size": 4, "scale": 0.5}])";
  static constexpr auto jvp = JvpKind::linear;

  static Tensor shape_rule(const Tensor& input, IntList dim, int64_t size, double) {
    kernel::check_dtype("fft.c2r", "input", input.dtype(), complex_dtypes);
    const ::fft::Dims dims = ::fft::check_dims("fft.c2r", dim, input.dim());
    kernel::Shape shape(input.shape());
    for (const int64_t d : dims) ::fft::check_points("fft.c2r", shape[d], d, false);
    ::fft::check_points("fft.c2r", size, dims.back(), true);
    if (shape[dims.back()] != size / 2 + 1) {
      throw ValueError("fft.c2r(): dimension " + std::to_string(dims.back()) +
                       " of 'input' has size " + std::to_string(shape[dims.back()]) + ", but " +
                       std::to_string(size) + " real points come from " +
                       std::to_string(size / 2 + 1));
    }
    shape[dims.back()] = size;
    return empty_tensor(shape, real_dtype(input.dtype()));
  }
  static Tensor forward(const Tensor& input, IntList dim, int64_t size, double scale) {
    const Tensor result = shape_rule(input, dim, size, scale);
    ::fft::Dims dims = ::fft::check_dims("fft.c2r", dim, input.dim());
    const int64_t last = dims.back();
    dims.pop_back();
    Tensor half = input;
    if (!dims.empty()) {
      half = empty_tensor(input.shape(), input.dtype());
      ::fft::run_transform(::fft::Kind::complex_to_complex, false, input, half, dims);
    }
    ::fft::run_transform(::fft::Kind::complex_to_real, false, half, result, {last});
    ::fft::scale_elements(result, scale);
    return result;
  }
  static Tensor backward(ContextOf<ComplexToReal>& c, const Tensor& g) {
    const IntList dim = c["dim"_arg];
    const int64_t size = c["size"_arg];
    const int64_t last = kernel::wrap_dimension("fft.c2r", dim[dim.size() - 1], g.dim());
    return tenon::fft::r2c(g, dim, c["scale"_arg]) * ::fft::redundancy(g, last, size, 2);
  }
};

}  // namespace
TENON_OP(ComplexToReal)
