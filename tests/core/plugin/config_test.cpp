// Configs: what they become when they are right, and every word that is said when they are not.
#include "core/plugin/config.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <unistd.h>

#include <doctest/doctest.h>

#include "core/base/error.hpp"

using namespace tenon::core;
namespace files = std::filesystem;

namespace {

// Sits where nothing exists, so that no path is there by chance.
constexpr const char* kFolder = "/no/such/folder";

constexpr std::string_view kWhole = R"({
  "$schema": "config.schema.json",
  "schema_version": 1,
  "plugins": ["math", {"name": "blas", "version": ">=0.1", "options": {"threads": 2}, "load": "eager"},
              {"path": "./digits.so", "sha256": "ABCDEF0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF0123456789",
               "require": false}],
  "search_paths": ["../plugins", "/opt/tenon"],
  "ops": {"prefer": {"add": "math", "nn.functional.*": "nn"}, "disable": ["exp2", {"op": "nn.*", "plugin": "b"}]},
  "seed": 7,
  "threads": 2,
  "server": {"port": 80, "hosts": ["a", {"name": "b"}], "log": "out/log.txt", "own": {"a": [1, 2.0]}},
  "limits": {"rate": 1}
})";

// Sections that an application adds.
constexpr std::string_view kSections = R"({
  "properties": {
    "server": {"$ref": "#/definitions/server", "description": "where it listens"},
    "limits": {"$ref": "#/definitions/limits", "description": "what it refuses"}
  },
  "dependencies": {"limits": ["server"]},
  "definitions": {
    "server": {
      "description": "where it listens",
      "properties": {
        "port": {"type": "integer", "minimum": 1, "maximum": 65535, "description": "its port"},
        "hosts": {"type": "array", "minItems": 1, "maxItems": 2,
                  "items": {"$ref": "#/definitions/host"}, "description": "its names"},
        "log": {"type": "string", "format": "output-path", "description": "its log"},
        "level": {"type": "string", "enum": ["quiet", "loud"], "default": "quiet",
                  "description": "how much it says"}
      },
      "required": ["port"]
    },
    "host": {
      "description": "a name",
      "properties": {
        "name": {"type": "string", "format": "name", "description": "the name"},
        "aliases": {"type": "array", "items": {"$ref": "#/definitions/host"},
                    "description": "further names"}
      },
      "required": ["name"],
      "shorthand": "name",
      "additionalProperties": false
    },
    "limits": {
      "description": "what it refuses",
      "properties": {
        "rate": {"type": "number", "exclusiveMinimum": 0, "description": "calls in a second"},
        "share": {"type": "number", "minimum": 0, "exclusiveMaximum": 1, "default": 0.5,
                  "description": "of the memory"},
        "burst": {"anyOf": [{"type": "integer"}, {"type": "string"}], "description": "at once"},
        "strict": {"type": "boolean", "description": "whether it refuses"},
        "more": {"description": "anything"}
      },
      "additionalProperties": false
    }
  }
})";

Json parse(std::string_view text, ConfigOptions options = {}) {
  static const Json sections = parse_json(kSections);
  options.sections = sections.get();
  return parse_config(text, "c.json", kFolder, options);
}

std::string normalized(std::string_view text) { return dump(*parse(text)); }

std::string fault(std::string_view text, const ConfigOptions& options = {}) {
  try {
    parse(text, options);
  } catch (const Error& error) {
    CHECK(error.kind == TENON_ERROR_CONFIG);
    return error.message;
  }
  return "no error";
}

// The fault of one member of an otherwise small config.
std::string member_fault(const std::string& member) {
  return fault("{\"schema_version\": 1, " + member + "}");
}

}  // namespace

