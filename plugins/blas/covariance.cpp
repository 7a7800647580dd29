// cov and corrcoef: how variables, the rows of a matrix, vary together.
#include "linalg.hpp"

namespace {

using blas::adjoint, blas::product, blas::real_part;
using tenon::Tensor;

// The observations of variables as a matrix [variables, observations], floating or complex.
Tensor observations(const char* op, const Tensor& input) {
  if (input.dim() > 2) {
    throw tenon::ValueError(std::string(op) +
                            "(): 'input' must have at most 2 dimensions, got shape " +
                            blas::shape_text(input));
  }
  const bool computed = tenon::is_floating(input.dtype()) || tenon::is_complex(input.dtype());
  // The sums of a row have one order, whatever its strides: a constant has the same rounding.
  const Tensor x = (computed ? input : input.to(tenon::f32)).contiguous();
  return x.dim() == 2 ? x : x.reshape({1, -1});
}

Tensor weights_of(const char* name, const Tensor& weights, const Tensor& x) {
  const int64_t count = x.size(1);
  tenon::kernel::check_shape("cov", name, weights, tenon::IntList(&count, 1));
  if (weights.numel() != 0 && weights.detach().lt(0).any().to(tenon::u8).item() != 0)
    throw tenon::ValueError("cov(): '" + std::string(name) + "' has a negative weight");
  return weights.to(tenon::real_dtype(x.dtype()));
}

struct Cov {
  static constexpr auto schema =
      "cov(Tensor input, *, int correction=1, Tensor? fweights=None, Tensor? aweights=None) -> "
      "Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 4]}}, {"input": {"shape": [5]}, "correction": 0},
          {"input": {"shape": [2, 3]}, "fweights": {"values": [1, 2, 3], "dtype": "i64"},
           "aweights": {"shape": [3], "low": 0.5, "high": 1}},
          {"input": {"shape": [2, 3], "dtype": "c128"}}])";
  static constexpr auto doc =
      "The covariances of variables, the rows of input [variables, observations], or the variance "
      "of a vector: sums of products of differences from the mean, divided by the number of "
      "observations less correction. fweights are how often each counts, aweights how much "
      "(NumPy's cov).";
  static constexpr bool composite = true;

  static Tensor forward(const Tensor& input, int64_t correction, const Tensor& fweights,
                        const Tensor& aweights) {
    const Tensor x = observations("cov", input);
    Tensor weights, counts, divisor;
    if (fweights.defined()) {
      tenon::kernel::check_dtype("cov", "fweights", fweights.dtype(), tenon::integer_dtypes);
      counts = weights = weights_of("fweights", fweights, x);
    }
    if (aweights.defined()) {
      const Tensor importance = weights_of("aweights", aweights, x);
      weights = counts.defined() ? counts * importance : importance;
      divisor = weights.sum() - (weights * importance).sum() / weights.sum() * correction;
    } else if (counts.defined()) {
      divisor = counts.sum() - correction;
    } else {
      const auto count = static_cast<double>(x.size(1) - correction);
      divisor = tenon::full(tenon::IntList(), count, tenon::real_dtype(x.dtype()));
    }
    Tensor centered, weighted;
    if (weights.defined()) {
      centered = x - (x * weights).sum(1, true) / weights.sum();
      weighted = centered * weights;
    } else {
      centered = weighted = x - x.mean(1, true);
    }
    // Too few observations say nothing: a division by 0, as in NumPy.
    const Tensor result = product(weighted, adjoint(centered)) / divisor.clamp(0);
    return input.dim() == 2 ? result : result.reshape(tenon::IntList());
  }
};

struct Corrcoef {
  static constexpr auto schema = "corrcoef(Tensor input) -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [3, 5]}}, {"input": {"shape": [2, 4], "dtype": "c128"}}])";
  static constexpr auto doc =
      "The correlation coefficients of variables, the rows of input: cov() divided by the standard "
      "deviations of both, at most 1; NaN for a variable that does not vary.";
  static constexpr bool composite = true;

  static Tensor forward(const Tensor& input) {
    static const tenon::Op cov("cov");
    Tensor x = observations("corrcoef", input);
    if (x.numel() != 0) {
      // Rows are scaled, so that their squares neither overflow nor vanish: a constant for gradients, as the
      // result does not depend on it.
      const Tensor largest = x.detach().abs().amax({1}, true);
      x = x / tenon::where(largest.gt(0).logical_and(largest.isfinite()), largest, 1);
    }
    const auto covariances = cov.call<Tensor>(x);
    const Tensor factors = real_part(covariances.diagonal()).rsqrt();
    Tensor result = covariances * factors.unsqueeze(1) * factors;
    if (!tenon::is_complex(result.dtype())) result = result.clamp(-1, 1);
    return input.dim() == 2 ? result : result.reshape(tenon::IntList());
  }
};

}  // namespace
TENON_OPS(Cov, Corrcoef)
