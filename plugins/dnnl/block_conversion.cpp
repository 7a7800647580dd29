// Images to blocks of channels, and back.
#include <algorithm>

#include <tenon/kernel/lanes.hpp>

#include "blocks.hpp"

namespace {

using namespace nn;
using namespace onednn;

// One block of channels and the planes of these channels; the last block may have fewer.
template <int B>
struct Blocks {
  using V = tenon::kernel::Vector<float, B * 4>;

  TENON_INLINE static void run(const float* from, float* to, int64_t positions, int64_t channels,
                               bool in) {
    if (channels < B || positions < B) {
      each(from, to, positions, channels, in);
      return;
    }
    // The last square overlaps the one before.
    for (int64_t next = 0; next < positions; next += B) {
      const int64_t first = std::min(next, positions - B);
      V rows[B];
      for (int i = 0; i < B; ++i)
        tenon::kernel::detail::load_vector(
            rows[i], in ? from + i * positions + first : from + (first + i) * B);
      turn<1>(rows);
      for (int i = 0; i < B; ++i)
        __builtin_memcpy(in ? to + (first + i) * B : to + i * positions + first, &rows[i],
                         sizeof(V));
    }
  }

 private:
  TENON_INLINE static void each(const float* from, float* to, int64_t positions, int64_t channels,
                                bool in) {
    for (int64_t p = 0; p < positions; ++p) {
      for (int64_t c = 0; c < channels; ++c)
        (in ? to[p * B + c] : to[c * positions + p]) =
            in ? from[c * positions + p] : from[p * B + c];
      for (int64_t c = channels; in && c < B; ++c) to[p * B + c] = 0;
    }
  }
  // Rows and columns change places, in steps that exchange squares of Step by Step elements.
  template <int Step>
  TENON_INLINE static void turn(V* rows) {
    if constexpr (Step < B) {
      for (int i = 0; i < B; ++i) {
        if ((i & Step) != 0) continue;
        const V a = rows[i], b = rows[i + Step];
        exchange<Step>(a, b, rows[i], rows[i + Step], std::make_integer_sequence<int, B>());
      }
      turn<2 * Step>(rows);
    }
  }
  template <int Step, int... Lane>
  TENON_INLINE static void exchange(const V& a, const V& b, V& low, V& high,
                                    std::integer_sequence<int, Lane...>) {
    low = __builtin_shufflevector(a, b, ((Lane & Step) == 0 ? Lane : Lane - Step + B)...);
    high = __builtin_shufflevector(a, b, ((Lane & Step) == 0 ? Lane + Step : Lane + B)...);
  }
};

void convert(const float* from, float* to, int64_t batch, int64_t channels, int64_t positions,
             bool in) {
  const int64_t b = block(), blocks = blocks_of(channels);
  const int64_t grain = 1 + 65536 / std::max<int64_t>(1, b * positions);
  tenon::parallel_for(0, batch * blocks, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % blocks * b;
      const int64_t plain = (i / blocks * channels + first) * positions, at = i * b * positions;
      const int64_t count = std::min(b, channels - first);
      if (b == 16)
        tenon::kernel::run<Blocks<16>>(from + (in ? plain : at), to + (in ? at : plain), positions,
                                       count, in);
      else
        tenon::kernel::run<Blocks<8>>(from + (in ? plain : at), to + (in ? at : plain), positions,
                                      count, in);
    }
  });
}

struct ToBlocked {
  static constexpr auto schema = "dnnl.to_blocked(Tensor input) -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 19, 5, 4], "dtype": "f32", "requires_grad": false}}, {"input": {"shape": [1, 32, 2, 3], "dtype": "f32", "requires_grad": false}}])";
  static constexpr auto doc =
      "Images f32 [N, C, H, W] in blocks of channels [N, blocks, H, W, block]: a block is as many "
      "channels as a register of the processor holds, 16 or 8, the last one filled with zeros.";
  static Tensor shape_rule(const Tensor& input) {
    check(input);
    const IntList s = input.shape();
    return tenon::empty_tensor(blocked_shape(s[0], s[1], s[2], s[3]));
  }
  static Tensor forward(const Tensor& input) {
    const Tensor result = shape_rule(input);
    if (result.numel() == 0) return result;
    const Tensor x = tenon::contiguous_as(input, tenon::f32);
    const IntList s = input.shape();
    convert(x.data<const float>(), result.data<float>(), s[0], s[1], s[2] * s[3], true);
    return result;
  }

 private:
  static void check(const Tensor& input) {
    kernel::check_dtype("to_blocked", "input", input.dtype(), kF32);
    if (input.dim() == 4) return;
    throw tenon::ValueError("to_blocked(): 'input' must have shape [N, C, H, W], got " +
                            shape_text(input));
  }
};

struct FromBlocked {
  static constexpr auto schema = "dnnl.from_blocked(Tensor input, int channels) -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"op": "dnnl.to_blocked", "input": {"shape": [2, 19, 3, 4], "dtype": "f32", "requires_grad": false}}, "channels": 19}])";
  static constexpr auto doc =
      "Images in blocks of channels, as dnnl.to_blocked returns them, as [N, channels, H, W].";
  static Tensor shape_rule(const Tensor& input, int64_t channels) {
    check_blocked("from_blocked", "input", input);
    const IntList s = input.shape();
    if (channels < 0 || blocks_of(channels) != s[1]) {
      throw tenon::ValueError("from_blocked(): 'channels' is " + std::to_string(channels) +
                              ", which is not what " + std::to_string(s[1]) + " blocks of " +
                              std::to_string(block()) + " hold");
    }
    Shape shape;
    for (const int64_t size : {s[0], channels, s[2], s[3]}) shape.push(size);
    return tenon::empty_tensor(shape);
  }
  static Tensor forward(const Tensor& input, int64_t channels) {
    const Tensor result = shape_rule(input, channels);
    if (result.numel() == 0) return result;
    const Tensor x = tenon::contiguous_as(input, tenon::f32);
    const IntList s = input.shape();
    convert(x.data<const float>(), result.data<float>(), s[0], channels, s[2] * s[3], false);
    return result;
  }
};

}  // namespace
TENON_OPS(ToBlocked, FromBlocked)
