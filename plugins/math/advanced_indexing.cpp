// Indexing with tensors: nonzero, index, index_put, masked_select, take_along_dim.
#include <algorithm>
#include <vector>

#include <tenon/kernel/view.hpp>
#include <tenon/parallel.hpp>

#include "dimensions.hpp"

using namespace tenon;
using namespace math;

namespace {

// Elements that are worth a thread when they are only looked at.
constexpr int64_t kPiece = 1 << 16;

// Writes the places of the elements in a range that are not 0. Every place is written, and the next
// one over it unless it counts: a branch for each element would be mispredicted.
template <class T>
void write_places(const T* from, int64_t begin, int64_t end, int64_t* to) {
  constexpr int64_t kBlock = 256;
  int64_t block[kBlock];
  for (int64_t first = begin; first < end; first += kBlock) {
    const int64_t last = std::min(end, first + kBlock);
    int64_t found = 0;
    for (int64_t i = first; i < last; ++i) {
      block[found] = i;
      found += from[i] != 0 ? 1 : 0;
    }
    to = std::copy(block, block + found, to);
  }
}

// The places, in row-major order, of the elements that are not 0: i64, a vector.
Tensor true_places(const Tensor& input) {
  const Tensor source =
      is_complex(input.dtype()) ? ne(input, 0) : contiguous_as(input, input.dtype());
  const int64_t count = source.numel(), pieces = (count + kPiece - 1) / kPiece;
  std::vector<int64_t> starts(static_cast<size_t>(pieces) + 1);
  Tensor places;
  kernel::visit<computed_dtypes>(source.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* from = kernel::elements<const T>(source);
    const auto each_piece = [&](const auto& body) {
      parallel_for(0, pieces, 1, [&](int64_t begin, int64_t end) {
        for (int64_t p = begin; p < end; ++p)
          body(p, p * kPiece, std::min(count, (p + 1) * kPiece));
      });
    };
    each_piece([&](int64_t piece, int64_t begin, int64_t end) {
      int64_t found = 0;
      for (int64_t i = begin; i < end; ++i) found += from[i] != 0 ? 1 : 0;
      starts[static_cast<size_t>(piece) + 1] = found;
    });
    for (size_t p = 1; p < starts.size(); ++p) starts[p] += starts[p - 1];
    places = empty_tensor({starts.back()}, i64);
    each_piece([&](int64_t piece, int64_t begin, int64_t end) {
      write_places(from, begin, end,
                   kernel::elements<int64_t>(places) + starts[static_cast<size_t>(piece)]);
    });
  });
  return places;
}

struct Nonzero {
  static constexpr auto schema = "nonzero(Tensor input, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr bool data_dependent_shape = true;
  static constexpr auto doc =
      "The indices of the elements that are not 0, in row-major order: a row of i64 for each, a "
      "column for each dimension. NaN is not 0.";
  static constexpr bool zero_gradient = true;
  static Tensor forward(const Tensor& input) {
    const Tensor places = true_places(input);
    const int64_t rank = input.dim(), count = places.numel();
    if (rank == 1) {
      const int64_t shape[] = {count, 1}, strides[] = {1, 1};
      return alias_tensor(places, {shape, 2}, {strides, 2}, 0);
    }
    const Tensor result = empty_tensor({count, rank}, i64);
    const auto* from = kernel::elements<const int64_t>(places);
    auto* to = kernel::elements<int64_t>(result);
    const IntList shape = input.shape();
    parallel_for(0, rank == 0 ? 0 : count, kPiece / 4, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        int64_t rest = from[row];
        for (int64_t d = rank - 1; d > 0; --d) {
          to[row * rank + d] = rest % shape[d];
          rest /= shape[d];
        }
        to[row * rank] = rest;
      }
    });
    return result;
  }
};

// The selection by indices: the dimensions in front that they replace, as one; which of its
// entries; and the shape that these are arranged in.
struct Selection {
  Tensor places;  // i64, a vector
  Shape shape;    // shape of the entries that the indices select
  int64_t replaced = 0, entries = 1;

  Shape flat_shape(IntList input) const {
    Shape front;
    front.push(entries);
    return behind(front, input);
  }
  Shape result_shape(IntList input) const { return behind(shape, input); }

