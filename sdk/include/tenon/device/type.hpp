// The tensor type of a device: where its tensors are, how they are made, and copies.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/device/queue.hpp"
#include "tenon/graph.hpp"
#include "tenon/interrupt.hpp"
#include "tenon/override_definition.hpp"
#include "tenon/type_definition.hpp"

TENON_NAMESPACE_BEGIN
namespace device {

// The payload of tensors on a device. Views of one tensor share it.
template <class D>
struct Type {
  static constexpr auto parent = "Tensor";  // a subclass
  static constexpr auto own_memory = true;  // kernels do not read it

  DeviceMemory* buffer = nullptr;  // the storage's, which outlives the payload's tensors

  // "sim:1". Tensors on a device are saved as plain ones, and are not made from it.
  std::string attributes() const;
  static D from_attributes(std::string_view name);  // throws TypeError: device::to makes them
  static std::string text(const Tensor& self);      // as printed
  static Tensor to_tensor(const Tensor& self);      // downloads
  // Uploads to the device of `like`.
  static Tensor from_tensor(const Tensor& plain, const Tensor& like);
  static Tensor project_gradient(const Tensor& gradient);  // gradients are on the device too
};

namespace detail {

using namespace tenon::detail;

// The instance that the thread has used last: gradients that begin on the CPU go there.
template <class D>
int64_t& current_index() {
  static thread_local int64_t index = 0;
  return index;
}

// Bytes that the tensors of an instance take.
template <class D>
std::atomic<int64_t>& used_bytes(int64_t index) {
  static auto* const used =
      new std::deque<std::atomic<int64_t>>(static_cast<size_t>(D::driver().count()));
  return (*used)[static_cast<size_t>(index)];
}

template <class D>
int64_t checked_index(int64_t index) {
  const int64_t count = D::driver().count();
  if (index < 0 || index >= count) {
    const std::string absence = count == 0 ? D::driver().absence() : std::string();
    throw_message(
        TENON_ERROR_INDEX,
        {"there is no device ", D::name, ":", index, "; ",
         absence.empty() ? std::string(D::name) + " has " + std::to_string(count) : absence});
  }
  return index;
}

// Bytes from the first to the last element, and how far the first in memory is before the first.
struct Extent {
  int64_t bytes = 0;
  int64_t before = 0;
};
inline Extent extent_of(const Tensor& tensor) {
  int64_t low = 0, high = 0;
  for (int64_t d = 0; d < tensor.dim(); ++d) {
    const int64_t reach = (tensor.shape()[d] - 1) * tensor.strides()[d];
    (reach < 0 ? low : high) += reach;
  }
  const int64_t width = element_size(tensor.dtype());
  return {tensor.numel() == 0 ? 0 : (high - low + 1) * width, -low * width};
}

}  // namespace detail

// The address of the first element on the device; null without elements. RuntimeError in the child of
// a fork, for kernels that write into an operand and allocate nothing.
inline void* elements(const Tensor& tensor) {
  check_process("the device of a tensor");
  return tensor.view_record().data;
}

template <class D>
int64_t index_of(const Tensor& tensor) {  // instance of a tensor, from 0
  return as<D>(tensor).buffer->index;
}

// Its allocation, for work that is queued.
template <class D>
MemoryReference memory_of(const Tensor& tensor) {
  return MemoryReference(*as<D>(tensor).buffer);
}

namespace detail {
// Waits for queued work, after which the elements may be read or changed.
inline void wait_for(DeviceMemory& memory) {
  check_process("the device of a tensor");
  if (Queue* queue = memory.driver.queue(memory.index)) queue->wait();
}
}  // namespace detail

// Waits until the elements are there; throws the error of the work that should have written them.
template <class D>
void wait_for(const Tensor& tensor) {
  DeviceMemory& memory = *as<D>(tensor).buffer;
  detail::wait_for(memory);
  memory.check();
}

// An uninitialized, contiguous tensor on an instance.
template <class D>
Tensor empty(IntList shape, DType dtype, int64_t index) {
  detail::checked_index<D>(index);
  check_process(D::name);
  MemoryReference buffer = MemoryReference::take(
      new DeviceMemory(D::driver(), detail::used_bytes<D>(index), index, dtype, shape));
  std::vector<int64_t> strides(static_cast<size_t>(shape.size()));
  int64_t step = 1;
  for (int64_t d = shape.size(); d-- > 0;) {
    strides[static_cast<size_t>(d)] = step;
    step *= std::max<int64_t>(shape[d], 1);
  }
  DeviceMemory* const owned = buffer.get();
  const Tensor plain = wrap_buffer(owned->data, shape, IntList(strides.data(), shape.size()), dtype,
                                   owned, DeviceMemory::release_tensors);
  static_cast<void>(buffer.give());
  detail::current_index<D>() = index;
  return wrap<D>(plain, owned);
}

template <class D>
Tensor upload(const Tensor& plain, int64_t index) {  // a new tensor on the instance
  const Tensor source = contiguous_as(plain, plain.dtype());
  Tensor result = empty<D>(source.shape(), source.dtype(), index);
  const int64_t bytes = source.numel() * element_size(source.dtype());
  if (bytes > 0) D::driver().upload(index, elements(result), source.view_record().data, bytes);
  return result;
}

// A plain tensor with the elements of one on the device, contiguous.
template <class D>
Tensor download(const Tensor& tensor) {
  const tenon_tensor_view& view = tensor.view_record();
  const detail::Extent extent = detail::extent_of(tensor);
  const DType dtype = tensor.dtype();
  const int64_t width = element_size(dtype);
  const Tensor memory = empty_tensor({extent.bytes / width}, dtype);
  wait_for<D>(tensor);
  if (extent.bytes > 0) {
    D::driver().download(index_of<D>(tensor), memory.view_record().data,
                         static_cast<const char*>(view.data) - extent.before, extent.bytes);
  }
  const Tensor same = alias_tensor(memory, tensor.shape(), tensor.strides(), extent.before / width);
  if (same.is_contiguous() && extent.bytes / width == tensor.numel()) return same;
  Tensor result = empty_tensor(tensor.shape(), dtype);
  copy_elements(result, same);
  return result;
}

template <class D>
std::string Type<D>::attributes() const {
  return D::name + (buffer == nullptr ? std::string() : ":" + std::to_string(buffer->index));
}
template <class D>
D Type<D>::from_attributes(std::string_view name) {
  detail::throw_message(TENON_ERROR_TYPE, {"a tensor on ", name, " is made by device::to"});
}
template <class D>
std::string Type<D>::text(const Tensor& self) {
  std::string text = to_tensor(self).text();
  std::string more =
      std::string(", device='") + D::name + ":" + std::to_string(index_of<D>(self)) + "'";
  if (const Node node = self.grad_fn(); node.defined())
    more += std::string(", grad_fn=<") + node.name() + ">";
  else if (self.requires_grad())
    more += ", requires_grad=True";
  return text.insert(text.size() - 1, more);
}
template <class D>
Tensor Type<D>::to_tensor(const Tensor& self) {
  return download<D>(self);
}
template <class D>
Tensor Type<D>::from_tensor(const Tensor& plain, const Tensor& like) {
  return upload<D>(plain, like.defined() ? index_of<D>(like) : detail::current_index<D>());
}
template <class D>
Tensor Type<D>::project_gradient(const Tensor& gradient) {
  return is<D>(gradient) ? gradient
                         : upload<D>(ensure_tensor(gradient), detail::current_index<D>());
}

// ---- copies ----

// Op `copy_`, as far as one operand is on the device, for TENON_OVERRIDE: derive from it. By way of the
// CPU; a device that copies and converts writes another. A copy over a whole allocation takes the
// failure of what should have written it away.
template <class D>
struct Copy {
  // Overrides math's.
  static constexpr auto schema = "copy_(Tensor(a!) input, Tensor source) -> Tensor(a!)";
  static constexpr auto doc = "Copies from, to and on the device.";  // for listings
  static constexpr auto types = D::name;                             // operands that it is for

