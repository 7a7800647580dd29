// Shapes and parts of tensors.
#include <climits>
#include <cmath>

#include "common.hpp"

namespace {

using namespace onnx;

struct Shape {
  static constexpr auto schema = "onnx.shape(Tensor data, *, int start=0, int? end=None) -> Tensor";
  static constexpr auto doc = "The sizes of dimensions start to end, as i64.";
  static constexpr bool zero_gradient = true;
  static constexpr bool any_dtype = true;
  static Tensor forward(const Tensor& data, int64_t start, std::optional<int64_t> end) {
    const int64_t rank = data.dim();
    const auto clamp = [&](int64_t axis) {
      return std::clamp<int64_t>(axis < 0 ? axis + rank : axis, 0, rank);
    };
    const int64_t from = clamp(start), to = clamp(end.value_or(rank));
    const int64_t* sizes = data.shape().begin();
    return to <= from ? tenon::empty_tensor({0}, tenon::i64)
                      : tenon::from_range(sizes + from, sizes + to);
  }
};

struct Size {
  static constexpr auto schema = "onnx.size(Tensor data) -> Tensor";
  static constexpr auto doc = "The number of elements, as i64.";
  static constexpr bool zero_gradient = true;
  static constexpr bool any_dtype = true;
  static Tensor forward(const Tensor& data) {
    return tenon::full(IntList(), data.numel(), tenon::i64);
  }
};

struct Reshape {
  static constexpr auto schema =
      "onnx.reshape(Tensor(a) data, int[] shape, *, bool allowzero=False) -> Tensor(a)";
  static constexpr auto samples = R"([{"data": {"shape": [2, 3, 4]}, "shape": [0, -1]}])";
  static constexpr auto doc =
      "The elements in another shape, where 0 keeps the size of the dimension unless allowzero, "
      "and -1 is what remains.";
  static constexpr bool composite = true;
  static constexpr bool may_copy = true;
  static Tensor forward(const Tensor& data, IntList shape, bool allowzero) {
    std::vector<int64_t> sizes = vector_of(shape);
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (sizes[i] != 0 || allowzero) continue;
      if (static_cast<int64_t>(i) >= data.dim())
        throw tenon::ValueError("onnx.reshape(): dimension " + std::to_string(i) +
                                " of the shape is 0, and the tensor has " +
                                std::to_string(data.dim()) + " dimensions");
      sizes[i] = data.shape()[static_cast<int64_t>(i)];
    }
    return data.reshape(list_of(sizes));
  }
};

struct Flatten {
  static constexpr auto schema = "onnx.flatten(Tensor(a) input, *, int axis=1) -> Tensor(a)";
  static constexpr auto doc = "Two dimensions: all before axis, and all from it on.";
  static constexpr bool composite = true;
  static constexpr bool may_copy = true;
  static Tensor forward(const Tensor& input, int64_t axis) {
    const int64_t from = axis == input.dim() ? axis : axis_of(axis, input.dim());
    int64_t rows = 1, columns = 1;
    for (int64_t i = 0; i < input.dim(); ++i) (i < from ? rows : columns) *= input.shape()[i];
    return input.reshape({rows, columns});
  }
};

struct Transpose {
  static constexpr auto schema = "onnx.transpose(Tensor(a) data, *, int[]? perm=None) -> Tensor(a)";
  static constexpr auto doc = "The dimensions in the order of perm; without it in reverse.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& data, std::optional<IntList> perm) {
    std::vector<int64_t> order = perm ? vector_of(*perm) : all_axes(data.dim());
    if (!perm) std::reverse(order.begin(), order.end());
    return data.permute(list_of(order));
  }
};

struct Squeeze {
  static constexpr auto schema = "onnx.squeeze(Tensor(a) data, int[]? axes=None) -> Tensor(a)";
  static constexpr auto samples =
      R"([{"data": {"shape": [1, 3, 1]}, "axes": [0, -1]}, {"data": {"shape": [1, 2]}}])";
  static constexpr auto doc = "Without the dimensions of size 1 that axes names, or without all.";
  static constexpr bool composite = true;
  static constexpr bool may_copy = true;
  static Tensor forward(const Tensor& data, std::optional<IntList> axes) {
    const int64_t rank = data.dim();
    std::vector<bool> removed(static_cast<size_t>(rank), false);
    for (int64_t i = 0; !axes && i < rank; ++i)
      removed[static_cast<size_t>(i)] = data.shape()[i] == 1;
    for (const int64_t axis : axes ? axes_of(*axes, rank) : std::vector<int64_t>()) {
      if (data.shape()[axis] != 1)
        throw tenon::ValueError("onnx.squeeze(): dimension " + std::to_string(axis) + " has size " +
                                std::to_string(data.shape()[axis]) + ", not 1");
      removed[static_cast<size_t>(axis)] = true;
    }
    std::vector<int64_t> sizes;
    for (int64_t i = 0; i < rank; ++i) {
      if (!removed[static_cast<size_t>(i)]) sizes.push_back(data.shape()[i]);
    }
    return data.reshape(list_of(sizes));
  }
};

