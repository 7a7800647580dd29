// searchsorted and bucketize. NaN comes after all numbers, as sort has it.
#include <algorithm>
#include <cstdint>

#include <tenon/kernel/isa.hpp>

#include "lines.hpp"

using namespace tenon;
using namespace math;

namespace {

// How many elements of a sorted line come before each value, or before and with it. By halves,
// without a branch that depends on elements; several values at once, whose reads do not wait for each
// other.
template <bool Right, class T>
struct Places {
  static constexpr int64_t kLanes = 32;

  TENON_INLINE static bool less(T a, T b) { return (a < b) | ((b != b) & (a == a)); }
  TENON_INLINE static bool is_before(T element, T value) {
    return Right ? !less(value, element) : less(element, value);
  }
  // Finds the places of `lanes` values; a constant where there are as many as fit.
  template <class Index>
  TENON_INLINE static void find(const T* line, Index size, const T* values, int64_t lanes,
                                int64_t* to) {
    Index first[kLanes] = {};
    Index left = size;
    for (; left > 1; left -= left / 2) {
      const Index half = left / 2;
      const T* const middle = line + half - 1;
      TENON_INDEPENDENT
      for (int64_t l = 0; l < lanes; ++l)
        first[l] += half & -static_cast<Index>(is_before(middle[first[l]], values[l]));
    }
    for (int64_t l = 0; l < lanes; ++l)
      to[l] = first[l] + (left == 1 && is_before(line[first[l]], values[l]) ? 1 : 0);
  }
  template <class Index>
  TENON_INLINE static void find_all(const T* line, int64_t size, const T* values, int64_t count,
                                    int64_t* to) {
    int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes)
      find<Index>(line, static_cast<Index>(size), values + i, kLanes, to + i);
    if (i < count) find<Index>(line, static_cast<Index>(size), values + i, count - i, to + i);
  }
  TENON_INLINE static void run(const T* line, int64_t size, const T* values, int64_t count,
                               int64_t* to) {
    if (size <= INT32_MAX)
      find_all<int32_t>(line, size, values, count, to);
    else
      find_all<int64_t>(line, size, values, count, to);
  }
};

// A dtype that holds the elements of the sequence and a value.
DType common_dtype(const Tensor& sequence, const tenon_value& value) {
  if (value.tag == TENON_VALUE_TENSOR) {
    return tenon::common_dtype(sequence.dtype(), Tensor::borrow(value.as.tensor).dtype());
  }
  if (is_floating(sequence.dtype())) return sequence.dtype();
  return Scalar(value).is_floating() ? f64 : i64;
}

bool searches_right(bool right, std::optional<std::string_view> side) {
  if (!side) return right;
  if (*side != "left" && *side != "right") {
    throw ValueError("searchsorted(): side is '" + std::string(*side) + "'; choose left or right");
  }
  if (right && *side == "left") {
    throw ValueError("searchsorted(): side is left, but right is true: give one of them");
  }
  return *side == "right";
}

struct Searchsorted {
  static constexpr auto schema =
      "searchsorted(Tensor sorted_sequence, Tensor|Scalar input, bool out_int32=False, bool "
      "right=False, *, str? side=None, Tensor? sorter=None, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto samples =
      R"([{"sorted_sequence": {"values": [-0.5, 0.1, 0.6]}, "input": {"shape": [2, 3]}},
          {"sorted_sequence": {"values": [-0.5, 0.1, 0.1]}, "input": 0.1, "right": true}])";
  static constexpr auto doc =
      "For each value the index at which it would be put into a sorted sequence: before elements "
      "that equal it, or behind them (right, or side \"right\"). The sequence is a vector, or has "
      "the "
      "input's sizes in all dimensions but the last. `sorter` are the indices that sort it. Gives "
      "i64, or i32.";
  static constexpr bool zero_gradient = true;
  static Tensor forward(const Tensor& sorted_sequence, const Argument& input, bool out_int32,
                        bool right, std::optional<std::string_view> side, const Tensor& sorter) {
    const bool behind = searches_right(right, side);
    const DType dtype = common_dtype(sorted_sequence, input.value());
    const Tensor values = input.value().tag == TENON_VALUE_TENSOR
                              ? contiguous_as(Tensor::borrow(input.value().as.tensor), dtype)
                              : full({}, Scalar(input.value()), dtype);
    if (sorted_sequence.dim() == 0)
      throw ValueError("searchsorted(): the sequence must have at least 1 dimension");
    const int64_t size = sorted_sequence.shape()[sorted_sequence.dim() - 1];
    const Tensor sequence = contiguous_as(arranged(sorted_sequence, sorter), dtype);
    const bool vector = sequence.dim() == 1;
    if (!vector) check_sizes(sequence, values);
    const Tensor result = empty_tensor(values.shape(), i64);
    if (result.numel() == 0) return contiguous_as(result, out_int32 ? i32 : i64);
    // Values that search one line of the sequence.
    const int64_t row = vector ? values.numel() : values.shape()[values.dim() - 1];
    visit(dtype, [&](auto zero) {
      using T = decltype(zero);
      const T* from = size == 0 ? nullptr : sequence.data<T>();
      const T* value = values.data<T>();
      auto* to = result.data<int64_t>();
      kernel::for_rows(values.numel(), 16, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end;) {
          const int64_t next = std::min(end, (i / row + 1) * row);
          const T* line = from + (vector ? 0 : i / row * size);
          if (behind)
            kernel::run<Places<true, T>>(line, size, value + i, next - i, to + i);
          else
            kernel::run<Places<false, T>>(line, size, value + i, next - i, to + i);
          i = next;
        }
      });
    });
    if (out_int32 && size > INT32_MAX) {
      throw ValueError("searchsorted(): indices up to " + std::to_string(size) +
                       " do not fit i32: leave out_int32 out");
    }
    return contiguous_as(result, out_int32 ? i32 : i64);
  }
  static Tensor arranged(const Tensor& sequence, const Tensor& sorter) {
    if (!sorter.defined()) return sequence;
    kernel::check_same_shape("searchsorted", "sorter", sorter, "sorted_sequence", sequence);
    return sequence.gather(-1, sorter);
  }
  static void check_sizes(const Tensor& sequence, const Tensor& values) {
    bool fits = sequence.dim() == values.dim();
    for (int64_t i = 0; fits && i + 1 < values.dim(); ++i)
      fits = sequence.shape()[i] == values.shape()[i];
    if (fits) return;
    throw ValueError("searchsorted(): a sequence of shape " + shape_text(sequence.shape()) +
                     " and input of shape " + shape_text(values.shape()) +
                     " must agree in all dimensions but the last, or the sequence be a vector");
  }
};

struct Bucketize {
  static constexpr auto schema =
      "bucketize(Tensor|Scalar input, Tensor boundaries, *, bool out_int32=False, bool "
      "right=False, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 3]}, "boundaries": {"values": [-0.5, 0.1, 0.6]}}])";
  static constexpr auto doc =
      "The bucket of each value among sorted boundaries, a vector: searchsorted(boundaries, "
      "input).";
  static constexpr bool composite = true;
  static Tensor forward(const Argument& input, const Tensor& boundaries, bool out_int32,
                        bool right) {
    if (boundaries.dim() != 1) {
      throw ValueError("bucketize(): boundaries must be a vector, but their shape is " +
                       shape_text(boundaries.shape()));
    }
    return searchsorted(boundaries, input, out_int32, right);
  }
};

}  // namespace

TENON_OPS(Searchsorted, Bucketize)
