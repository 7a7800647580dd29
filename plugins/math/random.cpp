// Random numbers. Each element's value follows from the seed and its place alone, at any thread
// count.
#include <algorithm>
#include <cmath>

#include <tenon/plugin.hpp>
#include <tenon/parallel.hpp>

#include "overwritten.hpp"

namespace {

using namespace tenon;

constexpr int64_t block = 128;  // elements drawn at once; work is shared out by whole blocks

// Fills `result` block by block: draw(first, values) gives the elements from `first` on as doubles.
template <class Draw>
void fill_blocks(const Tensor& result, const Draw& draw) {
  const DType dtype = result.dtype() == f64 ? f64 : f32;
  const bool direct = result.dtype() == dtype && result.is_contiguous();
  const Tensor drawn = direct ? result : empty_tensor(result.shape(), dtype);
  kernel::visit<floating_dtypes>(dtype, [&](auto zero) {
    using T = decltype(zero);
    T* to = drawn.template data<T>();
    const int64_t count = drawn.numel();
    parallel_for(0, (count + block - 1) / block, 64, [&](int64_t begin, int64_t end) {
      double values[block];
      for (int64_t first = begin * block; first < end * block && first < count; first += block) {
        draw(first, values);
        const int64_t n = std::min(block, count - first);
        for (int64_t i = 0; i < n; ++i) to[first + i] = static_cast<T>(values[i]);
      }
    });
  });
  if (!direct) copy_elements(result, drawn);
}

void require_floating(const char* op, DType dtype) {
  if (is_floating(dtype)) return;
  throw TypeError(std::string(op) + "(): the elements must be floating numbers, but are " +
                  dtype_text(dtype));
}

// The largest number of `dtype` below `high`, to which rounding could otherwise lead.
double last_below(double high, DType dtype) {
  if (dtype == f64) return std::nextafter(high, -HUGE_VAL);
  if (is_half(dtype)) return high - std::fabs(high) * (dtype == f16 ? 0x1p-11 : 0x1p-8);
  const auto nearest = static_cast<float>(high);
  return nearest < high ? nearest : std::nextafter(nearest, -HUGE_VALF);
}

Tensor fill_uniform(const Tensor& result, double low, double high) {
  const Draws draws = reserve_draws(result.numel());
  const double last = std::max(low, last_below(high, result.dtype()));
  fill_blocks(result, [&](int64_t first, double* values) {
    for (int64_t i = 0; i < block; ++i) {
      values[i] = std::min(low + (high - low) * draws.uniform(first + i), last);
    }
  });
  return result;
}

// Box and Muller's transform: each two draws give two independent normal numbers.
Tensor fill_normal(const Tensor& result, double mean, double deviation) {
  const Draws draws = reserve_draws((result.numel() + 1) / 2 * 2);
  fill_blocks(result, [&](int64_t first, double* values) {
    constexpr int64_t half = block / 2;
    constexpr double turn = 6.28318530717958647693;
    double radius[half], angle[half];
    for (int64_t i = 0; i < half; ++i) {
      radius[i] = 1 - draws.uniform(first + 2 * i);
      angle[i] = turn * draws.uniform(first + 2 * i + 1);
    }
    for (double& r : radius) r = deviation * std::sqrt(-2 * kernel::log(r));
    for (int64_t i = 0; i < half; ++i) values[i] = mean + radius[i] * kernel::cos(angle[i]);
    for (int64_t i = 0; i < half; ++i) values[half + i] = mean + radius[i] * kernel::sin(angle[i]);
  });
  return result;
}

// A number below `range` from 64 random bits: the high half of their product, even to within range
// / 2^64.
uint64_t below(uint64_t bits, uint64_t range) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<uint64_t>((static_cast<Wide>(bits) * range) >> 64);
}

// Numbers from `first` to `last` must be elements of the dtype.
void require_range(const char* op, int64_t first, int64_t last, DType dtype) {
  const bool held = dtype == boolean ? first >= 0 && last <= 1
                                     : Scalar(first).fits(dtype) && Scalar(last).fits(dtype);
  if (held) return;
  throw ValueError(std::string(op) + "(): the numbers " + std::to_string(first) + " to " +
                   std::to_string(last) + " do not fit " + dtype_text(dtype) +
                   ": choose a wider dtype");
}

