// gunzip: several members, and how much it unpacks at most.
#include "plugins/data/gunzip.hpp"

#include <string>
#include <zlib.h>

#include <doctest/doctest.h>

#include "plugins/data/file_fault.hpp"
#include "tests/support/memory_growth.hpp"

namespace {

std::string gzipped(const std::string& text) {
  constexpr int gzip_window = 15 + 16, memory = 8;
  z_stream stream{};
  REQUIRE(deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, gzip_window, memory,
                       Z_DEFAULT_STRATEGY) == Z_OK);
  std::string packed(deflateBound(&stream, text.size()), '\0');
  std::string copy = text;
  stream.next_in = reinterpret_cast<Bytef*>(copy.data());
  stream.avail_in = static_cast<uInt>(copy.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

std::string unpacked(const std::string& packed, int64_t most) {
  try {
    return std::string(std::string_view(data::gunzip(packed, most)));
  } catch (const data::Fault& fault) {
    return fault.what();
  }
}

}  // namespace

TEST_SUITE("data") {
  TEST_CASE("gunzip unpacks up to its limit, counted over all members") {
    const std::string text(100000, 'x'), packed = gzipped(text);
    const auto size = static_cast<int64_t>(text.size());
    CHECK(unpacked(packed, size) == text);
    CHECK(unpacked(packed, size - 1) ==
          "it unpacks to more than 99999 bytes: unpack it with gunzip, and read that file");
    CHECK(unpacked(packed + packed, 2 * size) == text + text);
    CHECK(unpacked(packed + packed, 2 * size - 1) ==
          "it unpacks to more than 199999 bytes: unpack it with gunzip, and read that file");
    CHECK(unpacked(gzipped(""), 0) == "");
    CHECK(unpacked(gzipped("x"), 0) ==
          "it unpacks to more than 0 bytes: unpack it with gunzip, and read that file");
  }

  TEST_CASE("gunzip takes no memory for what is beyond its limit") {
    if (!tenon_test::kCanMeasureMemory) return;
    const std::string packed = gzipped(std::string(64 * tenon_test::kMiB, '\0'));
    const size_t growth = tenon_test::growth_of(
        [&] { data::gunzip(packed, static_cast<int64_t>(8 * tenon_test::kMiB)); },
        tenon_test::Outcome::Refused);
    CHECK(growth / tenon_test::kMiB <= 2 * 8 + 16);
  }
}
