// Fuzzes lock files: any text is taken or refused as a ConfigError, and what is taken is written and
// taken again, the same.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include <tenon/trust/lock.hpp>

using namespace tenon::trust;

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  PluginLock lock;
  try {
    lock = parse_lock({reinterpret_cast<const char*>(data), size}, "tenon.lock");
  } catch (const tenon::ConfigError&) {
    return 0;
  }
  const std::string text = lock_document(lock).dump();
  const PluginLock again = parse_lock(text, "tenon.lock");
  require(compare_locks(lock, again).empty());
  require(lock_document(again).dump() == text);
  return 0;
}
