// reverse_sequence: the first elements of each sequence of a batch, from the last to the first.
#include "dimensions.hpp"

using namespace tenon;
using namespace math;

namespace {

struct ReverseSequence {
  static constexpr auto schema =
      "reverse_sequence(Tensor input, Tensor lengths, int dim=0, int batch_dim=1) -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [4, 3]}, "lengths": {"values": [2, 4, 0], "dtype": "i64"}},
          {"input": {"shape": [2, 2, 3]}, "lengths": {"values": [1, 3], "dtype": "i64"}, "dim": -1,
           "batch_dim": 0}])";
  static constexpr auto doc =
      "The first lengths[b] elements along a dimension of each sequence b, which is along "
      "batch_dim, in reverse order; those behind them stay (ONNX' ReverseSequence).";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input, const Tensor& lengths, int64_t dim,
                        int64_t batch_dim) {
    constexpr auto op = "reverse_sequence";
    const int64_t along = wrap_dimension(op, dim, input.dim());
    const int64_t batch = wrap_dimension(op, batch_dim, input.dim());
    if (along == batch) {
      throw ValueError("reverse_sequence(): dim and batch_dim are both dimension " +
                       std::to_string(along) + " of shape " + shape_text(input.shape()));
    }
    kernel::check_dtype(op, "lengths", lengths.dtype(), integer_dtypes);
    const int64_t count = input.shape()[batch], size = input.shape()[along];
    kernel::check_shape(op, "lengths", lengths, IntList(&count, 1));
    for (const int64_t length : lengths.to(i64).to_vector<int64_t>()) {
      if (length >= 0 && length <= size) continue;
      throw ValueError("reverse_sequence(): a length is " + std::to_string(length) +
                       ", expected one from 0 to " + std::to_string(size));
    }
    Shape by_sequence, by_place;
    for (int64_t i = 0; i < input.dim(); ++i) {
      by_sequence.push(i == batch ? count : 1);
      by_place.push(i == along ? size : 1);
    }
    const Tensor ends = lengths.to(i64).reshape(IntList(by_sequence));
    const Tensor at = arange(size).reshape(IntList(by_place));
    return input.gather(along, where(lt(at, ends), ends - 1 - at, at).expand(input.shape()));
  }
};

}  // namespace

TENON_OP(ReverseSequence)