  static Tensor forward(const Tensor& input, const Tensor& source) {  // in either direction
    // An interrupt ends the waits, after which the change is made whole.
    const Tensor plain = is<D>(source) ? download<D>(source) : ensure_tensor(source);
    if (!is<D>(input)) {
      const Uninterrupted whole_change;
      copy_elements(input, plain);
      return input;
    }
    // Elements between those of a tensor with gaps stay as they are.
    const detail::Extent extent = detail::extent_of(input);
    const int64_t width = element_size(input.dtype()), index = index_of<D>(input);
    DeviceMemory& buffer = *as<D>(input).buffer;
    detail::wait_for(buffer);
    const Uninterrupted whole_change;
    const bool whole = extent.bytes == buffer.bytes && extent.bytes == input.numel() * width;
    if (!whole) buffer.check();
    if (extent.bytes == 0) return input;
    char* const there = static_cast<char*>(elements(input)) - extent.before;
    const Tensor memory = empty_tensor({extent.bytes / width}, input.dtype());
    void* const here = memory.view_record().data;
    if (extent.bytes > input.numel() * width)
      D::driver().download(index, here, there, extent.bytes);
    copy_elements(alias_tensor(memory, input.shape(), input.strides(), extent.before / width),
                  plain);
    D::driver().upload(index, there, here, extent.bytes);
    if (whole) buffer.set_failure(nullptr);
    return input;
  }
};

// An op that copies a tensor of the CPU to the device, for TENON_OP: derive from it and give it a
// schema, "sim.to(Tensor input, int index=0) -> Tensor". It is differentiable.
template <class D>
struct To {
  static constexpr auto doc = "input on an instance of the device; a copy.";  // for listings
  static constexpr auto composite = true;                                     // made of ops
  static constexpr auto samples =                                             // for tenon check
      R"([{"input": {"shape": [2, 3]}}, {"input": {"shape": [3, 3], "dtype": "f32"}}])";

  static Tensor forward(const Tensor& input, int64_t index) {  // a copy
    const Tensor like = empty<D>({}, input.dtype(), index);
    tenon_tensor* result = nullptr;
    tenon::detail::check(tenon::service::types().from_plain, detail::type_id<D>(), input.handle(),
                         like.handle(), &result);
    return Tensor::take(result);
  }
};

}  // namespace device
TENON_NAMESPACE_END
