// repeat, tile and repeat_interleave.
#include <vector>

#include "dimensions.hpp"

using namespace tenon;
using namespace math;

namespace {

// Refuses counts and sizes before anything is made.
void check_repeats(const char* op, IntList shape, IntList repeats) {
  int64_t count = 1;
  bool overflows = false, empty = false;
  for (int64_t i = 0; i < repeats.size(); ++i) {
    if (repeats[i] < 0) {
      throw ValueError(std::string(op) + "(): " + std::to_string(repeats[i]) +
                       " repetitions are negative in " + shape_text(repeats));
    }
    empty = empty || repeats[i] == 0 || shape[i] == 0;
    overflows = __builtin_mul_overflow(count, repeats[i], &count) ||
                __builtin_mul_overflow(count, shape[i], &count) || overflows;
  }
  if (!overflows || empty) return;
  throw ValueError(std::string(op) + "(): shape " + shape_text(shape) + " repeated by " +
                   shape_text(repeats) + " has more elements than can be addressed");
}

// The input with dimensions of size 1 in front, up to `rank`.
Tensor with_rank(const Tensor& input, int64_t rank) {
  Shape shape;
  for (int64_t i = input.dim(); i < rank; ++i) shape.push(1);
  for (const int64_t size : input.shape()) shape.push(size);
  return reshape(input, IntList(shape));
}

// Repeats one dimension after the other: an expanded view, copied.
Tensor repeated(const char* op, const Tensor& input, IntList repeats) {
  kernel::check_rank(op, repeats.size());
  Tensor result = with_rank(input, repeats.size());
  check_repeats(op, result.shape(), repeats);
  // First what makes it smaller.
  for (int64_t i = 0; i < repeats.size(); ++i) {
    if (repeats[i] == 0) result = result.narrow(i, 0, 0);
  }
  for (int64_t i = repeats.size() - 1; i >= 0; --i) {
    if (repeats[i] < 2) continue;
    Shape split(result.shape()), joined(result.shape());
    if (__builtin_mul_overflow(joined[i], repeats[i], &joined[i])) {
      throw ValueError(std::string(op) + "(): dimension " + std::to_string(i) + " repeated " +
                       std::to_string(repeats[i]) +
                       " times has more elements than can be addressed");
    }
    if (split.rank == TENON_MAX_RANK) {  // no room for another dimension
      result = cat(std::vector<Tensor>(static_cast<size_t>(repeats[i]), result), i);
      continue;
    }
    split.insert(i, repeats[i]);
    result = result.unsqueeze(i).expand(IntList(split)).reshape(IntList(joined));
  }
  // Nothing was repeated, or a dimension whose elements are one already.
  const bool shares = service::tensors().shares_storage(result.handle(), input.handle()) != 0;
  return shares ? clone(result) : result;
}

struct Repeat {
  static constexpr auto schema = "repeat(Tensor input, int[] repeats) -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 3]}, "repeats": [2, 1]}, {"input": {"shape": [3]}, "repeats":
          [2, 1, 2]}])";
  static constexpr auto doc =
      "A copy with each dimension repeated, a count for each; further counts in front add "
      "dimensions.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input, IntList repeats) {
    if (repeats.size() < input.dim()) {
      throw ValueError("repeat(): " + shape_text(repeats) + " has " +
                       std::to_string(repeats.size()) + " counts, but shape " +
                       shape_text(input.shape()) + " has " + std::to_string(input.dim()) +
                       " dimensions: give one for each, or use tile");
    }
    return repeated("repeat", input, repeats);
  }
};

struct Tile {
  static constexpr auto schema = "tile(Tensor input, int[] dims) -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 3]}, "dims": [2]}, {"input": {"shape": [3]}, "dims": [2, 2]}])";
  static constexpr auto doc =
      "A copy with each dimension repeated, as repeat; where there are fewer counts than "
      "dimensions "
      "they are for the last ones.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input, IntList dims) {
    Shape repeats;
    for (int64_t i = dims.size(); i < input.dim(); ++i) repeats.push(1);
    kernel::check_rank("tile", repeats.rank + dims.size());
    for (const int64_t count : dims) repeats.push(count);
    return repeated("tile", input, repeats);
  }
};

