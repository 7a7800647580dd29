// Fuzzes the reader of WAV files of examples/listen: what it reads is sound, and its faults can be printed.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include <tenon/error.hpp>

#include "examples/listen/wav.hpp"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  try {
    const Sound sound = parse_wav({reinterpret_cast<const char*>(bytes), size});
    require(sound.rate > 0);
    require(!sound.samples.empty() && sound.samples.size() <= size);
    for (const float sample : sound.samples) require(std::isfinite(sample));
  } catch (const tenon::ValueError& fault) {
    for (const char c : std::string_view(fault.what())) require(c >= ' ' && c < 0x7f);
  }
  return 0;
}
