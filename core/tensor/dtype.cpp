// Names of element types.
#include "core/tensor/dtype.hpp"

#include "core/base/text.hpp"

namespace tenon::core {

std::span<const std::string_view> dtype_names() noexcept {
#define TENON_NAME(name, code, bytes, type, short_name, ...) short_name,
  static constexpr std::string_view names[] = {TENON_ALL_DTYPES(TENON_NAME)};
#undef TENON_NAME
  return names;
}

const char* dtype_text(tenon_dtype dtype) noexcept {
  switch (dtype) {
#define TENON_CASE(name, code, bytes, type, text, ...) \
  case code:                                           \
    return text;
    TENON_ALL_DTYPES(TENON_CASE)
#undef TENON_CASE
    default:
      return "none";
  }
}

tenon_dtype dtype_find(std::string_view text) noexcept {
#define TENON_MATCH(name, code, bytes, type, short_name, ...) \
  if (text == short_name) return code;
  TENON_ALL_DTYPES(TENON_MATCH)
#undef TENON_MATCH
#define TENON_MATCH_LONG(name, long_name) \
  if (text == long_name) return TENON_##name;
  TENON_DTYPE_LONG_NAMES(TENON_MATCH_LONG)
#undef TENON_MATCH_LONG
  return TENON_DTYPE_NONE;
}

void fail_no_element(tenon_dtype dtype) {
  if (!dtype_narrow(dtype)) throw Error(TENON_ERROR_INTERNAL, "dtype {} has no C++ type", dtype);
  throw Error(TENON_ERROR_TYPE, "{} is for storage: convert the tensor with to(float32)",
              dtype_text(dtype));
}

void fail_no_common_dtype(tenon_dtype a, tenon_dtype b) {
  if (dtype_narrow(a) || dtype_narrow(b)) fail_no_element(dtype_narrow(a) ? a : b);
  throw Error(TENON_ERROR_TYPE,
              "{} and {} have no common dtype: u16, u32 and u64 mix with floating and complex "
              "dtypes alone; "
              "convert one of the tensors with to(), to i64 for example",
              dtype_text(a), dtype_text(b));
}

void dtype_check(tenon_dtype dtype) {
  if (dtype_valid(dtype)) return;
  throw Error(TENON_ERROR_VALUE, "unknown dtype code {}: the dtypes are {}", dtype,
              join(dtype_names(), ", "));
}

}  // namespace tenon::core
