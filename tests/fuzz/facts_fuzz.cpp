// libFuzzer target: whatever the bytes are, reading facts and linked libraries from them ends
// in these or a PluginError.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/plugin/elf_notes.hpp"
#include "core/plugin/facts_reader.hpp"
#include "core/plugin/failure.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const tenon::core::MemorySource source({reinterpret_cast<const char*>(data), size});
  try {
    tenon::core::read_linked_libraries(source, "fuzz.so");
    tenon::core::read_facts(source, "fuzz.so");
  } catch (const tenon::core::PluginError&) {
  }
  return 0;
}