 private:
  Shape behind(Shape front, IntList input) const {
    for (int64_t i = replaced; i < input.size(); ++i) front.push(input[i]);
    return front;
  }
};

// A mask as the vectors of indices of its dimensions; other indices as they are.
void add_index(const char* op, const Tensor& index, IntList input, std::vector<Tensor>& indices) {
  const auto at = static_cast<int64_t>(indices.size());
  if (index.dtype() != boolean) {
    if (index.dtype() != i64 && index.dtype() != i32) {
      throw TypeError(std::string(op) + "(): index " + std::to_string(at) +
                      " must be i64, i32 or bool, got " + dtype_text(index.dtype()) +
                      "; convert it with to()");
    }
    indices.push_back(index.to(i64));
    return;
  }
  for (int64_t d = 0; d < index.dim(); ++d) {
    if (at + d < input.size() && index.shape()[d] == input[at + d]) continue;
    throw IndexError(std::string(op) + "(): the mask of shape " + shape_text(index.shape()) +
                     " does not fit dimension " + std::to_string(at + d) + " of shape " +
                     shape_text(input));
  }
  if (index.dim() == 0) {
    throw IndexError(std::string(op) +
                     "(): a 0-dim mask selects no dimension: give it the shape of the input");
  }
  const Tensor rows = nonzero(index);
  for (int64_t d = 0; d < index.dim(); ++d) indices.push_back(rows.select(1, d));
}

Selection select_entries(const char* op, IntList input, TensorList given) {
  const NoGrad scope;
  std::vector<Tensor> indices;
  for (const Tensor& index : given) add_index(op, index, input, indices);
  Selection selection;
  selection.replaced = static_cast<int64_t>(indices.size());
  if (indices.empty()) throw ValueError(std::string(op) + "(): the list of indices is empty");
  if (selection.replaced > input.size()) {
    throw IndexError(std::string(op) + "(): " + std::to_string(selection.replaced) +
                     " dimensions are indexed, but shape " + shape_text(input) + " has " +
                     std::to_string(input.size()));
  }
  Tensor places;
  for (int64_t d = 0; d < selection.replaced; ++d) {
    const Tensor& index = indices[static_cast<size_t>(d)];
    const Tensor own = contiguous_as(index, i64);
    const int64_t size = input[d];
    for (int64_t i = 0; i < own.numel(); ++i) {
      const int64_t value = own.data<int64_t>()[i];
      if (value >= -size && value < size) continue;
      throw IndexError(std::string(op) + "(): index " + std::to_string(value) +
                       " is out of range for dimension " + std::to_string(d) + " with size " +
                       std::to_string(size));
    }
    const Tensor wrapped = where(lt(index, 0), index + size, index);
    places = places.defined() ? places * size + wrapped : wrapped;
    selection.entries *= size;
  }
  selection.shape = Shape(places.shape());
  kernel::check_rank(op, selection.shape.rank + input.size() - selection.replaced);
  selection.places = places.reshape({-1});
  return selection;
}

struct Index {
  static constexpr auto schema = "index(Tensor input, Tensor[] indices) -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [3, 2]}, "indices": [{"values": [2, 0, -1, 2], "dtype": "i64"}]},
          {"input": {"shape": [3, 2]}, "indices": [{"shape": [2, 2], "dtype": "i64"},
          {"values": [1], "dtype": "i64"}]}, {"input": {"shape": [2, 2]}, "indices": [{"shape":
          [2, 2], "dtype": "bool", "low": -1, "high": 1}]}])";
  static constexpr auto doc =
      "The entries at indices (i64 or i32) into the dimensions in front, which broadcast together "
      "and whose shape takes their place; negative ones count from the end. A mask (bool) stands "
      "for "
      "the indices of its true elements.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input, TensorList indices) {
    const Selection selection = select_entries("index", input.shape(), indices);
    return input.reshape(IntList(selection.flat_shape(input.shape())))
        .index_select(0, selection.places)
        .reshape(IntList(selection.result_shape(input.shape())));
  }
};

