// mm, bmm and addmm, by oneDNN's gemm.
#include <oneapi/dnnl/dnnl.h>

#include <tenon/kernel/matrix_product.hpp>
#include <tenon/plugin.hpp>

#include "thresholds.hpp"

namespace {

using tenon::ContextOf, tenon::Scalar, tenon::Tensor, tenon::TensorList;
using tenon::kernel::Matrices, tenon::kernel::matrices;
using namespace tenon::literals;

// Null where oneDNN takes a product of two tensors of `rank` dimensions, else why not.
const char* declined(const Tensor& a, const Tensor& b, int64_t rank) {
  if (a.dtype() != tenon::f32 || b.dtype() != tenon::f32) return "a dtype other than f32";
  if (a.dim() != rank || b.dim() != rank || a.shape()[rank - 1] != b.shape()[rank - 2] ||
      (rank == 3 && a.shape()[0] != b.shape()[0])) {
    return "arguments that do not fit";  // the next provider says which
  }
  return onednn::declined_product(matrices(a), matrices(b), rank == 3 ? a.shape()[0] : 1);
}

// out = alpha * a b + beta * out, each of them with a gemm layout.
void multiply(const Tensor& a, const Tensor& b, const Tensor& out, int64_t batch, float alpha,
              float beta) {
  tenon::kernel::multiply_in_pieces<float>(
      matrices(a), matrices(b), matrices(out), batch,
      [&](bool ta, bool tb, int64_t m, int64_t n, int64_t k, const float* from_a, int64_t lda,
          const float* from_b, int64_t ldb, float* to, int64_t ldc) {
        const dnnl_status_t status = dnnl_sgemm(ta ? 'T' : 'N', tb ? 'T' : 'N', m, n, k, alpha,
                                                from_a, lda, from_b, ldb, beta, to, ldc);
        if (status != dnnl_success)
          throw tenon::RuntimeError("oneDNN's gemm failed with status " + std::to_string(status));
      });
}

// The large samples are taken in f32; `tenon check` compares them with f64 ones, of the next provider.
struct Mm {
  static constexpr auto schema = "mm(Tensor input, Tensor mat2, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc = "The product of two matrices.";
  static constexpr auto saves = "mat2 for input, input for mat2";
  static constexpr auto samples =
      R"([{"input": {"shape": [3, 4]}, "mat2": {"shape": [4, 2]}},
          {"input": {"shape": [48, 40]}, "mat2": {"shape": [40, 48]}, "check": {"fast_mode": true}}])";

  static const char* declines(const Tensor& input, const Tensor& mat2, const Tensor& out) {
    if (const char* reason = declined(input, mat2, 2)) return reason;
    if (!out.defined()) return nullptr;
    const auto& host = tenon::host();
    const bool written = out.dtype() == tenon::f32 && out.dim() == 2 &&
                         out.shape()[0] == input.shape()[0] && out.shape()[1] == mat2.shape()[1] &&
                         matrices(out).has_gemm_layout() &&
                         host.tensor_shares_storage(out.handle(), input.handle()) == 0 &&
                         host.tensor_shares_storage(out.handle(), mat2.handle()) == 0;
    return written ? nullptr : "an 'out' that gemm cannot write";
  }
  static Tensor shape_rule(const Tensor& input, const Tensor& mat2, const Tensor& out) {
    return out.defined() ? out : tenon::empty_tensor({input.size(0), mat2.size(1)});
  }
  static int64_t multiply_adds(const Tensor& input, const Tensor& mat2, const Tensor&) {
    return input.numel() * mat2.size(1);
  }
  static Tensor forward(const Tensor& input, const Tensor& mat2, const Tensor& out) {
    const Tensor result = shape_rule(input, mat2, out);
    multiply(input, mat2, result, 1, 1, 0);
    return result;
  }
  static std::tuple<Tensor, Tensor> backward(ContextOf<Mm>& c, const Tensor& g) {
    Tensor input, mat2;
    if (c.needs_input_grad("input"_arg)) input = g.mm(c["mat2"_arg].t());
    if (c.needs_input_grad("mat2"_arg)) mat2 = c["input"_arg].t().mm(g);
    return {std::move(input), std::move(mat2)};
  }
  static constexpr auto jvp = tenon::multilinear;
};

