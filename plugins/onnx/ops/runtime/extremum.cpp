// Extrema with NaN as ONNX Runtime finds them: the first element, and then each that compares greater.
#include <limits>

#include "ops/common.hpp"
#include "ops/runtime/selection.hpp"

namespace {

using namespace onnx;
using tenon::Op;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Smaller than each number where the largest is sought, else larger.
Tensor without_nan(const Tensor& data, bool largest) {
  return tenon::where(tenon::isnan(data), number_like(data, largest ? -kInfinity : kInfinity),
                      data);
}

struct RuntimeArgExtremum {
  static constexpr auto schema =
      "onnx._runtime.arg_extremum(Tensor data, *, int axis=0, bool keepdims=True, bool last=False, "
      "bool largest=True) -> Tensor";
  static constexpr auto samples = R"([{"data": {"shape": [2, 3]}, "axis": 1}])";
  static constexpr auto doc =
      "onnx.arg_extremum where NaN is the extremum only where it is first; in one dimension, "
      "without last, each NaN is.";
  static constexpr bool zero_gradient = true;
  static Tensor forward(const Tensor& data, int64_t axis, bool keepdims, bool last, bool largest) {
    static const Op op("onnx.arg_extremum");
    const int64_t dim = axis_of(axis, data.dim());
    if (!tenon::is_floating(data.dtype()) || data.numel() == 0 || (data.dim() == 1 && !last))
      return op.call<Tensor>(data, dim, keepdims, last, largest);
    const Tensor clean = without_nan(data, largest);
    const Tensor most = largest ? tenon::amax(clean, {dim}, true) : tenon::amin(clean, {dim}, true);
    const Tensor hits = tenon::eq(data, most).to(tenon::i64);
    const auto found = op.call<Tensor>(hits, dim, true, last, true);
    const Tensor first = tenon::isnan(tenon::narrow(data, dim, 0, 1));
    const Tensor place = tenon::where(first, number_like(found, 0), found);
    return keepdims ? place : place.squeeze(dim);
  }
};

// The axes as the last dimension, in their order.
Tensor with_axes_last(const Tensor& data, const std::vector<int64_t>& axes) {
  std::vector<int64_t> order, shape;
  for (int64_t i = 0; i < data.dim(); ++i) {
    if (std::find(axes.begin(), axes.end(), i) != axes.end()) continue;
    order.push_back(i);
    shape.push_back(data.shape()[i]);
  }
  shape.push_back(-1);
  for (int64_t i = 0; i < data.dim(); ++i) {
    if (std::find(axes.begin(), axes.end(), i) != axes.end()) order.push_back(i);
  }
  return tenon::permute(data, list_of(order)).reshape(list_of(shape));
}

struct RuntimeReduce {
  static constexpr auto schema =
      "onnx._runtime.reduce(Tensor data, int[]? axes=None, *, str kind, bool keepdims=True, bool "
      "noop_with_empty_axes=False) -> Tensor";
  static constexpr auto samples =
      R"([{"data": {"shape": [2, 3]}, "kind": "max", "axes": [1]}, {"data": {"shape": [2, 3]}, "kind": "l2"}])";
  static constexpr auto doc =
      "onnx.reduce where NaN is the max or min only where it is first, the mean of nothing is 0, "
      "and squares of l2 are in the dtype.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& data, std::optional<IntList> axes, std::string_view kind,
                        bool keepdims, bool noop_with_empty_axes) {
    static const Op op("onnx.reduce");
    const bool noop = noop_with_empty_axes && (!axes || axes->empty());
    if (kind == "mean" && data.numel() == 0) {
      return op.call<Tensor>(data, Argument(axes), tenon::arg("kind") = "sum",
                             tenon::arg("keepdims") = keepdims,
                             tenon::arg("noop_with_empty_axes") = noop_with_empty_axes);
    }
    const auto plain = [&](const Tensor& input, std::string_view name) {
      return op.call<Tensor>(input, Argument(axes), tenon::arg("kind") = name,
                             tenon::arg("keepdims") = keepdims,
                             tenon::arg("noop_with_empty_axes") = noop_with_empty_axes);
    };
    if (!tenon::is_floating(data.dtype()) || data.numel() == 0 || data.dim() == 0 || noop)
      return plain(data, kind);
    if (kind == "l2") return tenon::sqrt(plain(data, "sum_square"));
    if (kind != "max" && kind != "min") return plain(data, kind);
    std::vector<int64_t> list = axes ? axes_of(*axes, data.dim()) : all_axes(data.dim());
    if (list.empty()) list = all_axes(data.dim());
    const Tensor result = plain(without_nan(data, kind == "max"), kind);
    const Tensor first = tenon::select(with_axes_last(data, list), -1, 0).reshape(result.shape());
    return tenon::where(tenon::isnan(first), first, result);
  }
};

struct RuntimeTopK {
  static constexpr auto schema =
      "onnx._runtime.topk(Tensor X, int K, *, int axis=-1, bool largest=True, bool sorted=True) -> "
      "(Tensor Values, Tensor Indices)";
  static constexpr auto samples = R"([{"X": {"shape": [3, 4]}, "K": 2}])";
  static constexpr auto doc =
      "onnx.topk, in the order of ONNX Runtime's algorithm where NaN is among the elements.";
  static constexpr bool composite = true;
  static std::tuple<Tensor, Tensor> forward(const Tensor& x, int64_t k, int64_t axis, bool largest,
                                            bool sorted) {
    static const Op op("onnx.topk");
    const int64_t dim = x.dim() == 0 ? 0 : axis_of(axis, x.dim());
    if (!tenon::is_floating(x.dtype()) || x.dim() == 0 || k < 0 || k > x.size(dim))
      return op.call<std::tuple<Tensor, Tensor>>(x, k, axis, largest, sorted);
    const Tensor lines = tenon::movedim(x.detach(), {dim}, {-1});
    const std::vector<double> numbers = lines.to_vector<double>();
    const int64_t size = x.size(dim);
    std::vector<int64_t> places;
    for (size_t at = 0; at < numbers.size(); at += static_cast<size_t>(size)) {
      const std::vector<int64_t> chosen = chosen_of(numbers.data() + at, size, k, largest, sorted);
      places.insert(places.end(), chosen.begin(), chosen.end());
    }
    std::vector<int64_t> shape = vector_of(lines.shape());
    shape.back() = k;
    const Tensor indices = tenon::movedim(
        tenon::from_range(places.begin(), places.end()).reshape(list_of(shape)), {-1}, {dim});
    return {tenon::gather(x, dim, indices), indices.contiguous()};
  }

 private:
  static std::vector<int64_t> chosen_of(const double* line, int64_t size, int64_t k, bool largest,
                                        bool sorted) {
    if (largest)
      return Selection(line, size, [](double a, double b) { return a > b; }).first(k, sorted);
    return Selection(line, size, [](double a, double b) { return a < b; }).first(k, sorted);
  }
};

}  // namespace
TENON_OP(RuntimeArgExtremum)
TENON_OP(RuntimeReduce)
TENON_OP(RuntimeTopK)
