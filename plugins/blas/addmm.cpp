// addmm: a matrix product added to a matrix, or to a row for each of its rows.
#include <cmath>

#include "product.hpp"
#include "shared_ops/product.hpp"

namespace {

using tenon::Scalar;
using tenon::Tensor;

void check_whole(const Scalar& factor, tenon::DType dtype) {
  if (factor.is_floating() && std::trunc(factor.to<double>()) != factor.to<double>()) {
    throw tenon::TypeError(std::string("addmm(): beta and alpha must be whole numbers for ") +
                           tenon::dtype_text(dtype) + " tensors, got " + factor.text());
  }
  if (!factor.fits(dtype)) {
    throw tenon::ValueError("addmm(): the number " + factor.text() + " does not fit " +
                            tenon::dtype_text(dtype) +
                            ": convert the tensors to a wider dtype with to()");
  }
}

struct Addmm : products::AddmmRules<Addmm, blas::Gemm> {
  static Tensor forward(const Tensor& input, const Tensor& mat1, const Tensor& mat2,
                        const Scalar& beta, const Scalar& alpha) {
    if (tenon::is_differentiable(mat1.dtype()))
      return AddmmRules::forward(input, mat1, mat2, beta, alpha);
    Tensor result = shape_rule(input, mat1, mat2, beta, alpha);
    check_whole(beta, mat1.dtype());
    check_whole(alpha, mat1.dtype());
    const auto factor = beta.to<int64_t>();
    if (factor != 0) products::spread(input, result);
    blas::multiply_integers(mat1, mat2, result, 1, alpha.to<int64_t>(), factor);
    return result;
  }
};

}  // namespace
TENON_OPS_WITH_IN_PLACE(Addmm)
