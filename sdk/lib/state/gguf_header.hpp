// The header of a GGUF file: the tensors that it holds, and where.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/abi/dtype.h>

#include "byte_source.hpp"
#include "file_fault.hpp"

TENON_NAMESPACE_BEGIN

namespace state {

// How a file stores elements: in blocks of `count` that take `bytes`.
struct GgufType {
  uint32_t code;
  std::string_view name;
  tenon_dtype dtype;  // the tensor's; f32 for blocks of several elements
  int64_t count, bytes;
};
inline constexpr uint32_t kGgufQ4 = 2, kGgufQ8 = 8;

struct GgufEntry {
  std::string name;
  const GgufType* type = nullptr;  // null: `code` is of a kind that is not read
  uint32_t code = 0;
  std::vector<int64_t> shape;
  int64_t begin = 0, bytes = 0;  // its data in the file
};

// Checks all of it: that data is within the file, and that no two tensors share any. Throws Fault.
std::vector<GgufEntry> read_gguf_header(const ByteSource& source);

}  // namespace state

TENON_NAMESPACE_END
