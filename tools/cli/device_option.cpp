// Faults of --device.
#include "device_option.hpp"

#include "exit_code.hpp"
#include "format.hpp"

namespace cli {

tenon::device::Device device_option(const std::string& name) {
  try {
    return tenon::device::Device(name);
  } catch (const tenon::Error& error) {
    tenon::detail::throw_message(error.kind(), {"--device: ", error.what()});
  }
}

void require_cpu(const tenon::device::Device& device, const std::string& asked,
                 const std::string& file, const std::string& remedy) {
  if (device.is_cpu()) return;
  throw UsageError(
      format_text("{} is {}, and {} is the file of a prepared model, which runs on the CPU: {}",
                  asked, device.name(), file, remedy));
}

}  // namespace cli
