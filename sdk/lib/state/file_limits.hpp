// Limits of safetensors files: reading the tensors of a hostile one takes no more memory than twice the
// file and 16 MiB, its metadata as a document twice that. A file beyond them is neither read nor
// written.
#pragma once

#include <cstddef>
#include <cstdint>

#include <tenon/host.hpp>

TENON_NAMESPACE_BEGIN

namespace state {

inline constexpr int64_t kLengthBytes = 8;
inline constexpr int64_t kMostHeader = 100'000'000;  // bytes; the reference reader's own bound
inline constexpr size_t kMostMetadata = 32'768;      // pairs
inline constexpr const char* kMetadataKey = "__metadata__";

// An empty tensor takes some 600 bytes beside its name, its entry in the header some 50: that many of
// them would become many times the size of the file.
constexpr int64_t most_tensors(int64_t data_bytes) {
  return (data_bytes + (int64_t{16} << 20)) / 640;
}

}  // namespace state

TENON_NAMESPACE_END
