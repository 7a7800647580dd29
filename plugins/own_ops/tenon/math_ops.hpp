// Stands for the generated header while math and blas are built: see plugins/README.md.
#pragma once

#include <tenon/op.hpp>

TENON_NAMESPACE_BEGIN

#define TENON_OWN_OP(name)                                                            \
  TENON_OP_FUNCTION(Tensor, name, #name)                                              \
  inline Tensor Tensor::name(const Argument& a, const Argument& b, const Argument& c, \
                             const Argument& d) const {                               \
    return v1::name(*this, a, b, c, d);                                               \
  }
#include "tenon/own_ops.inc"
#undef TENON_OWN_OP

inline Tensor cat(const std::vector<Tensor>& tensors, int64_t dim) {
  static const Op op("cat");
  return op.call<Tensor>(tensors, dim);
}

TENON_NAMESPACE_END
