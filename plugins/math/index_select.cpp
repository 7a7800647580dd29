// index_select: entries of a dimension, by a vector of indices.
#include <algorithm>
#include <cstring>

#include <tenon/kernel/rows.hpp>

#include "index_places.hpp"

using namespace tenon;
using namespace math;

namespace {

struct IndexSelect {
  static constexpr auto schema =
      "index_select(Tensor input, int dim, Tensor index, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc = "The entries at the given indices along a dimension.";
  static constexpr bool any_dtype = true;
  static constexpr auto saves = "shape(input), index";
  static Tensor forward(const Tensor& input, int64_t dim, const Tensor& index) {
    constexpr auto op = "index_select";
    const int64_t at = wrap_dimension(op, dim, input.dim());
    check_vector(op, index);
    const kernel::Lines lines(input.shape(), at);
    const Tensor indices = checked_indices(op, index, at, lines.size);
    Shape shape(input.shape());
    if (shape.rank != 0)
      shape[at] = indices.numel();
    else if (indices.numel() != 1)
      throw IndexError("index_select(): a 0-dim input takes one index, not " +
                       std::to_string(indices.numel()));
    const Tensor result = empty_tensor(shape, input.dtype());
    if (result.numel() == 0) return result;
    const Tensor source = contiguous_as(input, input.dtype());
    const int64_t* to = indices.data<int64_t>();
    const int64_t count = indices.numel(), bytes = lines.inner * element_size(input.dtype());
    const auto* from = static_cast<const char*>(source.view_record().data);
    auto* target = static_cast<char*>(result.view_record().data);
    const auto copy = [&](auto width) {
      parallel_for(0, lines.outer * count, std::max<int64_t>(1, 32768 / bytes),
                   [=, size = lines.size](int64_t begin, int64_t end) {
                     // Locals and one division for each run of lines: of single elements they would
                     // take most of the time.
                     const auto each = static_cast<size_t>(width(bytes));
                     char* next = target + begin * bytes;
                     int64_t outer = begin / count, place = begin % count;
                     for (int64_t left = end - begin; left > 0; ++outer, place = 0) {
                       const char* const block = from + outer * size * bytes;
                       const int64_t stop = std::min(count, place + left);
                       left -= stop - place;
                       for (; place < stop; ++place, next += each)
                         std::memcpy(next, block + to[place] * static_cast<int64_t>(each), each);
                     }
                   });
    };
    // Single elements are copied without a call.
    if (bytes == 4)
      copy([](int64_t) { return 4; });
    else if (bytes == 8)
      copy([](int64_t) { return 8; });
    else
      copy([](int64_t size) { return size; });
    return result;
  }
  static std::tuple<Tensor, Tensor, Tensor> backward(ContextOf<IndexSelect>& c, const Tensor& g) {
    const Tensor start = expanded_zeros(c["input"_arg].shape(), g.dtype());
    return {start.index_add(c["dim"_arg], c["index"_arg], g), {}, {}};
  }
  static Tensor jvp(ContextOf<IndexSelect>& c, TensorList tangents) {
    return tangents[0].index_select(c["dim"_arg], c["index"_arg]);
  }
};

}  // namespace

TENON_OP(IndexSelect)
