// Fuzzes the header of GGUF files: tensors that pass the checks are within the file and apart from each
// other, and faults can be printed.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "sdk/lib/state/gguf_header.hpp"

using namespace tenon;

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

class Memory : public state::ByteSource {
 public:
  explicit Memory(std::string_view bytes) : bytes_(bytes) {}
  int64_t size() const override { return static_cast<int64_t>(bytes_.size()); }
  void read_at(void* to, int64_t bytes, int64_t offset) const override {
    require(offset >= 0 && bytes >= 0 && offset <= size() && bytes <= size() - offset);
    std::memcpy(to, bytes_.data() + offset, static_cast<size_t>(bytes));
  }

 private:
  std::string_view bytes_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const Memory source({reinterpret_cast<const char*>(bytes), size});
  try {
    std::vector<std::pair<int64_t, int64_t>> ranges;
    for (const state::GgufEntry& entry : state::read_gguf_header(source)) {
      require(entry.begin >= 0 && entry.bytes >= 0);
      require(entry.bytes <= source.size() && entry.begin <= source.size() - entry.bytes);
      if (entry.bytes > 0) ranges.emplace_back(entry.begin, entry.begin + entry.bytes);
    }
    std::sort(ranges.begin(), ranges.end());
    for (size_t i = 1; i < ranges.size(); ++i) require(ranges[i - 1].second <= ranges[i].first);
  } catch (const state::Fault& fault) {
    for (const char c : std::string_view(fault.what())) require(c >= ' ' && c < 0x7f);
  }
  return 0;
}
