// Fuzzes the readers of zip and gzip files: members that pass the checks are within the file and
// apart from each other, contents have the size that was claimed, and faults can be printed.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "plugins/data/file_fault.hpp"
#include "plugins/data/gunzip.hpp"
#include "sdk/lib/state/zip_file.hpp"

using namespace tenon;

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

void require_printable(const std::exception& fault) {
  for (const char c : std::string_view(fault.what())) require(c >= ' ' && c < 0x7f);
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

void read_members(std::string_view bytes) {
  const Memory source(bytes);
  int64_t end = 0, compressed = 0;
  for (const state::ZipMember& member : state::read_zip(source)) {
    require(member.header >= end && member.data > member.header);
    end = member.data + member.compressed;
    require(end <= source.size());
    compressed += member.compressed;
    require(compressed <= source.size());
    constexpr int64_t most = 1 << 20;
    if (member.size > most) continue;
    state::ZipContents contents(source, member);
    std::string text(static_cast<size_t>(member.size), '\0');
    const int64_t first = member.size / 3;
    contents.read(text.data(), first);
    contents.read(text.data() + first, member.size - first);
    contents.finish();
  }
}

void write_and_read(std::string_view text, bool deflate) {
  state::ZipWriter writer(deflate);
  const std::string first(text.substr(0, text.size() / 2)), second(text.substr(text.size() / 2));
  writer.add("a.npy", first);
  writer.add("b.npy", second);
  const std::string file = writer.finish();
  const Memory source(file);
  const std::vector<state::ZipMember> members = state::read_zip(source);
  require(members.size() == 2 && members[1].name == "b.npy");
  state::ZipContents contents(source, members[1]);
  std::string again(second.size(), '\0');
  contents.read(again.data(), static_cast<int64_t>(again.size()));
  contents.finish();
  require(again == second);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  if (size < 1) return 0;
  const std::string_view text(reinterpret_cast<const char*>(bytes) + 1, size - 1);
  try {
    if (bytes[0] % 8 == 0) {
      write_and_read(text, (bytes[0] & 8) != 0);
    } else if (bytes[0] % 8 == 1) {
      require(data::gunzip(text).size() <= static_cast<int64_t>(text.size()) * 1032);
    } else {
      read_members(text);
    }
  } catch (const data::Fault& fault) {
    require_printable(fault);
  } catch (const state::Fault& fault) {
    require_printable(fault);
  }
  return 0;
}
