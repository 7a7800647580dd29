// addmm: a matrix product added to a matrix, or to a row for each of its rows.
#include <cmath>
#include <cstring>

#include "product.hpp"

namespace {

using tenon::ContextOf;
using tenon::Scalar;
using tenon::Tensor;
using tenon::TensorList;
using namespace tenon::literals;

// Writes `input`, broadcast, into the result.
void spread(const Tensor& input, const Tensor& result) {
  if (input.dim() == 1 && input.is_contiguous() && input.shape()[0] == result.shape()[1]) {
    const auto bytes = static_cast<size_t>(input.numel() * tenon::element_size(input.dtype()));
    auto* to = static_cast<char*>(result.view_record().data);
    if (bytes == 0) return;
    for (int64_t i = 0; i < result.shape()[0]; ++i, to += bytes)
      std::memcpy(to, input.view_record().data, bytes);
  } else {
    tenon::copy_elements(result, input);
  }
}

bool spreads(const Tensor& input, int64_t rows, int64_t columns) {
  const int64_t rank = input.dim();
  return rank <= 2 &&
         (rank < 1 || input.shape()[rank - 1] == columns || input.shape()[rank - 1] == 1) &&
         (rank < 2 || input.shape()[0] == rows || input.shape()[0] == 1);
}

struct Addmm {
  static constexpr auto schema =
      "addmm(Tensor input, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1, Tensor(a!)? "
      "out=None) -> Tensor";
  static constexpr auto doc =
      "beta * input + alpha * (mat1 @ mat2), where input is broadcast; with beta 0 input is not "
      "read. For integers beta and alpha must be whole numbers.";
  static constexpr auto saves = "shape(mat1), shape(mat2), mat2 for mat1, mat1 for mat2";

  static Tensor shape_rule(const Tensor& input, const Tensor& mat1, const Tensor& mat2,
                           const Scalar&, const Scalar&) {
    blas::check_rank("addmm", "mat1", 2, mat1);
    blas::check_rank("addmm", "mat2", 2, mat2);
    blas::check_dtypes("addmm", "mat1", mat1, "mat2", mat2);
    blas::check_dtypes("addmm", "input", input, "mat1", mat1);
    blas::check_inner_sizes("addmm", mat1, mat2, mat1.shape()[1], mat2.shape()[0]);
    const int64_t rows = mat1.shape()[0], columns = mat2.shape()[1];
    if (!spreads(input, rows, columns)) {
      throw tenon::ValueError("addmm(): 'input' of shape " + blas::shape_text(input) +
                              " cannot be broadcast to the product's shape [" +
                              std::to_string(rows) + ", " + std::to_string(columns) + "]");
    }
    return tenon::empty_tensor({rows, columns}, mat1.dtype());
  }
  static int64_t multiply_adds(const Tensor&, const Tensor& mat1, const Tensor& mat2, const Scalar&,
                               const Scalar&) {
    return mat1.numel() * mat2.size(1);
  }

  static Tensor forward(const Tensor& input, const Tensor& mat1, const Tensor& mat2,
                        const Scalar& beta, const Scalar& alpha) {
    Tensor result = shape_rule(input, mat1, mat2, beta, alpha);
    if (!tenon::is_differentiable(mat1.dtype())) {
      for (const Scalar& factor : {beta, alpha}) {
        if (factor.is_floating() && std::trunc(factor.to<double>()) != factor.to<double>()) {
          throw tenon::TypeError(std::string("addmm(): beta and alpha must be whole numbers for ") +
                                 tenon::dtype_text(mat1.dtype()) + " tensors, got " +
                                 factor.text());
        }
        if (!factor.fits(mat1.dtype())) {
          throw tenon::ValueError("addmm(): the number " + factor.text() + " does not fit " +
                                  tenon::dtype_text(mat1.dtype()) +
                                  ": convert the tensors to a wider dtype with to()");
        }
      }
      const auto factor = beta.to<int64_t>();
      if (factor != 0) spread(input, result);
      blas::multiply_integers(mat1, mat2, result, 1, alpha.to<int64_t>(), factor);
      return result;
    }
    const auto factor = beta.to<double>();
    if (factor != 0) spread(input, result);
    if (mat1.shape()[1] == 0 && factor != 1 && factor != 0) return result * factor;
    blas::multiply(mat1, mat2, result, 1, alpha.to<double>(), factor);
    return result;
  }

  static std::tuple<Tensor, Tensor, Tensor> backward(ContextOf<Addmm>& c, const Tensor& g) {
    const auto beta = c["beta"_arg], alpha = c["alpha"_arg];
    Tensor input, mat1, mat2;
    if (c.needs_input_grad("input"_arg)) input = scaled(g, beta);
    if (c.needs_input_grad("mat1"_arg)) mat1 = scaled(g.mm(conjugate(c["mat2"_arg].t())), alpha);
    if (c.needs_input_grad("mat2"_arg)) mat2 = scaled(conjugate(c["mat1"_arg].t()).mm(g), alpha);
    return {std::move(input), std::move(mat1), std::move(mat2)};
  }

  static Tensor jvp(ContextOf<Addmm>& c, TensorList tangents) {
    const Tensor &input = tangents[0], &mat1 = tangents[1], &mat2 = tangents[2];
    const auto beta = c["beta"_arg], alpha = c["alpha"_arg];
    Tensor tangent;
    const auto take = [&](Tensor part) {
      tangent = tangent.defined() ? tangent + part : std::move(part);
    };
    if (mat1.defined()) take(scaled(mat1.mm(c["mat2"_arg]), alpha));
    if (mat2.defined()) take(scaled(c["mat1"_arg].mm(mat2), alpha));
    if (input.defined()) {
      Tensor part = scaled(input, beta);
      if (!tangent.defined()) part = part.expand({c["mat1"_arg].size(0), c["mat2"_arg].size(1)});
      take(std::move(part));
    }
    return tangent;
  }

 private:
  static Tensor scaled(const Tensor& tensor, const Scalar& factor) {
    return factor.to<double>() == 1 ? tensor : tensor * factor;
  }
};

}  // namespace
TENON_OP(Addmm)
TENON_IN_PLACE_OP(Addmm)
