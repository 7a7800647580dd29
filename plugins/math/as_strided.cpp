// as_strided and as_strided_scatter.
#include <algorithm>

#include "dimensions.hpp"

using namespace tenon;
using namespace math;

namespace {

// The memory that a strided layout reaches, in elements from its first one; nothing for empty
// shapes.
struct Reach {
  int64_t lowest = 0, highest = -1;
  int64_t size() const { return highest - lowest + 1; }
};
Reach reach(IntList shape, IntList strides, int64_t offset) {
  Reach result{offset, offset};
  for (int64_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0) return {};
    (strides[i] < 0 ? result.lowest : result.highest) += (shape[i] - 1) * strides[i];
  }
  return result;
}
// Whether two indices may lead to the same element; sure only of layouts that nest.
bool may_overlap(IntList shape, IntList strides) {
  Shape order;
  for (int64_t i = 0; i < shape.size(); ++i) {
    if (shape[i] > 1) order.push(i);
  }
  const auto step = [&](int64_t i) { return strides[i] < 0 ? -strides[i] : strides[i]; };
  std::sort(order.sizes, order.sizes + order.rank,
            [&](int64_t a, int64_t b) { return step(a) < step(b); });
  int64_t covered = 0;
  for (const int64_t i : IntList(order)) {
    if (step(i) <= covered) return true;
    covered += step(i) * (shape[i] - 1);
  }
  return false;
}
void check_layout(const char* op, IntList size, IntList stride) {
  if (size.size() != stride.size()) {
    throw ValueError(std::string(op) + "(): size " + shape_text(size) + " and stride " +
                     shape_text(stride) + " have different lengths");
  }
}

// `flat` is memory of which `lowest` is the first element. These place tensors in it by ops alone,
// so that they can be differentiated again.
Tensor place(const Tensor& flat, const Tensor& values, IntList size, IntList stride,
             int64_t offset) {
  if (values.numel() == 0) return flat;
  if (!may_overlap(size, stride)) return as_strided_scatter(flat, values, size, stride, offset);
  Tensor positions;
  {
    const NoGrad scope;
    positions = arange(flat.numel()).as_strided(size, stride, offset).reshape({-1});
  }
  return flat.index_add(0, positions, values.reshape({-1}));
}

// How the input lay in memory.
struct Layout {
  Shape shape, strides;
  bool contiguous = true;
};

// The values in memory that is arranged by the layout.
Tensor lay_out(const Tensor& values, const Layout& layout) {
  if (layout.contiguous) return values.contiguous();
  const Reach own = reach(layout.shape, layout.strides, 0);
  if (own.size() == 0) return values;
  return place(zeros({own.size()}, values.dtype()), values, layout.shape, layout.strides,
               -own.lowest)
      .as_strided(IntList(layout.shape), IntList(layout.strides), -own.lowest);
}

struct AsStrided {
  static constexpr auto schema =
      "as_strided(Tensor(a) input, int[] size, int[] stride, int storage_offset=0) -> Tensor(a)";
  static constexpr auto doc =
      "A view with any shape and strides; storage_offset counts from the input's first element.";
  static constexpr auto jvp = JvpKind::linear;
  static Tensor forward(Context& c, const Tensor& input, IntList size, IntList stride,
                        int64_t storage_offset) {
    check_layout("as_strided", size, stride);
    c.stash(Layout{Shape(input.shape()), Shape(input.strides()), input.is_contiguous()});
    return alias_tensor(input, size, stride, storage_offset);
  }
  // The gradient is gathered in memory laid out like the input's and read from there. Elements that
  // share memory share its gradient.
  static Tensor backward(ContextOf<AsStrided>& c, const Tensor& g) {
    const Layout& layout = c.stash<Layout>();
    const auto size = c["size"_arg], stride = c["stride"_arg];
    const auto offset = c["storage_offset"_arg];
    const Reach own = reach(layout.shape, layout.strides, 0), view = reach(size, stride, offset);
    if (own.size() == 0) return zeros(IntList(layout.shape), g.dtype());
    const int64_t lowest = view.size() == 0 ? own.lowest : std::min(own.lowest, view.lowest);
    const int64_t highest = std::max(own.highest, view.highest);
    Tensor memory =
        place(zeros({highest - lowest + 1}, g.dtype()), g, size, stride, offset - lowest);
    if (may_overlap(layout.shape, layout.strides)) {
      const Tensor ones_in_place = ones(IntList(layout.shape), g.dtype());
      const Tensor sharers = place(zeros({highest - lowest + 1}, g.dtype()), ones_in_place,
                                   layout.shape, layout.strides, -lowest);
      memory = memory / sharers.clamp(1);
    }
    return memory.as_strided(IntList(layout.shape), IntList(layout.strides), -lowest);
  }
};

