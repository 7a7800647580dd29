// Devices as applications and plugins use them: where a tensor is, and the way there and back.
//
//   const Tensor x = device::to(randn({64, 128}), "sim:0");
//   const Tensor y = relu(x) * 2;          // runs on the device, recorded as on the CPU
//   device::name_of(y)                     // "sim:0"
//   device::to(y, "cpu")                   // waits for the elements and copies them
#pragma once

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "tenon/autograd.hpp"
#include "tenon/device/service.h"
#include "tenon/interrupt.hpp"
#include "tenon/module.hpp"
#include "tenon/op.hpp"
#include "tenon/runtime.hpp"
#include "tenon/service.hpp"
#include "tenon/transforms/batched.hpp"
#include "tenon/typed_tensor.hpp"

TENON_NAMESPACE_BEGIN
namespace device {

// Whether tensors of the type are on a device.
inline bool has_own_memory(uint32_t type) {
  tenon_type_parts parts{sizeof parts, 0, nullptr, nullptr, 0};
  tenon::detail::check(tenon::service::types().parts, type, &parts);
  return (parts.flags & TENON_PARTS_OWN_MEMORY) != 0;
}

// "cpu", and the devices of all plugins that are installed: their tensor types. Loads none.
inline std::vector<std::string> kinds() {
  std::vector<std::string> names{"cpu"};
  const Json plugins = document(Document::facts);
  for (int64_t p = 0; p < plugins.size(); ++p) {
    const Json types = plugins[p]["facts"]["types"];
    for (int64_t i = 0; i < types.size(); ++i) {
      const bool is_device = (types[i]["flags"].integer() & TENON_TYPE_OWN_MEMORY) != 0;
      const std::string name = types[i]["name"].text();
      if (is_device && std::find(names.begin(), names.end(), name) == names.end())
        names.push_back(name);
    }
  }
  return names;
}
// The message about a name that no device has, with those that there are.
inline std::string unknown_device(const std::string& name) {
  const std::vector<std::string> known = kinds();
  return "no device is named '" + printable(name) + "'; expected " + join(known, ", ") +
         ", or one of several, NAME:1" + suggestion(name.substr(0, name.find(':')), known);
}

// A device by its name: "sim:1", "sim" for the first one, "cpu".
class Device {
 public:
  // Loads the plugin of the device. ValueError for a name that none has, IndexError for an instance
  // that is not there.
  explicit Device(const std::string& name) {
    const size_t colon = name.find(':');
    kind_ = name.substr(0, colon);
    if (colon != std::string::npos) {
      char* end = nullptr;
      const char* const digits = name.c_str() + colon + 1;
      index_ = std::strtoll(digits, &end, 10);
      if (*digits < '0' || *digits > '9' || *end != 0) throw ValueError(unknown_device(name));
    }
    if (kind_ == "cpu") {
      if (index_ != 0)
        tenon::detail::throw_message(TENON_ERROR_INDEX, {"there is no device ", name});
      return;
    }
    find_type(name);
    const int64_t count = service()->count();
    if (count == 0) {
      call_slot(service()->synchronize, index_);  // its plugin may say why
      tenon::detail::throw_message(
          TENON_ERROR_INDEX,
          {"there is no device ", name, ": '", kind_,
           "' finds none on this machine; install a driver for one, or use cpu"});
    }
    if (index_ < 0 || index_ >= count) {
      tenon::detail::throw_message(TENON_ERROR_INDEX,
                                   {"there is no device ", name, "; '", kind_, "' has ", count});
    }
  }
  bool is_cpu() const { return type_ == 0; }  // plain memory
  uint32_t type() const { return type_; }     // number of its type; 0: the CPU
  int64_t index() const { return index_; }    // among devices of the kind
  // "cpu", "sim:0".
  std::string name() const { return is_cpu() ? "cpu" : kind_ + ":" + std::to_string(index_); }
  tenon::Service<tenon_device_service> service() const {  // the service of its plugin
    return {("device." + kind_).c_str(), TENON_DEVICE_SERVICE_VERSION};
  }

 private:
  void find_type(const std::string& name) {
    try {
      tenon::detail::check(tenon::service::types().find, kind_.c_str(), &type_);
    } catch (const ValueError&) {
      throw ValueError(unknown_device(name));
    }
    if (!has_own_memory(type_)) throw ValueError(unknown_device(name));
  }

