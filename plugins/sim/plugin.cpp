// The plugin sim: a strict fake device, for tests and as a model of a device plugin.
#include <tenon/plugin.hpp>
#include <tenon/device/device.hpp>
#include <tenon/json.hpp>

#include "sim/control.h"
#include "sim/memory.hpp"

namespace {

struct SimTensor : tenon::device::Type<SimTensor> {
  static constexpr auto name = "sim";
  static constexpr auto doc =
      "A tensor on a fake device: memory that only the device's kernels read.";
  static tenon::device::Driver& driver() { return tenon_sim::memory(); }
  static tenon::Results tenon_function(const tenon::Call& call) {
    return tenon::device::run_mapped<SimTensor>(call);
  }
};

struct Devices : tenon::device::ServiceOf<SimTensor> {
  static constexpr const char* name = "device.sim";
};

// From and to the CPU; on the device `copy_` is a kernel like others.
struct CopyToSim : tenon::device::Copy<SimTensor> {
  static tenon::Results forward(const tenon::Tensor& input, const tenon::Tensor& source) {
    if (tenon::is<SimTensor>(input) && tenon::is<SimTensor>(source)) return tenon::not_implemented;
    return Copy::forward(input, source);
  }
};

struct ToSim : tenon::device::To<SimTensor> {
  static constexpr auto schema = "sim.to(Tensor input, int index=0) -> Tensor";
};

struct Control {
  static constexpr const char* name = "sim.control";
  static constexpr const char* doc = "Faults of the fake device, on request.";
  static int64_t TENON_CALL allocations() { return tenon_sim::memory().allocation_count(); }
  static void TENON_CALL fail_allocation(int64_t after) {
    tenon_sim::memory().fail_allocation(after);
  }
  static void TENON_CALL limit_bytes(int64_t bytes) { tenon_sim::memory().set_most_bytes(bytes); }
  static void TENON_CALL delay_kernels(int64_t microseconds, uint64_t seed) {
    tenon_sim::memory().delay_kernels(microseconds, seed);
  }
  static int64_t TENON_CALL kernels() { return tenon_sim::memory().kernel_count(); }
  static void TENON_CALL fail_kernel(int64_t after) { tenon_sim::memory().fail_kernel(after); }
  static void TENON_CALL fail_kernels(double probability, uint64_t seed) {
    tenon_sim::memory().fail_kernels(probability, seed);
  }
  static void TENON_CALL lose(int64_t index) { tenon_sim::memory().set_lost(index, true); }
  static void TENON_CALL find(int64_t index) { tenon_sim::memory().set_lost(index, false); }
  static int64_t TENON_CALL failures() { return tenon_sim::memory().failure_count(); }
  static constexpr sim_control_service table{{sizeof(sim_control_service), SIM_CONTROL_VERSION},
                                             allocations,
                                             fail_allocation,
                                             limit_bytes,
                                             delay_kernels,
                                             kernels,
                                             fail_kernel,
                                             fail_kernels,
                                             lose,
                                             find,
                                             failures};
};

// {"instances": 4, "bytes": 1000000, "delay": 200}
tenon_status TENON_CALL initialize(const tenon_json* given, tenon_error** error) {
  return tenon::run_slot(error, [&] {
    const tenon::Json options = tenon::Json::borrow(given);
    tenon::Json value = options["instances"];
    if (value.defined()) tenon_sim::memory().set_instances(value.integer());
    value = options["bytes"];
    if (value.defined()) tenon_sim::memory().set_most_bytes(value.integer());
    value = options["delay"];
    if (value.defined()) tenon_sim::memory().delay_kernels(value.integer(), 1);
  });
}

}  // namespace

TENON_TYPE(SimTensor)
TENON_SERVICE(Devices)
TENON_SERVICE(Control)
TENON_OP(ToSim)
TENON_OVERRIDE(CopyToSim)

TENON_PLUGIN(sim, "1.0.0", initialize)
