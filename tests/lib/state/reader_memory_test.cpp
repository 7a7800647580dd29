// Memory limits of readers of tensor files: twice the file, and 16 MiB.
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>

#include <doctest/doctest.h>

#include <tenon/error.hpp>
#include <tenon/state/tensor_file.hpp>

#include "tests/support/memory_growth.hpp"

using tenon::state::load_tensors;
using tenon::state::map_tensors;
using tenon_test::check_bound;
using tenon_test::kCanMeasureMemory;
using tenon_test::Outcome;

namespace {

constexpr size_t kLargest = 100'000'000;  // size of the largest header that is read

// For the length of a scope.
class Written {
 public:
  explicit Written(const std::string& header, size_t data = 0) {
    std::ofstream file(path, std::ios::binary);
    const auto length = static_cast<uint64_t>(header.size());
    file.write(reinterpret_cast<const char*>(&length), sizeof length);
    file << header << std::string(data, '\0');
  }
  ~Written() { std::filesystem::remove(path); }
  const std::string path = (std::filesystem::temp_directory_path() /
                            ("reader_memory_" + std::to_string(::getpid()) + ".safetensors"))
                               .string();
};

void check_tensors_bound(const Written& file, Outcome expected) {
  const size_t bytes = std::filesystem::file_size(file.path);
  check_bound(bytes, expected, [&] { load_tensors(file.path); });
  check_bound(bytes, expected, [&] { map_tensors(file.path); });
}
// The document is made while its texts are there: twice as much.
void check_metadata_bound(const Written& file, Outcome expected) {
  check_bound(2 * std::filesystem::file_size(file.path), expected,
              [&] { tenon::state::metadata(file.path); });
}

// `count` tensors of `bytes` bytes each.
std::string tensors(size_t count, size_t bytes) {
  std::string header = "{";
  for (size_t i = 0; i < count; ++i) {
    header += (i == 0 ? "\"" : ",\"") + std::to_string(i) + R"(":{"dtype":"U8","shape":[)" +
              std::to_string(bytes) + R"(],"data_offsets":[)" + std::to_string(i * bytes) + "," +
              std::to_string((i + 1) * bytes) + "]}";
  }
  return header + "}";
}
std::string filled(const std::string& begin, const std::string& part, const std::string& end) {
  std::string header = begin;
  header.reserve(kLargest);
  while (header.size() + part.size() + end.size() <= kLargest) header += part;
  return header + end;
}

}  // namespace

TEST_SUITE("reader memory") {
  TEST_CASE("a header of 100 MB takes no more, whatever it has") {
    if (!kCanMeasureMemory) return;
    for (const auto& [begin, part, end] :
         {std::tuple{R"({"a":{"shape":[0)", ",0", "]}}"},
          {"", "[", ""},
          {"{\"a\":[0", ",{}", "]}"},
          {R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})",
           R"(,"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})", "}"}}) {
      const std::string shown = begin;
      CAPTURE(shown);
      const Written file(filled(begin, part, end));
      check_tensors_bound(file, Outcome::Refused);
    }
  }

  TEST_CASE("as many empty tensors as a header of 100 MB has are refused, with how many are read") {
    if (!kCanMeasureMemory) return;
    const Written file(tensors(1'500'000, 0));
    check_tensors_bound(file, Outcome::Refused);
    check_metadata_bound(file, Outcome::Refused);
    try {
      load_tensors(file.path);
      FAIL("it is not refused");
    } catch (const tenon::ValueError& error) {
      CHECK(std::string(error.what())
                .find("it has more than 26214 tensors, the most that are read of a file with 0 "
                      "bytes of "
                      "data; join small tensors into fewer") != std::string::npos);
    }
  }

  TEST_CASE("as many tensors as are read take no more, with data and without") {
    if (!kCanMeasureMemory) return;
    for (const auto& size : {std::pair<size_t, size_t>{26'000, 0}, {26'000, 1}, {100'000, 600}}) {
      const auto& count = size.first;
      const auto& bytes = size.second;
      CAPTURE(count);
      CAPTURE(bytes);
      const Written file(tensors(count, bytes), count * bytes);
      check_tensors_bound(file, Outcome::Taken);
    }
  }

  TEST_CASE("as many pairs of metadata as are read take no more, and more are refused") {
    if (!kCanMeasureMemory) return;
    const auto pairs = [](size_t count, size_t length) {
      std::string text = R"({"__metadata__":{)";
      for (size_t i = 0; i < count; ++i)
        text +=
            (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\":\"" + std::string(length, 'x') + "\"";
      return text + "}}";
    };
    for (const size_t length : {0, 100, 3000}) {
      CAPTURE(length);
      const Written file(pairs(32'768, length));
      check_tensors_bound(file, Outcome::Taken);
      check_metadata_bound(file, Outcome::Taken);
    }
    const Written file(pairs(6'000'000, 0));
    check_tensors_bound(file, Outcome::Refused);
    check_metadata_bound(file, Outcome::Refused);
  }

  TEST_CASE("one long text in a header takes no more") {
    if (!kCanMeasureMemory) return;
    const std::string text(90'000'000, 'x');
    const std::string entry = R"("dtype":"U8","shape":[0],"data_offsets":[0,0])";
    check_tensors_bound(Written("{\"" + text + "\":{" + entry + "}}"), Outcome::Taken);
    check_tensors_bound(Written("{\"a\":{\"x\":\"" + text + "\"," + entry + "}}"), Outcome::Taken);
    check_metadata_bound(Written(R"({"__metadata__":{"a":")" + text + "\"}}"), Outcome::Taken);
  }
}
