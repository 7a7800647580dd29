// stft and istft: spectra of overlapping frames of a signal, and the signal of them.
#include <algorithm>
#include <cmath>

#include <tenon/ops.hpp>

#include "transform.hpp"

namespace {

using namespace tenon;
using ::fft::Dims;

[[noreturn]] void refuse(const std::string& op, const std::string& text) {
  throw ValueError(op + "(): " + text);
}

// The frames of a signal: n_fft points each, hop points apart, weighed by a window in their middle.
struct Frames {
  const char* op;
  int64_t points, hop;
  Tensor window;

  Frames(const char* name, int64_t n_fft, std::optional<int64_t> hop_length,
         std::optional<int64_t> win_length, const Tensor& given, DType dtype)
      : op(name), points(n_fft), hop(hop_length.value_or(std::max<int64_t>(n_fft / 4, 1))) {
    if (points < 1 || points > INT32_MAX)
      refuse(op, "n_fft must be from 1 to 2147483647, got " + std::to_string(points));
    if (hop < 1) refuse(op, "hop_length must be 1 or more, got " + std::to_string(hop));
    if (hop > INT32_MAX)
      refuse(op, "hop_length must be at most 2147483647, got " + std::to_string(hop));
    const int64_t length =
        win_length.value_or(given.defined() && given.dim() == 1 ? given.size(0) : points);
    if (length < 1 || length > points) {
      refuse(op, "win_length must be from 1 to n_fft, " + std::to_string(points) + ", got " +
                     std::to_string(length));
    }
    if (given.defined()) {
      kernel::check_floating(op, "window", given);
      kernel::check_shape(op, "window", given, IntList(&length, 1));
    }
    window = given.defined() ? given.to(dtype) : ones({length}, dtype);
    const int64_t left = (points - length) / 2;
    if (length < points) window = constant_pad_nd(window, {left, points - length - left});
  }
};

DType real_dtype_of(const Tensor& x) { return real_dtype(x.dtype()); }

struct Stft {
  static constexpr auto schema =
      "fft.stft(Tensor input, int n_fft, int? hop_length=None, int? win_length=None, Tensor? "
      "window=None, bool center=True, str pad_mode='reflect', bool normalized=False, bool? "
      "onesided=None) -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 12]}, "n_fft": 4, "window": {"shape": [4]}},
          {"input": {"shape": [9]}, "n_fft": 5, "hop_length": 2, "win_length": 3, "center": false,
           "normalized": true, "onesided": false},
          {"input": {"shape": [8], "dtype": "c128"}, "n_fft": 4, "center": false}])";
  static constexpr auto doc =
      "Spectra of frames of n_fft points, hop_length (n_fft / 4) apart, of signals [L] or [B, L], "
      "times a window of win_length points in their middle: complex [..., points, frames]. With "
      "center the first frame is around the first point, and n_fft / 2 points are padded at both "
      "ends by pad_mode. onesided, the default for real signals, keeps n_fft / 2 + 1 points; "
      "normalized divides by sqrt(n_fft).";
  static constexpr bool composite = true;

  static Tensor forward(const Tensor& input, int64_t n_fft, std::optional<int64_t> hop_length,
                        std::optional<int64_t> win_length, const Tensor& window, bool center,
                        std::string_view pad_mode, bool normalized, std::optional<bool> onesided) {
    const bool complex = is_complex(input.dtype());
    if (!complex) kernel::check_floating("fft.stft", "input", input);
    if (input.dim() != 1 && input.dim() != 2)
      refuse("fft.stft", "'input' must have shape [L] or [B, L], got " + kernel::shape_text(input));
    const bool half = onesided.value_or(!complex);
    if (half && complex) refuse("fft.stft", "a complex signal has no onesided spectrum");
    const Frames frames("fft.stft", n_fft, hop_length, win_length, window, real_dtype_of(input));
    Tensor x = input;
    if (center) {
      const std::vector<int64_t> ends{n_fft / 2, n_fft / 2};
      x = pad(x, ends, pad_mode);
    }
    if (x.size(-1) < n_fft) {
      refuse("fft.stft", "a signal of " + std::to_string(x.size(-1)) +
                             " points is shorter than a frame of " + std::to_string(n_fft));
    }
    const Tensor parts = x.unfold(-1, n_fft, frames.hop) * frames.window;
    const Dims last{parts.dim() - 1};
    const double scale = normalized ? 1 / std::sqrt(static_cast<double>(n_fft)) : 1;
    const Tensor spectra = half ? tenon::fft::r2c(parts, last, scale)
                                : tenon::fft::c2c(::fft::as_complex(parts), last, true, scale);
    return spectra.transpose(-2, -1);
  }
};

