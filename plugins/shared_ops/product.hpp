// mm, bmm and addmm: arguments and their checks, rules, declarations. A provider gives a struct
// with
//   static void multiply(const Tensor& a, const Tensor& b, const Tensor& out, int64_t batch,
//                        double alpha, double beta);
// which writes alpha * a b + beta * out into an `out` with a gemm layout; with beta 0 what is in `out`
// is not read.
#pragma once

#include <cstring>
#include <string>
#include <tuple>
#include <utility>

#include <tenon/plugin.hpp>
#include <tenon/kernel/matrix_product.hpp>
#include <tenon/ops.hpp>

#include "shared_ops/product_checks.hpp"

namespace products {

using tenon::ContextOf, tenon::Scalar, tenon::TensorList;
using tenon::kernel::Matrices, tenon::kernel::matrices;
using namespace tenon::literals;

// ---- mm ----

struct MmDeclaration {
  static constexpr auto schema = "mm(Tensor input, Tensor mat2, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc = "The product of two matrices.";
};

[[noreturn, gnu::cold]] inline void throw_mm_out(const Tensor& out, const Tensor& input,
                                                 const Tensor& mat2) {
  const std::string expected =
      "[" + std::to_string(input.shape()[0]) + ", " + std::to_string(mat2.shape()[1]) + "]";
  throw tenon::ValueError("mm(): 'out' must be " + std::string(tenon::dtype_text(input.dtype())) +
                          " of shape " + expected + ", got " + tenon::dtype_text(out.dtype()) +
                          " of shape " + shape_text(out));
}

// Whether gemm can write the product of the operands where `out` is.
inline bool is_writable(const Tensor& out, const Tensor& input, const Tensor& mat2) {
  const Matrices to = matrices(out);
  return (tenon::is_differentiable(out.dtype()) ? to.has_gemm_layout() : out.is_contiguous()) &&
         tenon::service::tensors().shares_storage(out.handle(), input.handle()) == 0 &&
         tenon::service::tensors().shares_storage(out.handle(), mat2.handle()) == 0;
}

template <class Op, class Kernel>
struct MmRules : MmDeclaration {
  static constexpr auto saves = "mat2 for input, input for mat2";

  static Tensor shape_rule(const Tensor& input, const Tensor& mat2, const Tensor& out) {
    check_rank("mm", "input", 2, input);
    check_rank("mm", "mat2", 2, mat2);
    check_dtypes("mm", "input", input, "mat2", mat2);
    const int64_t rows = input.shape()[0], columns = mat2.shape()[1];
    check_inner_sizes("mm", input, mat2, input.shape()[1], mat2.shape()[0]);
    if (!out.defined()) return tenon::empty_tensor({rows, columns}, input.dtype());
    if (out.dtype() != input.dtype() || out.dim() != 2 || out.shape()[0] != rows ||
        out.shape()[1] != columns) {
      throw_mm_out(out, input, mat2);
    }
    return out;
  }
  static int64_t multiply_adds(const Tensor& input, const Tensor& mat2, const Tensor&) {
    return input.numel() * mat2.size(1);
  }

  static Tensor forward(const Tensor& input, const Tensor& mat2, const Tensor& out) {
    Tensor result = shape_rule(input, mat2, out);
    if (!out.defined() || is_writable(out, input, mat2)) {
      Kernel::multiply(input, mat2, result, 1, 1, 0);
    } else {
      const Tensor product = tenon::empty_tensor(result.shape(), input.dtype());
      Kernel::multiply(input, mat2, product, 1, 1, 0);
      tenon::copy_elements(out, product);
    }
    return result;
  }

  static std::array<Tensor, 2> backward(ContextOf<Op>& c, const Tensor& g) {
    return needed_gradients(
        c, "input"_arg = [&] { return g.mm(conjugate(c["mat2"_arg].t())); },
        "mat2"_arg = [&] { return conjugate(c["input"_arg].t()).mm(g); });
  }
  static constexpr auto jvp = tenon::multilinear;
};

// ---- bmm ----

struct BmmDeclaration {
  static constexpr auto schema =
      "bmm(Tensor input, Tensor mat2, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc = "The matrix product of each pair of matrices in two batches.";
};

template <class Op, class Kernel>
struct BmmRules : BmmDeclaration {
  static constexpr auto saves = "mat2 for input, input for mat2";

  static Tensor shape_rule(const Tensor& input, const Tensor& mat2) {
    check_rank("bmm", "input", 3, input);
    check_rank("bmm", "mat2", 3, mat2);
    check_dtypes("bmm", "input", input, "mat2", mat2);
    const int64_t batch = input.shape()[0];
    if (mat2.shape()[0] != batch) throw_batch_sizes("bmm", input, mat2);
    check_inner_sizes("bmm", input, mat2, input.shape()[2], mat2.shape()[1]);
    return tenon::empty_tensor({batch, input.shape()[1], mat2.shape()[2]}, input.dtype());
  }
  static int64_t multiply_adds(const Tensor& input, const Tensor& mat2) {
    return input.numel() * mat2.size(2);
  }

  static Tensor forward(const Tensor& input, const Tensor& mat2) {
    Tensor result = shape_rule(input, mat2);
    Kernel::multiply(input, mat2, result, input.shape()[0], 1, 0);
    return result;
  }

