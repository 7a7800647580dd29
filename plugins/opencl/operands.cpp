#include "opencl/operands.hpp"

#include <algorithm>

#include "opencl/copies.hpp"

namespace tenon_opencl {

Tensor dense(const Tensor& tensor) {
  return tensor.is_contiguous() ? tensor : contiguous_copy(tensor);
}

Tensor view(const Tensor& tensor, IntList shape, IntList strides, int64_t offset) {
  static const tenon::Op as_strided("as_strided");
  return as_strided.call<Tensor>(tensor, shape, strides, offset);
}

bool overlaps(const Tensor& into, const Tensor& operand) {
  if (!into.defined() || !operand.defined() || operand.numel() == 0 || into.numel() == 0)
    return false;
  const auto range = [](const Tensor& tensor) {
    const tenon::device::detail::Extent extent = tenon::device::detail::extent_of(tensor);
    const char* first = static_cast<const char*>(tenon::device::elements(tensor)) - extent.before;
    return std::pair(first, first + extent.bytes);
  };
  const auto [a, a_end] = range(into);
  const auto [b, b_end] = range(operand);
  if (b >= a_end || a >= b_end) return false;
  // Each element is read before it is written, where both have them in the same order.
  return !(tenon::device::elements(into) == tenon::device::elements(operand) &&
           into.sizes() == operand.sizes() &&
           std::equal(into.strides().begin(), into.strides().end(), operand.strides().begin()));
}

std::vector<int64_t> steps_in(const Tensor& tensor, IntList shape) {
  std::vector<int64_t> steps(static_cast<size_t>(shape.size()));
  const int64_t missing = shape.size() - tensor.dim();
  for (int64_t d = missing; d < shape.size(); ++d) {
    if (tensor.shape()[d - missing] != 1)
      steps[static_cast<size_t>(d)] = tensor.strides()[d - missing];
  }
  return steps;
}

std::optional<Dims> dims_of(IntList shape, const std::vector<std::vector<int64_t>>& steps) {
  Dims dims;
  std::vector<int64_t> sizes;
  std::vector<std::vector<int64_t>> kept(steps.size());
  for (int64_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1) continue;
    const auto at = static_cast<size_t>(d);
    bool joins = !sizes.empty();
    for (size_t k = 0; joins && k < steps.size(); ++k)
      joins = kept[k].back() == steps[k][at] * shape[d];
    if (joins) {
      sizes.back() *= shape[d];
      for (size_t k = 0; k < steps.size(); ++k) kept[k].back() = steps[k][at];
    } else {
      sizes.push_back(shape[d]);
      for (size_t k = 0; k < steps.size(); ++k) kept[k].push_back(steps[k][at]);
    }
  }
  if (sizes.empty()) return dims;
  if (sizes.size() > kMostDims + 1) return std::nullopt;
  dims.inner = number(sizes.back());
  for (size_t k = 0; k < steps.size(); ++k) dims.by[k] = kept[k].back();
  dims.rank = static_cast<cl_uint>(sizes.size() - 1);
  for (size_t d = 0; d + 1 < sizes.size(); ++d) {
    dims.size[d] = number(sizes[d]);
    dims.outer *= dims.size[d];
    for (size_t k = 0; k < steps.size(); ++k) dims.step[k][d] = kept[k][d];
  }
  return dims;
}

size_t row_items(Dims& dims, int64_t run) {
  dims.runs = static_cast<cl_uint>((dims.inner + number(run) - 1) / number(run));
  return whole_groups(static_cast<int64_t>(dims.runs * dims.outer), kGroup);
}

std::optional<std::vector<int64_t>> broadcast(IntList a, IntList b) {
  const int64_t rank = std::max(a.size(), b.size());
  std::vector<int64_t> shape(static_cast<size_t>(rank));
  for (int64_t d = 1; d <= rank; ++d) {
    const int64_t x = d <= a.size() ? a[a.size() - d] : 1, y = d <= b.size() ? b[b.size() - d] : 1;
    if (x != y && x != 1 && y != 1) return std::nullopt;
    shape[static_cast<size_t>(rank - d)] = x == 1 ? y : x;
  }
  return shape;
}

}  // namespace tenon_opencl