  std::string kind_;
  uint32_t type_ = 0;
  int64_t index_ = 0;
};

// "cpu", or "sim:0"; of a tensor that is made of others, as Batched is, where the first of them is.
inline std::string name_of(const Tensor& tensor) {
  if (!tensor.defined())
    tenon::detail::throw_message(TENON_ERROR_VALUE, {"an undefined tensor is on no device"});
  const tenon_tensor_view& view = tensor.view_record();
  if ((view.flags & TENON_TENSOR_TYPED) == 0) return "cpu";
  tenon_type_parts parts{sizeof parts, 0, nullptr, nullptr, 0};
  tenon::detail::check(tenon::service::types().parts, view.type, &parts);
  if (parts.component_count > 0) {
    const char* const name = parts.components[0];
    tenon_tensor* part = nullptr;
    tenon::detail::check(tenon::service::types().component, tensor.handle(), name,
                         static_cast<int64_t>(std::strlen(name)), &part);
    if (part != nullptr) return name_of(Tensor::borrow(part));
  }
  if ((parts.flags & TENON_PARTS_OWN_MEMORY) == 0) return "cpu";
  const std::string kind = type_name(tensor);
  const tenon::Service<tenon_device_service> service(("device." + kind).c_str(),
                                                     TENON_DEVICE_SERVICE_VERSION);
  return kind + ":" + std::to_string(service->index(tensor.handle()));
}

namespace detail {

// The batch of a tensor of a vmap; null of another one, and of one with a history that its batch has not, as a leaf
// or a dual tensor made within the vmap: a batch has tangents in its value alone. Valid as long as the tensor.
inline const transforms::Batched* batch_of(const Tensor& tensor) {
  const tenon_tensor_view& view = tensor.view_record();
  if ((view.flags & TENON_TENSOR_TYPED) == 0 || type_name(tensor) != "Batched") return nullptr;
  const transforms::Batched* const batched = try_as<transforms::Batched>(tensor);
  const uint32_t held = batched->value.view_record().flags & TENON_TENSOR_REQUIRES_GRAD;
  constexpr uint32_t history = TENON_TENSOR_REQUIRES_GRAD | TENON_TENSOR_HAS_TANGENT;
  return (view.flags & history & ~held) == 0 ? batched : nullptr;
}

}  // namespace detail

// The tensor on a device, differentiable: itself where it is there already, else a copy. Within a vmap all samples
// move at once. TypeError for another tensor without a conversion to Tensor.
inline Tensor to(const Tensor& tensor, const Device& device) {
  if (name_of(tensor) == device.name()) return tensor;
  if (const transforms::Batched* const batched = detail::batch_of(tensor))
    return make<transforms::Batched>(to(batched->value, device), batched->level);
  const Tensor plain = ensure_tensor(tensor);
  if (device.is_cpu()) return plain;
  tenon_tensor *like = nullptr, *result = nullptr;
  call_slot(device.service()->upload, empty_tensor({0}).handle(), device.index(), &like);
  const Tensor example = Tensor::take(like);
  tenon::detail::check(tenon::service::types().from_plain, device.type(), plain.handle(),
                       example.handle(), &result);
  return Tensor::take(result);
}
// A copy on the device, or the tensor itself when it is there. Gradients pass.
inline Tensor to(const Tensor& tensor, const std::string& device) {
  return to(tensor, Device(device));
}

// ---- new tensors on a device ----
//
// Made there: one number is copied. Random numbers are those that the CPU would draw, in the order of the
// calls. IndexError, ValueError and MemoryError as `Device` and `to` have them.

// Each element is `value`.
inline Tensor full(const std::vector<int64_t>& shape, Scalar value, DType dtype,
                   const Device& device) {
  Tensor one = empty_tensor({}, dtype);
  fill_elements(one, value);
  static const Op expand("expand"), clone("clone");
  const NoGrad no_grad;
  return clone.call<Tensor>(expand.call<Tensor>(to(one, device), shape));
}
// Each element is 0.
inline Tensor zeros(const std::vector<int64_t>& shape, DType dtype, const Device& device) {
  return full(shape, 0, dtype, device);
}
// Each element is 1.
inline Tensor ones(const std::vector<int64_t>& shape, DType dtype, const Device& device) {
  return full(shape, 1, dtype, device);
}
// Drawn evenly from [0, 1), of a floating dtype.
inline Tensor rand(const std::vector<int64_t>& shape, DType dtype, const Device& device) {
  const NoGrad no_grad;
  return Op("uniform_").call<Tensor>(zeros(shape, dtype, device));
}
// Normally distributed, of a floating dtype.
inline Tensor randn(const std::vector<int64_t>& shape, DType dtype, const Device& device) {
  const NoGrad no_grad;
  return Op("normal_").call<Tensor>(zeros(shape, dtype, device));
}

// Moves the parameters and buffers of a module, and of those in it: the same tensors, with their
// elements on the device. Gradients are dropped.
inline void move(const Module& module, const Device& device) {
  const NoGrad no_grad;
  const Uninterrupted whole;  // some of it would be on one device, and some on another
  const auto move_one = [&](Tensor tensor) {
    if (name_of(tensor) == device.name()) return;
    const Tensor there = to(tensor.detach(), device);
    tensor.set_grad({});
    tenon::detail::check(tenon::service::tensors().set_data, tensor.handle(),
                         static_cast<const tenon_tensor*>(there.handle()), 1);
  };
  for (const auto& [name, tensor] : module.named_parameters()) move_one(tensor);
  for (const auto& [name, tensor] : module.named_buffers()) move_one(tensor);
}
// The device of a module's first parameter or buffer; "cpu" without any.
inline std::string name_of(const Module& module) {
  for (const auto& [name, tensor] : module.named_parameters()) return name_of(tensor);
  for (const auto& [name, tensor] : module.named_buffers()) return name_of(tensor);
  return "cpu";
}

// Returns once all that was begun on the device has ended; throws what has failed meanwhile.
inline void synchronize(const Device& device) {
  if (!device.is_cpu()) call_slot(device.service()->synchronize, device.index());
}

}  // namespace device
TENON_NAMESPACE_END
