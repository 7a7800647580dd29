#include "opencl/copies.hpp"

#include <algorithm>
#include <numeric>
#include <optional>

namespace tenon_opencl {

namespace {

using tenon::Results;
using tenon::Scalar;
using tenon::TensorList;

// A run of elements for each work item. Of rows whose elements are apart in both operands, too.
std::string copy_source(DType) {
  return R"(
#define EACH(body)                                                             \
  const ulong id = get_global_id(0), row = d.outer == 1 ? 0 : id / d.runs;     \
  const ulong first = (d.outer == 1 ? id : id % d.runs) * (V * VECTORS);       \
  if (row >= d.outer || first >= d.inner) return;                              \
  const ulong last = min(first + V * VECTORS, d.inner);                        \
  long to = 0, from = 0;                                                       \
  ulong rest = row;                                                            \
  for (uint k = d.rank; k-- > 0;) {                                            \
    const long i = rest % d.size[k];                                           \
    rest /= d.size[k];                                                         \
    to += i * d.step[0][k];                                                    \
    from += i * d.step[1][k];                                                  \
  }                                                                            \
  r += to;                                                                     \
  a += from;                                                                   \
  body
__kernel void copy(__global const T* a, __global T* r, Dims d) {
  EACH(
    if (d.by[0] == 1 && d.by[1] == 1) {
      ulong i = first;
      for (; i + V <= last; i += V) STORE(LOAD(0, a + i), 0, r + i);
      for (; i < last; ++i) r[i] = a[i];
    } else {
      for (ulong i = first; i < last; ++i) r[(long)i * d.by[0]] = a[(long)i * d.by[1]];
    }
  )
}
__kernel void convert(__global const T* a, __global U* r, Dims d, int to_bool) {
  EACH(
    if (to_bool) {
      for (ulong i = first; i < last; ++i) r[(long)i * d.by[0]] = a[(long)i * d.by[1]] != 0;
    } else {
      for (ulong i = first; i < last; ++i) { const T x = a[(long)i * d.by[1]]; r[(long)i * d.by[0]] = TO_U(x); }
    }
  )
}
)";
}
constexpr Source kCopies{"copies", copy_source};

DType type_of_width(DType type) {
  switch (tenon::element_size(type)) {
    case 1:
      return tenon::u8;
    case 2:
      return tenon::i16;
    case 4:
      return tenon::i32;
    default:
      return tenon::i64;
  }
}

std::optional<Dims> pair_dims(const Tensor& into, const Tensor& source) {
  for (int64_t d = 0; d < into.dim(); ++d)
    if (into.shape()[d] > 1 && into.strides()[d] == 0) return std::nullopt;
  return dims_of(into.shape(), {steps_in(into, into.shape()), steps_in(source, into.shape())});
}
bool spreads_to(const Tensor& source, IntList shape) {
  const std::optional<std::vector<int64_t>> both = broadcast(source.shape(), shape);
  return both && source.dim() <= shape.size() &&
         std::equal(both->begin(), both->end(), shape.begin(), shape.end());
}

}  // namespace

bool is_copied(DType type) { return tenon::element_size(type) <= 8; }

bool copy_into(const Tensor& into, const Tensor& source) {
  if (!is_there(into) || !is_there(source) || !together(into, source) ||
      into.dtype() != source.dtype() || !is_copied(into.dtype()) ||
      !spreads_to(source, into.shape()) || overlaps(into, source))
    return false;
  if (into.numel() == 0) return true;
  std::optional<Dims> dims = pair_dims(into, source);
  if (!dims) return false;
  Instance& device = instance_of(into);
  const DType type = type_of_width(into.dtype());
  const size_t items = row_items(*dims, device.lanes(type) * device.vectors());
  device.run({&kCopies, "copy", type}, items, kGroup, memory_of(source), memory_of(into), *dims);
  return true;
}

