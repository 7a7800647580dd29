// Devices for plugins: a tensor type whose elements are in memory of a device.
//
//   class Memory final : public tenon::device::Driver { ... };     // allocates and copies
//
//   struct SimTensor : tenon::device::Type<SimTensor> {
//     static constexpr auto name = "sim";
//     static constexpr auto doc = "A strict fake device.";
//     static tenon::device::Driver& driver() { static Memory memory; return memory; }
//   };
//   TENON_TYPE(SimTensor)
//
//   struct Devices : tenon::device::ServiceOf<SimTensor> {
//     static constexpr const char* name = "device.sim";
//   };
//   TENON_SERVICE(Devices)
//
//   struct CopyToSim : tenon::device::Copy<SimTensor> {};
//   TENON_OVERRIDE(CopyToSim)
//
// Tensors of the type are on "sim:0", "sim:1" ... Ops for them are overrides (override_definition.hpp)
// with types = "sim": each is a kernel, recorded by the rules of its op. Operands are contiguous or not;
// `elements(tensor)` is the address of the first one on the device, `empty<SimTensor>(shape, dtype, index)` a
// result. Ops without an override: views and ops that are made of ops work as they are, others run
// on the CPU in memory that the driver maps (`tenon_function = run_mapped`), where a config lets the
// type fall back ("fallback": "unwrap_rewrap"), or raise NotImplementedError.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tenon/device/service.h"
#include "tenon/override_definition.hpp"
#include "tenon/service.hpp"
#include "tenon/type_definition.hpp"

TENON_NAMESPACE_BEGIN
namespace device {

// Memory of the instances of a device, numbered from 0. Any thread calls the functions, several at
// the same time; they throw typed errors, a MemoryError where there is not enough memory.
class Driver {
 public:
  virtual ~Driver() = default;
  virtual int64_t count() const = 0;
  // `bytes` > 0. An address that no other allocation has; nothing but the driver and kernels of the
  // device use it as one.
  virtual void* allocate(int64_t index, int64_t bytes) = 0;
  virtual void free(int64_t index, void* data, int64_t bytes) noexcept = 0;
  // Contiguous bytes from the CPU and back. On return the memory of the CPU has been read or
  // written.
  virtual void upload(int64_t index, void* to, const void* from, int64_t bytes) = 0;
  virtual void download(int64_t index, void* to, const void* from, int64_t bytes) = 0;
  // Until `unmap` the CPU reads and writes an allocation at its address; maps of one allocation nest.
  // A driver whose memory the CPU does not reach throws NotImplementedError.
  virtual void map(int64_t index, void* data, int64_t bytes) {
    (void)index, (void)data, (void)bytes;
    throw NotImplementedError("the memory of the device is not reached by the CPU");
  }
  virtual void unmap(int64_t index, void* data, int64_t bytes) noexcept {
    (void)index, (void)data, (void)bytes;
  }
  virtual void synchronize(int64_t index) { (void)index; }
  // Bytes that it has; -1: not known.
  virtual int64_t total_bytes(int64_t index) const {
    (void)index;
    return -1;
  }
};

// One allocation, counted in what the tensors of an instance take.
struct DeviceMemory {
  Driver& driver;
  std::atomic<int64_t>& used;
  int64_t index = 0;
  int64_t bytes = 0;
  void* data = nullptr;

  DeviceMemory(Driver& of, std::atomic<int64_t>& counted, int64_t instance, int64_t size)
      : driver(of), used(counted), index(instance), bytes(size) {
    if (bytes > 0) data = driver.allocate(index, bytes);
    used += bytes;
  }
  ~DeviceMemory() {
    if (data != nullptr) driver.free(index, data, bytes);
    used -= bytes;
  }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  static void release(void* owner) { delete static_cast<DeviceMemory*>(owner); }
};

// The payload of tensors on a device. Views of one tensor share it.
template <class D>
struct Type {
  static constexpr auto parent = "Tensor";
  static constexpr auto own_memory = true;

  DeviceMemory* buffer = nullptr;  // the storage's, which outlives the payload's tensors

