// The schema of configs for editors.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <doctest/doctest.h>

#include "core/base/json.hpp"
#include "core/plugin/config_table.hpp"

using namespace tenon::core;
namespace files = std::filesystem;

TEST_SUITE("config schema") {
  TEST_CASE("the schema file for editors is what the table prints") {
    const files::path path = files::path(TENON_SOURCE_DIR) / "sdk/share/tenon/config.schema.json";
    // Rewrites the file after a change of the table.
    if (std::getenv("TENON_UPDATE_GOLDEN") != nullptr) std::ofstream(path) << config_schema_json();
    std::ifstream stream(path);
    std::stringstream text;
    text << stream.rdbuf();
    CHECK_MESSAGE(text.str() == config_schema_json(), "run this test with TENON_UPDATE_GOLDEN=1");
    const Json schema = parse_json(text.str());
    CHECK(json_at_pointer(*schema, "/definitions/optimizer/oneOf/0/properties/type/const")
              ->as_string() == "sgd");
    CHECK(json_at_pointer(*schema, "/properties/seed/default")->as_int() == 0);
  }
}
