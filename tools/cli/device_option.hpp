// The option --device, and models that run on the CPU alone.
#pragma once

#include <string>

#include <tenon/device.hpp>

namespace cli {

// The device of this name; its errors begin with the option.
tenon::device::Device device_option(const std::string& name);
// UsageError where a prepared model is asked to run elsewhere than on the CPU. `asked`: the option or the place
// that says so; `file`: the model's, and its option where it has one.
void require_cpu(const tenon::device::Device& device, const std::string& asked,
                 const std::string& file, const std::string& remedy);

}  // namespace cli