Tensor contiguous_copy(const Tensor& tensor) {
  const Tensor result = empty_like(tensor, tensor.shape());
  if (copy_into(result, tensor)) return result;
  // More dimensions than a kernel walks over, or wider elements: by way of the CPU.
  return tenon::device::upload<OpenclTensor>(tenon::device::download<OpenclTensor>(tensor),
                                             index_of(tensor));
}

Tensor converted(const Tensor& tensor, DType type) {
  if (!is_element(tensor)) return {};
  const Tensor result = empty_like(tensor, tensor.shape(), type);
  if (!is_element(result)) return {};
  if (tensor.numel() == 0) return result;
  std::optional<Dims> dims = pair_dims(result, tensor);
  if (!dims) return {};
  Instance& device = instance_of(tensor);
  const auto kernel_type = [](DType t) { return t == tenon::boolean ? tenon::u8 : t; };
  const DType from = kernel_type(tensor.dtype());
  const size_t items = row_items(*dims, device.lanes(from) * device.vectors());
  device.run({&kCopies, "convert", from, kernel_type(type)}, items, kGroup, memory_of(tensor),
             memory_of(result), *dims, static_cast<cl_int>(type == tenon::boolean));
  return result;
}

Tensor zeros_beside(const Tensor& like, IntList shape, DType type) {
  static const tenon::Op zero("zero_");
  const Tensor result = empty_like(like, shape, type);
  zero.call<Tensor>(result);
  return result;
}

