// The plugin: xᵀ A x by calls of CBLAS, which knows nothing of tensors or gradients.
#include <cblas.h>

#include <tenon/plugin.hpp>
#include <tenon/ops.hpp>

using tenon::Context, tenon::ContextOf, tenon::Tensor;
using namespace tenon::literals;

namespace {

// A tensor as CBLAS takes it: doubles, row by row.
Tensor rows(const Tensor& tensor) { return tensor.to(tenon::f64).contiguous(); }
int size(const Tensor& tensor) { return static_cast<int>(tensor.size(0)); }

// scale * A x, or scale * Aᵀ x, added to `result`.
void add_product(CBLAS_TRANSPOSE transpose, double scale, const Tensor& a, const Tensor& x,
                 const Tensor& result) {
  const int n = size(x);
  cblas_dgemv(CblasRowMajor, transpose, n, n, scale, a.data<double>(), n, x.data<double>(), 1, 1,
              result.data<double>(), 1);
}

}  // namespace

struct QuadraticForm {
  static constexpr auto schema = "examples.quadratic_form(Tensor x, Tensor a) -> Tensor";
  static constexpr auto doc = "x^T a x, for a vector and a square matrix, in f64.";
  // The engine sees one node. What CBLAS computes inside has no derivative.
  static constexpr bool once_differentiable = true;

  static Tensor forward(Context& ctx, const Tensor& x, const Tensor& a) {
    if (x.dim() != 1 || a.dim() != 2 || a.size(0) != x.size(0) || a.size(1) != x.size(0))
      throw tenon::ValueError("quadratic_form(): takes a vector and a square matrix of its size");
    ctx.save_for_backward({x, a});
    const Tensor vector = rows(x), product = zeros_like(vector);
    add_product(CblasNoTrans, 1, rows(a), vector, product);
    const double value =
        cblas_ddot(size(vector), vector.data<double>(), 1, product.data<double>(), 1);
    return tenon::tensor(value, tenon::f64);
  }

  static std::tuple<Tensor, Tensor> backward(ContextOf<QuadraticForm>& ctx,
                                             const Tensor& gradient) {
    const Tensor x = rows(ctx.saved(0)), a = rows(ctx.saved(1));
    const double scale = gradient.item();
    Tensor x_gradient, a_gradient;
    if (ctx.needs_input_grad("x"_arg)) {
      x_gradient = zeros_like(x);
      add_product(CblasNoTrans, scale, a, x, x_gradient);
      add_product(CblasTrans, scale, a, x, x_gradient);
    }
    if (ctx.needs_input_grad("a"_arg)) {
      a_gradient = zeros_like(a);
      cblas_dger(CblasRowMajor, size(x), size(x), scale, x.data<double>(), 1, x.data<double>(), 1,
                 a_gradient.data<double>(), size(x));
    }
    return {x_gradient, a_gradient};
  }
};
TENON_OP(QuadraticForm)

TENON_PLUGIN(cblas_function, "1.0.0")
