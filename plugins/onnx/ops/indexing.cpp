// Elements at indices. Negative indices count from the end.
#include "common.hpp"

namespace {

using namespace onnx;

// Indices from 0, as i64. Those out of range are refused by the op that reads them.
Tensor wrapped(const Tensor& indices, int64_t size) {
  const Tensor whole = indices.to(tenon::i64);
  return tenon::where(tenon::lt(whole, 0), whole + size, whole);
}

std::vector<int64_t> joined(IntList first, int64_t first_count, IntList middle, IntList last,
                            int64_t last_from) {
  std::vector<int64_t> sizes(first.begin(), first.begin() + first_count);
  sizes.insert(sizes.end(), middle.begin(), middle.end());
  sizes.insert(sizes.end(), last.begin() + last_from, last.end());
  return sizes;
}

struct Gather {
  static constexpr auto schema =
      "onnx.gather(Tensor data, Tensor indices, *, int axis=0) -> Tensor";
  static constexpr auto samples =
      R"([{"data": {"shape": [3, 4]}, "indices": {"values": [[0, -1], [1, 2]], "dtype": "i64"}, "axis": 1}])";
  static constexpr auto doc = "Slices of data along axis at the indices, in their shape.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& data, const Tensor& indices, int64_t axis) {
    const int64_t dim = axis_of(axis, data.dim());
    const Tensor places = wrapped(indices, data.shape()[dim]).reshape({-1});
    const Tensor slices = tenon::index_select(data, dim, places);
    return slices.reshape(
        list_of(joined(data.shape(), dim, indices.shape(), data.shape(), dim + 1)));
  }
};

struct GatherElements {
  static constexpr auto schema =
      "onnx.gather_elements(Tensor data, Tensor indices, *, int axis=0) -> Tensor";
  static constexpr auto samples =
      R"([{"data": {"shape": [2, 3]}, "indices": {"values": [[0, -1, 1]], "dtype": "i64"}}])";
  static constexpr auto doc = "The elements of data along axis at the indices, one for each.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& data, const Tensor& indices, int64_t axis) {
    const int64_t dim = axis_of(axis, data.dim());
    return tenon::gather(data, dim, wrapped(indices, data.shape()[dim]));
  }
};

// The names of reductions in scatter_reduce.
std::string reduction_name(std::string_view reduction) {
  if (reduction == "add") return "sum";
  if (reduction == "mul") return "prod";
  if (reduction == "max") return "amax";
  if (reduction == "min") return "amin";
  throw tenon::ValueError("'reduction' is '" + std::string(reduction) +
                          "'; there are none, add, mul, max and min");
}

struct ScatterElements {
  static constexpr auto schema =
      "onnx.scatter_elements(Tensor data, Tensor indices, Tensor updates, *, int axis=0, str "
      "reduction='none') -> Tensor";
  static constexpr auto samples =
      R"([{"data": {"shape": [2, 3]}, "indices": {"values": [[1, 0, -1]], "dtype": "i64"}, "updates": {"shape": [1, 3]}}])";
  static constexpr auto doc = "data with the updates along axis at the indices.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& data, const Tensor& indices, const Tensor& updates,
                        int64_t axis, std::string_view reduction) {
    const int64_t dim = axis_of(axis, data.dim());
    const Tensor places = wrapped(indices, data.shape()[dim]);
    if (reduction == "none") return tenon::scatter(data, dim, places, updates);
    return tenon::scatter_reduce(data, dim, places, updates, reduction_name(reduction));
  }
};

struct TensorScatter {
  static constexpr auto schema =
      "onnx.tensor_scatter(Tensor past_cache, Tensor update, Tensor? write_indices=None, *, int "
      "axis=-2, str mode='linear') -> Tensor";
  static constexpr auto samples =
      R"([{"past_cache": {"shape": [2, 4, 3]}, "update": {"shape": [2, 2, 3]}, "write_indices": {"values": [1, 3], "dtype": "i64"}, "mode": "circular"}])";
  static constexpr auto doc =
      "The cache with the update of each batch along axis, from its write index on; mode circular "
      "continues at the beginning.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& cache, const Tensor& update, const Tensor& write_indices,
                        int64_t axis, std::string_view mode) {
    const int64_t dim = axis_of(axis, cache.dim()), size = cache.shape()[dim];
    if (mode != "linear" && mode != "circular")
      throw tenon::ValueError("onnx.tensor_scatter(): 'mode' is '" + std::string(mode) +
                              "'; there are linear and circular");
    std::vector<int64_t> along(static_cast<size_t>(cache.dim()), 1), batches = along;
    along[static_cast<size_t>(dim)] = -1;
    batches[0] = -1;
    Tensor places = tenon::arange(update.size(dim)).reshape(list_of(along));
    if (write_indices.defined())
      places = places + write_indices.to(tenon::i64).reshape(list_of(batches));
    if (mode == "circular") places = tenon::remainder(places, size);
    return tenon::scatter(cache, dim, places.expand(update.shape()), update);
  }
};