struct Unsqueeze {
  static constexpr auto schema = "onnx.unsqueeze(Tensor(a) data, int[] axes) -> Tensor(a)";
  static constexpr auto samples = R"([{"data": {"shape": [2, 3]}, "axes": [0, -1]}])";
  static constexpr auto doc = "With dimensions of size 1, which are at `axes` of the result.";
  static constexpr bool composite = true;
  static constexpr bool may_copy = true;
  static Tensor forward(const Tensor& data, IntList axes) {
    const int64_t rank = data.dim() + axes.size();
    std::vector<bool> added(static_cast<size_t>(rank), false);
    for (const int64_t axis : axes_of(axes, rank)) {
      if (added[static_cast<size_t>(axis)])
        throw tenon::ValueError("onnx.unsqueeze(): the axis " + std::to_string(axis) +
                                " is there twice");
      added[static_cast<size_t>(axis)] = true;
    }
    std::vector<int64_t> sizes;
    int64_t next = 0;
    sizes.reserve(added.size());
    for (const bool one : added) sizes.push_back(one ? 1 : data.shape()[next++]);
    return data.reshape(list_of(sizes));
  }
};

struct Expand {
  static constexpr auto schema = "onnx.expand(Tensor(a) input, int[] shape) -> Tensor(a)";
  static constexpr auto samples = R"([{"input": {"shape": [3, 1]}, "shape": [2, 1, 4]}])";
  static constexpr auto doc = "Broadcast together with a tensor of the shape.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input, IntList shape) {
    const int64_t rank = std::max(input.dim(), shape.size());
    std::vector<int64_t> sizes(static_cast<size_t>(rank));
    for (int64_t i = 0; i < rank; ++i) {
      const int64_t own = i - (rank - input.dim()), other = i - (rank - shape.size());
      const int64_t a = own < 0 ? 1 : input.shape()[own], b = other < 0 ? 1 : shape[other];
      if (a != b && a != 1 && b != 1)
        throw tenon::ValueError("onnx.expand(): the sizes " + std::to_string(a) + " and " +
                                std::to_string(b) + " of dimension " + std::to_string(i) +
                                " do not broadcast");
      sizes[static_cast<size_t>(i)] = a == 1 ? b : a;
    }
    return input.expand(list_of(sizes));
  }
};

struct Split {
  static constexpr auto schema =
      "onnx.split(Tensor(a) input, int[]? split=None, *, int axis=0, int parts) -> Tensor(a)[]";
  static constexpr auto samples =
      R"([{"input": {"shape": [6]}, "parts": 3}, {"input": {"shape": [5]}, "split": [2, 3], "parts": 2}])";
  static constexpr auto doc =
      "Parts of the sizes along axis, or as many of one size, the last one smaller.";
  static constexpr bool composite = true;
  static std::vector<Tensor> forward(const Tensor& input, std::optional<IntList> split,
                                     int64_t axis, int64_t parts) {
    const int64_t dim = axis_of(axis, input.dim()), size = input.shape()[dim];
    std::vector<int64_t> sizes;
    if (split) sizes = vector_of(*split);
    const int64_t each = (size + parts - 1) / std::max<int64_t>(parts, 1);
    for (int64_t i = 0; !split && i < parts; ++i)
      sizes.push_back(std::clamp<int64_t>(size - i * each, 0, each));
    return tenon::split(input, list_of(sizes), dim);
  }
};

