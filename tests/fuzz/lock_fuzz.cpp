// Fuzzes lock files: any text is taken or refused as a ConfigError, and what is taken is written and
// taken again, the same.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/base/error.hpp"
#include "core/plugin/plugin_lock.hpp"

using namespace tenon::core;

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  PluginLock lock;
  try {
    lock = parse_lock({reinterpret_cast<const char*>(data), size}, "tenon.lock");
  } catch (const Error& error) {
    require(error.kind == TENON_ERROR_CONFIG);
    return 0;
  }
  const std::string text = dump(*lock_document(lock));
  const PluginLock again = parse_lock(text, "tenon.lock");
  require(compare_locks(lock, again).empty());
  require(dump(*lock_document(again)) == text);
  return 0;
}
