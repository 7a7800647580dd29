// Ops that go by an index: gather, index_select, embedding, and the sums that are their gradients. An
// index that is out of range is an IndexError of the next call that waits for the device.
#include <optional>

#include "opencl/copies.hpp"
#include "opencl/faults.hpp"

namespace tenon_opencl {

namespace {

using tenon::Argument;
using tenon::Call;
using tenon::Results;
using tenon::Scalar;

std::string index_source(DType) {
  return R"(
static void place(const Dims* d, ulong row, long* at) {
  at[0] = at[1] = at[2] = at[3] = 0;
  for (uint k = d->rank; k-- > 0;) {
    const long i = row % d->size[k];
    row /= d->size[k];
    for (int o = 0; o < 4; ++o) at[o] += i * d->step[o][k];
  }
}
// Result 0, index 1, and tensor 2 at its first entry: r = a[index].
__kernel void take(__global const T* a, __global const U* index, __global T* r, Dims d, long along, long size, int code,
                   __global Found* faults) {
  const ulong id = get_global_id(0), row = id / d.runs;
  const ulong first = id % d.runs * (V * VECTORS);
  if (row >= d.outer || first >= d.inner) return;
  long at[4];
  place(&d, row, at);
  const ulong last = min(first + V * VECTORS, d.inner);
  for (ulong i = first; i < last; ++i) {
    long k = index[at[1] + (long)i * d.by[1]];
    if (k < 0 || k >= size) {
      note_fault(faults, code, k);
      k = 0;
    }
    r[at[0] + (long)i * d.by[0]] = size == 0 ? (T)0 : a[at[2] + (long)i * d.by[2] + k * along];
  }
}
// One line of the index for each work item, in its order: result 0, index 1, source 2. add: sums, else the
// last one stays. The entry `skipped` gets nothing.
__kernel void give(__global T* r, __global const U* index, __global const T* source, T number, int is_number, Dims d,
                   ulong count, long index_step, long source_step, long along, long size, int add, long skipped,
                   int code, __global Found* faults) {
  const ulong id = get_global_id(0), row = id / d.inner, i = id % d.inner;
  if (row >= d.outer) return;
  long at[4];
  place(&d, row, at);
  for (int o = 0; o < 3; ++o) at[o] += (long)i * d.by[o];
  for (ulong n = 0; n < count; ++n) {
    const long k = index[at[1] + (long)n * index_step];
    if (k < 0 || k >= size) {
      note_fault(faults, code, k);
      continue;
    }
    if (k == skipped) continue;
    const T value = is_number ? number : source[at[2] + (long)n * source_step];
    if (add)
      r[at[0] + k * along] += value;
    else
      r[at[0] + k * along] = value;
  }
}
)";
}
constexpr Source kIndexing{"indexing", index_source};

DType by_width(DType type) {
  const int64_t bytes = tenon::element_size(type);
  return bytes == 1 ? tenon::u8 : bytes == 2 ? tenon::i16 : bytes == 4 ? tenon::i32 : tenon::i64;
}
std::string out_of_range(const char* op, int64_t dim, int64_t size) {
  return std::string(op) + "(): index {} is out of range for dimension " + std::to_string(dim) +
         " with size " + std::to_string(size);
}
std::vector<int64_t> without(std::vector<int64_t> list, int64_t dim) {
  list[static_cast<size_t>(dim)] = 0;
  return list;
}

// r[...] = input[..., index, ...] for a result of the shape.
Results take(const Call& call, const Tensor& input, const Tensor& index, IntList shape,
             const std::vector<int64_t>& index_steps, const std::vector<int64_t>& input_steps,
             int64_t along, int64_t size, const std::string& message) {
  const Tensor result = empty_like(input, shape);
  if (result.numel() == 0) return result;
  std::optional<Dims> dims = dims_of(shape, {steps_in(result, shape), index_steps, input_steps});
  if (!dims) return tenon::not_implemented;
  Instance& device = instance_of(input);
  const DType type = by_width(input.dtype());
  const size_t items = row_items(*dims, device.lanes(type) * device.vectors());
  const Faults::Watch watch(device, call, message);
  device.run({&kIndexing, "take", type, index.dtype()}, items, kGroup, memory_of(input),
             memory_of(index), memory_of(result), *dims, static_cast<cl_long>(along),
             static_cast<cl_long>(size), watch.code(), watch.memory());
  return result;
}
bool is_source(const Tensor& input, const Tensor& index) {
  return is_there(input) && is_copied(input.dtype()) && is_index(index) && together(input, index);
}
std::optional<int64_t> wrapped(int64_t dim, int64_t rank) {
  const int64_t at = dim < 0 ? dim + rank : dim;
  return at >= 0 && at < rank ? std::optional<int64_t>(at) : std::nullopt;
}

struct Gather {
  static constexpr auto schema = "gather(Tensor input, int dim, Tensor index) -> Tensor";
  static constexpr auto types = "opencl";
  static Results forward(const Call& call, const Tensor& input, int64_t dim, const Tensor& index) {
    const auto at = wrapped(dim, input.dim());
    if (!is_source(input, index) || !at || index.dim() != input.dim())
      return tenon::not_implemented;
    for (int64_t d = 0; d < index.dim(); ++d)
      if (d != *at && index.shape()[d] > input.shape()[d]) return tenon::not_implemented;
    const std::vector<int64_t> steps(input.strides().begin(), input.strides().end());
    const std::vector<int64_t> of_index(index.strides().begin(), index.strides().end());
    return take(call, input, index, index.shape(), of_index, without(steps, *at),
                input.strides()[*at], input.shape()[*at],
                out_of_range("gather", *at, input.shape()[*at]));
  }
};
struct IndexSelect {
  static constexpr auto schema = "index_select(Tensor input, int dim, Tensor index) -> Tensor";
  static constexpr auto types = "opencl";
  static Results forward(const Call& call, const Tensor& input, int64_t dim, const Tensor& index) {
    const auto at = wrapped(dim, input.dim());
    if (!is_source(input, index) || !at || index.dim() != 1) return tenon::not_implemented;
    std::vector<int64_t> shape = input.sizes();
    shape[static_cast<size_t>(*at)] = index.numel();
    std::vector<int64_t> of_index(shape.size());
    of_index[static_cast<size_t>(*at)] = index.stride(0);
    const std::vector<int64_t> steps(input.strides().begin(), input.strides().end());
    return take(call, input, index, list_of(shape), of_index, without(steps, *at),
                input.strides()[*at], input.shape()[*at],
                out_of_range("index_select", *at, input.shape()[*at]));
  }
};
std::string outside_table(int64_t rows) {
  return "embedding(): index {} is out of range for a table of " + std::to_string(rows) + " rows";
}
struct Embedding {
  static constexpr auto schema =
      "nn.functional.embedding(Tensor input, Tensor weight, *, int? padding_idx=None) -> Tensor";
  static constexpr auto types = "opencl";
  static Results forward(const Call& call, const Tensor& input, const Tensor& weight,
                         std::optional<int64_t> padding_idx) {
    if (!is_source(weight, input) || weight.dim() != 2) return tenon::not_implemented;
    const int64_t rows = weight.size(0);
    if (padding_idx && (*padding_idx < -rows || *padding_idx >= rows))
      return tenon::not_implemented;
    std::vector<int64_t> shape = input.sizes();
    std::vector<int64_t> of_index(input.strides().begin(), input.strides().end());
    std::vector<int64_t> steps(shape.size());
    shape.push_back(weight.size(1));
    of_index.push_back(0);
    steps.push_back(weight.stride(1));
    return take(call, weight, input, list_of(shape), of_index, steps, weight.stride(0), rows,
                outside_table(rows));
  }
};

// Into `result`, contiguous, at the index along a dimension; source and index have `lines` around their
// own dimension of `count` entries.
struct Given {
  std::vector<int64_t> lines, result_steps, index_steps, source_steps;
  int64_t count, index_step, source_step, along, size;
};
bool give(const Call& call, const Tensor& result, const Tensor& index, const Tensor& source,
          const Scalar& number_given, const Given& given, bool add, int64_t skipped,
          const std::string& message) {
  int64_t all = given.count;
  for (const int64_t line : given.lines) all *= line;
  if (all == 0) return true;
  std::optional<Dims> dims =
      dims_of(list_of(given.lines), {given.result_steps, given.index_steps, given.source_steps});
  if (!dims) return false;
  Instance& device = instance_of(result);
  constexpr size_t group = 8;
  const DType type = result.dtype() == tenon::boolean ? tenon::u8 : result.dtype();
  const Faults::Watch watch(device, call, message);
  with_number(type, 0, 0, [&](auto zero) {
    device.run({&kIndexing, "give", type, index.dtype()}, whole_groups(dims->count(), group), group,
               memory_of(result), memory_of(index), memory_of(source.defined() ? source : result),
               source.defined() ? zero : number_given.to<decltype(zero)>(),
               static_cast<cl_int>(!source.defined()), *dims, number(given.count),
               static_cast<cl_long>(given.index_step), static_cast<cl_long>(given.source_step),
               static_cast<cl_long>(given.along), static_cast<cl_long>(given.size),
               static_cast<cl_int>(add), static_cast<cl_long>(skipped), watch.code(),
               watch.memory());
  });
  return true;
}

constexpr int64_t kNothingSkipped = -1;

Results scattered(const Call& call, const char* op, const Tensor& input, int64_t dim,
                  const Tensor& index, const Tensor& source, const Scalar& value, bool add) {
  const auto at = wrapped(dim, input.dim());
  if (!is_number(input) || !is_index(index) || !together(input, index) || !at ||
      index.dim() != input.dim())
    return tenon::not_implemented;
  if (source.defined() && (!is_there(source) || source.dtype() != input.dtype() ||
                           source.dim() != index.dim() || !together(source, input)))
    return tenon::not_implemented;
  for (int64_t d = 0; d < index.dim(); ++d) {
    if ((d != *at && index.shape()[d] > input.shape()[d]) ||
        (source.defined() && index.shape()[d] > source.shape()[d]))
      return tenon::not_implemented;
  }
  const Tensor result = contiguous_copy(input);
  const auto own = static_cast<size_t>(*at);
  Given given{index.sizes(),
              {result.strides().begin(), result.strides().end()},
              {index.strides().begin(), index.strides().end()},
              std::vector<int64_t>(index.sizes().size()),
              index.shape()[*at],
              index.strides()[*at],
              source.defined() ? source.strides()[*at] : 0,
              result.strides()[*at],
              input.shape()[*at]};
  if (source.defined()) given.source_steps.assign(source.strides().begin(), source.strides().end());
  given.lines[own] = 1;
  return give(call, result, index, source, value, given, add, kNothingSkipped,
              out_of_range(op, *at, input.shape()[*at]))
             ? Results(result)
             : Results(tenon::not_implemented);
}
struct ScatterAdd {
  static constexpr auto schema =
      "scatter_add(Tensor input, int dim, Tensor index, Tensor src) -> Tensor";
  static constexpr auto types = "opencl";
  static Results forward(const Call& call, const Tensor& input, int64_t dim, const Tensor& index,
                         const Tensor& src) {
    return scattered(call, "scatter_add", input, dim, index, src, 0, true);
  }
};
struct Scatter {
  static constexpr auto schema =
      "scatter(Tensor input, int dim, Tensor index, Tensor|Scalar src) -> Tensor";
  static constexpr auto types = "opencl";
  static Results forward(const Call& call, const Tensor& input, int64_t dim, const Tensor& index,
                         Argument src) {
    const tenon_value& value = src.value();
    if (value.tag == TENON_VALUE_TENSOR) {
      return scattered(call, "scatter", input, dim, index, Tensor::borrow(value.as.tensor), 0,
                       false);
    }
    const Scalar number_given(value);
    if (!is_floating(input)) return tenon::not_implemented;
    return scattered(call, "scatter", input, dim, index, Tensor(), number_given, false);
  }
};
struct IndexAdd {
  static constexpr auto schema =
      "index_add(Tensor input, int dim, Tensor index, Tensor source) -> Tensor";
  static constexpr auto types = "opencl";
  static Results forward(const Call& call, const Tensor& input, int64_t dim, const Tensor& index,
                         const Tensor& source) {
    const auto at = wrapped(dim, input.dim());
    if (!is_number(input) || !is_index(index) || !together(input, index) || !at ||
        index.dim() != 1 || !is_there(source) || source.dtype() != input.dtype() ||
        !together(source, input) || source.dim() != input.dim())
      return tenon::not_implemented;
    for (int64_t d = 0; d < input.dim(); ++d) {
      if (source.shape()[d] != (d == *at ? index.numel() : input.shape()[d]))
        return tenon::not_implemented;
    }
    const Tensor result = contiguous_copy(input);
    Given given{source.sizes(),
                {result.strides().begin(), result.strides().end()},
                std::vector<int64_t>(source.sizes().size()),
                {source.strides().begin(), source.strides().end()},
                index.numel(),
                index.stride(0),
                source.strides()[*at],
                result.strides()[*at],
                input.shape()[*at]};
    given.lines[static_cast<size_t>(*at)] = 1;
    return give(call, result, index, source, 0, given, true, kNothingSkipped,
                out_of_range("index_add", *at, input.shape()[*at]))
               ? Results(result)
               : Results(tenon::not_implemented);
  }
};
struct EmbeddingGradient {
  static constexpr auto schema =
      "nn.grad.embedding(Tensor grad_output, Tensor indices, int rows, *, int? padding_idx=None) "
      "-> Tensor";
  static constexpr auto types = "opencl";
  static Results forward(const Call& call, const Tensor& grad_output, const Tensor& indices,
                         int64_t rows, std::optional<int64_t> padding_idx) {
    if (!is_floating(grad_output) || !is_index(indices) || !together(grad_output, indices) ||
        grad_output.dim() != indices.dim() + 1 || rows < 0 ||
        (padding_idx && (*padding_idx < -rows || *padding_idx >= rows)))
      return tenon::not_implemented;
    for (int64_t d = 0; d < indices.dim(); ++d)
      if (grad_output.shape()[d] != indices.shape()[d]) return tenon::not_implemented;
    const int64_t features = grad_output.size(-1), shape[] = {rows, features};
    const Tensor result = zeros_beside(grad_output, {shape, 2}, grad_output.dtype());
    const Tensor g = dense(grad_output), index = dense(indices);
    const Given given{{features}, {1}, {0}, {1}, index.numel(), 1, features, features, rows};
    const int64_t skipped = !padding_idx       ? kNothingSkipped
                            : *padding_idx < 0 ? *padding_idx + rows
                                               : *padding_idx;
    return give(call, result, index, g, 0, given, true, skipped, outside_table(rows))
               ? Results(result)
               : Results(tenon::not_implemented);
  }
};

}  // namespace

}  // namespace tenon_opencl

using namespace tenon_opencl;

TENON_OVERRIDE(Gather)
TENON_OVERRIDE(IndexSelect)
TENON_OVERRIDE(Embedding)
TENON_OVERRIDE(ScatterAdd)
TENON_OVERRIDE(Scatter)
TENON_OVERRIDE(IndexAdd)
TENON_OVERRIDE(EmbeddingGradient)