  static std::string text(const Tensor& self);
  static Tensor to_tensor(const Tensor& self);
  static Tensor from_tensor(const Tensor& plain, const Tensor& like);
  static Tensor project_gradient(const Tensor& gradient);
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
  static std::deque<std::atomic<int64_t>> used(static_cast<size_t>(D::driver().count()));
  return used[static_cast<size_t>(index)];
}

template <class D>
int64_t checked_index(int64_t index) {
  const int64_t count = D::driver().count();
  if (index < 0 || index >= count) {
    throw_message(TENON_ERROR_INDEX,
                  {"there is no device ", D::name, ":", index, "; ", D::name, " has ", count});
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

// The address of the first element on the device; null without elements.
inline void* elements(const Tensor& tensor) { return tensor.view_record().data; }

template <class D>
int64_t index_of(const Tensor& tensor) {
  return as<D>(tensor).buffer->index;
}

// An uninitialized, contiguous tensor on an instance.
template <class D>
Tensor empty(IntList shape, DType dtype, int64_t index) {
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  detail::checked_index<D>(index);
  auto buffer = std::make_unique<DeviceMemory>(D::driver(), detail::used_bytes<D>(index), index,
                                               count * element_size(dtype));
  std::vector<int64_t> strides(static_cast<size_t>(shape.size()));
  int64_t step = 1;
  for (int64_t d = shape.size(); d-- > 0;) {
    strides[static_cast<size_t>(d)] = step;
    step *= std::max<int64_t>(shape[d], 1);
  }
  DeviceMemory* const owned = buffer.get();
  const Tensor plain = wrap_buffer(owned->data, shape, IntList(strides.data(), shape.size()), dtype,
                                   owned, DeviceMemory::release);
  static_cast<void>(buffer.release());
  detail::current_index<D>() = index;
  return wrap<D>(plain, owned);
}

template <class D>
Tensor upload(const Tensor& plain, int64_t index) {
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
std::string Type<D>::text(const Tensor& self) {
  std::string text = to_tensor(self).text();
  text.insert(text.size() - 1,
              std::string(", device='") + D::name + ":" + std::to_string(index_of<D>(self)) + "'");
  return text;
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
// CPU; a device that copies and converts writes another.
template <class D>
struct Copy {
  static constexpr auto schema = "copy_(Tensor(a!) input, Tensor source) -> Tensor(a!)";
  static constexpr auto doc = "Copies from, to and on the device.";
  static constexpr auto types = D::name;

  static Tensor forward(const Tensor& input, const Tensor& source) {
    const Tensor plain = is<D>(source) ? download<D>(source) : ensure_tensor(source);
    if (!is<D>(input)) {
      copy_elements(input, plain);
      return input;
    }
    // Elements between those of a tensor with gaps stay as they are.
    const detail::Extent extent = detail::extent_of(input);
    const int64_t width = element_size(input.dtype()), index = index_of<D>(input);
    if (extent.bytes == 0) return input;
    char* const there = static_cast<char*>(elements(input)) - extent.before;
    const Tensor memory = empty_tensor({extent.bytes / width}, input.dtype());
    void* const here = memory.view_record().data;
    if (extent.bytes > input.numel() * width)
      D::driver().download(index, here, there, extent.bytes);
    copy_elements(alias_tensor(memory, input.shape(), input.strides(), extent.before / width),
                  plain);
    D::driver().upload(index, there, here, extent.bytes);
    return input;
  }
};

// An op that copies a tensor of the CPU to the device, for TENON_OP: derive from it and give it a
// schema, "sim.to(Tensor input, int index=0) -> Tensor". It is differentiable.
template <class D>
struct To {
  static constexpr auto doc = "input on an instance of the device; a copy.";
  static constexpr auto composite = true;
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 3]}}, {"input": {"shape": [3, 3], "dtype": "f32"}}])";

  static Tensor forward(const Tensor& input, int64_t index) {
    const Tensor like = empty<D>({}, input.dtype(), index);
    tenon_tensor* result = nullptr;
    tenon::detail::check(tenon::service::types().from_plain, detail::type_id<D>(), input.handle(),
                         like.handle(), &result);
    return Tensor::take(result);
  }
};

// ---- the CPU's kernels in mapped memory ----

namespace detail {

// The operands of one call as plain tensors over mapped memory.
template <class D>
class Mapped {
 public:
  Mapped() = default;
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;
  ~Mapped() {
    for (const Operand& operand : operands_) unmap(operand);
  }

  // Tensors of the CPU stay: numbers, and what is copied to or from the device.
  Tensor plain(const Tensor& tensor) {
    if (!tensor.defined()) return tensor;
    if (!is<D>(tensor)) return of_cpu_.emplace_back(tensor);
    const DeviceMemory& buffer = *as<D>(tensor).buffer;
    if (index_ >= 0 && buffer.index != index_) {
      throw_message(TENON_ERROR_VALUE,
                    {"one operand is on ", D::name, ":", index_, ", another on ", D::name, ":",
                     buffer.index, "; copy one of them to the device of the other"});
    }
    index_ = buffer.index;
    for (const Operand& operand : operands_) {
      if (operand.given.is_same(tensor)) return operand.plain;
    }
    Operand operand{tensor, {}, &buffer};
    if (buffer.bytes > 0) buffer.driver.map(buffer.index, buffer.data, buffer.bytes);
    operands_.push_back(std::move(operand));
    return operands_.back().plain = over(buffer, tensor);
  }
  // A result as the caller gets it: the operand itself where it was changed in place.
  Tensor result(const Tensor& made) {
    if (!made.defined() || made.view_record().type != 0) return made;
    for (const Operand& operand : operands_) {
      if (operand.plain.is_same(made)) return operand.given;
    }
    for (const Tensor& given : of_cpu_) {
      if (given.is_same(made)) return made;
    }
    // A view that the op may give, as reshape does, is one of the operand on the device.
    for (const Operand& operand : operands_) {
      const bool is_view =
          made.numel() > 0 && made.dtype() == operand.given.dtype() &&
          tenon::service::tensors().shares_storage(operand.plain.handle(), made.handle()) != 0;
      if (!is_view) continue;
      const int64_t offset = (static_cast<const char*>(elements(made)) -
                              static_cast<const char*>(elements(operand.plain))) /
                             element_size(made.dtype());
      static const Op view("as_strided");
      return view.call<Tensor>(operand.given, made.shape(), made.strides(), offset);
    }
    return upload<D>(made, index_);
  }

