// Samples beside a model on a device.
#pragma once

#include <tenon/device.hpp>
#include <tenon/training/dataset.hpp>

TENON_NAMESPACE_BEGIN

namespace training {

// The samples, with their inputs and labels on the device.
inline Samples samples_on(const device::Device& device, Samples samples) {
  if (device.is_cpu()) return samples;
  samples.inputs = device::to(samples.inputs, device);
  if (samples.labels.defined()) samples.labels = device::to(samples.labels, device);
  return samples;
}

}  // namespace training

TENON_NAMESPACE_END
