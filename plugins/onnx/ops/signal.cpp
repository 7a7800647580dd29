// Fourier transforms whose complex numbers are a last dimension of 2.
#include "common.hpp"

namespace {

using namespace onnx;
using tenon::arg, tenon::Op;

// The numbers of a signal [..., 1] or [..., 2], real or complex.
Tensor numbers_of(const Tensor& input) {
  const int64_t parts = input.size(-1);
  if (parts != 1 && parts != 2)
    throw tenon::ValueError("the last dimension of a signal has " + std::to_string(parts) +
                            " elements, expected 1 or 2");
  return parts == 1 ? input.squeeze(-1) : tenon::view_as_complex(input.contiguous());
}

struct Dft {
  static constexpr auto schema =
      "onnx.dft(Tensor input, int? dft_length=None, int? axis=None, *, int default_axis=1, bool "
      "inverse=False, bool onesided=False) -> Tensor";
  static constexpr auto samples = R"([{"input": {"shape": [2, 5, 1]}, "default_axis": -2}])";
  static constexpr auto doc =
      "The discrete Fourier transform along an axis of a signal whose last dimension has real "
      "parts, "
      "or real and imaginary ones; onesided: the first half, or of the inverse a real signal.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input, std::optional<int64_t> length,
                        std::optional<int64_t> axis, int64_t default_axis, bool inverse,
                        bool onesided) {
    const int64_t dim = axis_of(axis.value_or(default_axis), input.dim());
    const Tensor signal = numbers_of(input);
    const char* name =
        inverse ? (onesided ? "fft.irfft" : "fft.ifft") : (onesided ? "fft.rfft" : "fft.fft");
    const Tensor result = Op(name).call<Tensor>(signal, Argument(length), dim);
    return tenon::is_complex(result.dtype()) ? tenon::view_as_real(result) : result.unsqueeze(-1);
  }
};

struct Stft {
  static constexpr auto schema =
      "onnx.stft(Tensor signal, int frame_step, Tensor? window=None, int? frame_length=None, *, "
      "bool "
      "onesided=True) -> Tensor";
  static constexpr auto samples =
      R"([{"signal": {"shape": [1, 8, 1]}, "frame_step": 2, "frame_length": 4}])";
  static constexpr auto doc =
      "The Fourier transforms of frames of a signal [batch, length, 1 or 2], which a window "
      "weighs.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& signal, int64_t step, const Tensor& window,
                        std::optional<int64_t> length, bool onesided) {
    if (!length && !window.defined())
      throw tenon::ValueError("onnx.stft(): neither a window nor frame_length is given");
    const int64_t size = length ? *length : window.numel();
    const Tensor whole = signal.dim() == 2 ? signal : numbers_of(signal);
    const bool half = onesided && !tenon::is_complex(whole.dtype());
    const Tensor spectra = Op("fft.stft")
                               .call<Tensor>(whole, size, step, size, window, arg("center") = false,
                                             arg("onesided") = half);
    return tenon::view_as_real(spectra.transpose(-2, -1));
  }
};

}  // namespace
TENON_OP(Dft)
TENON_OP(Stft)
