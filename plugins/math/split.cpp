// split, chunk and unbind.
#include "dimensions.hpp"

using namespace tenon;
using namespace math;

namespace {

Tensor part(const Tensor& input, int64_t dim, int64_t start, int64_t length) {
  Shape shape(input.shape());
  shape[dim] = length;
  return alias_tensor(input, shape, input.strides(),
                      length == 0 ? 0 : start * input.strides()[dim]);
}
void check_count(const char* op, int64_t count) {
  if (count <= INT32_MAX) return;
  throw ValueError(std::string(op) + "(): " + std::to_string(count) +
                   " parts are more than a result can hold");
}
std::vector<Tensor> parts_of(const char* op, const Tensor& input, int64_t dim, int64_t length,
                             int64_t count) {
  check_count(op, count);
  std::vector<Tensor> parts;
  parts.reserve(static_cast<size_t>(count));
  const int64_t size = input.shape()[dim];
  for (int64_t i = 0; i < count; ++i) {
    const int64_t start = i * length;
    parts.push_back(part(input, dim, start, start + length > size ? size - start : length));
  }
  return parts;
}
int64_t dimension_of(const char* op, const Tensor& input, int64_t dim) {
  if (input.dim() == 0) throw ValueError(std::string(op) + "(): a 0-dim tensor cannot be divided");
  return wrap_dimension(op, dim, input.dim());
}
std::vector<Tensor> owned(TensorList list) { return {list.begin(), list.end()}; }

struct Split {
  static constexpr auto schema =
      "split(Tensor(a) input, int[] split_size, int dim=0) -> Tensor(a)[]";
  static constexpr auto doc =
      "Views of consecutive parts: of one size, the last may be smaller, or of the sizes in a "
      "list.";
  static constexpr auto jvp = JvpKind::linear;
  static std::vector<Tensor> forward(const Tensor& input, IntList split_size, int64_t dim) {
    const int64_t at = dimension_of("split", input, dim);
    const int64_t size = input.shape()[at];
    for (const int64_t length : split_size) {
      if (length < 0) throw ValueError("split(): size " + std::to_string(length) + " is negative");
    }
    if (split_size.size() == 1) {
      const int64_t length = split_size[0];
      if (length == 0 && size != 0) {
        throw ValueError("split(): size 0 does not divide dimension " + std::to_string(at) +
                         " with size " + std::to_string(size));
      }
      return parts_of("split", input, at, length, size == 0 ? 1 : (size - 1) / length + 1);
    }
    int64_t total = 0;
    bool overflows = false;
    for (const int64_t length : split_size)
      overflows |= __builtin_add_overflow(total, length, &total);
    if (overflows || total != size) {
      throw ValueError("split(): the sizes " + shape_text(split_size) + " add up to " +
                       (overflows ? "more than can be addressed" : std::to_string(total)) +
                       ", but dimension " + std::to_string(at) + " has size " +
                       std::to_string(size));
    }
    std::vector<Tensor> parts;
    int64_t start = 0;
    for (const int64_t length : split_size) {
      parts.push_back(part(input, at, start, length));
      start += length;
    }
    return parts;
  }
  static Tensor backward(ContextOf<Split>& c, TensorList g) { return cat(owned(g), c["dim"_arg]); }
};

struct Chunk {
  static constexpr auto schema = "chunk(Tensor(a) input, int chunks, int dim=0) -> Tensor(a)[]";
  static constexpr auto doc =
      "Views of at most `chunks` consecutive parts of one size; the last may be smaller.";
  static constexpr auto jvp = JvpKind::linear;
  static std::vector<Tensor> forward(const Tensor& input, int64_t chunks, int64_t dim) {
    const int64_t at = dimension_of("chunk", input, dim);
    if (chunks < 1)
      throw ValueError("chunk(): chunks must be at least 1, but it is " + std::to_string(chunks));
    const int64_t size = input.shape()[at];
    if (size == 0) return parts_of("chunk", input, at, 0, chunks);
    const int64_t length = (size - 1) / chunks + 1;
    return parts_of("chunk", input, at, length, (size - 1) / length + 1);
  }
  static Tensor backward(ContextOf<Chunk>& c, TensorList g) { return cat(owned(g), c["dim"_arg]); }
};

struct Unbind {
  static constexpr auto schema = "unbind(Tensor(a) input, int dim=0) -> Tensor(a)[]";
  static constexpr auto doc = "Views of every index along a dimension, which disappears.";
  static constexpr auto saves = "shape(input)";
  static constexpr auto jvp = JvpKind::linear;
  static std::vector<Tensor> forward(const Tensor& input, int64_t dim) {
    const int64_t at = dimension_of("unbind", input, dim);
    Shape shape(input.shape()), strides(input.strides());
    shape.erase(at);
    strides.erase(at);
    check_count("unbind", input.shape()[at]);
    std::vector<Tensor> parts;
    parts.reserve(static_cast<size_t>(input.shape()[at]));
    for (int64_t i = 0; i < input.shape()[at]; ++i) {
      parts.push_back(
          alias_tensor(input, shape, strides, input.numel() == 0 ? 0 : i * input.strides()[at]));
    }
    return parts;
  }
  static Tensor backward(ContextOf<Unbind>& c, TensorList g) {
    return g.empty() ? zeros(c["input"_arg].shape(), c["input"_arg].dtype())
                     : stack(owned(g), c["dim"_arg]);
  }
};

}  // namespace

TENON_OPS(Split, Chunk, Unbind)
