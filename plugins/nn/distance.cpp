// cosine_similarity, normalize, pairwise_distance, cdist: what is made of lengths of vectors.
#include "distance.hpp"

#include <cmath>
#include <limits>

namespace nn {

namespace {

// The largest absolute value of each vector, by which it is divided before elements are raised to a
// power. A constant for gradients: what is calculated does not depend on it.
Tensor scale_of(const Tensor& size, int64_t dim) {
  const Tensor largest = size.detach().amax({dim}, true);
  return tenon::where((largest > 0).logical_and(largest.isfinite()), largest, 1);
}
bool is_empty_along(const Tensor& input, int64_t dim) {
  return input.dim() != 0 && input.shape()[input.wrap_dimension(dim)] == 0;
}

}  // namespace

void check_norm_order(const char* op, double p) {
  if (p >= 0) return;
  throw tenon::ValueError(std::string(op) + "(): p must be 0 or more, got " +
                          tenon::Scalar(p).text());
}

Tensor norm_along(const Tensor& input, double p, int64_t dim) {
  if (is_empty_along(input, dim)) return input.sum(dim, true);
  const Tensor size = input.abs();
  if (p == 0) {
    // A count, with a gradient of zeros.
    const Tensor one = size.ne(0).to(input.dtype());
    return (one + size.masked_fill(size.isnan().logical_or(size >= 0), 0)).sum(dim, true);
  }
  if (p == 1) return size.sum(dim, true);
  if (std::isinf(p)) return size.amax({dim}, true);
  const Tensor scale = scale_of(size, dim);
  const Tensor part = size / scale;
  // The power of 0 is 0 whatever p is, and so is its gradient.
  Tensor sum;
  if (p == 2) {
    sum = part.square().sum(dim, true);
  } else {
    const Tensor none = part.eq(0);
    sum = tenon::where(none, 0, tenon::where(none, 1, part).pow(p)).sum(dim, true);
  }
  const Tensor zero = sum.eq(0);
  const Tensor some = tenon::where(zero, 1, sum);
  return scale * tenon::where(zero, 0, p == 2 ? some.sqrt() : some.pow(1 / p));
}

Tensor distance_of(const Tensor& input1, const Tensor& input2, double p, double eps, bool keepdim) {
  const Tensor difference = eps == 0 ? input1 - input2 : input1 - input2 + eps;
  const Tensor norm = norm_along(difference, p, -1);
  return keepdim || norm.dim() == 0 ? norm : norm.squeeze(-1);
}

Tensor cosine_of(const char* op, const Tensor& input1, const Tensor& input2, int64_t dim,
                 double eps) {
  const Shape shape = broadcast_shape(op, "x1", input1, "x2", input2);
  const int64_t axis = kernel::wrap_dimension(op, dim, shape.rank);
  const auto unit = [&](const Tensor& input) {
    const Tensor whole = input.expand(IntList(shape));
    return whole / norm_along(whole, 2, axis).clamp(eps);
  };
  return (unit(input1) * unit(input2)).sum(axis);
}

}  // namespace nn

namespace {

using namespace nn;

void check_eps(const char* op, double eps) {
  if (eps >= 0) return;
  throw tenon::ValueError(std::string(op) + "(): eps must be 0 or more, got " +
                          tenon::Scalar(eps).text());
}

struct CosineSimilarity {
  static constexpr auto schema =
      "nn.functional.cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-8) -> Tensor";
  static constexpr auto samples =
      R"([{"x1": {"shape": [2, 3]}, "x2": {"shape": [2, 3]}},
          {"x1": {"shape": [3, 2]}, "x2": {"shape": [3, 1]}, "dim": 0}])";
  static constexpr auto doc =
      "The cosine of the angle between the vectors of x1 and x2, broadcast together, along dim: "
      "their product divided by their lengths, each of which counts as eps at least.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& x1, const Tensor& x2, int64_t dim, double eps) {
    check_floating("cosine_similarity", "x1", x1);
    check_floating("cosine_similarity", "x2", x2);
    check_eps("cosine_similarity", eps);
    return cosine_of("cosine_similarity", x1, x2, dim, eps);
  }
};

struct Normalize {
  static constexpr auto schema =
      "nn.functional.normalize(Tensor input, float p=2, int dim=1, float eps=1e-12) -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 3]}}, {"input": {"shape": [2, 3]}, "p": 3, "dim": 0},
          {"input": {"shape": [4]}, "p": 1, "dim": -1}])";
  static constexpr auto doc =
      "input divided by the p-norm of its vectors along dim, which counts as eps at least.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input, double p, int64_t dim, double eps) {
    check_floating("normalize", "input", input);
    check_norm_order("normalize", p);
    check_eps("normalize", eps);
    const int64_t axis = kernel::wrap_dimension("normalize", dim, input.dim());
    return input / norm_along(input, p, axis).clamp(eps);
  }
};

struct PairwiseDistance {
  static constexpr auto schema =
      "nn.functional.pairwise_distance(Tensor x1, Tensor x2, float p=2, float eps=1e-6, bool "
      "keepdim=False) -> Tensor";
  static constexpr auto samples =
      R"([{"x1": {"shape": [2, 3]}, "x2": {"shape": [2, 3]}},
          {"x1": {"shape": [2, 3]}, "x2": {"shape": [3]}, "p": 1, "keepdim": true}])";
  static constexpr auto doc =
      "The p-norms of x1 - x2 + eps, broadcast together, along the last dimension. Where one is 0 "
      "its "
      "gradient is 0.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& x1, const Tensor& x2, double p, double eps, bool keepdim) {
    constexpr auto op = "pairwise_distance";
    check_floating(op, "x1", x1);
    check_floating(op, "x2", x2);
    check_norm_order(op, p);
    broadcast_shape(op, "x1", x1, "x2", x2);
    return distance_of(x1, x2, p, eps, keepdim);
  }
};

struct Cdist {
  static constexpr auto schema = "cdist(Tensor x1, Tensor x2, float p=2) -> Tensor";
  static constexpr auto samples =
      R"([{"x1": {"shape": [2, 3]}, "x2": {"shape": [4, 3]}},
          {"x1": {"shape": [2, 2, 2]}, "x2": {"shape": [3, 2]}, "p": 1}])";
  static constexpr auto doc =
      "The p-norm distance of each row of x1, [..., P, M], from each row of x2, [..., R, M]: "
      "[..., P, R], with the dimensions in front broadcast. P * R * M elements are in memory "
      "meanwhile.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& x1, const Tensor& x2, double p) {
    check_floating("cdist", "x1", x1);
    check_floating("cdist", "x2", x2);
    check_norm_order("cdist", p);
    if (x1.dim() < 2 || x2.dim() < 2 || x1.size(-1) != x2.size(-1)) {
      throw tenon::ValueError(
          "cdist(): 'x1' and 'x2' must be matrices, or batches of them, with rows of one length, "
          "got shapes " +
          shape_text(x1) + " and " + shape_text(x2));
    }
    return distance_of(x1.unsqueeze(-2), x2.unsqueeze(-3), p, 0, false);
  }
};

}  // namespace
TENON_OPS(CosineSimilarity, Normalize, PairwiseDistance, Cdist)
