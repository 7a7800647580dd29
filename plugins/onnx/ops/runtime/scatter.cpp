// Scattered extrema with NaN as ONNX Runtime computes them: an update stays out only where it compares smaller.
#include "ops/common.hpp"

namespace {

using namespace onnx;
using tenon::Op;

// The elements of data, each replaced by updates for it one after the other. `targets`: the places of the updates
// in data, as a flat list.
Tensor with_updates(const Tensor& data, const Tensor& updates, const Tensor& targets,
                    bool largest) {
  std::vector<double> now = data.detach().to_vector<double>();
  const std::vector<double> values = updates.detach().to_vector<double>();
  const std::vector<int64_t> places = targets.to_vector<int64_t>();
  std::vector<int64_t> winners(now.size());
  for (size_t i = 0; i < winners.size(); ++i) winners[i] = static_cast<int64_t>(i);
  for (size_t i = 0; i < values.size(); ++i) {
    const auto place = static_cast<size_t>(places[i]);
    if (largest ? now[place] > values[i] : now[place] < values[i]) continue;
    now[place] = values[i];
    winners[place] = static_cast<int64_t>(now.size() + i);
  }
  const Tensor both = tenon::cat({data.reshape({-1}), updates.reshape({-1})}, 0);
  return tenon::index_select(both, 0, tenon::from_range(winners.begin(), winners.end()))
      .reshape(data.shape());
}

// The place of each element of data.
Tensor places_of(const Tensor& data) {
  return tenon::arange(data.numel(), tenon::none, 1, tenon::i64).reshape(data.shape());
}

bool is_plain(const Tensor& data, std::string_view reduction) {
  return !tenon::is_floating(data.dtype()) || (reduction != "max" && reduction != "min");
}

struct RuntimeScatterElements {
  static constexpr auto schema =
      "onnx._runtime.scatter_elements(Tensor data, Tensor indices, Tensor updates, *, int axis=0, "
      "str reduction='none') -> Tensor";
  static constexpr auto samples =
      R"([{"data": {"shape": [2, 3]}, "indices": {"values": [[1, 0, -1]], "dtype": "i64"}, "updates": {"shape": [1, 3]}, "reduction": "max"}])";
  static constexpr auto doc =
      "onnx.scatter_elements whose max and min replace NaN, and which NaN replaces.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& data, const Tensor& indices, const Tensor& updates,
                        int64_t axis, std::string_view reduction) {
    static const Op plain("onnx.scatter_elements"), gather("onnx.gather_elements");
    if (is_plain(data, reduction))
      return plain.call<Tensor>(data, indices, updates, tenon::arg("axis") = axis,
                                tenon::arg("reduction") = reduction);
    const auto targets = gather.call<Tensor>(places_of(data), indices, tenon::arg("axis") = axis);
    return with_updates(data, updates, targets, reduction == "max");
  }
};

struct RuntimeScatterNd {
  static constexpr auto schema =
      "onnx._runtime.scatter_nd(Tensor data, Tensor indices, Tensor updates, *, str reduction) -> "
      "Tensor";
  static constexpr auto samples =
      R"([{"data": {"shape": [3, 2]}, "indices": {"values": [[2], [0], [2]], "dtype": "i64"}, "updates": {"shape": [3, 2]}, "reduction": "min"}])";
  static constexpr auto doc =
      "scatter_nd with reduction max or min, which replace NaN, and which NaN replaces.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& data, const Tensor& indices, const Tensor& updates,
                        std::string_view reduction) {
    if (reduction != "max" && reduction != "min")
      throw tenon::ValueError("onnx._runtime.scatter_nd(): 'reduction' is '" +
                              std::string(reduction) + "'; there are max and min");
    if (is_plain(data, reduction)) {
      static const Op plain("scatter_nd");
      return plain.call<Tensor>(data, indices, updates, reduction == "max" ? "amax" : "amin");
    }
    static const Op gather("gather_nd");
    const auto targets = gather.call<Tensor>(places_of(data), indices, int64_t{0});
    if (vector_of(targets.shape()) != vector_of(updates.shape()))
      throw tenon::ValueError(
          "onnx._runtime.scatter_nd(): updates have another shape than the "
          "places that the indices name");
    return with_updates(data, updates, targets, reduction == "max");
  }
};

}  // namespace
TENON_OP(RuntimeScatterElements)
TENON_OP(RuntimeScatterNd)
