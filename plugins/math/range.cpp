// Evenly spaced numbers: arange and linspace.
#include <cmath>

#include <tenon/plugin.hpp>
#include <tenon/ops.hpp>
#include <tenon/parallel.hpp>

#include "shared_ops/rounded_size.hpp"

namespace {

using namespace tenon;

// A 1-D tensor of `count` elements, calculated as T and kept as `dtype`.
template <class T, class Element>
Tensor sequence(int64_t count, DType dtype, const Element& element) {
  const Tensor result = empty_tensor({count}, dtype_of<T>());
  T* to = result.data<T>();
  parallel_for(0, count, 1 << 15, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) to[i] = static_cast<T>(element(i));
  });
  return contiguous_as(result, dtype);
}

[[noreturn]] void refuse_range(const Scalar& start, const Scalar& end, const Scalar& step,
                               const char* reason) {
  throw ValueError("arange(): " + start.text() + " to " + end.text() + " in steps of " +
                   step.text() + ": " + reason);
}

// Both ends must be elements of the dtype; what is between them is then, too.
void require_ends(const char* op, const Scalar& first, const Scalar& last, DType dtype) {
  if (dtype == boolean) throw TypeError(std::string(op) + "(): a sequence of numbers is not bool");
  for (const Scalar& end : {first, last}) {
    if (end.fits(dtype)) continue;
    throw ValueError(std::string(op) + "(): the number " + end.text() + " does not fit " +
                     dtype_text(dtype) + ": choose a wider dtype");
  }
}

struct Arange {
  static constexpr auto schema =
      "arange(Scalar start, Scalar? end=None, Scalar step=1, *, dtype? dtype=None, Tensor? "
      "like=None) -> Tensor";
  static constexpr auto doc =
      "start, start + step, ... up to but without end; a single number is the end, from 0. "
      "Rounding "
      "adds no element: a distance that is within 1e-9 of a whole number of steps is that number.";
  static constexpr bool zero_gradient = true;
  static Tensor forward(const Scalar& first, std::optional<Scalar> last, const Scalar& step,
                        DType dtype, const Tensor&) {
    const Scalar start = last ? first : Scalar(0), end = last ? *last : first;
    const bool floating = start.is_floating() || end.is_floating() || step.is_floating();
    const auto from = start.to<double>(), to = end.to<double>(), by = step.to<double>();
    if (!std::isfinite(from) || !std::isfinite(to) || !std::isfinite(by)) {
      refuse_range(start, end, step, "bounds and step must be finite");
    }
    if (by == 0) refuse_range(start, end, step, "the step must not be 0");
    if (from != to && (from < to) != (by > 0)) {
      refuse_range(start, end, step, "the step must lead from start to end");
    }
    // The distance may overflow, where the number of steps does not.
    const double width = to - from;
    const double steps = std::isfinite(width) ? width / by : to / by - from / by;
    const double count = std::ceil(nearest_size(steps));
    if (!(count < 0x1p62)) refuse_range(start, end, step, "too many elements");
    if (dtype == DType::none) dtype = floating ? f32 : i64;
    if (!floating) {
      const auto s = start.to<int64_t>(), e = end.to<int64_t>(), d = step.to<int64_t>();
      // Unsigned, because the bounds may be further apart than the largest i64.
      const auto u = static_cast<uint64_t>(s), v = static_cast<uint64_t>(e),
                 w = static_cast<uint64_t>(d);
      const uint64_t distance = d > 0 ? v - u : u - v, stride = d > 0 ? w : 0 - w;
      const auto exact = static_cast<int64_t>(distance == 0 ? 0 : (distance - 1) / stride + 1);
      if (exact > 0) {
        const uint64_t highest = u + w * (static_cast<uint64_t>(exact) - 1);
        require_ends("arange", start, static_cast<int64_t>(highest), dtype);
      }
      return sequence<int64_t>(exact, dtype,
                               [u, w](int64_t i) { return u + w * static_cast<uint64_t>(i); });
    }
    const auto element = [from, by](int64_t i) { return from + by * static_cast<double>(i); };
    if (count > 0) require_ends("arange", from, element(static_cast<int64_t>(count) - 1), dtype);
    if (dtype == f32) return sequence<float>(static_cast<int64_t>(count), dtype, element);
    return sequence<double>(static_cast<int64_t>(count), dtype, element);
  }
};

struct Linspace {
  static constexpr auto schema =
      "linspace(Scalar start, Scalar end, int steps, *, dtype? dtype=None, Tensor? like=None) -> "
      "Tensor";
  static constexpr auto doc =
      "`steps` numbers at equal distances, from start to end, both included.";
  static constexpr bool zero_gradient = true;
  static Tensor forward(double start, double end, int64_t steps, DType dtype, const Tensor&) {
    if (steps < 0)
      throw ValueError("linspace(): steps must not be negative, but is " + std::to_string(steps));
    if (dtype == DType::none) dtype = f32;
    if (steps > 0) require_ends("linspace", start, steps > 1 ? end : start, dtype);
    const auto last = static_cast<double>(steps - 1);
    if (!std::isfinite(end - start)) {  // the distance overflows, or an end is not finite
      return sequence<double>(steps, dtype, [=](int64_t i) {
        const double part = static_cast<double>(i) / last;
        return i == 0 ? start : part == 1 ? end : start * (1 - part) + end * part;
      });
    }
    const double step = steps > 1 ? (end - start) / last : 0;
    // From the nearer end, so that both ends are exact.
    return sequence<double>(steps, dtype, [=](int64_t i) {
      return i < steps / 2 || steps == 1 ? start + step * static_cast<double>(i)
                                         : end - step * static_cast<double>(steps - 1 - i);
    });
  }
};

}  // namespace

TENON_OPS(Arange, Linspace)
