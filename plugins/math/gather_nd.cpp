// gather_nd and scatter_nd: slices that rows of coordinates name.
#include "index_places.hpp"

using namespace tenon;
using namespace math;

namespace {

// The slices that coordinates [..., k] name: each is what k dimensions leave of a tensor, behind
// `batch_dims` dimensions that both have.
struct Slices {
  Tensor places;  // the place for each row of coordinates, among all slices
  int64_t count = 1, size = 1;
  Shape outer;  // the shape of the coordinates without k

  Slices(const char* op, IntList shape, const Tensor& indices, int64_t batch_dims) {
    check_index_dtype(op, indices);
    const int64_t rank = shape.size();
    const int64_t last = indices.dim() == 0 ? -1 : indices.shape()[indices.dim() - 1];
    bool fits =
        last >= 0 && batch_dims >= 0 && batch_dims < indices.dim() && batch_dims + last <= rank;
    for (int64_t i = 0; fits && i < batch_dims; ++i) fits = indices.shape()[i] == shape[i];
    if (!fits) {
      throw ValueError(std::string(op) + "(): coordinates of shape " + shape_text(indices.shape()) +
                       " do not fit a tensor of shape " + shape_text(shape) + " with " +
                       std::to_string(batch_dims) + " batch dimensions");
    }
    outer = Shape({indices.shape().data(), indices.dim() - 1});
    for (int64_t i = 0; i < rank; ++i) (i < batch_dims + last ? count : size) *= shape[i];
    fill_places(op, shape, contiguous_as(indices, i64), batch_dims, last);
  }

 private:
  void fill_places(const char* op, IntList shape, const Tensor& indices, int64_t batch_dims,
                   int64_t last) {
    const int64_t rows = kernel::count_elements(outer);
    int64_t batches = 1;
    for (int64_t i = 0; i < batch_dims; ++i) batches *= shape[i];
    places = empty_tensor({rows}, i64);
    const auto* from = kernel::elements<const int64_t>(indices);
    auto* to = kernel::elements<int64_t>(places);
    for (int64_t row = 0; row < rows; ++row) {
      int64_t place = row / (rows / batches);
      for (int64_t k = 0; k < last; ++k) {
        const int64_t length = shape[batch_dims + k], given = from[row * last + k];
        const int64_t at = given < 0 ? given + length : given;
        if (at < 0 || at >= length) throw_index(op, given, batch_dims + k, length);
        place = place * length + at;
      }
      to[row] = place;
    }
  }
};

struct GatherNd {
  static constexpr auto schema =
      "gather_nd(Tensor input, Tensor indices, int batch_dims=0) -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [3, 4]}, "indices": {"values": [[0, 1], [-1, 3]], "dtype": "i64"}},
          {"input": {"shape": [2, 3, 2]}, "indices": {"values": [[[2], [0]], [[1], [1]]], "dtype": "i64"},
           "batch_dims": 1}])";
  static constexpr auto doc =
      "The elements or slices of input at coordinates, the rows of indices [..., k]: the result "
      "has "
      "the shape of indices without k, then that of a slice. The first batch_dims dimensions are "
      "those of both. Negative coordinates count from the end (ONNX' GatherND).";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input, const Tensor& indices, int64_t batch_dims) {
    const Slices slices("gather_nd", input.shape(), indices, batch_dims);
    Shape shape = slices.outer;
    const int64_t taken = batch_dims + indices.shape()[indices.dim() - 1];
    kernel::check_rank("gather_nd", shape.rank + input.dim() - taken);
    for (int64_t i = taken; i < input.dim(); ++i) shape.push(input.shape()[i]);
    return input.reshape({slices.count, slices.size})
        .index_select(0, slices.places)
        .reshape(IntList(shape));
  }
};

struct ScatterNd {
  static constexpr auto schema =
      "scatter_nd(Tensor input, Tensor indices, Tensor updates, str reduce='none') -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [3, 2]}, "indices": {"values": [[2], [0], [2]], "dtype": "i64"},
           "updates": {"shape": [3, 2]}},
          {"input": {"shape": [3, 2]}, "indices": {"values": [[2, 1], [0, -1], [2, 1]], "dtype": "i64"},
           "updates": {"shape": [3]}, "reduce": "sum"},
          {"input": {"shape": [4]}, "indices": {"values": [[2], [0], [2]], "dtype": "i64"},
           "updates": {"shape": [3]}, "reduce": "amax"}])";
  static constexpr auto doc =
      "A copy of input with updates at coordinates, the rows of indices [..., k]: elements or "
      "slices, the last of several for one place. reduce combines them with what is there instead: "
      "sum, prod, amax or amin, as scatter_reduce; NaN is an extremum. Negative coordinates count "
      "from the end (ONNX' ScatterND).";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input, const Tensor& indices, const Tensor& updates,
                        std::string_view reduce) {
    constexpr auto op = "scatter_nd";
    kernel::check_same_dtype(op, "input", input, "updates", updates);
    if (reduce != "none" && reduce != "sum" && reduce != "prod" && reduce != "amax" &&
        reduce != "amin") {
      throw ValueError("scatter_nd(): reduce is '" + std::string(reduce) +
                       "'; choose none, sum, prod, amax or amin");
    }
    const Slices slices(op, input.shape(), indices, 0);
    Shape shape = slices.outer;
    const int64_t taken = indices.shape()[indices.dim() - 1];
    kernel::check_rank(op, shape.rank + input.dim() - taken);
    for (int64_t i = taken; i < input.dim(); ++i) shape.push(input.shape()[i]);
    kernel::check_shape(op, "updates", updates, IntList(shape));
    if (updates.numel() == 0) return input.clone();
    const Tensor rows = input.reshape({slices.count, slices.size});
    const Tensor entries = updates.reshape({-1, slices.size});
    if (reduce == "sum") return rows.index_add(0, slices.places, entries).reshape(input.shape());
    const Tensor index = slices.places.unsqueeze(1).expand(entries.shape());
    const Tensor result = reduce == "none" ? rows.scatter(0, index, entries)
                                           : rows.scatter_reduce(0, index, entries, reduce);
    return result.reshape(input.shape());
  }
};

}  // namespace

TENON_OPS(GatherNd, ScatterNd)
