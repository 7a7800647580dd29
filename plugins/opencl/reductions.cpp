// Sums and means of all elements, of the last dimensions or of the first, and softmax of rows.
#include <optional>

#include <tenon/plugin.hpp>

#include "opencl/runtime.hpp"

namespace {

using namespace tenon_opencl;
using tenon::DType;
using tenon::IntList;
using tenon::Results;
using tenon::Tensor;

// Dimensions that are reduced: the last `count`, or the first.
struct Reduced {
  int64_t count = 0;
  bool first = false;
};

// None where they are neither the last nor the first ones.
std::optional<Reduced> reduced_of(const Tensor& input, const std::optional<IntList>& dim) {
  const int64_t rank = input.dim();
  if (!dim || dim->empty()) return Reduced{rank, false};
  std::vector<bool> chosen(static_cast<size_t>(rank));
  for (const int64_t d : *dim) {
    if (d < -rank || d >= rank) return std::nullopt;
    const auto at = static_cast<size_t>(d < 0 ? d + rank : d);
    if (chosen[at]) return std::nullopt;
    chosen[at] = true;
  }
  const int64_t count = dim->size();
  bool last = true, first = true;
  for (int64_t d = 0; d < rank; ++d) {
    last &= chosen[static_cast<size_t>(d)] == (d >= rank - count);
    first &= chosen[static_cast<size_t>(d)] == (d < count);
  }
  if (last) return Reduced{count, false};
  if (first) return Reduced{count, true};
  return std::nullopt;
}

Results reduce(const Tensor& input, const std::optional<IntList>& dim, bool keepdim, DType dtype,
               bool is_mean) {
  if (!is_simple(input) || (dtype != DType::none && dtype != tenon::f32) || input.numel() == 0)
    return tenon::not_implemented;
  const std::optional<Reduced> reduced = reduced_of(input, dim);
  if (!reduced) return tenon::not_implemented;
  std::vector<int64_t> shape;
  int64_t length = 1;
  for (int64_t d = 0; d < input.dim(); ++d) {
    const bool gone = reduced->first ? d < reduced->count : d >= input.dim() - reduced->count;
    if (gone) length *= input.size(d);
    if (!gone || keepdim) shape.push_back(gone ? 1 : input.size(d));
  }
  const Tensor result = empty_like(input, {shape.data(), static_cast<int64_t>(shape.size())});
  const int64_t others = result.numel();
  const float factor = is_mean ? 1.0f / static_cast<float>(length) : 1.0f;
  const auto number = [](int64_t value) { return static_cast<cl_ulong>(value); };
  // Elements of one sum follow each other, or are those of one column.
  const int64_t next_step = reduced->first ? 1 : length, step = reduced->first ? others : 1;
  instance_of(input).run("sum", {loop_items(others)}, {kLoopGroup}, memory_of(input),
                         memory_of(result), number(others), number(length), number(next_step),
                         number(step), factor);
  return result;
}

struct Sum {
  static constexpr auto schema =
      "sum(Tensor input, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None) -> Tensor";
  static constexpr auto types = "opencl";
  static Results forward(const Tensor& input, std::optional<IntList> dim, bool keepdim,
                         DType dtype) {
    return reduce(input, dim, keepdim, dtype, false);
  }
};
struct Mean {
  static constexpr auto schema =
      "mean(Tensor input, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None) -> Tensor";
  static constexpr auto types = "opencl";
  static Results forward(const Tensor& input, std::optional<IntList> dim, bool keepdim,
                         DType dtype) {
    return reduce(input, dim, keepdim, dtype, true);
  }
};

Results softmax(const Tensor& input, int64_t dim, bool as_log) {
  const int64_t rank = input.dim();
  if (!is_simple(input) || rank == 0 || (dim != -1 && dim != rank - 1) || input.numel() == 0)
    return tenon::not_implemented;
  const Tensor result = empty_like(input, input.shape());
  const int64_t length = input.size(-1), rows = input.numel() / length;
  instance_of(input).run("softmax_rows", {loop_items(rows)}, {kLoopGroup}, memory_of(input),
                         memory_of(result), static_cast<cl_ulong>(rows),
                         static_cast<cl_ulong>(length), static_cast<cl_int>(as_log));
  return result;
}
struct Softmax {
  static constexpr auto schema = "nn.functional.softmax(Tensor input, int dim) -> Tensor";
  static constexpr auto types = "opencl";
  static Results forward(const Tensor& input, int64_t dim) { return softmax(input, dim, false); }
};
struct LogSoftmax {
  static constexpr auto schema = "nn.functional.log_softmax(Tensor input, int dim) -> Tensor";
  static constexpr auto types = "opencl";
  static Results forward(const Tensor& input, int64_t dim) { return softmax(input, dim, true); }
};

}  // namespace

TENON_OVERRIDE(Sum)
TENON_OVERRIDE(Mean)
TENON_OVERRIDE(Softmax)
TENON_OVERRIDE(LogSoftmax)
