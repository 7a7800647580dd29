// Memory limits of readers of untrusted documents: their text, and 256 MiB.
#include <algorithm>
#include <functional>
#include <memory>

#include "core/base/json.hpp"
#include "tests/core/plugin/support.hpp"
#include "tests/support/memory_growth.hpp"

using namespace tenon::core;
using namespace tenon::core::test;
using tenon_test::growth_of;
using tenon_test::kCanMeasureMemory;
using tenon_test::kMiB;
using tenon_test::Outcome;

namespace {

std::string repeated(const std::string& begin, const std::string& part, const std::string& end,
                     size_t bytes) {
  std::string text = begin;
  text.reserve(bytes + part.size() + end.size());
  while (text.size() + part.size() + end.size() < bytes) text += part;
  return text + end;
}

// Few bytes for much memory.
std::vector<std::string> hostile_documents(size_t bytes) {
  return {repeated("[0", ",0", "]", bytes),
          repeated("[[]", ",[]", "]", bytes),
          repeated("[{}", ",{}", "]", bytes),
          repeated("[1e5", ",1e5", "]", bytes),
          repeated("[\"\"", ",\"\"", "]", bytes),
          repeated("{\"a\":0", ",\"a\":0", "}", bytes),
          repeated("{\"\":0", ",\"\":{}", "}", bytes),
          repeated("[[[[[[0]]]]]", ",[[[[[0]]]]]", "]", bytes),
          repeated("\"", "x", "\"", bytes),
          repeated("\"", "\\u0041", "\"", bytes),
          repeated("[\"", "\\n\",\"", "\"]", bytes),
          repeated("{\"", "\\t", "\":0}", bytes),
          repeated("", "[", "", bytes),
          repeated("0", " ", "", bytes),
          repeated("[0", ",0", "", bytes),
          repeated("{\"plugins\":[\"a\"", ",\"a\"", "]}", bytes),
          repeated("{\"a\":1", ",\"b\":2,\"c\":3", "}", bytes)};
}

// One long string, or blanks: of the others either the values are too many, or JSON is not like that.
bool has_few_values(const std::string& text) {
  return text[0] == '0' || text.back() == '"' || text.starts_with("{\"\\t");
}
Outcome outcome_of(const std::string& text) {
  return has_few_values(text) ? Outcome::Taken : Outcome::Refused;
}

void check_bound(const std::string& text, Outcome expected, const std::function<void()>& body) {
  CAPTURE(text.substr(0, 30));
  CAPTURE(text.size());
  // The text itself is there already.
  CHECK(growth_of(body, expected) / kMiB <= text.size() / kMiB + 256);
}

}  // namespace

TEST_SUITE("reader memory") {
  TEST_CASE("no document that is read with a bound takes more than its text and 256 MiB") {
    if (!kCanMeasureMemory) return;
    for (const size_t bytes : {24 * kMiB}) {
      for (const std::string& text : hostile_documents(bytes)) {
        check_bound(text, outcome_of(text), [&] {
          require_bounded(text, {});
          parse_json(text);
        });
        check_bound(text, outcome_of(text), [&] {
          JsonOptions options;
          options.relaxed = true;
          require_bounded(text, options);
          std::vector<DuplicateKey> duplicates;
          options.duplicates = &duplicates;
          parse_json(text, options);
        });
      }
    }
  }

  TEST_CASE("what is refused says how many values there are, and how much memory they could take") {
    JsonOptions options;
    options.source = "a.json";
    const std::string text = repeated("[0", ",0", "]", 2 * kMiB);
    try {
      require_bounded(text, options);
      FAIL("it is not refused");
    } catch (const Error& error) {
      CHECK(error.kind == options.kind);
      CHECK(error.message ==
            "a.json: 1048576 values, in a text of 2097151 bytes, could take 320 MiB of memory; at "
            "most 257 MiB are taken for a document: split it into several");
    }
    CHECK_NOTHROW(require_bounded(repeated("[12345678", ",12345678", "]", 450000), options));
    CHECK_THROWS(require_bounded(repeated("[12345678", ",12345678", "]", 450000), options, 10000));
    // Brackets and commas of strings are not values.
    CHECK_NOTHROW(require_bounded(repeated("\"", "[,{\\\"", "\"", kMiB), options));
  }

  TEST_CASE("a graph of 50,000 nodes is read with a bound, whatever its caller takes for a value") {
    const std::string text =
        repeated("{\"a0\":1", ",\"a\":{\"op\":\"add\",\"inputs\":[\"x\",\"y\"]}", "}", 2 * kMiB);
    CHECK(std::count(text.begin(), text.end(), '[') > 50000);
    CHECK_NOTHROW(require_bounded(text, {}, 500));
  }

  TEST_CASE("a document that is nested too deeply is refused for that, not for its values") {
    const std::string text(4 * kMiB, '[');
    CHECK_NOTHROW(require_bounded(text, {}));
    try {
      parse_json(text);
      FAIL("it is not refused");
    } catch (const Error& error) {
      CHECK(error.message.find("nested deeper than 64 levels") != std::string::npos);
    }
  }
}