struct OneHot {
  static constexpr auto schema =
      "onnx.one_hot(Tensor indices, int depth, Tensor values, *, int axis=-1) -> Tensor";
  static constexpr auto samples =
      R"([{"indices": {"values": [0, -1, 7], "dtype": "i64"}, "depth": 3, "values": {"values": [0.0, 1.0]}}])";
  static constexpr auto doc =
      "values[1] at the index along a new axis, else values[0]; an index out of range has none.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& indices, int64_t depth, const Tensor& values, int64_t axis) {
    const int64_t dim = axis_of(axis, indices.dim() + 1);
    const Tensor places = wrapped(indices, depth).unsqueeze(dim);
    std::vector<int64_t> shape(static_cast<size_t>(indices.dim() + 1), 1);
    shape[static_cast<size_t>(dim)] = depth;
    const Tensor classes = tenon::arange(depth, tenon::none, 1, tenon::i64).reshape(list_of(shape));
    return tenon::where(tenon::eq(places, classes), tenon::select(values, 0, 1),
                        tenon::select(values, 0, 0));
  }
};

struct Compress {
  static constexpr auto schema =
      "onnx.compress(Tensor input, Tensor condition, *, int? axis=None) -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [3, 2]}, "condition": {"values": [1, 0], "dtype": "bool"}, "axis": 0}])";
  static constexpr auto doc =
      "The slices along axis whose condition holds, or elements without axis.";
  static constexpr bool composite = true;
  static constexpr bool data_dependent_shape = true;
  static Tensor forward(const Tensor& input, const Tensor& condition, std::optional<int64_t> axis) {
    const Tensor whole = axis ? input : input.reshape({-1});
    const int64_t dim = axis ? axis_of(*axis, input.dim()) : 0;
    const Tensor places = tenon::nonzero(condition).reshape({-1});
    return tenon::index_select(whole, dim, places);
  }
};

struct NonZero {
  static constexpr auto schema = "onnx.nonzero(Tensor X) -> Tensor";
  static constexpr auto doc = "The indices of elements that are not 0, a row for each dimension.";
  static constexpr bool zero_gradient = true;
  static constexpr bool data_dependent_shape = true;
  static Tensor forward(const Tensor& x) {
    if (x.dim() == 0) return tenon::nonzero(x.reshape({1})).t();
    return tenon::nonzero(x).t();
  }
};

struct Unique {
  static constexpr auto schema =
      "onnx.unique(Tensor X, *, int? axis=None, bool sorted=True) -> (Tensor Y, Tensor indices, "
      "Tensor inverse_indices, Tensor counts)";
  static constexpr auto doc =
      "Different elements, or slices along axis, in order or as they come first; where each is "
      "first, which one each element is, and how often it is there.";
  static constexpr bool composite = true;
  static constexpr bool data_dependent_shape = true;
  static std::tuple<Tensor, Tensor, Tensor, Tensor> forward(const Tensor& x,
                                                            std::optional<int64_t> axis,
                                                            bool sorted) {
    const Tensor input = axis ? x : x.reshape({-1});
    const int64_t dim = axis ? axis_of(*axis, x.dim()) : 0;
    auto [values, inverse, counts] = tenon::unique(input.detach(), dim);
    const std::vector<int64_t> places = inverse.to_vector<int64_t>();
    std::vector<int64_t> first(static_cast<size_t>(counts.numel()), -1);
    for (size_t i = 0; i < places.size(); ++i) {
      int64_t& at = first[static_cast<size_t>(places[i])];
      if (at < 0) at = static_cast<int64_t>(i);
    }
    Tensor indices = tenon::from_range(first.begin(), first.end());
    Tensor which = inverse.reshape({-1});
    if (!sorted) {
      const Tensor order = tenon::argsort(indices);
      which = tenon::index_select(tenon::argsort(order), 0, which);
      indices = tenon::index_select(indices, 0, order);
      counts = tenon::index_select(counts, 0, order);
    }
    return {tenon::index_select(input, dim, indices), indices, which, counts};
  }
};

}  // namespace
TENON_OP(Gather)
TENON_OP(GatherElements)
TENON_OP(ScatterElements)
TENON_OP(TensorScatter)
TENON_OP(OneHot)
TENON_OP(Compress)
TENON_OP(NonZero)
TENON_OP(Unique)
