// Fuzzes the CSV parser: what parses has full rows, and its faults can be printed.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "tenon/csv.hpp"

// The parsers call nothing of it.
extern "C" const tenon_host* tenon_host_get() { return nullptr; }

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  if (size < 2) return 0;
  const std::string_view text(reinterpret_cast<const char*>(bytes) + 2, size - 2);
  constexpr char delimiters[] = {',', ';', '\t', ' ', '|'};
  try {
    const tenon::data::CsvTable table = tenon::data::parse_csv(
        text, delimiters[bytes[0] % sizeof(delimiters)], (bytes[1] & 1) != 0);
    require(table.rows > 0 && table.columns > 0);
    require(static_cast<int64_t>(table.values.size()) == table.rows * table.columns);
  } catch (const tenon::data::Fault& fault) {
    for (const char c : std::string_view(fault.what())) require(c >= ' ' && c < 0x7f);
  }
  return 0;
}