struct IndexPut {
  static constexpr auto schema =
      "index_put(Tensor input, Tensor[] indices, Tensor values, bool accumulate=False) -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [3, 2]}, "indices": [{"values": [2, 0], "dtype": "i64"}], "values":
          {"shape": [2, 2]}}, {"input": {"shape": [3, 2]}, "indices": [{"values": [2, 0, 2],
          "dtype": "i64"}], "values": {"shape": [2]}, "accumulate": true}])";
  static constexpr auto doc =
      "A copy of input with values, which broadcast, in place of the entries that index would "
      "give, "
      "or added to them. Where an entry is named twice the last value is written.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input, TensorList indices, const Tensor& values,
                        bool accumulate) {
    kernel::check_same_dtype("index_put", "input", input, "values", values);
    const Selection selection = select_entries("index_put", input.shape(), indices);
    const Shape whole = selection.result_shape(input.shape());
    const Shape flat = selection.flat_shape(input.shape());
    Shape rows(flat);
    rows[0] = selection.places.numel();
    const Tensor source = expand(values, IntList(whole)).reshape(IntList(rows));
    const Tensor target = input.reshape(IntList(flat));
    if (accumulate) return target.index_add(0, selection.places, source).reshape(input.shape());
    Shape column;
    for (int64_t i = 0; i < rows.rank; ++i) column.push(i == 0 ? rows[0] : 1);
    const Tensor index = selection.places.reshape(IntList(column)).expand(IntList(rows));
    return scatter(target, 0, index, source).reshape(input.shape());
  }
};

// Two shapes under broadcasting.
Shape broadcast_shape(const char* op, IntList a, IntList b) {
  Shape shape;
  const int64_t rank = std::max(a.size(), b.size());
  for (int64_t i = 0; i < rank; ++i) {
    const int64_t at_a = i - (rank - a.size()), at_b = i - (rank - b.size());
    const int64_t x = at_a < 0 ? 1 : a[at_a], y = at_b < 0 ? 1 : b[at_b];
    if (x != y && x != 1 && y != 1) {
      throw ValueError(std::string(op) + "(): shapes " + shape_text(a) + " and " + shape_text(b) +
                       " do not broadcast together");
    }
    shape.push(x == 1 ? y : x);
  }
  return shape;
}

struct MaskedSelect {
  static constexpr auto schema =
      "masked_select(Tensor input, Tensor mask, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 3]}, "mask": {"shape": [3], "dtype": "bool", "low": -1, "high":
          1}}])";
  static constexpr bool data_dependent_shape = true;
  static constexpr auto doc =
      "The elements for which mask, a bool tensor that broadcasts with input, is true: a vector, "
      "in "
      "row-major order.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input, const Tensor& mask) {
    kernel::check_dtype("masked_select", "mask", mask.dtype(), bool_dtype);
    const Shape shape = broadcast_shape("masked_select", input.shape(), mask.shape());
    const Tensor places = nonzero(mask.expand(IntList(shape)).reshape({-1})).reshape({-1});
    return input.expand(IntList(shape)).reshape({-1}).index_select(0, places);
  }
};

struct TakeAlongDim {
  static constexpr auto schema =
      "take_along_dim(Tensor input, Tensor indices, int? dim=None, *, Tensor(a!)? out=None) -> "
      "Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 3]}, "indices": {"shape": [2, 2], "dtype": "i64"}, "dim": 1},
          {"input": {"shape": [2, 3]}, "indices": {"values": [5, 0], "dtype": "i64"}}])";
  static constexpr auto doc =
      "gather, with input and indices broadcast together outside of the dimension; without `dim` "
      "both are read in row-major order.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input, const Tensor& indices, std::optional<int64_t> dim) {
    if (!dim) return input.reshape({-1}).gather(0, indices.reshape({-1}));
    const int64_t along = wrap_dimension("take_along_dim", *dim, input.dim());
    if (input.dim() != indices.dim()) {
      throw ValueError("take_along_dim(): indices have " + std::to_string(indices.dim()) +
                       " dimensions, but input has " + std::to_string(input.dim()));
    }
    if (input.dim() == 0) return input.gather(0, indices);
    Shape own(input.shape()), places(indices.shape());
    own[along] = places[along] = 1;
    Shape shape = broadcast_shape("take_along_dim", own, places);
    own = places = shape;
    own[along] = input.shape()[along];
    places[along] = indices.shape()[along];
    return input.expand(IntList(own)).gather(along, indices.expand(IntList(places)));
  }
};

}  // namespace

TENON_OPS(Nonzero, Index, MaskedSelect, TakeAlongDim)
TENON_OPS_WITH_IN_PLACE(IndexPut)