TEST_SUITE("config") {
  TEST_CASE("a config with plugins alone is complete") {
    CHECK(
        normalized(R"({"schema_version": 1, "plugins": ["math"]})") ==
        R"({"schema_version":1,"plugins":[{"name":"math","load":"lazy","require":true}],"search_paths":[],)"
        R"("ops":{"prefer":{},"disable":[]},"seed":0})");
    CHECK(normalized(R"({"schema_version": 1})").find("\"plugins\":[]") != std::string::npos);
  }

  TEST_CASE("comments and a last comma are taken, and places count them") {
    const Json config = parse_config(
        "// why\n{\"schema_version\": 1, /* of\nthe format */\n"
        "\"seed\": 7, // lucky\n}\n// end\n",
        "c.json", kFolder);
    CHECK(config->get("seed").as_int() == 7);
    CHECK(config->get("seed").place().line == 4);
    CHECK_THROWS_WITH(parse_config("{\"schema_version\": 1, # no\n}", "c.json", kFolder),
                      doctest::Contains("JSON has no comments"));
  }

  TEST_CASE("defaults are filled in, short forms written out, paths made absolute") {
    const Json config = parse(kWhole);
    const auto text = [&](const char* pointer) {
      const tenon_json* node = json_at_pointer(*config, pointer);
      return node == nullptr ? std::string("nothing") : dump(*node);
    };
    CHECK(text("/$schema") == "nothing");
    CHECK(
        text("/plugins/1") ==
        R"({"name":"blas","version":">=0.1","options":{"threads":2},"load":"eager","require":true})");
    CHECK(text("/plugins/2/path") == "\"/no/such/folder/digits.so\"");
    CHECK(text("/plugins/2/sha256") ==
          "\"abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789\"");
    CHECK(text("/search_paths") == R"(["/no/such/plugins","/opt/tenon"])");
    CHECK(
        text("/ops") ==
        R"({"prefer":{"add":"math","nn.functional.*":"nn"},"disable":[{"op":"exp2"},{"op":"nn.*","plugin":"b"}]})");
    CHECK(text("/threads") == "2");
    CHECK(text("/server") ==
          R"({"port":80,"hosts":[{"name":"a"},{"name":"b"}],"log":"/no/such/folder/out/log.txt",)"
          R"("level":"quiet","own":{"a":[1,2.0]}})");
    CHECK(text("/limits") == R"({"rate":1.0,"share":0.5})");
    // Normalizing is idempotent.
    CHECK(normalized(dump(*config)) == dump(*config));
  }

  TEST_CASE("normalized nodes keep their places, defaults have none") {
    const Json config = parse(kWhole);
    const tenon_json* port = json_at_pointer(*config, "/server/port");
    REQUIRE(port != nullptr);
    CHECK(place_text(port->source(), port->place()) == "c.json:11:22");
    CHECK(port->key_place().column == 14);
    const tenon_json* level = json_at_pointer(*config, "/server/level");
    REQUIRE(level != nullptr);
    CHECK(level->place().line == 0);
  }

  TEST_CASE("all faults are reported at once, in the order of the file") {
    CHECK(fault(R"({
  "plugins": ["math", {"nam": "blas"}, "math"],
  "sed": 1,
  "seed": 1, "seed": 2,
  "limits": {"rate": "30", "share": 1, "strct": true}
})") == "config 'c.json' has 10 faults:\n"
        "c.json:1:1: /schema_version: missing, expected an integer equal to 1: version of this "
        "format\n"
        "c.json:2:23: /plugins/1: found neither 'name' nor 'path', expected one of them\n"
        "c.json:2:24: /plugins/1/nam: unknown key 'nam', expected 'name', 'path', 'version', "
        "'options', 'sha256', "
        "'load', 'require' or 'glue' (did you mean 'name'?)\n"
        "c.json:2:40: /plugins/2: plugin 'math' a second time, expected once (first at line 2, "
        "column 15)\n"
        "c.json:3:3: /sed: unknown key 'sed', expected 'schema_version', 'plugins', "
        "'search_paths', "
        "'ops', 'types', 'strict', 'autoload', 'frozen', 'trust', 'keys', 'quarantine', 'retry', "
        "'seed', 'threads', 'server' or 'limits' "
        "(did "
        "you "
        "mean 'seed'?)\n"
        "c.json:4:14: /seed: duplicate key 'seed', expected once (first at line 4, column 3)\n"
        "c.json:5:3: /limits: found without 'server', expected this beside it\n"
        "c.json:5:22: /limits/rate: found the string '30', expected a number above 0\n"
        "c.json:5:37: /limits/share: found 1, expected a number of at least 0 and below 1\n"
        "c.json:5:40: /limits/strct: unknown key 'strct', expected 'rate', 'share', 'burst', "
        "'strict' or 'more' (did you mean 'strict'?)");
  }

  TEST_CASE("without sections other keys belong to the application, but for slips") {
    const Json config =
        parse_config(R"({"schema_version": 1, "server": {"port": "x"}})", "c.json", kFolder);
    CHECK(dump(*json_at_pointer(*config, "/server")) == R"({"port":"x"})");
    CHECK(json_at_pointer(*config, "/server/port")->place().column == 42);
    CHECK_THROWS_AS(parse_config(R"({"schema_version": 1, "plugin": []})", "c.json", kFolder),
                    Error);
  }

  TEST_CASE("each kind of value says what is expected") {
    CHECK(fault("[1]") == "c.json:1:1: the config: found an array of 1, expected an object");
    CHECK(fault("{\"schema_version\": 2}") ==
          "c.json:1:20: /schema_version: found 2, expected an integer equal to 1");
    CHECK(member_fault("\"plugins\": {}") ==
          "c.json:1:34: /plugins: found an object, expected an array");
    CHECK(member_fault("\"plugins\": [1]") ==
          "c.json:1:35: /plugins/0: found 1, expected a string or an object");
    CHECK(member_fault("\"plugins\": [\"\"]") ==
          "c.json:1:35: /plugins/0: found the string '', expected a plugin id like 'math'");
    CHECK(member_fault("\"plugins\": [{\"name\": \"a b\"}]") ==
          "c.json:1:44: /plugins/0/name: found the string 'a b', expected a plugin id like 'math'");
    CHECK(member_fault("\"plugins\": [{\"name\": \"a\", \"version\": \">=x\"}]") ==
          "c.json:1:60: /plugins/0/version: found the string '>=x', expected a version range like "
          "'>=1.2, <2'");
    CHECK(member_fault("\"plugins\": [{\"name\": \"a\", \"sha256\": \"12\"}]") ==
          "c.json:1:59: /plugins/0/sha256: found the string '12', expected a SHA-256 hash of 64 "
          "hexadecimal digits");
    CHECK(member_fault("\"plugins\": [{\"name\": \"a\", \"load\": \"Lazy\"}]") ==
          "c.json:1:57: /plugins/0/load: found the string 'Lazy', expected 'lazy', 'eager' or "
          "'never' (did you mean "
          "'lazy'?)");
    CHECK(member_fault("\"plugins\": [{\"name\": \"a\", \"require\": 1}]") ==
          "c.json:1:60: /plugins/0/require: found 1, expected true or false");
    CHECK(
        member_fault("\"plugins\": [\"./x.so\"]") ==
        "c.json:1:35: /plugins/0: cannot find the file '/no/such/folder/x.so', expected a plugin; "
        "correct the path");
    CHECK(member_fault("\"ops\": {\"prefer\": {\"a b\": \"math\"}}") ==
          "c.json:1:42: /ops/prefer/a b: found the string 'a b', expected a name or pattern like "
          "'nn.functional.*'");
    // A version is one of a plugin, not of an op.
    CHECK(member_fault("\"ops\": {\"prefer\": {\"add@1.2.0\": \"math\"}}") ==
          "c.json:1:42: /ops/prefer/add@1.2.0: found the string 'add@1.2.0', expected a name or "
          "pattern like 'nn.functional.*'");
    CHECK(member_fault("\"ops\": {\"disable\": [\"add@1.2.0\"]}")
              .ends_with("found the string 'add@1.2.0', expected a name or pattern like "
                         "'nn.functional.*'"));
    CHECK(member_fault("\"ops\": {\"prefer\": {\"add\": \"math@1.2.0\"}}") == "no error");
    CHECK(member_fault("\"ops\": {\"prefer\": {\"*[A, B]\": \"math\"}}") == "no error");
    CHECK(member_fault("\"ops\": {\"disable\": [\"add[A\"]}")
              .ends_with("expected a name or pattern like 'nn.functional.*'"));
    CHECK(member_fault("\"ops\": {\"prefer\": {\"add\": 1}}") ==
          "c.json:1:49: /ops/prefer/add: found 1, expected a plugin id like 'math' or an array of "
          "at least 1");
    CHECK(member_fault(R"("ops": {"prefer": {"mm": [{"when": {"input": "f32[2]"}}]}})") ==
          "c.json:1:49: /ops/prefer/mm/0/plugin: missing, expected a plugin id like 'math': the "
          "plugin whose "
          "implementation is taken, or of calls asked first");
    CHECK(member_fault(
              R"("ops": {"prefer": {"mm": [{"plugin": "blas", "when": {"input": "f31[2]"}}]}})") ==
          "c.json:1:86: /ops/prefer/mm/0/when/input: found the string 'f31[2]', expected a class "
          "of shapes like "
          "'f32[64..127, 784]', with a size, a range or '*' for each dimension");
    CHECK(member_fault(R"("ops": {"prefer": {"mm": []}})") ==
          "c.json:1:48: /ops/prefer/mm: found an array of 0, expected an array of at least 1");
    CHECK(member_fault("\"seed\": -1") ==
          "c.json:1:31: /seed: found -1, expected an integer of at least 0");
    CHECK(member_fault("\"seed\": 1.0") ==
          "c.json:1:31: /seed: found 1.0, expected an integer of at least 0");
    CHECK(member_fault("\"threads\": 0") ==
          "c.json:1:34: /threads: found 0, expected an integer from 1 to 1024");
    const auto server_fault = [](const std::string& members) {
      return member_fault("\"server\": {" + members + "}");
    };
    CHECK(server_fault("\"port\": 0") ==
          "c.json:1:42: /server/port: found 0, expected an integer from 1 to 65535");
    CHECK(server_fault("") ==
          "c.json:1:33: /server/port: missing, expected an integer from 1 to 65535: its port");
    CHECK(server_fault("\"port\": 1, \"hosts\": []") ==
          "c.json:1:54: /server/hosts: found an array of 0, expected an array of 1 to 2");
    CHECK(server_fault("\"port\": 1, \"hosts\": [{\"name\": \"a\", \"aliases\": [\"1x\"]}]") ==
          "c.json:1:81: /server/hosts/0/aliases/0: found the string '1x', expected a name like "
          "'relu' or 'nn.functional.relu'");
    CHECK(server_fault("\"port\": 1, \"log\": \"\"") ==
          "c.json:1:52: /server/log: found the string '', expected a path");
    CHECK(server_fault("\"port\": 1, \"level\": \"lod\"") ==
          "c.json:1:54: /server/level: found the string 'lod', expected 'quiet' or 'loud' (did you "
          "mean 'loud'?)");
    CHECK(member_fault("\"server\": {\"port\": 1}, \"limits\": {\"burst\": null}") ==
          "c.json:1:66: /limits/burst: found null, expected an integer or a string");
    CHECK(member_fault("\"burst\": 3").ends_with("('burst' belongs in 'limits')"));
    CHECK(member_fault("\"server\": {\"port\": 1}, \"limits\": {\"seed\": 3}")
              .ends_with("'strict' or 'more' ('seed' belongs at the top of the config)"));
  }

  TEST_CASE("text that is not JSON is reported with its line") {
    CHECK(fault("{\"schema_version\": 1,\n \"plugins\": [\"math\" \"nn\"]}") ==
          "c.json:2:21: unexpected '\"'; is a comma or colon missing before it?\n"
          "   \"plugins\": [\"math\" \"nn\"]}\n"
          "                      ^");
    CHECK(fault("") == "c.json: the text is empty, expected JSON");
    ConfigOptions options;
    options.max_bytes = 10;
    CHECK(fault("{\"schema_version\": 1}", options) ==
          "c.json: the text has 21 bytes; at most 10 are read");
  }

  TEST_CASE("hundreds of faults end in a count") {
    std::string text = "{\"schema_version\": 1, \"search_paths\": [";
    for (int i = 0; i < 200; ++i) text += i == 0 ? "1" : ", 1";
    CHECK(fault(text + "]}").ends_with("\n... and 150 more"));
  }

  TEST_CASE("files are read from their folder, and unreadable ones reported") {
    const files::path folder =
        files::temp_directory_path() / ("tenon_config_" + std::to_string(getpid()));
    files::create_directories(folder);
    const std::string path = (folder / "c.json").string();
    std::ofstream(path) << R"({"schema_version": 1, "plugins": ["./here.so"]})";
    std::ofstream(folder / "here.so") << "x";
    const Json config = read_config(path);
    CHECK(json_at_pointer(*config, "/plugins/0/path")->as_string() ==
          (folder / "here.so").string());
    CHECK(config->source() == path);
    const auto refused = [](const std::string& file) {
      try {
        read_config(file);
      } catch (const Error& error) {
        CHECK(error.kind == TENON_ERROR_IO);
        return error.message;
      }
      return std::string("no error");
    };
    CHECK(refused("/no/such/c.json") ==
          "cannot read the config '/no/such/c.json': No such file or directory");
    CHECK(refused(folder.string()).ends_with("Is a directory"));
    files::remove_all(folder);
  }
}
