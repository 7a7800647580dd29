// Fuzzes the headers of tensor files: what is read names each tensor once, can be written and read
// again, and faults can be printed.
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>

#include <tenon/error.hpp>
#include <tenon/text.hpp>

#include "lib/base/text.hpp"
#include "lib/state/file_header.hpp"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace tenon;
  if (size < 1) return 0;
  const std::string text(reinterpret_cast<const char*>(bytes) + 1, size - 1);
  try {
    const state::FileHeader header = state::read_header("x", text, bytes[0]);
    std::set<std::string> names;
    int64_t next = 0;
    bool known = true;
    for (const state::FileEntry& entry : header.entries) {
      require(lib::is_utf8(entry.name) && names.insert(entry.name).second);
      require(entry.shape.size() <= TENON_MAX_RANK && entry.begin == next);
      next = entry.end;
      known = known && entry.dtype != nullptr;
    }
    require(next == bytes[0]);
    for (const auto& [key, value] : header.metadata)
      require(lib::is_utf8(key) && lib::is_utf8(value));
    if (!known) return 0;
    const state::FileHeader again = state::read_header("x", state::header_text(header), bytes[0]);
    require(again.entries.size() == header.entries.size() && again.metadata == header.metadata);
  } catch (const ValueError& error) {
    require(printable(error.what()) == error.what());
  }
  return 0;
}
