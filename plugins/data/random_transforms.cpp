// data.random_flip, data.random_crop, data.random_noise: each sample of a batch changed at random, by
// the seed alone.
#include <algorithm>
#include <cmath>
#include <string>
#include <type_traits>

#include <tenon/plugin.hpp>
#include <tenon/kernel/check.hpp>
#include <tenon/kernel/visit.hpp>
#include <tenon/parallel.hpp>

namespace {

using tenon::Draws;
using tenon::Tensor;

// Calls body(from, to) with the elements of a batch [samples, ...] and of the result.
template <class Body>
Tensor changed(const char* op, const Tensor& input, const Body& body) {
  if (input.dim() < 1 || !tenon::is_floating(input.dtype()))
    throw tenon::ValueError(
        std::string(op) + "(): input must be floating, [samples, ...]; got a tensor of " +
        std::to_string(input.dim()) + " dimensions and dtype " + tenon::dtype_text(input.dtype()));
  const Tensor whole = tenon::contiguous_as(input, input.dtype());
  Tensor result = tenon::empty_tensor(input.shape(), input.dtype());
  if (result.numel() == 0) return result;
  tenon::kernel::visit<tenon::floating_dtypes>(input.dtype(), [&](auto zero) {
    using T = decltype(zero);
    body(whole.data<const T>(), result.data<T>());
  });
  return result;
}

Draws draws_of(int64_t seed) { return {static_cast<uint64_t>(seed), 0}; }

struct RandomFlip {
  static constexpr auto schema =
      "data.random_flip(Tensor input, *, int seed, float probability=0.5, int dim=-1) -> Tensor";
  static constexpr auto doc =
      "Reverses each sample of [samples, ...] along a dimension with this probability.";
  static constexpr auto samples =
      R"([{"input": {"shape": [3, 2, 4], "requires_grad": false}, "seed": 1}])";

  static Tensor forward(const Tensor& input, int64_t seed, double probability, int64_t dim) {
    const int64_t wrapped = input.wrap_dimension(dim);
    if (wrapped == 0)
      throw tenon::ValueError(
          "random_flip(): dim must be one of a sample, got that of the samples");
    return changed("random_flip", input, [&](const auto* from, auto* to) {
      const int64_t size = input.shape()[wrapped];
      int64_t inner = 1, outer = 1;
      for (int64_t d = wrapped + 1; d < input.dim(); ++d) inner *= input.shape()[d];
      for (int64_t d = 1; d < wrapped; ++d) outer *= input.shape()[d];
      const Draws draws = draws_of(seed);
      for (int64_t line = 0; line < input.shape()[0] * outer; ++line) {
        const bool flips = draws.uniform(line / outer) < probability;
        for (int64_t i = 0; i < size; ++i) {
          const auto* source = from + (line * size + (flips ? size - 1 - i : i)) * inner;
          std::copy(source, source + inner, to + (line * size + i) * inner);
        }
      }
    });
  }
};

struct RandomCrop {
  static constexpr auto schema =
      "data.random_crop(Tensor input, *, int seed, int padding) -> Tensor";
  static constexpr auto doc =
      "Moves each image of [samples, ..., height, width] by up to `padding` in both directions; "
      "what "
      "comes in at the edges is 0.";
  static constexpr auto samples =
      R"([{"input": {"shape": [3, 2, 4, 4], "requires_grad": false}, "seed": 1, "padding": 1}])";

  static Tensor forward(const Tensor& input, int64_t seed, int64_t padding) {
    if (input.dim() < 3)
      throw tenon::ValueError("random_crop(): input must be [samples, ..., height, width], got " +
                              std::to_string(input.dim()) + " dimensions");
    const int64_t longest = std::max(input.size(-1), input.size(-2));
    if (padding < 0 || padding > longest)
      throw tenon::ValueError("random_crop(): padding must be 0 to the image's longer side, " +
                              std::to_string(longest) + ", got " + std::to_string(padding));
    return changed("random_crop", input, [&](const auto* from, auto* to) {
      const int64_t height = input.shape()[input.dim() - 2], width = input.shape()[input.dim() - 1];
      const int64_t planes = input.numel() / (input.shape()[0] * height * width);
      const Draws draws = draws_of(seed);
      const auto shift = [&](int64_t draw) {
        return static_cast<int64_t>(draws.uniform(draw) * static_cast<double>(2 * padding + 1)) -
               padding;
      };
      for (int64_t plane = 0; plane < input.shape()[0] * planes; ++plane) {
        const int64_t down = shift(2 * (plane / planes)), right = shift(2 * (plane / planes) + 1);
        for (int64_t y = 0; y < height; ++y) {
          for (int64_t x = 0; x < width; ++x) {
            const int64_t row = y + down, column = x + right;
            const bool inside = row >= 0 && row < height && column >= 0 && column < width;
            *to++ = inside ? from[(plane * height + row) * width + column] : 0;
          }
        }
      }
    });
  }
};

struct RandomNoise {
  static constexpr auto schema =
      "data.random_noise(Tensor input, *, int seed, float std) -> Tensor";
  static constexpr auto doc = "Adds normal noise of this standard deviation to each element.";
  static constexpr auto samples =
      R"([{"input": {"shape": [3, 4], "requires_grad": false}, "seed": 1, "std": 0.1}])";

  static Tensor forward(const Tensor& input, int64_t seed, double deviation) {
    if (!(deviation >= 0))
      throw tenon::ValueError("random_noise(): std must be at least 0, got " +
                              std::to_string(deviation));
    return changed("random_noise", input, [&](const auto* from, auto* to) {
      using T = std::decay_t<decltype(*to)>;
      const Draws draws = draws_of(seed);
      for (int64_t i = 0; i < input.numel(); ++i) {
        // Box and Muller; 1 - u is never 0.
        const double radius = std::sqrt(-2 * std::log(1 - draws.uniform(2 * i)));
        const double angle = 2 * M_PI * draws.uniform(2 * i + 1);
        to[i] = static_cast<T>(static_cast<double>(from[i]) + deviation * radius * std::cos(angle));
      }
    });
  }
};

}  // namespace
TENON_OPS(RandomFlip, RandomCrop, RandomNoise)