// The part of a tensor that starts, ends and steps say. What is beyond the tensor is cut off.
struct Slice {
  static constexpr auto schema =
      "onnx.slice(Tensor(a) data, int[] starts, int[] ends, int[]? axes=None, int[]? steps=None) "
      "-> Tensor(a)";
  static constexpr auto samples =
      R"([{"data": {"shape": [4, 5]}, "starts": [1], "ends": [1000], "axes": [1], "steps": [2]},
          {"data": {"shape": [4, 5]}, "starts": [-1], "ends": [-6], "axes": [-1], "steps": [-2]}])";
  static constexpr auto doc =
      "Elements from starts to ends of the axes, every so many; bounds beyond the tensor are cut "
      "off.";
  static constexpr bool composite = true;
  static constexpr bool may_copy = true;
  static Tensor forward(const Tensor& data, IntList starts, IntList ends,
                        std::optional<IntList> axes, std::optional<IntList> steps) {
    if (ends.size() != starts.size() || (axes && axes->size() != starts.size()) ||
        (steps && steps->size() != starts.size()))
      throw tenon::ValueError("onnx.slice(): starts, ends, axes and steps have different lengths");
    Tensor result = data;
    for (int64_t i = 0; i < starts.size(); ++i) {
      const int64_t axis = axis_of(axes ? (*axes)[i] : i, data.dim());
      const int64_t step = steps ? (*steps)[i] : 1, size = data.shape()[axis];
      if (step == 0) throw tenon::ValueError("onnx.slice(): a step is 0");
      result = part(result, axis, size, starts[i], ends[i], step);
    }
    return starts.empty() ? data.clone() : result;
  }

 private:
  static Tensor part(const Tensor& data, int64_t axis, int64_t size, int64_t start, int64_t end,
                     int64_t step) {
    const auto wrap = [&](int64_t bound, int64_t least, int64_t most) {
      if (bound < 0) bound = bound < -size ? least : bound + size;
      return std::clamp(bound, least, most);
    };
    if (step > 0) {
      const int64_t from = wrap(start, 0, size), to = std::max(wrap(end, 0, size), from);
      return tenon::slice(data, axis, from, to, std::min(step, std::max<int64_t>(size, 1)));
    }
    // Backwards: the same elements of the flipped tensor.
    const int64_t from = wrap(start, std::min<int64_t>(0, size - 1), size - 1),
                  to = std::min(wrap(end, -1, size - 1), from);
    const int64_t stride = step == INT64_MIN ? INT64_MAX : -step;
    return tenon::slice(tenon::flip(data, {axis}), axis, size - 1 - from, size - 1 - to,
                        std::min(stride, std::max<int64_t>(size, 1)));
  }
};

struct Tile {
  static constexpr auto schema = "onnx.tile(Tensor input, int[] repeats) -> Tensor";
  static constexpr auto samples = R"([{"input": {"shape": [2, 1]}, "repeats": [2, 3]}])";
  static constexpr auto doc = "The tensor repeated along each dimension.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input, IntList repeats) {
    if (repeats.size() != input.dim())
      throw tenon::ValueError("onnx.tile(): there are " + std::to_string(repeats.size()) +
                              " numbers of repeats for " + std::to_string(input.dim()) +
                              " dimensions");
    return tenon::tile(input, repeats);
  }
};

struct Pad {
  static constexpr auto schema =
      "onnx.pad(Tensor data, int[] pads, Scalar? value=None, int[]? axes=None, *, str "
      "mode='constant') -> Tensor";
  static constexpr auto samples =
      R"([{"data": {"shape": [2, 3]}, "pads": [0, 1, 1, -1]}, {"data": {"shape": [4]}, "pads": [2, 1], "mode": "reflect"}])";
  static constexpr auto doc =
      "Elements in front of and behind the axes: pads has those in front of each, then those "
      "behind; negative ones remove elements.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& data, IntList pads, const std::optional<Scalar>& value,
                        std::optional<IntList> axes, std::string_view mode) {
    const int64_t rank = data.dim();
    const std::vector<int64_t> list = axes ? axes_of(*axes, rank) : all_axes(rank);
    const auto count = static_cast<int64_t>(list.size());
    if (pads.size() != 2 * count)
      throw tenon::ValueError("onnx.pad(): there are " + std::to_string(pads.size()) +
                              " pads for " + std::to_string(count) + " axes");
    // The op's pads are of the last dimension first.
    std::vector<int64_t> order(static_cast<size_t>(2 * rank), 0);
    for (int64_t i = 0; i < count; ++i) {
      const auto at = static_cast<size_t>(2 * (rank - 1 - list[static_cast<size_t>(i)]));
      order[at] = pads[i];
      order[at + 1] = pads[i + count];
    }
    if (rank == 0) return data.clone();
    const std::string name(mode == "edge" ? "replicate" : mode == "wrap" ? "circular" : mode);
    if (name == "constant")
      return tenon::pad(data, list_of(order), name, value ? Argument(*value) : Argument(0));
    return tenon::pad(data, list_of(order), name);
  }
};

