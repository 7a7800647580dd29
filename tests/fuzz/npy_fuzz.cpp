// Fuzzes the .npy header parser: what parses fits into its file, and its faults can be printed.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "sdk/lib/state/npy_header.hpp"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace tenon;
  const std::string_view file(reinterpret_cast<const char*>(bytes), size);
  try {
    const state::NpyLayout layout = state::parse_npy(file, static_cast<int64_t>(size));
    require(layout.offset > 0 && layout.bytes >= 0);
    require(layout.offset + layout.bytes == static_cast<int64_t>(size));
    int64_t count = layout.element_bytes;
    for (const int64_t n : layout.shape) {
      require(n >= 0);
      if (layout.bytes > 0) count *= n;
    }
    if (layout.bytes > 0) require(count == layout.bytes);
    // A header written for it reads as the same.
    const std::string header =
        state::npy_header_text(*state::find_npy_type(layout.dtype), layout.shape.data(),
                               static_cast<int64_t>(layout.shape.size()));
    const state::NpyLayout again =
        state::parse_npy(header, static_cast<int64_t>(header.size()) + layout.bytes);
    require(again.shape == layout.shape && again.dtype == layout.dtype && again.offset % 64 == 0);
  } catch (const state::Fault& fault) {
    for (const char c : std::string_view(fault.what())) require(c >= ' ' && c < 0x7f);
  }
  return 0;
}