struct Uniform_ : Overwritten<Uniform_> {
  static constexpr auto schema =
      "uniform_(Tensor(a!) input, float low=0, float high=1) -> Tensor(a!)";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 3]}, "check": {"deterministic": false}}])";
  static constexpr auto doc = "Fills with numbers drawn evenly from [low, high).";
  static constexpr bool any_dtype = true;
  static Tensor forward(const Tensor& input, double low, double high) {
    require_floating("uniform_", input.dtype());
    if (!(low <= high) || !std::isfinite(high - low)) {
      throw ValueError("uniform_(): needs finite low <= high, but low is " + std::to_string(low) +
                       " and high is " + std::to_string(high));
    }
    return fill_uniform(input, low, high);
  }
};

struct Normal_ : Overwritten<Normal_> {
  static constexpr auto schema =
      "normal_(Tensor(a!) input, float mean=0, float std=1) -> Tensor(a!)";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 3]}, "check": {"deterministic": false}}])";
  static constexpr auto doc = "Fills with normally distributed numbers.";
  static constexpr bool any_dtype = true;
  static Tensor forward(const Tensor& input, double mean, double deviation) {
    require_floating("normal_", input.dtype());
    if (!(deviation >= 0)) {
      throw ValueError("normal_(): std must not be negative, but is " + std::to_string(deviation));
    }
    return fill_normal(input, mean, deviation);
  }
};

struct Rand {
  static constexpr auto schema =
      "rand(int[] size, *, dtype? dtype=None, Tensor? like=None) -> Tensor";
  static constexpr auto doc = "Numbers drawn evenly from [0, 1).";
  static constexpr bool zero_gradient = true;
  static Tensor shape_rule(IntList size, DType dtype, const Tensor&) {
    if (dtype == DType::none) dtype = f32;
    require_floating("rand", dtype);
    return empty_tensor(size, dtype);
  }
  static Tensor forward(IntList size, DType dtype, const Tensor& like) {
    return fill_uniform(shape_rule(size, dtype, like), 0, 1);
  }
};

struct Randn {
  static constexpr auto schema =
      "randn(int[] size, *, dtype? dtype=None, Tensor? like=None) -> Tensor";
  static constexpr auto doc = "Normally distributed numbers of mean 0 and standard deviation 1.";
  static constexpr bool zero_gradient = true;
  static Tensor shape_rule(IntList size, DType dtype, const Tensor&) {
    if (dtype == DType::none) dtype = f32;
    require_floating("randn", dtype);
    return empty_tensor(size, dtype);
  }
  static Tensor forward(IntList size, DType dtype, const Tensor& like) {
    return fill_normal(shape_rule(size, dtype, like), 0, 1);
  }
};

struct Randint {
  static constexpr auto schema =
      "randint(int low, int high, int[] size, *, dtype? dtype=None, Tensor? like=None) -> Tensor";
  static constexpr auto doc = "Integers drawn evenly from low to high, high excluded.";
  static constexpr bool zero_gradient = true;
  static Tensor forward(int64_t low, int64_t high, IntList size, DType dtype, const Tensor&) {
    if (low >= high) {
      throw ValueError("randint(): needs low < high, but low is " + std::to_string(low) +
                       " and high is " + std::to_string(high));
    }
    if (dtype == DType::none) dtype = i64;
    require_range("randint", low, high - 1, dtype);
    const Tensor result = empty_tensor(size, i64);
    const Draws draws = reserve_draws(result.numel());
    const uint64_t range = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
    auto* to = result.data<int64_t>();
    parallel_for(0, result.numel(), 1 << 13, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        to[i] = static_cast<int64_t>(static_cast<uint64_t>(low) + below(draws.bits(i), range));
      }
    });
    return contiguous_as(result, dtype);
  }
};

struct Randperm {
  static constexpr auto schema = "randperm(int n, *, dtype? dtype=None) -> Tensor";
  static constexpr auto doc = "The numbers 0 to n - 1 in random order.";
  static Tensor forward(int64_t n, DType dtype) {
    if (n < 0) throw ValueError("randperm(): n must not be negative, but is " + std::to_string(n));
    if (dtype == DType::none) dtype = i64;
    if (dtype == boolean) throw TypeError("randperm(): the numbers 0 to n - 1 are not bools");
    if (n > 0) require_range("randperm", 0, n - 1, dtype);
    const Tensor result = empty_tensor({n}, i64);
    const Draws draws = reserve_draws(n);
    auto* order = result.data<int64_t>();
    for (int64_t i = 0; i < n; ++i) {
      const auto j = static_cast<int64_t>(below(draws.bits(i), static_cast<uint64_t>(i) + 1));
      order[i] = order[j];
      order[j] = i;
    }
    return contiguous_as(result, dtype);
  }
};

}  // namespace

TENON_OPS(Uniform_, Normal_, Rand, Randn, Randint, Randperm)
