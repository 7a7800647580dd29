// stft against a sum over each frame, and istft as its inverse.
#include <complex>

#include <tenon/gradcheck.hpp>

#include "../compare.hpp"

using compare::numbers;
using compare::refusal_of;
using tenon::arg;
using tenon::Op;
using tenon::Tensor;

namespace {

using C = std::complex<double>;
using Shape = std::vector<int64_t>;
constexpr double kPi = 3.14159265358979323846;

Tensor stft(const Tensor& x, int64_t n_fft, int64_t hop, int64_t width, const Tensor& window,
            bool center, bool normalized, bool onesided) {
  return Op("fft.stft")(x, n_fft, arg("hop_length") = hop, arg("win_length") = width,
                        arg("window") = window, arg("center") = center,
                        arg("normalized") = normalized, arg("onesided") = onesided)
      .tensor();
}
Tensor istft(const Tensor& x, int64_t n_fft, int64_t hop, int64_t width, const Tensor& window,
             bool center, bool normalized, bool onesided, tenon::Argument length = tenon::none) {
  return Op("fft.istft")(x, n_fft, arg("hop_length") = hop, arg("win_length") = width,
                         arg("window") = window, arg("center") = center,
                         arg("normalized") = normalized, arg("onesided") = onesided,
                         arg("length") = length)
      .tensor();
}

// One point of the spectrum of one frame.
C point(const std::vector<double>& frame, int64_t k) {
  C sum = 0;
  const auto count = static_cast<int64_t>(frame.size());
  for (int64_t i = 0; i < count; ++i) {
    const double turn = 2 * kPi * static_cast<double>(i * k % count) / static_cast<double>(count);
    sum += frame[static_cast<size_t>(i)] * std::polar(1.0, -turn);
  }
  return sum;
}

}  // namespace

TEST_SUITE("fft") {
  TEST_CASE("stft sums over each frame, and istft undoes it") {
    for (uint64_t round = 0; round < 48; ++round) {
      const int64_t n_fft = 4 + static_cast<int64_t>(round % 3),
                    hop = 1 + static_cast<int64_t>(round % 2),
                    width = n_fft - static_cast<int64_t>(round / 3 % 2), length = 12;
      const bool center = round % 4 < 2, normalized = round % 5 == 0, onesided = round % 7 != 0;
      const Tensor x = numbers({length}, tenon::f64, round),
                   window = numbers({width}, tenon::f64, round + 1).abs() + 0.5;
      auto signal = x.to_vector<double>();
      if (center) {
        const int64_t half = n_fft / 2;
        std::vector<double> padded;
        for (int64_t i = half; i > 0; --i) padded.push_back(signal[static_cast<size_t>(i)]);
        padded.insert(padded.end(), signal.begin(), signal.end());
        for (int64_t i = 0; i < half; ++i)
          padded.push_back(signal[static_cast<size_t>(length - 2 - i)]);
        signal = padded;
      }
      const auto weights = window.to_vector<double>();
      const int64_t left = (n_fft - width) / 2,
                    frames = (static_cast<int64_t>(signal.size()) - n_fft) / hop + 1,
                    points = onesided ? n_fft / 2 + 1 : n_fft;
      const Tensor found = stft(x, n_fft, hop, width, window, center, normalized, onesided);
      CAPTURE(round);
      REQUIRE(found.sizes() == Shape{points, frames});
      const auto values = found.to_vector<C>();
      for (int64_t f = 0; f < frames; ++f) {
        std::vector<double> frame(static_cast<size_t>(n_fft));
        for (int64_t i = 0; i < width; ++i)
          frame[static_cast<size_t>(left + i)] =
              signal[static_cast<size_t>(f * hop + left + i)] * weights[static_cast<size_t>(i)];
        for (int64_t k = 0; k < points; ++k) {
          const C expected =
              point(frame, k) / (normalized ? std::sqrt(static_cast<double>(n_fft)) : 1);
          REQUIRE(std::abs(values[static_cast<size_t>(k * frames + f)] - expected) < 1e-12);
        }
      }
      if (width < n_fft && !center) continue;  // no frame has the first point
      const Tensor back = istft(found, n_fft, hop, width, window, center, normalized, onesided);
      compare::check_close(back, x.narrow(0, 0, back.size(0)), 1e-11);
      if (width < n_fft) continue;  // nor the last
      const Tensor longer =
          istft(found, n_fft, hop, width, window, center, normalized, onesided, 15);
      CHECK(longer.sizes() == Shape{15});
    }
  }

  TEST_CASE("stft and istft have gradients") {
    const Tensor x = numbers({2, 9}, tenon::f64).requires_grad_(),
                 window = (numbers({4}, tenon::f64, 2).abs() + 0.5).requires_grad_();
    const auto spectra = [](const std::vector<Tensor>& in) {
      return stft(in[0], 4, 2, 4, in[1], true, false, true);
    };
    const auto around = [](const std::vector<Tensor>& in) {
      return istft(stft(in[0], 4, 2, 4, in[1], true, false, true).conj(), 4, 2, 4, in[1], true,
                   false, true);
    };
    tenon::GradcheckOptions options;
    options.check_forward_ad = true;
    CHECK(tenon::gradcheck(spectra, {x, window}, options));
    CHECK(tenon::gradcheck(around, {x, window}, options));
    CHECK(tenon::gradgradcheck(around, {x, window}));
  }

  TEST_CASE("stft and istft refuse what does not fit") {
    const Tensor x = tenon::ones({8}, tenon::f64), none;
    CHECK(refusal_of("fft.stft", [&] { stft(x, 9, 2, 9, none, false, false, true); }) ==
          "a signal of 8 points is shorter than a frame of 9");
    CHECK(refusal_of("fft.stft", [&] { stft(x, 4, 0, 4, none, false, false, true); }) ==
          "hop_length must be 1 or more, got 0");
    CHECK(refusal_of("fft.stft", [&] {
            stft(x, 4, int64_t{1} << 61, 4, none, false, false, true);
          }) == "hop_length must be at most 2147483647, got 2305843009213693952");
    CHECK(refusal_of("fft.stft", [&] { stft(x, 4, 2, 5, none, false, false, true); }) ==
          "win_length must be from 1 to n_fft, 4, got 5");
    const Tensor spectra = stft(x, 4, 2, 4, none, false, false, true);
    CHECK(refusal_of("fft.istft", [&] { istft(spectra, 4, 9, 4, none, false, false, true); }) ==
          "the windows leave points of the signal that no frame has: choose a smaller hop_length");
    CHECK(refusal_of("fft.istft", [&] { istft(spectra, 6, 2, 6, none, false, false, true); }) ==
          "'input' must have shape [..., 4, frames] with frames, got [3, 3]");
  }
}
