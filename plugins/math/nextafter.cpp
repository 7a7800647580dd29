// nextafter. Of f16 and bf16 it steps in their own numbers, so that no loop of f32 can do it.
#include <cmath>

#include <tenon/kernel/view.hpp>

#include "dimensions.hpp"
#include "operand.hpp"

using namespace tenon;
using namespace math;

namespace {

// The next number of 16 bits, whose infinity is `infinity`.
uint16_t next_half(uint16_t from, uint16_t to, uint16_t infinity) {
  constexpr uint16_t kSign = 0x8000, kSize = 0x7fff;
  const auto is_nan = [&](uint16_t x) { return (x & kSize) > infinity; };
  if (is_nan(from)) return from;
  if (is_nan(to)) return to;
  const auto order = [](uint16_t x) { return (x & kSign) != 0 ? -(x & kSize) : x & kSize; };
  const int way = order(to) - order(from);
  if (way == 0) return to;
  if ((from & kSize) == 0) return static_cast<uint16_t>((to & kSign) | 1);
  const bool grows = (way > 0) == ((from & kSign) == 0);
  return static_cast<uint16_t>(grows ? from + 1 : from - 1);
}

// Tensors of one shape and dtype, contiguous.
void step(const Tensor& from, const Tensor& to, const Tensor& result) {
  const auto each = [&](auto zero, const auto& next) {
    using T = decltype(zero);
    const auto *a = kernel::elements<const T>(from), *b = kernel::elements<const T>(to);
    T* into = kernel::elements<T>(result);
    for (int64_t i = 0; i < result.numel(); ++i) into[i] = next(a[i], b[i]);
  };
  const auto half = [&](uint16_t infinity) {
    each(uint16_t{}, [=](uint16_t a, uint16_t b) { return next_half(a, b, infinity); });
  };
  if (result.dtype() == f16) return half(0x7c00);
  if (result.dtype() == bf16) return half(0x7f80);
  kernel::visit<floating_dtypes>(result.dtype(), [&](auto zero) {
    each(zero, [](auto a, auto b) { return std::nextafter(a, b); });
  });
}

struct Nextafter {
  static constexpr auto schema =
      "nextafter(Tensor|Scalar input, Tensor|Scalar other, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 3], "requires_grad": false}, "other": {"shape": [3],
          "requires_grad": false}}])";
  static constexpr auto doc =
      "The next number that the dtype has after input, toward other. The dtype must be floating, "
      "f16 and bf16 among them; there is no derivative.";
  static constexpr auto accuracy = "exact";
  static constexpr bool any_dtype = true;
  static Tensor forward(const Argument& input, const Argument& other, const Tensor& out) {
    const Tensor common = add(input, other);  // the shape and the dtype
    const DType dtype = common.dtype();
    kernel::check_floating("nextafter", "input", dtype);
    const auto operand = [&](const Argument& given) {
      return contiguous_as(operand_as(given, dtype).expand(common.shape()), dtype);
    };
    Tensor result = empty_tensor(common.shape(), dtype);
    step(operand(input), operand(other), result);
    if (!out.defined()) return result;
    kernel::check_same_dtype("nextafter", "out", out, "the result", result);
    kernel::check_shape("nextafter", "out", out, result.shape());
    copy_elements(out, result);
    return out;
  }
};

}  // namespace

TENON_OPS_WITH_IN_PLACE(Nextafter)