namespace {

struct CopyOnDevice : tenon::device::Copy<OpenclTensor> {
  static Tensor forward(const Tensor& input, const Tensor& source) {
    if (is_there(input) && is_there(source) && together(input, source) &&
        spreads_to(source, input.shape())) {
      Tensor same = source;
      if (source.dtype() != input.dtype()) same = converted(source, input.dtype());
      if (same.defined() && overlaps(input, same)) same = contiguous_copy(same);
      if (same.defined() && copy_into(input, same)) return input;
    }
    return Copy::forward(input, source);
  }
};

struct Clone {
  static constexpr auto schema = "clone(Tensor input) -> Tensor";
  static constexpr auto types = "opencl";
  static Results forward(const Tensor& input) {
    if (!is_copied(input.dtype())) return tenon::not_implemented;
    return contiguous_copy(input);
  }
};
struct Contiguous {
  static constexpr auto schema = "contiguous(Tensor(a) input) -> Tensor(a)";
  static constexpr auto types = "opencl";
  static Results forward(const Tensor& input) {
    if (input.is_contiguous()) return input;
    if (!is_copied(input.dtype())) return tenon::not_implemented;
    return contiguous_copy(input);
  }
};
struct Convert {
  static constexpr auto schema = "to(Tensor(a) input, dtype dtype) -> Tensor(a)";
  static constexpr auto types = "opencl";
  static Results forward(const Tensor& input, DType dtype) {
    if (dtype == input.dtype()) return input;
    Tensor result = converted(input, dtype);
    if (!result.defined()) return tenon::not_implemented;
    return result;
  }
};

// Strides of a view of another shape; none where only a copy has it.
std::optional<std::vector<int64_t>> view_strides(const Tensor& tensor, IntList shape) {
  std::vector<int64_t> strides(static_cast<size_t>(shape.size()));
  int64_t d = tensor.dim() - 1, k = shape.size() - 1;
  while (d >= 0) {
    // A run of dimensions of the tensor that follow each other, and those that it becomes.
    int64_t count = tensor.shape()[d];
    const int64_t base = tensor.strides()[d];
    int64_t expected = base * tensor.shape()[d];
    while (d > 0 && (tensor.shape()[d - 1] == 1 || tensor.strides()[d - 1] == expected)) {
      --d;
      count *= tensor.shape()[d];
      expected *= tensor.shape()[d];
    }
    --d;
    int64_t taken = 1;
    while (k >= 0 && (taken < count || shape[k] == 1)) {
      strides[static_cast<size_t>(k)] = base * taken;
      taken *= shape[k--];
    }
    if (taken != count) return std::nullopt;
  }
  while (k >= 0) {
    if (shape[k] != 1) return std::nullopt;
    strides[static_cast<size_t>(k--)] = 1;
  }
  return strides;
}
std::vector<int64_t> dense_strides(IntList shape) {
  std::vector<int64_t> strides(static_cast<size_t>(shape.size()));
  int64_t step = 1;
  for (int64_t d = shape.size(); d-- > 0; step *= std::max<int64_t>(shape[d], 1))
    strides[static_cast<size_t>(d)] = step;
  return strides;
}

Results reshaped(const Tensor& input, const std::vector<int64_t>& sizes) {
  const IntList shape = list_of(sizes);
  if (input.is_contiguous()) return view(input, shape, list_of(dense_strides(shape)), 0);
  if (input.numel() > 0) {
    if (const auto strides = view_strides(input, shape))
      return view(input, shape, list_of(*strides), 0);
  }
  if (!is_copied(input.dtype())) return tenon::not_implemented;
  return view(contiguous_copy(input), shape, list_of(dense_strides(shape)), 0);
}

struct Reshape {
  static constexpr auto schema = "reshape(Tensor(a) input, int[] shape) -> Tensor(a)";
  static constexpr auto types = "opencl";
  static Results forward(const Tensor& input, IntList shape) {
    std::vector<int64_t> sizes(shape.begin(), shape.end());
    int64_t count = 1;
    const auto open = std::find(sizes.begin(), sizes.end(), -1);
    for (const int64_t size : sizes) {
      if (size != -1) count *= size;
    }
    if (open != sizes.end()) {
      if (count <= 0 || input.numel() % count != 0) return tenon::not_implemented;
      *open = input.numel() / count;
      count = input.numel();
    }
    if (count != input.numel() ||
        std::any_of(sizes.begin(), sizes.end(), [](int64_t size) { return size < 0; }))
      return tenon::not_implemented;
    return reshaped(input, sizes);
  }
};
struct Flatten {
  static constexpr auto schema =
      "flatten(Tensor(a) input, int start_dim=0, int end_dim=-1) -> Tensor(a)";
  static constexpr auto types = "opencl";
  static Results forward(const Tensor& input, int64_t start_dim, int64_t end_dim) {
    const int64_t rank = input.dim(), first = start_dim < 0 ? start_dim + rank : start_dim,
                  last = end_dim < 0 ? end_dim + rank : end_dim;
    if (first < 0 || last < first || last >= rank) return tenon::not_implemented;
    std::vector<int64_t> sizes;
    for (int64_t d = 0; d < rank; ++d) {
      if (d > first && d <= last)
        sizes.back() *= input.shape()[d];
      else
        sizes.push_back(input.shape()[d]);
    }
    return reshaped(input, sizes);
  }
};

// Copies the tensors into a result, one after another along a dimension that they have.
Results joined(const std::vector<Tensor>& tensors, int64_t dim) {
  std::vector<int64_t> sizes = tensors.front().sizes();
  const auto at = static_cast<size_t>(dim);
  sizes[at] = 0;
  for (const Tensor& tensor : tensors) {
    if (!is_there(tensor) || tensor.dtype() != tensors.front().dtype() ||
        !is_copied(tensor.dtype()) || !together(tensor, tensors.front()) ||
        tensor.dim() != tensors.front().dim())
      return tenon::not_implemented;
    for (size_t d = 0; d < sizes.size(); ++d) {
      const int64_t size = tensor.shape()[static_cast<int64_t>(d)];
      if (d == at)
        sizes[d] += size;
      else if (size != sizes[d])
        return tenon::not_implemented;
    }
  }
  const IntList shape = list_of(sizes);
  const Tensor result = empty_like(tensors.front(), shape);
  const std::vector<int64_t> strides = dense_strides(shape);
  int64_t begin = 0;
  for (const Tensor& tensor : tensors) {
    if (tensor.numel() > 0 &&
        !copy_into(view(result, tensor.shape(), list_of(strides), begin * strides[at]), tensor))
      return tenon::not_implemented;
    begin += tensor.shape()[dim];
  }
  return result;
}
struct Cat {
  static constexpr auto schema = "cat(Tensor[] tensors, int dim=0) -> Tensor";
  static constexpr auto types = "opencl";
  static Results forward(TensorList tensors, int64_t dim) {
    std::vector<Tensor> all(tensors.begin(), tensors.end());
    if (all.empty()) return tenon::not_implemented;
    const int64_t rank = all.front().dim(), at = dim < 0 ? dim + rank : dim;
    if (at < 0 || at >= rank) return tenon::not_implemented;
    return joined(all, at);
  }
};
struct Stack {
  static constexpr auto schema = "stack(Tensor[] tensors, int dim=0) -> Tensor";
  static constexpr auto types = "opencl";
  static Results forward(TensorList tensors, int64_t dim) {
    if (tensors.empty()) return tenon::not_implemented;
    const int64_t rank = tensors[0].dim() + 1, at = dim < 0 ? dim + rank : dim;
    if (at < 0 || at >= rank) return tenon::not_implemented;
    std::vector<Tensor> all;
    all.reserve(static_cast<size_t>(tensors.size()));
    for (const Tensor& tensor : tensors) {
      if (!is_there(tensor) || tensor.dim() + 1 != rank) return tenon::not_implemented;
      std::vector<int64_t> shape = tensor.sizes();
      std::vector<int64_t> strides(tensor.strides().begin(), tensor.strides().end());
      shape.insert(shape.begin() + at, 1);
      strides.insert(strides.begin() + at, 1);
      all.push_back(view(tensor, list_of(shape), list_of(strides), 0));
    }
    return joined(all, at);
  }
};

Results filled_like(const Tensor& input, const Scalar& value, DType dtype) {
  static const tenon::Op fill("fill_");
  const Tensor result =
      empty_like(input, input.shape(), dtype == DType::none ? input.dtype() : dtype);
  if (!is_element(result)) return tenon::not_implemented;
  const bool to_bool = result.dtype() == tenon::boolean;
  fill.call<Tensor>(result, to_bool ? Scalar(value.to<double>() != 0) : value);
  return result;
}
struct ZerosLike {
  static constexpr auto schema = "zeros_like(Tensor input, *, dtype? dtype=None) -> Tensor";
  static constexpr auto types = "opencl";
  static Results forward(const Tensor& input, DType dtype) { return filled_like(input, 0, dtype); }
};
struct OnesLike {
  static constexpr auto schema = "ones_like(Tensor input, *, dtype? dtype=None) -> Tensor";
  static constexpr auto types = "opencl";
  static Results forward(const Tensor& input, DType dtype) { return filled_like(input, 1, dtype); }
};
struct FullLike {
  static constexpr auto schema =
      "full_like(Tensor input, Scalar value, *, dtype? dtype=None) -> Tensor";
  static constexpr auto types = "opencl";
  static Results forward(const Tensor& input, Scalar value, DType dtype) {
    return filled_like(input, value, dtype);
  }
};

}  // namespace

}  // namespace tenon_opencl

using namespace tenon_opencl;

TENON_OVERRIDE(CopyOnDevice)
TENON_OVERRIDE(Clone)
TENON_OVERRIDE(Contiguous)
TENON_OVERRIDE(Convert)
TENON_OVERRIDE(Reshape)
TENON_OVERRIDE(Flatten)
TENON_OVERRIDE(Cat)
TENON_OVERRIDE(Stack)
TENON_OVERRIDE(ZerosLike)
TENON_OVERRIDE(OnesLike)
TENON_OVERRIDE(FullLike)
