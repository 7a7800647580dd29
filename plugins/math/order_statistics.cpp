// Elements at a place of the order along a dimension: kthvalue, nanmedian, mode.
#include <algorithm>
#include <limits>
#include <vector>

#include <tenon/kernel/view.hpp>

#include "lines.hpp"

using namespace tenon;
using namespace math;

namespace {

using Pair = std::tuple<Tensor, Tensor>;

// An input with a dimension to look along: all elements in one where no dimension is given.
struct Along {
  Tensor input;
  int64_t dim;
  bool whole;

  Along(const char* op, const Tensor& given, std::optional<int64_t> along)
      : input(along && given.dim() != 0 ? given : given.reshape({-1})),
        dim(wrap_dimension(op, along.value_or(0), input.dim())),
        whole(!along || given.dim() == 0) {
    if (along && given.dim() == 0) wrap_dimension(op, *along, 0);
    if (input.shape()[dim] != 0) return;
    throw ValueError(std::string(op) + "(): dimension " + std::to_string(dim) + " of shape " +
                     shape_text(given.shape()) +
                     " has no elements to choose from: reduce dimensions with elements");
  }
  // The elements of the input at indices that have size 1 along the dimension, and the indices.
  Pair chosen(const Tensor& index, bool keepdim, IntList shape) const {
    Tensor values = input.gather(dim, index), indices = index;
    if (whole) {
      Shape kept;
      for (int64_t i = 0; keepdim && i < shape.size(); ++i) kept.push(1);
      return {values.reshape(IntList(kept)), indices.reshape(IntList(kept))};
    }
    if (keepdim) return {values, indices};
    return {values.squeeze(dim), indices.squeeze(dim)};
  }
};

// For each line of the input the place that `choose` returns for its sorted keys.
template <class Choose>
Tensor places(const Along& along, const Choose& choose) {
  const Tensor plain = along.input.detach();
  const Tensor source = elements_in_order(plain.to(compute_dtype(plain.dtype())));
  Shape shape(source.shape());
  shape[along.dim] = 1;
  const Tensor result = empty_tensor(shape, i64);
  auto* to = kernel::elements<int64_t>(result);
  const kernel::Lines lines(source.shape(), along.dim);
  kernel::visit<floating_dtypes | integer_dtypes>(source.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* from = kernel::elements<const T>(source);
    each_line(lines, [&](int64_t line, int64_t first) {
      std::vector<UnsignedOf<sizeof(T)>> keys;
      for (int64_t i = 0; i < lines.size; ++i)
        keys.push_back(ordered_key(from[first + i * lines.inner]));
      auto sorted = keys;
      std::sort(sorted.begin(), sorted.end());
      const auto key = choose(sorted, ordered_key(std::numeric_limits<T>::has_quiet_NaN
                                                      ? std::numeric_limits<T>::quiet_NaN()
                                                      : std::numeric_limits<T>::max()));
      to[line] = std::find(keys.begin(), keys.end(), key) - keys.begin();
    });
  });
  return result;
}

struct Kthvalue {
  static constexpr auto schema =
      "kthvalue(Tensor input, int k, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor "
      "indices)";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 5]}, "k": 2}, {"input": {"shape": [3, 2]}, "k": 3, "dim": 0, "keepdim": true}])";
  static constexpr auto doc =
      "The k-th smallest element along a dimension, 1 the first, and its index, of equal elements "
      "the first. NaN is larger than all numbers.";
  static constexpr bool composite = true;
  static Pair forward(const Tensor& input, int64_t k, int64_t dim, bool keepdim) {
    const Along along("kthvalue", input, dim);
    const int64_t size = along.input.shape()[along.dim];
    if (k < 1 || k > size) {
      throw ValueError("kthvalue(): k must be from 1 to " + std::to_string(size) + ", got " +
                       std::to_string(k));
    }
    const Tensor index =
        places(along, [k](const auto& sorted, auto) { return sorted[static_cast<size_t>(k - 1)]; });
    return along.chosen(index, keepdim, input.shape());
  }
};

struct Nanmedian {
  static constexpr auto schema =
      "nanmedian(Tensor input, int? dim=None, bool keepdim=False) -> (Tensor values, Tensor "
      "indices)";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 4]}, "dim": 1}, {"input": {"shape": [3, 2]}, "keepdim": true}])";
  static constexpr auto doc = "median() of the elements that are not NaN; NaN where all are.";
  static constexpr bool composite = true;
  static Pair forward(const Tensor& input, std::optional<int64_t> dim, bool keepdim) {
    const Along along("nanmedian", input, dim);
    const bool has_nan = is_floating(input.dtype());
    const Tensor index = places(along, [has_nan](const auto& sorted, auto nan) {
      const auto end = has_nan ? std::lower_bound(sorted.begin(), sorted.end(), nan) : sorted.end();
      const auto count = static_cast<size_t>(end - sorted.begin());
      return count == 0 ? sorted[0] : sorted[(count - 1) / 2];
    });
    return along.chosen(index, keepdim, input.shape());
  }
};

struct Mode {
  static constexpr auto schema =
      "mode(Tensor input, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)";
  static constexpr auto samples =
      R"([{"input": {"values": [[1, 2, 2, 3], [4, 4, 5, 5]], "requires_grad": false}},
          {"input": {"shape": [3, 2]}, "dim": 0, "keepdim": true}])";
  static constexpr auto doc =
      "The most frequent element along a dimension, of several the smallest, and the first index "
      "where it is. NaN counts as one value, larger than all numbers.";
  static constexpr bool composite = true;
  static Pair forward(const Tensor& input, int64_t dim, bool keepdim) {
    const Along along("mode", input, dim);
    const Tensor index = places(along, [](const auto& sorted, auto) {
      auto best = sorted[0];
      std::ptrdiff_t most = 0;
      for (auto at = sorted.begin(); at != sorted.end();) {
        const auto end = std::upper_bound(at, sorted.end(), *at);
        if (end - at > most) {
          most = end - at;
          best = *at;
        }
        at = end;
      }
      return best;
    });
    return along.chosen(index, keepdim, input.shape());
  }
};

}  // namespace

TENON_OPS(Kthvalue, Nanmedian, Mode)
