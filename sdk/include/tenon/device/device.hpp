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

#include <cstdint>

#include "tenon/device/mapped.hpp"
#include "tenon/device/service.h"
#include "tenon/device/type.hpp"
#include "tenon/service.hpp"

TENON_NAMESPACE_BEGIN
namespace device {

// ---- the service ----

// The service of a device, for TENON_SERVICE: derive from it and give it a name, "device.sim" for the
// type `sim`.
template <class D>
struct ServiceOf {
  static constexpr const char* doc = "Instances of the device, and the way to them.";

  // 0 where the driver cannot begin.
  static int64_t TENON_CALL count() {
    static_cast<void>(in_child_process());  // from now on a fork is noticed
    int64_t count = 0;
    tenon_error* error = nullptr;
    if (run_slot(&error, [&] { count = D::driver().count(); }) != TENON_OK)
      tenon::service::values().error_release(error);
    return count;
  }
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
    return run_slot(error, [&] {
      check_process(D::name);
      if (Queue* queue = D::driver().queue(detail::checked_index<D>(index))) queue->synchronize();
      D::driver().synchronize(index);
    });
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
