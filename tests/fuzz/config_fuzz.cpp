// Fuzzes config reading: any text is taken or refused with places, and what is taken is taken
// again.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/base/error.hpp"
#include "core/base/text.hpp"
#include "core/plugin/config.hpp"

using namespace tenon::core;

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view source(reinterpret_cast<const char*>(data), size);
  const std::string folder = "/no/such/folder";
  Json config;
  try {
    config = parse_config(source, "c.json", folder);
  } catch (const Error& error) {
    require(error.kind == TENON_ERROR_CONFIG);
    require(is_utf8(error.message));
    return 0;
  }
  const std::string text = dump(*config);
  require(dump(*parse_config(text, "c.json", folder)) == text);
  return 0;
}