  static std::array<Tensor, 2> backward(ContextOf<Op>& c, const Tensor& g) {
    return needed_gradients(
        c, "input"_arg = [&] { return g.bmm(conjugate(c["mat2"_arg].transpose(1, 2))); },
        "mat2"_arg = [&] { return conjugate(c["input"_arg].transpose(1, 2)).bmm(g); });
  }
  static constexpr auto jvp = tenon::multilinear;
};

// ---- addmm ----

struct AddmmDeclaration {
  static constexpr auto schema =
      "addmm(Tensor input, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1, Tensor(a!)? "
      "out=None) -> Tensor";
  static constexpr auto doc =
      "beta * input + alpha * (mat1 @ mat2), where input is broadcast; with beta 0 input is not "
      "read, and with alpha 0 the product is not. For integers beta and alpha must be whole "
      "numbers.";
};

// Whether `input` can be broadcast to a product's shape.
inline bool spreads(const Tensor& input, int64_t rows, int64_t columns) {
  const int64_t rank = input.dim();
  return rank <= 2 &&
         (rank < 1 || input.shape()[rank - 1] == columns || input.shape()[rank - 1] == 1) &&
         (rank < 2 || input.shape()[0] == rows || input.shape()[0] == 1);
}
// Writes `input`, broadcast, into the result.
inline void spread(const Tensor& input, const Tensor& result) {
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

// `forward` is of dtypes that have gradients.
template <class Op, class Kernel>
struct AddmmRules : AddmmDeclaration {
  static constexpr auto saves = "shape(mat1), shape(mat2), mat2 for mat1, mat1 for mat2";

  static Tensor shape_rule(const Tensor& input, const Tensor& mat1, const Tensor& mat2,
                           const Scalar&, const Scalar&) {
    check_rank("addmm", "mat1", 2, mat1);
    check_rank("addmm", "mat2", 2, mat2);
    check_dtypes("addmm", "mat1", mat1, "mat2", mat2);
    check_dtypes("addmm", "input", input, "mat1", mat1);
    check_inner_sizes("addmm", mat1, mat2, mat1.shape()[1], mat2.shape()[0]);
    const int64_t rows = mat1.shape()[0], columns = mat2.shape()[1];
    if (!spreads(input, rows, columns)) {
      throw tenon::ValueError("addmm(): 'input' of shape " + shape_text(input) +
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
    const auto factor = beta.to<double>();
    if (factor != 0) spread(input, result);
    // Without a product the library is not asked: whether it reads NaN is each of its kernels'
    // choice.
    const auto share = alpha.to<double>();
    if (mat1.shape()[1] == 0 || share == 0) {
      if (factor == 0) tenon::fill_elements(result, 0);
      return factor == 1 || factor == 0 ? result : result * factor;
    }
    Kernel::multiply(mat1, mat2, result, 1, share, factor);
    return result;
  }

  static std::array<Tensor, 3> backward(ContextOf<Op>& c, const Tensor& g) {
    const auto beta = c["beta"_arg], alpha = c["alpha"_arg];
    return needed_gradients(
        c, "input"_arg = [&] { return scaled(g, beta); },
        "mat1"_arg =
            [&] {
              if (is_zero(alpha)) return zeros_of(c["mat1"_arg].shape(), g);
              return scaled(g.mm(conjugate(c["mat2"_arg].t())), alpha);
            },
        "mat2"_arg =
            [&] {
              if (is_zero(alpha)) return zeros_of(c["mat2"_arg].shape(), g);
              return scaled(conjugate(c["mat1"_arg].t()).mm(g), alpha);
            });
  }

  static Tensor jvp(ContextOf<Op>& c, TensorList tangents) {
    const Tensor &input = tangents[0], &mat1 = tangents[1], &mat2 = tangents[2];
    const auto beta = c["beta"_arg], alpha = c["alpha"_arg];
    Tensor tangent;
    const auto take = [&](Tensor part) {
      tangent = tangent.defined() ? tangent + part : std::move(part);
    };
    const bool reads = !is_zero(alpha);
    if (mat1.defined() && reads) take(scaled(mat1.mm(c["mat2"_arg]), alpha));
    if (mat2.defined() && reads) take(scaled(c["mat1"_arg].mm(mat2), alpha));
    const auto whole = [&](const Tensor& part) {
      return part.expand({c["mat1"_arg].size(0), c["mat2"_arg].size(1)});
    };
    if (input.defined()) {
      const Tensor part = scaled(input, beta);
      take(tangent.defined() ? part : whole(part));
    }
    return tangent.defined() ? tangent : whole(zeros_of({}, mat1.defined() ? mat1 : mat2));
  }

 private:
  static bool is_zero(const Scalar& factor) { return factor.to<double>() == 0; }
  static Tensor zeros_of(tenon::IntList shape, const Tensor& like) {
    return tenon::zeros(shape, like.dtype());
  }
  // A tensor with the factor 0 is not read.
  static Tensor scaled(const Tensor& tensor, const Scalar& factor) {
    if (is_zero(factor)) return zeros_of(tensor.shape(), tensor);
    return factor.to<double>() == 1 ? tensor : tensor * factor;
  }
};

}  // namespace products
