#include "sdk/lib/state/zip_file.hpp"

#include <map>
#include <random>
#include <string>

#include <doctest/doctest.h>

#include <tenon/tenon.hpp>

#include "sdk/lib/state/byte_source.hpp"

using namespace tenon;

namespace {

class Bytes final : public state::ByteSource {
 public:
  explicit Bytes(const std::string& bytes) : bytes_(bytes) {}
  int64_t size() const override { return static_cast<int64_t>(bytes_.size()); }
  void read_at(void* to, int64_t count, int64_t offset) const override {
    bytes_.copy(static_cast<char*>(to), static_cast<size_t>(count), static_cast<size_t>(offset));
  }

 private:
  const std::string& bytes_;
};

std::map<std::string, std::string> members_of(const std::string& file) {
  const Bytes source(file);
  std::map<std::string, std::string> members;
  for (const state::ZipMember& member : state::read_zip(source))
    members[member.name] = state::zip_contents(source, member);
  return members;
}

}  // namespace

TEST_SUITE("lib/state/zip_file") {
  TEST_CASE("a zip file whose sizes and places take 64 bits is read as it was written") {
    std::mt19937 random(7);
    for (int round = 0; round < 60; ++round) {
      std::map<std::string, std::string> members;
      const int64_t most_in_32 = std::uniform_int_distribution<int64_t>(0, 400)(random);
      state::ZipWriter writer(round % 2 == 0, most_in_32);
      for (int i = std::uniform_int_distribution<int>(0, 5)(random); i > 0; --i) {
        std::string contents(std::uniform_int_distribution<size_t>(0, 300)(random), ' ');
        for (char& byte : contents) byte = static_cast<char>('a' + random() % 3);
        const std::string name = "member" + std::to_string(i);
        writer.add(name, contents);
        members[name] = contents;
      }
      CAPTURE(most_in_32);
      CHECK(members_of(writer.finish()) == members);
    }
  }
  TEST_CASE("a zip file of more than 65534 members is read as it was written") {
    state::ZipWriter writer(false);
    for (int i = 0; i < 65540; ++i) writer.add(std::to_string(i), "");
    CHECK(members_of(writer.finish()).size() == 65540);
  }
  TEST_CASE("a member whose name the format does not hold is refused") {
    state::ZipWriter writer(false);
    CHECK_THROWS_WITH_AS(writer.add(std::string(65536, 'n'), ""),
                         doctest::Contains("is longer than 65535 bytes"), state::Fault);
  }
}
