// Messages about faulty texts, as tables: a text, and the whole message about it.
#include <fstream>
#include <sstream>
#include <string>

#include <boost/json.hpp>
#include <doctest/doctest.h>

#include "core/base/json.hpp"
#include "core/dispatch/schema/schema.hpp"
#include "tests/core/plugin/support.hpp"
#include "tests/support/memory_source.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

// `message_of` gives the message about a text, or "no error".
template <class MessageOf>
void check_table(const char* name, size_t least, const MessageOf& message_of) {
  std::ifstream file(std::string(TENON_SOURCE_DIR "/tests/core/messages/") + name);
  std::stringstream text;
  text << file.rdbuf();
  const boost::json::value table = boost::json::parse(text.str());
  const boost::json::array& cases = table.at("cases").as_array();
  REQUIRE(cases.size() >= least);
  for (const boost::json::value& one : cases) {
    const std::string input(one.at("input").as_string());
    CAPTURE(input);
    CHECK(message_of(input) == std::string(one.at("message").as_string()));
  }
}

template <class Function>
std::string message_from(const Function& function) {
  try {
    function();
  } catch (const Error& error) {
    return error.message;
  }
  return "no error";
}

}  // namespace

TEST_SUITE("messages") {
  TEST_CASE("each faulty schema gives its message") {
    check_table("schemas.json", 40,
                [](const std::string& text) { return message_from([&] { parse_schema(text); }); });
  }

  TEST_CASE("F-004 an op that declares a parameter is refused, and the message names Module") {
    for (const char* type : {"Parameter", "Buffer", "Parameter?"}) {
      const std::string schema = std::string("f(Tensor input, ") + type + " weight) -> Tensor";
      CHECK(contains(message_from([&] { parse_schema(schema); }), "a Module registers it"));
    }
  }

  TEST_CASE("each faulty JSON text gives its message") {
    check_table("json.json", 30,
                [](const std::string& text) { return message_from([&] { parse_json(text); }); });
  }

  TEST_CASE("each faulty fact of a plugin gives its message") {
    check_table("facts.json", 20, [](const std::string& text) {
      std::vector<std::string> payloads = {plugin_payload(), text};
      if (text.starts_with("{\"plugin\":{\"") && text != plugin_payload()) payloads = {text};
      return message_from([&] { read_facts(MemorySource(make_elf(payloads)), "/x/y.so"); });
    });
  }
}