struct AsStridedScatter {
  static constexpr auto schema =
      "as_strided_scatter(Tensor input, Tensor src, int[] size, int[] stride, int "
      "storage_offset=0) -> Tensor";
  // Strides speak of the layout: another one gives another result.
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 3]}, "src": {"shape": [2, 2]}, "size": [2, 2], "stride": [3, 1],
           "check": {"layouts": false}}])";
  static constexpr auto doc =
      "A copy of input, laid out like it, with src in the place of a strided view.";
  static constexpr bool any_dtype = true;
  static Tensor forward(Context& c, const Tensor& input, const Tensor& src, IntList size,
                        IntList stride, int64_t storage_offset) {
    check_layout("as_strided_scatter", size, stride);
    if (!same_shape(src.shape(), size)) {
      throw ValueError("as_strided_scatter(): src has shape " + shape_text(src.shape()) +
                       ", but the part to write has " + shape_text(size));
    }
    c.stash(Layout{Shape(input.shape()), Shape(input.strides()), input.is_contiguous()});
    return write(input, src, size, stride, storage_offset);
  }
  static std::array<Tensor, 2> backward(ContextOf<AsStridedScatter>& c, const Tensor& g) {
    const Layout& layout = c.stash<Layout>();
    const auto size = c["size"_arg], stride = c["stride"_arg];
    const auto offset = c["storage_offset"_arg];
    const Tensor like_input = lay_out(g, layout);
    return needed_gradients(
        c,
        "input"_arg =
            [&] {
              const Tensor nothing = expanded_zeros(size, g.dtype());
              return as_strided_scatter(like_input, nothing, size, stride, offset);
            },
        "src"_arg = [&] { return like_input.as_strided(size, stride, offset); });
  }
  static Tensor jvp(ContextOf<AsStridedScatter>& c, TensorList tangents) {
    if (!is_differentiable(c.result().dtype())) return {};
    const Layout& layout = c.stash<Layout>();
    const auto size = c["size"_arg], stride = c["stride"_arg];
    const DType dtype = (tangents[0].defined() ? tangents[0] : tangents[1]).dtype();
    const Tensor input = tangents[0].defined() ? tangents[0] : zeros(IntList(layout.shape), dtype);
    const Tensor src = tangents[1].defined() ? tangents[1] : expanded_zeros(size, dtype);
    return as_strided_scatter(lay_out(input, layout), src, size, stride, c["storage_offset"_arg]);
  }

  static Tensor write(const Tensor& input, const Tensor& src, IntList size, IntList stride,
                      int64_t offset) {
    const Reach own = reach(input.shape(), input.strides(), 0);
    const Tensor memory = empty_tensor({std::max<int64_t>(own.size(), 0)}, input.dtype());
    const Tensor result = alias_tensor(memory, input.shape(), input.strides(), -own.lowest);
    copy_elements(result, input);
    const Reach part = reach(size, stride, offset);
    if (part.size() != 0 && (part.lowest < own.lowest || part.highest > own.highest)) {
      throw ValueError("as_strided_scatter(): the part of shape " + shape_text(size) +
                       ", strides " + shape_text(stride) + " and offset " + std::to_string(offset) +
                       " is outside of the input of shape " + shape_text(input.shape()) +
                       " and strides " + shape_text(input.strides()));
    }
    copy_elements(alias_tensor(result, size, stride, offset), src);
    return result;
  }
};

}  // namespace

TENON_OPS(AsStrided, AsStridedScatter)
