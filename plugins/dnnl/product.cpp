// mm, bmm and addmm, by oneDNN's gemm.
#include "shared_ops/product.hpp"

#include <oneapi/dnnl/dnnl.h>

#include "thresholds.hpp"

namespace {

using namespace products;

// Null where oneDNN takes a product of two tensors of `rank` dimensions, else why not.
const char* declined(const Tensor& a, const Tensor& b, int64_t rank) {
  if (a.dtype() != tenon::f32 || b.dtype() != tenon::f32) return "a dtype other than f32";
  if (a.dim() != rank || b.dim() != rank || a.shape()[rank - 1] != b.shape()[rank - 2] ||
      (rank == 3 && a.shape()[0] != b.shape()[0])) {
    return "arguments that do not fit";  // the next provider says which
  }
  return onednn::declined_product(matrices(a), matrices(b), rank == 3 ? a.shape()[0] : 1);
}

struct Gemm {
  static void multiply(const Tensor& a, const Tensor& b, const Tensor& out, int64_t batch,
                       double alpha, double beta) {
    tenon::kernel::multiply_in_pieces<float>(
        matrices(a), matrices(b), matrices(out), batch,
        [&](bool ta, bool tb, int64_t m, int64_t n, int64_t k, const float* from_a, int64_t lda,
            const float* from_b, int64_t ldb, float* to, int64_t ldc) {
          const dnnl_status_t status =
              dnnl_sgemm(ta ? 'T' : 'N', tb ? 'T' : 'N', m, n, k, static_cast<float>(alpha), from_a,
                         lda, from_b, ldb, static_cast<float>(beta), to, ldc);
          if (status != dnnl_success)
            throw tenon::RuntimeError("oneDNN's gemm failed with status " + std::to_string(status));
        });
  }
};

// The large samples are taken in f32; `tenon check` compares them with f64 ones, of the next provider.
struct Mm : MmRules<Mm, Gemm> {
  static constexpr auto samples =
      R"([{"input": {"shape": [3, 4]}, "mat2": {"shape": [4, 2]}},
          {"input": {"shape": [96, 128]}, "mat2": {"shape": [128, 96]}, "check": {"fast_mode": true}}])";

  static const char* declines(const Tensor& input, const Tensor& mat2, const Tensor& out) {
    if (const char* reason = declined(input, mat2, 2)) return reason;
    if (!out.defined()) return nullptr;
    const bool fits = out.dtype() == tenon::f32 && out.dim() == 2 &&
                      out.shape()[0] == input.shape()[0] && out.shape()[1] == mat2.shape()[1];
    return fits && is_writable(out, input, mat2) ? nullptr : "an 'out' that gemm cannot write";
  }
};

struct Bmm : BmmRules<Bmm, Gemm> {
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 3, 4]}, "mat2": {"shape": [2, 4, 2]}},
          {"input": {"shape": [2, 96, 128]}, "mat2": {"shape": [2, 128, 96]}, "check": {"fast_mode": true}}])";

  static const char* declines(const Tensor& input, const Tensor& mat2) {
    return declined(input, mat2, 3);
  }
};

struct Addmm : AddmmRules<Addmm, Gemm> {
  static constexpr auto samples =
      R"([{"input": {"shape": [2]}, "mat1": {"shape": [3, 4]}, "mat2": {"shape": [4, 2]}, "beta": 0.5, "alpha": -2},
          {"input": {"shape": [96]}, "mat1": {"shape": [96, 128]}, "mat2": {"shape": [128, 96]}, "check": {"fast_mode": true}}])";

  static const char* declines(const Tensor& input, const Tensor& mat1, const Tensor& mat2,
                              const Scalar&, const Scalar&) {
    if (const char* reason = declined(mat1, mat2, 2)) return reason;
    if (input.dtype() != tenon::f32 || !spreads(input, mat1.shape()[0], mat2.shape()[1]))
      return "arguments that do not fit";
    return nullptr;
  }
};

}  // namespace
TENON_OPS(Mm, Bmm, Addmm)
