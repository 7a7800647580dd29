// Dtypes as safetensors files write them: "F32".
#pragma once

#include <cstdint>
#include <string_view>

#include <tenon/abi/dtype.h>
#include <tenon/host.hpp>

TENON_NAMESPACE_BEGIN

namespace state {

struct FileDtype {
  std::string_view text;
  tenon_dtype dtype;
  int64_t bits;  // size of an element in the file
};

#define TENON_FILE_DTYPE(name, code, bytes, ...) {#name, code, 8 * bytes},
// The format has no c128.
inline constexpr FileDtype kFileDtypes[] = {
    TENON_COMPUTED_DTYPES(TENON_FILE_DTYPE)
        TENON_STORED_DTYPES(TENON_FILE_DTYPE){"C64", TENON_C64, 64},
    {"F8_E4M3", TENON_F8_E4M3, 8},
    {"F8_E5M2", TENON_F8_E5M2, 8},
    {"F8_E8M0", TENON_F8_E8M0, 8},
    {"F6_E2M3", TENON_F6_E2M3, 6},
    {"F6_E3M2", TENON_F6_E3M2, 6},
    {"F4", TENON_F4_E2M1, 4}};
#undef TENON_FILE_DTYPE

// Null for a dtype that the format, or Tenon, does not have.
inline const FileDtype* file_dtype(tenon_dtype dtype) {
  for (const FileDtype& known : kFileDtypes) {
    if (known.dtype == dtype) return &known;
  }
  return nullptr;
}
inline const FileDtype* file_dtype(std::string_view text) {
  for (const FileDtype& known : kFileDtypes) {
    if (known.text == text) return &known;
  }
  return nullptr;
}

}  // namespace state

TENON_NAMESPACE_END
