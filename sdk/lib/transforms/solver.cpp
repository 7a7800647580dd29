// Solutions of equations with the derivatives of the implicit function theorem.
#include <tenon/blas_ops.hpp>
#include <tenon/ops.hpp>
#include <tenon/transforms/solver.hpp>

TENON_NAMESPACE_BEGIN
namespace transforms::derived {

Tensor corrected_root(const char* who, const Tensor& found, const OfUnknown& residual,
                      const OfUnknown& constant, int64_t order) {
  const std::string name = who;
  if (order < 1)
    throw ValueError(name + ": order is " + std::to_string(order) + ", expected 1 or more");
  if (!found.defined() || !is_floating(found.dtype()))
    throw TypeError(name + ": the solution is " +
                    (found.defined() ? dtype_text(found.dtype()) : "undefined") +
                    ", expected a floating point tensor");
  const Tensor solution = found.detach();
  const int64_t count = solution.numel();
  const Tensor matrix = [&] {
    const NoGrad off;
    return reshape(jacrev(constant)(solution), {count, count}).detach();
  }();
  Tensor x = solution, rest;
  for (int64_t k = 0; k < order; ++k) {
    rest = residual(x);
    if (rest.sizes() != solution.sizes() || rest.dtype() != solution.dtype())
      throw ValueError(name +
                       ": the residual has another shape or dtype than the solution; give one "
                       "equation for each unknown");
    x = x - reshape(linalg::solve(matrix, reshape(rest, {count, 1})), solution.sizes());
  }
  // Zeros, which refuse the derivatives that would be wrong.
  static const Op limit("transforms.order_limit");
  return x + limit.call<Tensor>(rest, order, order, name);
}

Tensor iterate(const OfUnknown& function, Tensor x, const SolverOptions& options) {
  for (int64_t i = 0; i < options.max_iterations; ++i) {
    const Tensor next = function(x);
    if (next.sizes() != x.sizes())
      throw ValueError("fixed_point: the function gives another shape than it gets");
    const double change = x.numel() == 0 ? 0 : amax(abs(next - x)).item();
    x = next;
    if (change <= options.tolerance) return x;
  }
  throw RuntimeError("fixed_point: no end after " + std::to_string(options.max_iterations) +
                     " iterations; the function has to be a contraction near the start, or raise "
                     "tolerance or max_iterations");
}

}  // namespace transforms::derived
TENON_NAMESPACE_END