struct Bmm {
  static constexpr auto schema =
      "bmm(Tensor input, Tensor mat2, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc = "The matrix product of each pair of matrices in two batches.";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 3, 4]}, "mat2": {"shape": [2, 4, 2]}},
          {"input": {"shape": [2, 48, 40]}, "mat2": {"shape": [2, 40, 48]}, "check": {"fast_mode": true}}])";
  static constexpr auto saves = "mat2 for input, input for mat2";

  static const char* declines(const Tensor& input, const Tensor& mat2) {
    return declined(input, mat2, 3);
  }
  static Tensor shape_rule(const Tensor& input, const Tensor& mat2) {
    return tenon::empty_tensor({input.size(0), input.size(1), mat2.size(2)});
  }
  static int64_t multiply_adds(const Tensor& input, const Tensor& mat2) {
    return input.numel() * mat2.size(2);
  }
  static Tensor forward(const Tensor& input, const Tensor& mat2) {
    const Tensor result = shape_rule(input, mat2);
    multiply(input, mat2, result, input.size(0), 1, 0);
    return result;
  }
  static std::tuple<Tensor, Tensor> backward(ContextOf<Bmm>& c, const Tensor& g) {
    Tensor input, mat2;
    if (c.needs_input_grad("input"_arg)) input = g.bmm(c["mat2"_arg].transpose(1, 2));
    if (c.needs_input_grad("mat2"_arg)) mat2 = c["input"_arg].transpose(1, 2).bmm(g);
    return {std::move(input), std::move(mat2)};
  }
  static constexpr auto jvp = tenon::multilinear;
};

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
      "read.";
  static constexpr auto samples =
      R"([{"input": {"shape": [2]}, "mat1": {"shape": [3, 4]}, "mat2": {"shape": [4, 2]}, "beta": 0.5, "alpha": -2},
          {"input": {"shape": [48]}, "mat1": {"shape": [48, 40]}, "mat2": {"shape": [40, 48]}, "check": {"fast_mode": true}}])";
  static constexpr auto saves = "shape(mat1), shape(mat2), mat2 for mat1, mat1 for mat2";

  static const char* declines(const Tensor& input, const Tensor& mat1, const Tensor& mat2,
                              const Scalar&, const Scalar&) {
    if (const char* reason = declined(mat1, mat2, 2)) return reason;
    if (input.dtype() != tenon::f32 || !spreads(input, mat1.shape()[0], mat2.shape()[1]))
      return "arguments that do not fit";
    return nullptr;
  }
  static Tensor shape_rule(const Tensor&, const Tensor& mat1, const Tensor& mat2, const Scalar&,
                           const Scalar&) {
    return tenon::empty_tensor({mat1.size(0), mat2.size(1)});
  }
  static int64_t multiply_adds(const Tensor&, const Tensor& mat1, const Tensor& mat2, const Scalar&,
                               const Scalar&) {
    return mat1.numel() * mat2.size(1);
  }
  static Tensor forward(const Tensor& input, const Tensor& mat1, const Tensor& mat2,
                        const Scalar& beta, const Scalar& alpha) {
    const Tensor result = shape_rule(input, mat1, mat2, beta, alpha);
    const auto factor = beta.to<float>();
    if (factor != 0) tenon::copy_elements(result, input);
    multiply(mat1, mat2, result, 1, alpha.to<float>(), factor);
    return result;
  }
  static std::tuple<Tensor, Tensor, Tensor> backward(ContextOf<Addmm>& c, const Tensor& g) {
    const auto beta = c["beta"_arg], alpha = c["alpha"_arg];
    Tensor input, mat1, mat2;
    if (c.needs_input_grad("input"_arg)) input = scaled(g, beta);
    if (c.needs_input_grad("mat1"_arg)) mat1 = scaled(g.mm(c["mat2"_arg].t()), alpha);
    if (c.needs_input_grad("mat2"_arg)) mat2 = scaled(c["mat1"_arg].t().mm(g), alpha);
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
TENON_OP(Mm)
TENON_OP(Bmm)
TENON_OP(Addmm)
