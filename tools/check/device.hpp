// Ops of other plugins on a device that the checked plugin provides, against the CPU.
#pragma once

#include <string>
#include <vector>

#include <tenon/json.hpp>

#include "item.hpp"
#include "worker.hpp"

namespace cli {

// The type of a plugin whose tensors are in memory of a device, by the plugin's declarations; "": none.
std::string device_of(const tenon::Json& declarations);
// The ops of `providers` that take tensors, or the one of that name. Throws tenon::ValueError for providers that are
// not known.
std::vector<CheckTarget> device_targets(const std::vector<std::string>& providers,
                                        const std::string& item);
// Results, changed operands, gradients and tangents of the samples, in f64 and in f32.
void check_on_device(const CheckedOp& op, const std::string& device, const std::string& plugin,
                     const CheckSettings& settings, CheckListener& listener);

}  // namespace cli
