// Fuzzes config reading: any text is taken or refused with places, and what is taken is taken
// again.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include <tenon/config/config.hpp>
#include <tenon/text.hpp>

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view source(reinterpret_cast<const char*>(data), size);
  const std::string folder = "/no/such/folder";
  tenon::Json config;
  try {
    config = tenon::config::parse(source, "c.json", folder);
  } catch (const tenon::Error& error) {
    require(error.kind() == TENON_ERROR_CONFIG);
    require(tenon::printable(error.what()) == error.what());
    return 0;
  }
  const std::string text = config.dump();
  require(tenon::config::parse(text, "c.json", folder).dump() == text);
  return 0;
}
