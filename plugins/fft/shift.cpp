// fftshift and ifftshift: the frequency 0 to the middle, and back.
#include <tenon/ops.hpp>

#include "transform.hpp"

namespace {

using namespace tenon;

// Rolls each dimension by half of its size, rounded up or down.
Tensor shifted(const char* op, const Tensor& input, std::optional<IntList> dim, bool back) {
  ::fft::Dims dims, shifts;
  if (dim) {
    if (dim->empty()) return input.clone();
    dims = ::fft::check_dims(op, *dim, input.dim());
  } else {
    if (input.dim() == 0) return input.clone();
    for (int64_t d = 0; d < input.dim(); ++d) dims.push_back(d);
  }
  for (const int64_t d : dims) shifts.push_back((input.shape()[d] + (back ? 1 : 0)) / 2);
  return input.roll(shifts, dims);
}

struct Fftshift {
  static constexpr auto schema = "fft.fftshift(Tensor input, int[]? dim=None) -> Tensor";
  static constexpr auto doc =
      "The points of a transform rolled so that frequency 0 is in the middle of each dimension, or "
      "of "
      "those of dim.";
  static constexpr auto samples = R"([{"input": {"shape": [2, 5]}},
                                      {"input": {"shape": [2, 5], "dtype": "c128"}, "dim": [1]}])";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input, std::optional<IntList> dim) {
    return shifted("fft.fftshift", input, dim, false);
  }
};

struct Ifftshift {
  static constexpr auto schema = "fft.ifftshift(Tensor input, int[]? dim=None) -> Tensor";
  static constexpr auto doc = "The inverse of fftshift().";
  static constexpr auto samples = R"([{"input": {"shape": [2, 5]}},
                                      {"input": {"shape": [2, 5], "dtype": "c128"}, "dim": [1]}])";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input, std::optional<IntList> dim) {
    return shifted("fft.ifftshift", input, dim, true);
  }
};

}  // namespace
TENON_OPS(Fftshift, Ifftshift)
