// Fuzzes the headers of tensor files: what parses names each tensor once, can be read again, and
// faults can be printed.
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <set>
#include <string>

#include "core/base/error.hpp"
#include "core/base/text.hpp"
#include "core/tensor/file_header.hpp"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace tenon::core;
  if (size < 1) return 0;
  const auto text =
      std::make_shared<const std::string>(reinterpret_cast<const char*>(bytes) + 1, size - 1);
  try {
    FileHeader header(text);
    std::set<std::string> names;
    for (size_t i = 0; i < header.size(); ++i) {
      const FileHeader::Tensor tensor = header.tensor(i);
      require(is_utf8(tensor.name) && names.insert(tensor.name).second);
      require(tensor.shape.rank <= TENON_MAX_RANK && tensor.begin >= 0 && tensor.end >= 0);
    }
    header.check_ranges(bytes[0]);
    const StoredMetadata metadata = header.take_metadata();
    metadata.each([&](const std::string& key, const std::string& value) {
      require(is_utf8(key) && is_utf8(value) && metadata.find(key) == value);
    });
  } catch (const Error& error) {
    require(error.kind == TENON_ERROR_VALUE);
    require(printable(error.message) == error.message);
  }
  return 0;
}
