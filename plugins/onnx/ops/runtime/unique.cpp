// Unique with NaN as ONNX Runtime finds it: an ordered map, in which NaN is equal to each number that it meets.
#include <map>

#include "ops/common.hpp"

namespace {

using namespace onnx;

using Slice = std::vector<double>;

// Compares as ONNX Runtime does: the first elements of which one is smaller decide.
struct Before {
  bool operator()(const Slice& a, const Slice& b) const {
    for (size_t i = 0; i < a.size(); ++i) {
      if (a[i] < b[i]) return true;
      if (a[i] > b[i]) return false;
    }
    return false;
  }
};

struct RuntimeUnique {
  static constexpr auto schema =
      "onnx._runtime.unique(Tensor X, *, int? axis=None, bool sorted=True) -> (Tensor Y, Tensor "
      "indices, Tensor inverse_indices, Tensor counts)";
  static constexpr auto doc =
      "onnx.unique in which NaN is equal to the number that a search for it ends at; slices of "
      "more "
      "dimensions are those of onnx.unique.";
  static constexpr bool composite = true;
  static constexpr bool data_dependent_shape = true;
  static std::tuple<Tensor, Tensor, Tensor, Tensor> forward(const Tensor& x,
                                                            std::optional<int64_t> axis,
                                                            bool sorted) {
    if (!tenon::is_floating(x.dtype()) || (axis && x.dim() > 1)) {
      static const tenon::Op op("onnx.unique");
      return op.call<std::tuple<Tensor, Tensor, Tensor, Tensor>>(x, Argument(axis), sorted);
    }
    const Tensor input = axis ? x : x.reshape({-1});
    const int64_t dim = axis ? axis_of(*axis, x.dim()) : 0;
    std::map<Slice, int64_t, Before> known;
    std::vector<int64_t> first, inverse, counts;
    const std::vector<double> numbers =
        tenon::movedim(input.detach(), {dim}, {0}).to_vector<double>();
    const auto size = static_cast<int64_t>(numbers.size()) / std::max<int64_t>(input.size(dim), 1);
    for (int64_t i = 0; i < input.size(dim); ++i) {
      const auto start = numbers.begin() + i * size;
      const Slice slice(start, start + size);
      // A search and an insertion go other ways where NaN is met, so that both are needed.
      auto found = known.find(slice);
      if (found == known.end()) {
        found = known.insert({slice, static_cast<int64_t>(first.size())}).first;
        first.push_back(i);
        counts.push_back(0);
      }
      inverse.push_back(found->second);
      ++counts[static_cast<size_t>(found->second)];
    }
    if (sorted) sort(known, first, inverse, counts);
    const Tensor indices = tenon::from_range(first.begin(), first.end());
    return {tenon::index_select(input, dim, indices), indices,
            tenon::from_range(inverse.begin(), inverse.end()),
            tenon::from_range(counts.begin(), counts.end())};
  }

 private:
  using List = std::vector<int64_t>;
  static void sort(const std::map<Slice, int64_t, Before>& known, List& first, List& inverse,
                   List& counts) {
    List places(first.size()), old_first = first, old_counts = counts;
    int64_t next = 0;
    for (const auto& [slice, place] : known) {
      const auto from = static_cast<size_t>(place), to = static_cast<size_t>(next);
      first[to] = old_first[from];
      counts[to] = old_counts[from];
      places[from] = next++;
    }
    for (int64_t& one : inverse) one = places[static_cast<size_t>(one)];
  }
};

}  // namespace
TENON_OP(RuntimeUnique)
