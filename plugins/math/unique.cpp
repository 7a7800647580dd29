// unique.
#include <algorithm>
#include <numeric>
#include <vector>

#include <tenon/kernel/view.hpp>

#include "lines.hpp"

using namespace tenon;
using namespace math;

namespace {

// Which places of an order begin a new value; all of NaN do.
struct Runs {
  Tensor inverse, counts;
  std::vector<int64_t> first;  // the place in the order at which each value begins
};
template <class Same>
Runs find_runs(const int64_t* order, int64_t count, IntList inverse_shape, const Same& same) {
  Runs runs;
  runs.inverse = empty_tensor(inverse_shape, i64);
  std::vector<int64_t> counts;
  auto* inverse = kernel::elements<int64_t>(runs.inverse);
  for (int64_t i = 0; i < count; ++i) {
    if (i == 0 || !same(i - 1, i)) {
      runs.first.push_back(i);
      counts.push_back(0);
    }
    inverse[order[i]] = static_cast<int64_t>(counts.size()) - 1;
    ++counts.back();
  }
  runs.counts = from_range(counts.begin(), counts.end());
  return runs;
}

struct Unique {
  static constexpr auto schema =
      "unique(Tensor input, int? dim=None) -> (Tensor values, Tensor inverse, Tensor counts)";
  static constexpr auto samples =
      R"([{"input": {"values": [3, 1, 3, 2], "requires_grad": false}},
          {"input": {"shape": [4, 2], "dtype": "i64"}, "dim": 0}])";
  static constexpr bool data_dependent_shape = true;
  static constexpr auto doc =
      "The different elements in order, for each element its place among them, and how often each "
      "occurs; with `dim`, the different slices along a dimension, in the order of their elements. "
      "NaN differs from NaN. There is no derivative.";
  static std::tuple<Tensor, Tensor, Tensor> forward(const Tensor& input,
                                                    std::optional<int64_t> dim) {
    if (dim && input.dim() != 0)
      return unique_slices(input, wrap_dimension("unique", *dim, input.dim()));
    if (dim) wrap_dimension("unique", *dim, 0);
    const Tensor source = elements_in_order(input);
    const int64_t count = input.numel();
    const Tensor flat = source.reshape({count});
    const auto pair = sorted_pair(flat);
    const Tensor &sorted = std::get<0>(pair), &order = std::get<1>(pair);
    Runs runs;
    Tensor values;
    kernel::visit<floating_dtypes | integer_dtypes>(source.dtype(), [&](auto zero) {
      using T = decltype(zero);
      const T* from = kernel::elements<const T>(sorted);
      runs = find_runs(kernel::elements<const int64_t>(order), count, input.shape(),
                       [from](int64_t a, int64_t b) { return from[a] == from[b]; });
      values = empty_tensor({static_cast<int64_t>(runs.first.size())}, source.dtype());
      T* to = kernel::elements<T>(values);
      for (size_t i = 0; i < runs.first.size(); ++i) to[i] = from[runs.first[i]];
    });
    return {contiguous_as(values, input.dtype()), runs.inverse, runs.counts};
  }
  static std::tuple<Tensor, Tensor> sorted_pair(const Tensor& flat) {
    using Pair = std::tuple<Tensor, Tensor>;
    static const Op op("sort");
    return op.call<Pair>(flat);
  }
  static std::tuple<Tensor, Tensor, Tensor> unique_slices(const Tensor& input, int64_t along) {
    const Tensor moved = movedim(input, IntList(&along, 1), IntList(&kFront, 1));
    const Tensor rows = elements_in_order(moved);
    const int64_t count = input.shape()[along], width = count == 0 ? 0 : input.numel() / count;
    std::vector<int64_t> order(static_cast<size_t>(count));
    std::iota(order.begin(), order.end(), 0);
    Runs runs;
    kernel::visit<floating_dtypes | integer_dtypes>(rows.dtype(), [&](auto zero) {
      using T = decltype(zero);
      const T* from = kernel::elements<const T>(rows);
      std::stable_sort(order.begin(), order.end(), [=](int64_t a, int64_t b) {
        for (int64_t i = 0; i < width; ++i) {
          const auto x = ordered_key(from[a * width + i]), y = ordered_key(from[b * width + i]);
          if (x != y) return x < y;
        }
        return false;
      });
      const int64_t places[] = {count};
      runs = find_runs(order.data(), count, {places, 1}, [&](int64_t a, int64_t b) {
        const T* row = from + order[static_cast<size_t>(a)] * width;
        return std::equal(row, row + width, from + order[static_cast<size_t>(b)] * width);
      });
    });
    for (int64_t& place : runs.first) place = order[static_cast<size_t>(place)];
    const Tensor first = from_range(runs.first.begin(), runs.first.end());
    return {input.index_select(along, first), runs.inverse, runs.counts};
  }
  static constexpr int64_t kFront = 0;
};

}  // namespace

TENON_OP(Unique)
