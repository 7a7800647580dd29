// The dimension along which ranks' tensors are joined or divided, moved to the front.
#pragma once

#include <tenon/plugin.hpp>
#include <tenon/kernel/check.hpp>
#include <tenon/ops.hpp>

namespace mpi {

// ValueError for a tensor without dimensions, IndexError outside.
inline int64_t dimension(const char* op, const tenon::Tensor& tensor, int64_t dim) {
  if (tensor.dim() == 0) {
    throw tenon::ValueError(std::string(op) +
                            "(): 'input' must have a dimension, got shape []; reshape it to [1]");
  }
  return tenon::kernel::wrap_dimension(op, dim, tensor.dim());
}

// Contiguous, with that dimension first.
inline tenon::Tensor front(const tenon::Tensor& tensor, int64_t dim) {
  return tensor.movedim(dim, 0).contiguous();
}

}  // namespace mpi
