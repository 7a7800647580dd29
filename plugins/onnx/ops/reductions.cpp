// Reductions.
#include <limits>

#include "common.hpp"

namespace {

using namespace onnx;

// The smallest number of a dtype, or the largest.
Scalar end_of(DType dtype, bool smallest) {
  const auto of = [smallest](auto zero) {
    using Limits = std::numeric_limits<decltype(zero)>;
    return static_cast<int64_t>(smallest ? Limits::min() : Limits::max());
  };
  if (tenon::is_differentiable(dtype)) {
    const double infinity = std::numeric_limits<double>::infinity();
    return smallest ? -infinity : infinity;
  }
  if (dtype == tenon::boolean) return !smallest;
  if (dtype == tenon::u8) return of(uint8_t{});
  if (dtype == tenon::i8) return of(int8_t{});
  if (dtype == tenon::i16) return of(int16_t{});
  if (dtype == tenon::i32) return of(int32_t{});
  return of(int64_t{});
}
bool counts_nothing(const Tensor& data, IntList axes) {
  return std::any_of(axes.begin(), axes.end(), [&](int64_t axis) { return data.size(axis) == 0; });
}
// The standard: the max of nothing is minus infinity, or the smallest number of the dtype, the min the other end.
Tensor extremum_of_nothing(const Tensor& data, IntList axes, bool keepdims, bool largest) {
  std::vector<int64_t> shape;
  for (int64_t i = 0; i < data.dim(); ++i) {
    const bool reduced = std::find(axes.begin(), axes.end(), i) != axes.end();
    if (!reduced || keepdims) shape.push_back(reduced ? 1 : data.size(i));
  }
  const Scalar end = end_of(data.dtype(), largest);
  return tenon::full(list_of(shape), end, data.dtype());
}

// The reduction of a kind along the axes.
Tensor reduced(std::string_view kind, const Tensor& data, IntList axes, bool keepdims) {
  if (kind == "sum") return tenon::sum(data, axes, keepdims, data.dtype());
  if (kind == "mean") {
    if (tenon::is_differentiable(data.dtype())) return tenon::mean(data, axes, keepdims);
    // Truncated towards zero.
    int64_t count = 1;
    for (const int64_t axis : axes) count *= data.size(axis);
    if (count == 0) throw tenon::ValueError("there is no mean of no integers");
    const Tensor sum = tenon::sum(data, axes, keepdims).to(tenon::i64);
    return tenon::floor_divide(sum - tenon::fmod(sum, count), count).to(data.dtype());
  }
  if (kind == "max" || kind == "min") {
    if (counts_nothing(data, axes)) return extremum_of_nothing(data, axes, keepdims, kind == "max");
    return kind == "max" ? tenon::amax(data, axes, keepdims) : tenon::amin(data, axes, keepdims);
  }
  if (kind == "l1") return tenon::sum(tenon::abs(data), axes, keepdims, data.dtype());
  if (kind == "l2") {
    if (tenon::is_differentiable(data.dtype())) return tenon::vector_norm(data, 2, axes, keepdims);
    return tenon::vector_norm(data.to(tenon::f64), 2, axes, keepdims).to(data.dtype());
  }
  if (kind == "log_sum") return tenon::log(tenon::sum(data, axes, keepdims)).to(data.dtype());
  if (kind == "log_sum_exp") return tenon::logsumexp(data, axes, keepdims).to(data.dtype());
  if (kind == "sum_square") return tenon::sum(data * data, axes, keepdims, data.dtype());
  if (kind == "prod") {
    Tensor result = data;
    std::vector<int64_t> order = vector_of(axes);
    std::sort(order.rbegin(), order.rend());
    for (const int64_t axis : order) result = tenon::prod(result, axis, keepdims, data.dtype());
    return result;
  }
  throw tenon::ValueError("onnx.reduce(): 'kind' is '" + std::string(kind) +
                          "'; there are sum, mean, max, min, prod, l1, l2, log_sum, log_sum_exp "
                          "and sum_square");
}

struct Reduce {
  static constexpr auto schema =
      "onnx.reduce(Tensor data, int[]? axes=None, *, str kind, bool keepdims=True, bool "
      "noop_with_empty_axes=False) -> Tensor";
  static constexpr auto samples =
      R"([{"data": {"shape": [2, 3]}, "kind": "mean"}, {"data": {"shape": [2, 3]}, "axes": [-1], "kind": "l2", "keepdims": false}])";
  static constexpr auto doc =
      "sum, mean, max, min, prod, l1, l2, log_sum, log_sum_exp or sum_square over axes; over all "
      "without axes, or over none with noop_with_empty_axes.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& data, std::optional<IntList> axes, std::string_view kind,
                        bool keepdims, bool noop_with_empty_axes) {
    std::vector<int64_t> list;
    if (axes) list = axes_of(*axes, data.dim());
    if (!list.empty() || data.dim() == 0) return over(kind, data, list, keepdims);
    if (!noop_with_empty_axes) return over(kind, data, all_axes(data.dim()), keepdims);
    // Each element alone, as a dimension of size 1.
    return over(kind, data.unsqueeze(-1), {data.dim()}, false);
  }

 private:
  static Tensor over(std::string_view kind, const Tensor& data, const std::vector<int64_t>& axes,
                     bool keepdims) {
    if (data.dim() == 0) return reduced(kind, data.reshape({1}), list_of({0}), false);
    return reduced(kind, data, list_of(axes), keepdims);
  }
};

struct ArgExtremum {
  static constexpr auto schema =
      "onnx.arg_extremum(Tensor data, *, int axis=0, bool keepdims=True, bool last=False, bool "
      "largest=True) -> Tensor";
  static constexpr auto doc =
      "The index of the largest or smallest element along axis, the first or the last of equal "
      "ones.";
  static constexpr bool zero_gradient = true;
  static Tensor forward(const Tensor& data, int64_t axis, bool keepdims, bool last, bool largest) {
    const int64_t dim = axis_of(axis, data.dim());
    const Tensor input = last ? tenon::flip(data, {dim}) : data;
    const Tensor found =
        largest ? tenon::argmax(input, dim, keepdims) : tenon::argmin(input, dim, keepdims);
    return last ? data.shape()[dim] - 1 - found : found;
  }
};

struct TopK {
  static constexpr auto schema =
      "onnx.topk(Tensor X, int K, *, int axis=-1, bool largest=True, bool sorted=True) -> "
      "(Tensor Values, Tensor Indices)";
  static constexpr auto samples = R"([{"X": {"shape": [3, 4]}, "K": 2}])";
  static constexpr auto doc = "The K largest or smallest elements along axis and their indices.";
  static constexpr bool composite = true;
  static std::tuple<Tensor, Tensor> forward(const Tensor& x, int64_t k, int64_t axis, bool largest,
                                            bool sorted) {
    return tenon::topk(x, k, axis, largest, sorted);
  }
};

struct CumSum {
  static constexpr auto schema =
      "onnx.cumsum(Tensor x, int axis, *, bool exclusive=False, bool reverse=False) -> Tensor";
  static constexpr auto samples =
      R"([{"x": {"shape": [2, 3]}, "axis": 1, "exclusive": true, "reverse": true}])";
  static constexpr auto doc = "cumsum in the dtype of x.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& x, int64_t axis, bool exclusive, bool reverse) {
    return tenon::cumsum(x, axis, exclusive, reverse).to(x.dtype());
  }
};

}  // namespace
TENON_OP(Reduce)
TENON_OP(ArgExtremum)
TENON_OP(TopK)
TENON_OP(CumSum)
