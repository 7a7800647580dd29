// Elements chosen or written by a mask or an index: compress, masked_scatter, index_fill.
#include "index_places.hpp"
#include "operand.hpp"

using namespace tenon;
using namespace math;

namespace {

struct Compress {
  static constexpr auto schema =
      "compress(Tensor input, Tensor condition, int? dim=None, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [3, 2]}, "condition": {"values": [1, 0, 1], "dtype": "bool"}, "dim": 0},
          {"input": {"shape": [2, 2]}, "condition": {"values": [0, 1, 1], "dtype": "bool"}}])";
  static constexpr bool data_dependent_shape = true;
  static constexpr auto doc =
      "The slices along a dimension, or the elements in row-major order, where a vector of bools "
      "is "
      "true; what it is too short for is left out (NumPy's compress).";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input, const Tensor& condition, std::optional<int64_t> dim) {
    constexpr auto op = "compress";
    const Tensor flat = dim ? input : input.reshape({-1});
    const int64_t along = wrap_dimension(op, dim.value_or(0), flat.dim());
    const int64_t size = flat.dim() == 0 ? 1 : flat.shape()[along];
    if (condition.dtype() != boolean || condition.dim() != 1 || condition.numel() > size) {
      throw ValueError("compress(): the condition must be a vector of at most " +
                       std::to_string(size) + " bools, got " + dtype_text(condition.dtype()) +
                       " of shape " + shape_text(condition.shape()));
    }
    return flat.index_select(along, condition.nonzero().select(1, 0));
  }
};

struct MaskedScatter {
  static constexpr auto schema =
      "masked_scatter(Tensor input, Tensor mask, Tensor source) -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 3]}, "mask": {"values": [[1, 0, 1], [0, 1, 1]],
           "dtype": "bool"}, "source": {"shape": [5]}},
          {"input": {"shape": [2, 2]}, "mask": {"values": [1, 0], "dtype": "bool"},
           "source": {"shape": [2, 2]}}])";
  static constexpr auto doc =
      "A copy of input whose elements where mask, which broadcasts to it, is true are the elements "
      "of source in turn.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input, const Tensor& mask, const Tensor& source) {
    constexpr auto op = "masked_scatter";
    kernel::check_same_dtype(op, "input", input, "source", source);
    if (mask.dtype() != boolean) {
      throw TypeError("masked_scatter(): 'mask' must be bool, got " +
                      std::string(dtype_text(mask.dtype())) + "; compare it with ne(0)");
    }
    const Tensor chosen = mask.expand(input.shape());
    const Tensor places = chosen.reshape({-1}).cumsum(0);
    const int64_t count = places.numel() == 0 ? 0 : places.select(0, -1).to_vector<int64_t>()[0];
    if (count > source.numel()) {
      throw ValueError("masked_scatter(): the mask chooses " + std::to_string(count) +
                       " elements, but 'source' has " + std::to_string(source.numel()));
    }
    if (count == 0) return input.clone();
    const Tensor taken = source.reshape({-1}).index_select(0, (places - 1).clamp(0));
    return where(chosen, taken.reshape(input.shape()), input);
  }
};

struct IndexFill {
  static constexpr auto schema =
      "index_fill(Tensor input, int dim, Tensor index, Tensor|Scalar value) -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [3, 2]}, "dim": 0, "index": {"values": [2, 0], "dtype": "i64"}, "value": 0.5},
          {"input": {"shape": [2, 3]}, "dim": -1, "index": {"values": [1], "dtype": "i64"},
           "value": {"shape": []}}])";
  static constexpr auto doc =
      "A copy of input with one value in all entries that the index names along a dimension.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input, int64_t dim, const Tensor& index,
                        const Argument& value) {
    constexpr auto op = "index_fill";
    const int64_t along = wrap_dimension(op, dim, input.dim());
    check_vector(op, index);
    const int64_t size = input.dim() == 0 ? 1 : input.shape()[along];
    const Tensor places = checked_indices(op, index.reshape({-1}), along, size);
    Shape shape;
    for (int64_t i = 0; i < input.dim(); ++i) shape.push(i == along ? size : 1);
    const Tensor named = zeros({size}, boolean).scatter(0, places, true).reshape(IntList(shape));
    if (value.value().tag != TENON_VALUE_TENSOR) return input.masked_fill(named, value);
    const Tensor number = Tensor::borrow(value.value().as.tensor);
    if (number.numel() != 1) {
      throw ValueError("index_fill(): the value must be one number, got shape " +
                       shape_text(number.shape()));
    }
    return where(named, number.reshape(IntList()).to(input.dtype()), input);
  }
};

}  // namespace

TENON_OPS(Compress, MaskedScatter, IndexFill)
