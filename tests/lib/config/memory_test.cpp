// A config takes at most twice its bytes and 256 MiB, whatever is wrong with it.
#include "support.hpp"
#include "tests/support/memory_growth.hpp"

using tenon_test::growth_of;
using tenon_test::kCanMeasureMemory;
using tenon_test::kMiB;
using tenon_test::Outcome;

namespace {

constexpr size_t kMost = 4 * kMiB - 1;

std::string repeated(const std::string& begin, const std::string& part, const std::string& end,
                     size_t bytes = kMost) {
  std::string text = begin;
  text.reserve(bytes + part.size() + end.size());
  while (text.size() + part.size() + end.size() < bytes) text += part;
  return text + end;
}

void check_growth(const std::string& text, Outcome expected) {
  CAPTURE(text.substr(0, 40));
  // The text itself is there already.
  CHECK(growth_of([&] { parsed(text); }, expected) / kMiB <= text.size() / kMiB + 256);
}

}  // namespace

TEST_SUITE("memory of configs") {
  TEST_CASE("hostile configs of 4 MiB are refused within the bound") {
    if (!kCanMeasureMemory) return;
    for (const std::string& text :
         {repeated("[0", ",0", "]"), repeated("[{}", ",{}", "]"), repeated("[\"\"", ",\"\"", "]"),
          repeated("{\"a\":0", ",\"a\":0", "}"), repeated("[[[[[[0]]]]]", ",[[[[[0]]]]]", "]"),
          repeated("\"", "x", "\""), repeated("\"", "\\u0041", "\""), repeated("", "[", ""),
          repeated("{\"plugins\":[\"a\"", ",\"a\"", "]}"), repeated("{\"plugins\":[1", ",2", "]}"),
          repeated("{\"x0\":1", ",\"y\":[{}]", "}"),
          repeated("{\"ops\":{\"disable\":[\"a\"", ",\"a\"", "]}}")})
      check_growth(text, Outcome::Refused);
  }

  TEST_CASE("configs with as many values as are read stay within the bound") {
    if (!kCanMeasureMemory) return;
    const std::string start = "{\"schema_version\":1,";
    // Up to the count of values that is refused.
    for (const std::string& part : {std::string(",\"a\""), std::string(",{\"op\":\"a\"}")}) {
      const std::string begin = start + "\"ops\":{\"disable\":[" + part.substr(1);
      bool read = true;
      for (size_t bytes = 400000; read && bytes < kMost; bytes += bytes / 2) {
        const std::string text = repeated(begin, part, "]}}", bytes);
        read = fault(text) == "no error";
        if (read) check_growth(text, Outcome::Taken);
      }
      CHECK_FALSE(read);
    }
    const auto faults = repeated("{\"search_paths\":[1", ",1", "]}", 40000);
    check_growth(faults, Outcome::Refused);
  }
}