struct RepeatInterleave {
  static constexpr auto schema =
      "repeat_interleave(Tensor input, Tensor|Scalar repeats, int? dim=None) -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 3]}, "repeats": 2}, {"input": {"shape": [2, 3]}, "repeats":
          {"values": [1, 0, 3], "dtype": "i64"}, "dim": 1}])";
  static constexpr auto doc =
      "Each element along a dimension repeated, all alike or as a vector of i64 or i32 says; "
      "without "
      "`dim` the elements in row-major order.";
  static constexpr bool composite = true;
  // A number of repetitions says how many there will be, a tensor does not.
  static Tensor shape_rule(const Tensor& input, const Argument& repeats,
                           std::optional<int64_t> dim) {
    const tenon_value& value = repeats.value();
    if (value.tag == TENON_VALUE_TENSOR)
      throw NotImplementedError(
          "repeat_interleave(): the shape of its result depends on the elements of 'repeats'; it "
          "is "
          "not known before the op runs");
    const Tensor x = dim && input.dim() != 0 ? input : reshape(input, {-1});
    const int64_t along = wrap_dimension("repeat_interleave", dim.value_or(0), input.dim());
    Shape repeats_of, shape(x.shape());
    for (int64_t i = 0; i < x.dim(); ++i) repeats_of.push(1);
    repeats_of[dim ? along : 0] = Scalar(value).to<int64_t>();
    check_repeats("repeat_interleave", x.shape(), repeats_of);
    for (int64_t i = 0; i < x.dim(); ++i) shape[i] *= repeats_of[i];
    return empty_tensor(IntList(shape), x.dtype());
  }
  static Tensor forward(const Tensor& input, const Argument& repeats, std::optional<int64_t> dim) {
    const Tensor x = dim && input.dim() != 0 ? input : reshape(input, {-1});
    const int64_t along = wrap_dimension("repeat_interleave", dim.value_or(0), input.dim());
    const int64_t at = dim ? along : 0, size = x.shape()[at];
    const Tensor ends = cumsum(counts_of(repeats, size), 0);
    const int64_t total = size == 0 ? 0 : ends.select(0, size - 1).item<int64_t>();
    // Place i of the result is of the element whose end is the first behind i.
    static const Op search("searchsorted");
    const auto index = search.call<Tensor>(ends, arange(total), false, true);
    return x.index_select(at, index);
  }
  // How often each of `size` elements is repeated.
  static Tensor counts_of(const Argument& repeats, int64_t size) {
    const tenon_value& value = repeats.value();
    Tensor counts =
        value.tag == TENON_VALUE_TENSOR ? Tensor::borrow(value.as.tensor) : full({}, Scalar(value));
    if (counts.dtype() != i64 && counts.dtype() != i32) {
      throw TypeError(std::string("repeat_interleave(): repeats must be i64 or i32, got ") +
                      dtype_text(counts.dtype()) + "; convert it with to()");
    }
    if (counts.dim() > 1 || (counts.numel() != 1 && counts.numel() != size)) {
      throw ValueError("repeat_interleave(): repeats of shape " + shape_text(counts.shape()) +
                       " must be a number or a vector of " + std::to_string(size));
    }
    int64_t total = 0;
    for (const int64_t count : counts.to_vector<int64_t>()) {
      if (count < 0) {
        throw ValueError("repeat_interleave(): " + std::to_string(count) +
                         " repetitions are negative");
      }
      const int64_t times = counts.numel() == 1 ? size : 1;
      int64_t more = 0;
      if (__builtin_mul_overflow(count, times, &more) ||
          __builtin_add_overflow(total, more, &total)) {
        throw ValueError("repeat_interleave(): " + std::to_string(count) + " repetitions of " +
                         std::to_string(times) + " are more elements than can be addressed");
      }
    }
    return counts.to(i64).reshape({-1}).expand({size});
  }
};

}  // namespace

TENON_OPS(Repeat, Tile, RepeatInterleave)
