// fft.c2c, which the transforms of complex numbers are made of.
#include <tenon/ops.hpp>

#include "transform.hpp"

namespace {

using namespace tenon;

struct ComplexToComplex {
  static constexpr auto schema =
      "fft.c2c(Tensor input, int[] dim, bool forward, float scale=1.0) -> Tensor";
  static constexpr auto doc =
      "The discrete Fourier transform of c64 or c128 along dimensions, times scale: the sum of "
      "x[j] "
      "exp(-2 pi i j k / n) over j, or with +2 pi where forward is false. What fft(), ifft() and "
      "their like are made of.";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 5], "dtype": "c128"}, "dim": [1], "forward": true},
          {"input": {"shape": [2, 3, 4], "dtype": "c128"}, "dim": [2, 0], "forward": false,
           "scale": 0.5}])";
  static constexpr auto jvp = JvpKind::linear;

  static Tensor shape_rule(const Tensor& input, IntList dim, bool, double) {
    kernel::check_dtype("fft.c2c", "input", input.dtype(), complex_dtypes);
    for (const int64_t d : ::fft::check_dims("fft.c2c", dim, input.dim()))
      ::fft::check_points("fft.c2c", input.shape()[d], d, false);
    return empty_tensor(input.shape(), input.dtype());
  }
  static Tensor forward(const Tensor& input, IntList dim, bool forward, double scale) {
    const Tensor result = shape_rule(input, dim, forward, scale);
    ::fft::run_transform(::fft::Kind::complex_to_complex, forward, input, result,
                         ::fft::check_dims("fft.c2c", dim, input.dim()));
    ::fft::scale_elements(result, scale);
    return result;
  }
  static Tensor backward(ContextOf<ComplexToComplex>& c, const Tensor& g) {
    const bool forward = c["forward"_arg];
    return tenon::fft::c2c(g, c["dim"_arg], !forward, c["scale"_arg]);
  }
};

}  // namespace
TENON_OP(ComplexToComplex)