 private:
  struct Operand {
    Tensor given;
    Tensor plain;
    const DeviceMemory* buffer;
  };
  static void unmap(const Operand& operand) {
    if (operand.buffer->bytes > 0)
      operand.buffer->driver.unmap(operand.buffer->index, operand.buffer->data,
                                   operand.buffer->bytes);
  }
  // Operands of one allocation share a storage, as they do on the device.
  Tensor over(const DeviceMemory& buffer, const Tensor& tensor) {
    if (tensor.numel() == 0) return empty_tensor(tensor.shape(), tensor.dtype());
    const int64_t width = element_size(tensor.dtype());
    const int64_t offset =
        (static_cast<char*>(elements(tensor)) - static_cast<char*>(buffer.data)) / width;
    for (const auto& [known, whole] : wholes_) {
      if (known == &buffer && whole.dtype() == tensor.dtype())
        return alias_tensor(whole, tensor.shape(), tensor.strides(), offset);
    }
    const int64_t count = buffer.bytes / width, step = 1;
    wholes_.emplace_back(&buffer, wrap_buffer(buffer.data, IntList(&count, 1), IntList(&step, 1),
                                              tensor.dtype(), nullptr, nullptr));
    return alias_tensor(wholes_.back().second, tensor.shape(), tensor.strides(), offset);
  }
  std::vector<Operand> operands_;
  std::vector<std::pair<const DeviceMemory*, Tensor>> wholes_;
  std::vector<Tensor> of_cpu_;
  int64_t index_ = -1;
};

}  // namespace detail

// A handler that runs each op by the kernels of the CPU, in memory that the driver maps.
template <class D>
Results run_mapped(const Call& call) {
  const tenon_call& given = *call.handle();
  detail::Mapped<D> mapped;
  std::vector<tenon_value> values(given.arguments, given.arguments + given.argument_count);
  std::vector<Tensor> owned;
  std::vector<std::vector<tenon_tensor*>> lists(values.size());
  const auto replaced = [&](tenon_tensor* tensor) {
    return tensor == nullptr ? nullptr
                             : owned.emplace_back(mapped.plain(Tensor::borrow(tensor))).handle();
  };
  for (size_t i = 0; i < values.size(); ++i) {
    tenon_value& value = values[i];
    if (value.tag == TENON_VALUE_TENSOR) {
      value.as.tensor = replaced(value.as.tensor);
    } else if (value.tag == TENON_VALUE_TENSOR_LIST) {
      for (uint32_t k = 0; k < value.length; ++k) lists[i].push_back(replaced(value.as.tensors[k]));
      value.as.tensors = lists[i].data();
    }
  }
  Results results = Results::of_count(tenon::service::ops().result_count(given.op));
  tenon::detail::check(tenon::service::ops().call, given.op, values.data(), given.argument_count,
                       results.slots());
  results.transform([&](const Tensor& made) { return mapped.result(made); });
  return results;
}

// ---- the service ----

// The service of a device, for TENON_SERVICE: derive from it and give it a name, "device.sim" for the
// type `sim`.
template <class D>
struct ServiceOf {
  static constexpr const char* doc = "Instances of the device, and the way to them.";

  static int64_t TENON_CALL count() { return D::driver().count(); }
  static tenon_status TENON_CALL upload(tenon_tensor* plain, int64_t index, tenon_tensor** result,
                                        tenon_error** error) {
    return run_slot(error, [&] {
      *result = device::upload<D>(Tensor::borrow(plain), detail::checked_index<D>(index)).give();
    });
  }
  static int64_t TENON_CALL index(const tenon_tensor* tensor) {
    return detail::payload_of<D>(tensor)->buffer->index;
  }
  static tenon_status TENON_CALL synchronize(int64_t index, tenon_error** error) {
    return run_slot(error, [&] { D::driver().synchronize(detail::checked_index<D>(index)); });
  }
  static tenon_status TENON_CALL memory(int64_t index, int64_t* used, int64_t* total,
                                        tenon_error** error) {
    return run_slot(error, [&] {
      *total = D::driver().total_bytes(detail::checked_index<D>(index));
      *used = detail::used_bytes<D>(index);
    });
  }
  static constexpr tenon_device_service table{
      {sizeof(tenon_device_service), TENON_DEVICE_SERVICE_VERSION},
      count,
      upload,
      index,
      synchronize,
      memory};
};

}  // namespace device
TENON_NAMESPACE_END
