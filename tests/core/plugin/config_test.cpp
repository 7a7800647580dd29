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

std::string normalized(std::string_view text) {
  return dump(*parse_config(text, "c.json", kFolder));
}

std::string fault(std::string_view text, const ConfigOptions& options = {}) {
  try {
    parse_config(text, "c.json", kFolder, options);
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
  "data": {"path": "digits.csv", "label_column": -1, "scale": 0.0625, "shape": [1, 8, 8]},
  "split": {"test": 0.25},
  "model": {"type": "Sequential", "layers": [
    {"type": "Linear", "in_features": 64, "out_features": 10, "bias": true}, "ReLU",
    {"type": "digits.Custom", "nested": {"a": [1, 2.0]}}]},
  "loss": "nn.functional.cross_entropy",
  "optimizer": {"type": "adam", "learning_rate": 1, "betas": [0.8, 0.9]},
  "training": {"epochs": 30},
  "output": {"weights": "out/digits.safetensors"}
})";

}  // namespace

TEST_SUITE("config") {
  TEST_CASE("a config with plugins alone is complete") {
    CHECK(
        normalized(R"({"schema_version": 1, "plugins": ["math"]})") ==
        R"({"schema_version":1,"plugins":[{"name":"math","load":"lazy","require":true}],"search_paths":[],)"
        R"("ops":{"prefer":{},"disable":[]},"seed":0})");
    CHECK(normalized(R"({"schema_version": 1})").find("\"plugins\":[]") != std::string::npos);
  }

  TEST_CASE("defaults are filled in, short forms written out, paths made absolute") {
    const Json config = parse_config(kWhole, "c.json", kFolder);
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
    CHECK(text("/data") ==
          R"({"path":"/no/such/folder/digits.csv","format":"csv","label_column":-1,"header":false,)"
          R"("scale":0.0625,"shape":[1,8,8]})");
    CHECK(text("/split") == R"({"test":0.25,"shuffle":true})");
    CHECK(text("/model/layers") ==
          R"([{"type":"Linear","in_features":64,"out_features":10,"bias":true},{"type":"ReLU"},)"
          R"({"type":"digits.Custom","nested":{"a":[1,2.0]}}])");
    CHECK(text("/loss") == R"({"op":"nn.functional.cross_entropy","options":{}})");
    CHECK(
        text("/optimizer") ==
        R"({"type":"adam","learning_rate":1.0,"betas":[0.8,0.9],"epsilon":1e-08,"weight_decay":0.0})");
    CHECK(text("/training") == R"({"epochs":30,"batch_size":64,"schedule":"constant"})");
    CHECK(text("/output/weights") == "\"/no/such/folder/out/digits.safetensors\"");
    // Normalizing is idempotent.
    CHECK(normalized(dump(*config)) == dump(*config));
  }

  TEST_CASE("normalized nodes keep their places, defaults have none") {
    const Json config = parse_config(kWhole, "c.json", kFolder);
    const tenon_json* features = json_at_pointer(*config, "/model/layers/0/in_features");
    REQUIRE(features != nullptr);
    CHECK(place_text(features->source(), features->place()) == "c.json:14:39");
    CHECK(features->key_place().column == 24);
    const tenon_json* batch = json_at_pointer(*config, "/training/batch_size");
    REQUIRE(batch != nullptr);
    CHECK(batch->place().line == 0);
  }

  TEST_CASE("all faults are reported at once, in the order of the file") {
    CHECK(fault(R"({
  "plugins": ["math", {"nam": "blas"}, "math"],
  "sed": 1,
  "data": {"path": "digits.txt", "scale": "1/16"},
  "seed": 1, "seed": 2,
  "training": {"epochs": "30", "batch_size": 0, "schedule": "cosin"}
})") == "config 'c.json' has 12 faults:\n"
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
        "'ops', 'types', 'strict', 'autoload', 'seed', "
        "'threads', 'data', 'split', 'model', 'loss', 'optimizer', 'training' or 'output' (did you "
        "mean 'seed'?)\n"
        "c.json:4:11: /data/format: missing, and the ending of 'digits.txt' does not say it, "
        "expected 'csv' or "
        "'npy': the file's format; decided by its ending when left out\n"
        "c.json:4:43: /data/scale: found the string '1/16', expected a number\n"
        "c.json:5:14: /seed: duplicate key 'seed', expected once (first at line 5, column 3)\n"
        "c.json:6:3: /training: found without 'model', 'loss' and 'optimizer', expected these "
        "beside "
        "it\n"
        "c.json:6:26: /training/epochs: found the string '30', expected an integer of at least 1\n"
        "c.json:6:46: /training/batch_size: found 0, expected an integer of at least 1\n"
        "c.json:6:61: /training/schedule: found the string 'cosin', expected 'constant' or "
        "'cosine' "
        "(did you mean 'cosine'?)");
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
    CHECK(member_fault("\"plugins\": [\"./x.so\"]") ==
          "c.json:1:35: /plugins/0: there is no file '/no/such/folder/x.so', expected a plugin "
          "there");
    CHECK(member_fault("\"ops\": {\"prefer\": {\"a b\": \"math\"}}") ==
          "c.json:1:42: /ops/prefer/a b: found the string 'a b', expected a name or pattern like "
          "'nn.functional.*'");
    CHECK(member_fault("\"ops\": {\"prefer\": {\"*[A, B]\": \"math\"}}") == "no error");
    CHECK(member_fault("\"ops\": {\"disable\": [\"add[A\"]}")
              .ends_with("expected a name or pattern like 'nn.functional.*'"));
    CHECK(member_fault("\"ops\": {\"prefer\": {\"add\": 1}}") ==
          "c.json:1:49: /ops/prefer/add: found 1, expected a plugin id like 'math'");
    CHECK(member_fault("\"seed\": -1") ==
          "c.json:1:31: /seed: found -1, expected an integer of at least 0");
    CHECK(member_fault("\"seed\": 1.0") ==
          "c.json:1:31: /seed: found 1.0, expected an integer of at least 0");
    CHECK(member_fault("\"threads\": 0") ==
          "c.json:1:34: /threads: found 0, expected an integer from 1 to 1024");
    CHECK(member_fault("\"data\": {\"path\": \"\", \"format\": \"csv\"}") ==
          "c.json:1:40: /data/path: found the string '', expected a path");
    CHECK(member_fault("\"data\": {\"format\": \"csv\"}") ==
          "c.json:1:31: /data/path: missing, expected a path: the file of samples");
    CHECK(member_fault("\"data\": {}") ==
          "c.json:1:31: /data/path: missing, expected a path: the file of samples");
    CHECK(member_fault("\"data\": {\"path\": \"a.csv\", \"labels\": \"b.npy\"}") ==
          "c.json:1:49: /data/labels: key 'labels' goes with format 'npy', not 'csv'");
    CHECK(member_fault("\"data\": {\"path\": \"a.npy\"}") ==
          "c.json:1:31: /data/labels: missing, expected a path: the .npy file of labels");
    CHECK(
        member_fault("\"data\": {\"path\": \"a.csv\", \"label_column\": \"y\"}") ==
        "c.json:1:65: /data/label_column: found the name 'y' without \"header\": true, expected a "
        "header or the "
        "column's number");
    CHECK(member_fault("\"data\": {\"path\": \"a.csv\", \"label_column\": null}") ==
          "c.json:1:65: /data/label_column: found null, expected an integer or a string");
    CHECK(member_fault("\"data\": {\"path\": \"a.csv\", \"shape\": []}") ==
          "c.json:1:58: /data/shape: found an array of 0, expected an array of 1 to 15");
    CHECK(member_fault("\"data\": {\"path\": \"a.csv\", \"shape\": [8, 0]}") ==
          "c.json:1:62: /data/shape/1: found 0, expected an integer of at least 1");
    CHECK(member_fault("\"split\": {}") ==
          "c.json:1:23: /split: found without 'data', expected this beside it");
    CHECK(member_fault("\"data\": {\"path\": \"a.csv\"}, \"split\": {\"test\": 1}") ==
          "c.json:1:68: /split/test: found 1, expected a number of at least 0 and below 1");
    CHECK(member_fault("\"model\": {}") ==
          "c.json:1:32: /model/type: missing, expected a name like 'relu' or 'nn.functional.relu': "
          "name of the "
          "module type");
    CHECK(member_fault("\"model\": {\"type\": \"Sequential\", \"layers\": [{\"type\": \"1x\"}]}") ==
          "c.json:1:75: /model/layers/0/type: found the string '1x', expected a name like "
          "'relu' or 'nn.functional.relu'");
    CHECK(member_fault(
              "\"model\": \"A\", \"optimizer\": {\"type\": \"sgd\", \"learning_rate\": 0}") ==
          "c.json:1:83: /optimizer/learning_rate: found 0, expected a number above 0");
    CHECK(member_fault("\"model\": \"A\", \"optimizer\": {\"type\": \"adam\", \"learning_rate\": "
                       "1, \"momentum\": 0.5}") ==
          "c.json:1:87: /optimizer/momentum: key 'momentum' goes with type 'sgd', not 'adam'");
    CHECK(
        member_fault("\"model\": \"A\", \"optimizer\": {\"type\": \"adma\", \"learning_rate\": "
                     "1, \"betas\": [0.1]}") ==
        "config 'c.json' has 2 faults:\n"
        "c.json:1:59: /optimizer/type: found the string 'adma', expected 'sgd' or 'adam' (did you "
        "mean 'adam'?)\n"
        "c.json:1:96: /optimizer/betas: found an array of 1, expected an array of 2");
    CHECK(member_fault("\"epochs\": 3")
              .ends_with("'training' or 'output' ('epochs' belongs in 'training')"));
    CHECK(member_fault("\"model\": \"A\", \"output\": {\"seed\": 3}")
              .ends_with("expected 'weights' or 'plot' ('seed' belongs at the top of the config)"));
  }

  TEST_CASE("text that is not JSON is reported with its line") {
    CHECK(fault("{\"schema_version\": 1,\n \"plugins\": [\"math\",]}") ==
          "c.json:2:21: a comma before ']'; JSON allows none after the last entry\n"
          "   \"plugins\": [\"math\",]}\n"
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