struct CenterCropPad {
  static constexpr auto schema =
      "onnx.center_crop_pad(Tensor input_data, int[] shape, *, int[]? axes=None) -> Tensor";
  static constexpr auto samples = R"([{"input_data": {"shape": [5, 2]}, "shape": [2, 5]}])";
  static constexpr auto doc =
      "The middle of the tensor, or zeros around it, so that the axes have the sizes of shape.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input, IntList shape, std::optional<IntList> axes) {
    const int64_t rank = input.dim();
    const std::vector<int64_t> list = axes ? axes_of(*axes, rank) : all_axes(rank);
    if (shape.size() != static_cast<int64_t>(list.size()))
      throw tenon::ValueError("onnx.center_crop_pad(): there are " + std::to_string(shape.size()) +
                              " sizes for " + std::to_string(list.size()) + " axes");
    std::vector<int64_t> pads(static_cast<size_t>(2 * rank), 0);
    for (size_t i = 0; i < list.size(); ++i) {
      const int64_t more = shape[static_cast<int64_t>(i)] - input.shape()[list[i]];
      const auto at = static_cast<size_t>(2 * (rank - 1 - list[i]));
      pads[at] = more / 2;
      pads[at + 1] = more - more / 2;
    }
    return tenon::constant_pad_nd(input, pads);
  }
};

struct Range {
  static constexpr auto schema = "onnx.range(Tensor start, Tensor limit, Tensor delta) -> Tensor";
  static constexpr auto samples =
      R"([{"start": {"values": [1], "dtype": "i64"}, "limit": {"values": [7], "dtype": "i64"},
           "delta": {"values": [2], "dtype": "i64"}}])";
  static constexpr auto doc = "Numbers from start up to limit, delta apart, in the dtype of start.";
  static constexpr bool data_dependent_shape = true;
  static constexpr bool zero_gradient = true;
  static Tensor forward(const Tensor& start, const Tensor& limit, const Tensor& delta) {
    if (!tenon::is_floating(start.dtype()))
      return tenon::arange(start.item<int64_t>(), limit.item<int64_t>(), delta.item<int64_t>(),
                           start.dtype());
    const auto from = start.item<double>(), step = delta.item<double>();
    const double count = std::ceil((limit.item<double>() - from) / step);
    const auto size = static_cast<int64_t>(std::max(count, 0.));
    return (tenon::arange(size, tenon::none, 1, tenon::f64) * step + from).to(start.dtype());
  }
};

struct Filled {
  static constexpr auto schema =
      "onnx.constant_of_shape(int[] shape, *, Tensor? value=None) -> Tensor";
  static constexpr auto samples = R"([{"shape": [2, 3]}])";
  static constexpr auto doc =
      "A tensor of the shape whose elements are the one of value, or 0 in f32.";
  static constexpr bool zero_gradient = true;
  static Tensor forward(IntList shape, const Tensor& value) {
    if (!value.defined()) return tenon::zeros(shape);
    return value.reshape(IntList()).expand(shape).clone();
  }
};

struct Eye {
  static constexpr auto schema =
      "onnx.eye_like(Tensor input, *, dtype? dtype=None, int k=0) -> Tensor";
  static constexpr auto samples = R"([{"input": {"shape": [3, 4]}, "k": 1}])";
  static constexpr auto doc = "1 on the k-th diagonal of a matrix of the input's shape, else 0.";
  static constexpr bool zero_gradient = true;
  static Tensor forward(const Tensor& input, DType dtype, int64_t k) {
    const Tensor ones = tenon::ones(input.shape(), dtype == DType::none ? input.dtype() : dtype);
    return tenon::triu(tenon::tril(ones, k), k);
  }
};

struct Trilu {
  static constexpr auto schema =
      "onnx.trilu(Tensor input, int? k=None, *, bool upper=True) -> Tensor";
  static constexpr auto doc = "The upper or lower triangle, up to the k-th diagonal.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input, std::optional<int64_t> k, bool upper) {
    return upper ? tenon::triu(input, k.value_or(0)) : tenon::tril(input, k.value_or(0));
  }
};

}  // namespace
TENON_OP(Shape)
TENON_OP(Size)
TENON_OP(Reshape)
TENON_OP(Flatten)
TENON_OP(Transpose)
TENON_OP(Squeeze)
TENON_OP(Unsqueeze)
TENON_OP(Expand)
TENON_OP(Split)
TENON_OP(Slice)
TENON_OP(Tile)
TENON_OP(Pad)
TENON_OP(CenterCropPad)
TENON_OP(Range)
TENON_OP(Filled)
TENON_OP(Eye)
TENON_OP(Trilu)
