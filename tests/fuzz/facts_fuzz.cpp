// libFuzzer target: whatever the bytes are, reading facts, linked libraries and symbols from them ends
// in these or a PluginError.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/plugin/facts/elf_notes.hpp"
#include "core/plugin/facts/facts_reader.hpp"
#include "core/plugin/failure.hpp"
#include "core/plugin/unload/unmap_verdict.hpp"
#include "tests/support/memory_source.hpp"

namespace {

// A file that one reader refuses may be accepted by another.
template <class Read>
void take_or_refuse(Read&& read) {
  try {
    read();
  } catch (const tenon::core::PluginError&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const tenon::core::MemorySource source({reinterpret_cast<const char*>(data), size});
  take_or_refuse([&] { tenon::core::read_linked_libraries(source, "fuzz.so"); });
  take_or_refuse([&] { tenon::core::judge_unmapping(source, "fuzz.so"); });
  take_or_refuse([&] { tenon::core::read_facts(source, "fuzz.so"); });
  return 0;
}
