// Every message of the reader, as a table: a config, and its normalized form or its faults.
#include "support.hpp"

using tenon::Json;

TEST_SUITE("config messages") {
  TEST_CASE("each config of the table gives its message, or its normalized form") {
    const Json cases = messages()["cases"];
    REQUIRE(cases.size() > 200);
    for (int64_t i = 0; i < cases.size(); ++i) {
      const Json one = cases[i];
      const std::string input = one["input"].text();
      CAPTURE(input);
      const bool alone = one["sections"].defined();
      const Json sections = alone ? Json() : messages()["sections"];
      if (one["message"].defined()) {
        CHECK(fault(input, sections) == one["message"].text());
        continue;
      }
      Json config;
      CHECK(refusal(TENON_ERROR_CONFIG, [&] { config = parsed(input, sections); }) == "no error");
      CHECK(config.dump() == one["config"].dump());
      // A normalized config stays as it is.
      if (config.defined()) CHECK(parsed(config.dump(), sections).dump() == config.dump());
    }
  }

  TEST_CASE("hundreds of faults end in a count") {
    std::string text = "{\"schema_version\": 1, \"search_paths\": [1";
    for (int i = 1; i < 200; ++i) text += ", 1";
    CHECK(ends_with(fault(text + "]}"), "\n... and 150 more"));
  }
}