struct Istft {
  static constexpr auto schema =
      "fft.istft(Tensor input, int n_fft, int? hop_length=None, int? win_length=None, Tensor? "
      "window=None, bool center=True, bool normalized=False, bool onesided=True, int? length=None) "
      "-> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 3, 5], "dtype": "c128"}, "n_fft": 4, "hop_length": 2,
           "window": {"shape": [4], "low": 0.5, "high": 1}},
          {"input": {"shape": [5, 4], "dtype": "c128"}, "n_fft": 5, "hop_length": 2, "center": false,
           "onesided": false, "normalized": true, "length": 9}])";
  static constexpr auto doc =
      "The signal of spectra [..., points, frames], by the arguments that stft() made them with: "
      "frames times the window are added up, and divided by the sum of squared windows, which must "
      "not be 0. length cuts the signal, or adds zeros.";
  static constexpr bool composite = true;

  // Windows decide whether there is a signal, but not the shape.
  static Tensor shape_rule(const Tensor& input, int64_t n_fft, std::optional<int64_t> hop_length,
                           std::optional<int64_t> win_length, const Tensor& window, bool center,
                           bool, bool onesided, std::optional<int64_t> length) {
    const Frames frames("fft.istft", n_fft, hop_length, win_length, window, real_dtype_of(input));
    check(input, n_fft, onesided, length);
    const Range range(input.size(-1), frames, center, length);
    kernel::Shape shape;
    if (input.dim() == 3) shape.push(input.size(0));
    shape.push(length ? *length : range.end - range.from);
    return empty_tensor(IntList(shape), real_dtype_of(input));
  }
  static Tensor forward(const Tensor& input, int64_t n_fft, std::optional<int64_t> hop_length,
                        std::optional<int64_t> win_length, const Tensor& window, bool center,
                        bool normalized, bool onesided, std::optional<int64_t> length) {
    const Frames frames("fft.istft", n_fft, hop_length, win_length, window, real_dtype_of(input));
    check(input, n_fft, onesided, length);
    const Range range(input.size(-1), frames, center, length);
    const Tensor spectra = input.dim() == 2 ? input.unsqueeze(0) : input;
    const auto points = static_cast<double>(n_fft);
    const double scale = normalized ? 1 / std::sqrt(points) : 1 / points;
    const Tensor turned = spectra.transpose(1, 2);
    const Tensor parts = onesided ? tenon::fft::c2r(turned, Dims{2}, n_fft, scale)
                                  : real(tenon::fft::c2c(turned, Dims{2}, false, scale));
    const Tensor signal = range.of(joined(parts * frames.window, frames)),
                 squares = frames.window.square().expand({1, parts.size(1), n_fft}),
                 envelope = range.of(joined(squares, frames));
    if (envelope.numel() != 0 && !(envelope.detach().amin().to(f64).item() > 1e-11)) {
      refuse("fft.istft",
             "the windows leave points of the signal that no frame has: choose a smaller "
             "hop_length");
    }
    Tensor result = signal / envelope;
    if (length && result.size(1) < *length)
      result = constant_pad_nd(result, {0, *length - result.size(1)});
    return input.dim() == 2 ? result.squeeze(0) : result;
  }

 private:
  static void check(const Tensor& input, int64_t n_fft, bool onesided,
                    const std::optional<int64_t>& length) {
    kernel::check_dtype("fft.istft", "input", input.dtype(), complex_dtypes);
    const int64_t expected = onesided ? n_fft / 2 + 1 : n_fft;
    if ((input.dim() != 2 && input.dim() != 3) || input.size(-2) != expected ||
        input.size(-1) == 0) {
      refuse("fft.istft", "'input' must have shape [..., " + std::to_string(expected) +
                              ", frames] with frames, got " + kernel::shape_text(input));
    }
    if (length && *length < 1)
      refuse("fft.istft", "length must be 1 or more, got " + std::to_string(*length));
  }
  // The points of the joined frames that are neither padding of center nor beyond the length.
  struct Range {
    int64_t from, end;
    Range(int64_t count, const Frames& frames, bool center, const std::optional<int64_t>& length) {
      const int64_t whole = frames.points + frames.hop * (count - 1);
      from = center ? frames.points / 2 : 0;
      end = length   ? std::min(from + std::min(*length, whole), whole)
            : center ? whole - frames.points / 2
                     : whole;
      end = std::max(end, from);
    }
    Tensor of(const Tensor& x) const { return x.narrow(1, from, end - from); }
  };
  // Frames [B, frames, points] added up where they overlap.
  static Tensor joined(const Tensor& parts, const Frames& frames) {
    const int64_t count = parts.size(1);
    const Tensor starts = arange(count) * frames.hop;
    const Tensor places = (starts.unsqueeze(1) + arange(frames.points)).reshape({-1});
    const int64_t whole = frames.points + frames.hop * (count - 1);
    return zeros({parts.size(0), whole}, parts.dtype()).index_add(1, places, parts.flatten(1));
  }
};

}  // namespace
TENON_OPS(Stft, Istft)
