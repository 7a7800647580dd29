// Files and standard input, places of what was read, and what of a config the host decides by.
#include <csignal>
#include <filesystem>
#include <unistd.h>

#include <sys/stat.h>

#include "support.hpp"

using tenon::Json;
namespace config = tenon::config;
namespace files = std::filesystem;

namespace {

struct Folder {
  files::path path = files::temp_directory_path() / ("tenon_config_" + std::to_string(getpid()));
  Folder() { files::create_directories(path); }
  ~Folder() { files::remove_all(path); }
  std::string write(const char* name, const std::string& text) const {
    std::ofstream(path / name) << text;
    return path / name;
  }
};

std::string io_refusal(const std::string& file) {
  return refusal(TENON_ERROR_IO, [&] { config::read(file); });
}

}  // namespace

TEST_SUITE("reading configs") {
  TEST_CASE("paths start at the folder of the file") {
    const Folder folder;
    folder.write("here.so", "x");
    const std::string file =
        folder.write("c.json", R"({"schema_version": 1, "plugins": ["./here.so"]})");
    const Json read = config::read(file);
    CHECK(read["plugins"][0]["path"].text() == (folder.path / "here.so").string());
    CHECK(read["plugins"].place() == file + ":1:34: /plugins");
  }

  TEST_CASE("files that cannot be read are reported, and a pipe does not block") {
    const Folder folder;
    CHECK(io_refusal("/no/such/c.json") ==
          "cannot read the config '/no/such/c.json': No such file or directory");
    CHECK(io_refusal(folder.path) ==
          "cannot read the config '" + folder.path.string() + "': Is a directory");
    const std::string pipe = folder.path / "pipe";
    REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
    alarm(10);
    CHECK(ends_with(io_refusal(pipe), "it is not a regular file"));
    alarm(0);
  }

  TEST_CASE("a config has at most 4 MiB") {
    const std::string most(size_t{4} << 20, ' ');
    CHECK(fault(most) == "c.json: the text is empty, expected JSON");
    CHECK(fault(most + " ") == "c.json: the text has 4194305 bytes; at most 4194304 are read");
  }

  TEST_CASE("normalized nodes keep their places, defaults and what stands for nothing have none") {
    const Json read = parsed(
        "{\"schema_version\": 1,\n \"plugins\": [\"math\"], \"ops\": {\n"
        "  \"disable\": [{\"op\": \"exp2\"}]}, \"own\": [1, {\"a\": 2}]}");
    CHECK(read["plugins"][0]["name"].place() == "c.json:2:14: /plugins/0/name");
    CHECK(read["plugins"][0].place() == "c.json:2:14: /plugins/0");
    CHECK(read["ops"]["disable"][0]["op"].place() == "c.json:3:22: /ops/disable/0/op");
    CHECK(read["own"][1]["a"].place() == "c.json:3:50: /own/1/a");
    CHECK(read["seed"].place() == "c.json: /seed");
    tenon_json_position seed{}, own{};
    tenon::service::documents().position(read["seed"].handle(), &seed);
    tenon::service::documents().position(read["own"].handle(), &own);
    CHECK(seed.value.line == 0);
    CHECK(own.key.column == 33);
    CHECK(own.value.column == 40);
    CHECK(own.value.offset == own.key.offset + 7);
  }

  TEST_CASE("the policy is the part that the host knows, with its places") {
    const Json read = parsed(
        R"({"schema_version": 1, "seed": 3, "own": 1, "plugins": ["math"], "strict": true})");
    const Json policy = config::policy(read);
    CHECK(policy.dump() ==
          R"({"plugins":[{"name":"math","load":"lazy","require":true}],"search_paths":[],)"
          R"("ops":{"prefer":{},"disable":[]},"strict":true})");
    CHECK(policy["strict"].place() == "c.json:1:75: /strict");
    CHECK(config::policy(Json::parse("{}")).dump() == "{}");
  }

  TEST_CASE("applying refuses what no plugin has, at its place") {
    const std::string error = refusal(TENON_ERROR_PLUGIN, [] {
      config::apply(parsed(R"({"schema_version": 1, "plugins": ["no_such_plugin"]})"));
    });
    CHECK(contains(error, "c.json:1:35: /plugins/0: "));
    CHECK(contains(error, "no_such_plugin"));
  }
}
