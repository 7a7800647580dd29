// block_diag: matrices along the diagonal of one.
#include "dimensions.hpp"

using namespace tenon;
using namespace math;

namespace {

struct BlockDiag {
  static constexpr auto schema = "block_diag(Tensor[] tensors) -> Tensor";
  static constexpr auto samples =
      R"([{"tensors": [{"shape": [2, 3]}, {"shape": [2]}, {"shape": []}]}, {"tensors": [{"shape": [0, 2]}, {"shape": [1, 1]}]}])";
  static constexpr auto doc =
      "The matrices along the diagonal of one, 0 elsewhere. A vector is a row, a number a matrix "
      "of "
      "one element.";
  static constexpr bool composite = true;
  static Tensor forward(TensorList tensors) {
    if (tensors.size() == 0) return zeros({1, 0});
    int64_t columns = 0, before = 0;
    std::vector<Tensor> matrices;
    for (const Tensor& tensor : tensors) {
      if (tensor.dim() > 2) {
        throw ValueError("block_diag(): tensors must have at most 2 dimensions, got shape " +
                         shape_text(tensor.shape()));
      }
      matrices.push_back(tensor.dim() == 2   ? tensor
                         : tensor.dim() == 1 ? tensor.unsqueeze(0)
                                             : tensor.reshape({1, 1}));
      columns += matrices.back().shape()[1];
    }
    std::vector<Tensor> rows;
    for (const Tensor& matrix : matrices) {
      const int64_t width = matrix.shape()[1];
      rows.push_back(constant_pad_nd(matrix, {before, columns - before - width}));
      before += width;
    }
    return cat(rows, 0);
  }
};

}  // namespace

TENON_OP(BlockDiag)
