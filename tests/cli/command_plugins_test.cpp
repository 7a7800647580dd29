// tenon plugins: what is found, and what is refused.
#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "program.hpp"
#include "tests/support/kill_points.hpp"

namespace {

// A plugin that crashes in its init when the environment says so, with quarantine.
struct Crashing {
  Workspace folder;
  std::string path = folder.path("plugins").string();
  // Sanitizers would report the signal and exit.
  std::string state =
      R"(ASAN_OPTIONS="$ASAN_OPTIONS:handle_segv=0" TSAN_OPTIONS="$TSAN_OPTIONS:handle_segv=0" )"
      "TENON_QUARANTINE=1 XDG_STATE_HOME=" +
      folder.path("state").string() + " ";

  Crashing() {
    std::filesystem::create_directory(path);
    std::filesystem::copy(std::string(TENON_FIXTURES) + "/crashes.so", path);
    folder.write("c.json", R"({"schema_version": 1, "search_paths": ["plugins"],
                              "plugins": [{"name": "crashes", "load": "eager"}]})");
  }
  Outcome load(const std::string& environment = "") const {
    return run_program_in(folder.path(), "why crashes.op Tensor --config c.json",
                          state + environment);
  }
  Outcome list(const std::string& options = "", const std::string& environment = "") const {
    return run_program("--plugin-path " + path + " plugins " + options, state + environment);
  }
  // Files that are remembered of the plugin.
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder.path("state/tenon")))
      names.push_back("state/tenon/" + entry.path().filename().string());
    return names;
  }
};

}  // namespace

TEST_SUITE("plugins") {
  TEST_CASE("the shipped plugins are listed in order, without being loaded") {
    const Outcome outcome = run_program("plugins --json");
    CHECK(outcome.code == 0);
    const tenon::Json plugins = outcome.json();
    std::string before;
    bool found = false;
    for (int64_t i = 0; i < plugins.size(); ++i) {
      const std::string id = plugins[i]["id"].text();
      CHECK(before < id);
      before = id;
      if (id != "math") continue;
      found = true;
      CHECK(plugins[i]["state"].text() == "indexed");
      CHECK(plugins[i]["version"].is_text());
      CHECK(plugins[i]["ops"].integer() > 100);
      CHECK(plugins[i]["path"].text().find("math.so") != std::string::npos);
    }
    CHECK(found);
    CHECK(run_program("plugins").out.rfind("PLUGIN ", 0) == 0);
  }

  TEST_CASE("a plugin in a folder that is named is listed with the rest") {
    const Workspace folder;
    std::filesystem::copy(std::string(TENON_FIXTURES) + "/plain.so", folder.path());
    const Outcome outcome = run_program("--plugin-path " + folder.path().string() + " plugins");
    CHECK(outcome.code == 0);
    CHECK(contains(outcome.out, folder.path("plain.so").string()));
    const tenon::Json plugins =
        run_program("--plugin-path " + folder.path().string() + " plugins --json").json();
    for (int64_t i = 0; i < plugins.size(); ++i)
      CHECK(plugins[i]["origin"].text() ==
            (plugins[i]["id"].text() == "plain" ? "plugin path" : "install"));
  }

  TEST_CASE("loading from folders can be switched off, and what is named is used all the same") {
    for (const bool by_flag : {true, false}) {
      const auto run = [&](const std::string& arguments) {
        return by_flag ? run_program("--no-autoload " + arguments)
                       : run_program(arguments, "TENON_PLUGIN_AUTOLOAD=0");
      };
      const tenon::Json plugins = run("plugins --json").json();
      CHECK(plugins.size() >= 6);  // mpi is optional
      for (int64_t i = 0; i < plugins.size(); ++i) {
        CHECK(plugins[i]["state"].text() == "excluded");
        CHECK(contains(plugins[i]["reason"].text(), "loading from folders is switched off"));
      }
      CHECK(contains(run("why add Tensor Tensor").error, "loading from folders is switched off"));
      CHECK(run("check math --op exp").code == 0);
    }
    const Workspace folder;
    folder.write("c.json", R"({"schema_version": 1, "autoload": false, "plugins": ["math"]})");
    CHECK(contains(run_program_in(folder.path(), "why add Tensor Tensor --config c.json").out,
                   "plugin math"));
    CHECK(contains(run_program_in(folder.path(), "why mm Tensor Tensor --config c.json").error,
                   "loading from folders is switched off"));
  }

  TEST_CASE("a refused plugin is listed with its reason, and the exit code says so") {
    const Workspace folder;
    std::filesystem::copy(std::string(TENON_FIXTURES) + "/abi_major.so", folder.path());
    folder.write("broken.so", "not a plugin");
    const std::string option = "--plugin-path " + folder.path().string();
    const Outcome outcome = run_program(option + " plugins");
    CHECK(outcome.code == 1);
    CHECK(contains(outcome.out, "at stage version"));
    CHECK(contains(outcome.out, "at stage read"));
    const tenon::Json plugins = run_program(option + " plugins --json").json();
    int failed = 0;
    for (int64_t i = 0; i < plugins.size(); ++i) {
      if (plugins[i]["state"].text() != "failed") continue;
      ++failed;
      CHECK_FALSE(plugins[i]["reason"].text().empty());
    }
    CHECK(failed == 2);
  }

  TEST_CASE("a relative folder counts from where the program is started") {
    const Workspace folder;
    std::filesystem::create_directory(folder.path("here"));
    std::filesystem::copy(std::string(TENON_FIXTURES) + "/plain.so", folder.path("here"));
    CHECK(contains(run_program_in(folder.path(), "--plugin-path here plugins").out, "plain.so"));
  }

  TEST_CASE("a folder that others can write to is refused with its remedy, unless it is trusted") {
    const Workspace folder;
    const std::string path = folder.path("plugins").string();
    std::filesystem::create_directory(path);
    std::filesystem::copy(std::string(TENON_FIXTURES) + "/plain.so", path);
    std::filesystem::permissions(path, std::filesystem::perms(0777));
    const std::string place = "--plugin-path " + path + " ";
    Outcome outcome = run_program(place + "plugins");
    CHECK(outcome.code == 1);
    CHECK(contains(outcome.out, "every user can write to the folder '" + path + "' (mode 0777)"));
    CHECK(contains(outcome.out, "run `chmod o-w '" + path + "'`, or allow it by name: --trust"));
    CHECK(run_program(place + "--trust " + path + " plugins").code == 0);
    CHECK(run_program(place + "check plain").code == 1);
    CHECK(run_program(place + "--trust " + path + " check plain").code == 0);
    folder.write("c.json",
                 R"({"schema_version": 1, "search_paths": ["plugins"], "trust": ["plugins"],
                              "plugins": ["plain"]})");
    CHECK(run_program_in(folder.path(), "why plain.add_one Tensor --config c.json").code == 0);
    folder.write("c.json", R"({"schema_version": 1, "search_paths": ["plugins"],
                              "plugins": ["plain"]})");
    outcome = run_program_in(folder.path(), "why plain.add_one Tensor --config c.json");
    CHECK(outcome.code == 1);
    CHECK(contains(outcome.error, "every user can write to the folder"));
  }

  TEST_CASE("a plugin that crashes is kept out, listed, and tried again on demand") {
    const Crashing world;
    CHECK(world.load("TENON_TEST_CRASH=init").code == 128 + 11);
    CHECK(contains(world.load("TENON_TEST_CRASH=init").error, "SIGSEGV"));
    CHECK(contains(world.load().error, "it is in quarantine"));
    CHECK(world.list().code == 1);
    CHECK(contains(world.list().out, "quarantined"));
    CHECK(world.list("--retry crashes").out == "plugin crashes may be loaded again\n");
    CHECK(contains(world.list("--retry crashes").error, "no plugin 'crashes' is in quarantine"));
    CHECK(world.load().code == 0);
    // `check` says what happens, each time, and accuses no plugin elsewhere.
    for (int i = 0; i < 2; ++i) {
      const Outcome outcome = run_program("--plugin-path " + world.path + " check crashes",
                                          world.state + "TENON_TEST_CRASH=init");
      CHECK(outcome.code == 1);
      CHECK(!contains(outcome.out, "quarantine"));
    }
    CHECK(world.list().code == 0);
  }

  TEST_CASE("a retry that is killed leaves the plugin in quarantine, or takes it out") {
    const Crashing world;
    world.load("TENON_TEST_CRASH=init");
    world.load("TENON_TEST_CRASH=init");
    REQUIRE(world.files().size() == 1);
    const std::string record = world.files().front(), text = world.folder.read(record);
    const tenon_test::Seconds unbroken =
        tenon_test::time_of([&] { REQUIRE(world.list("--retry crashes").code == 0); });
    REQUIRE(world.files().empty());
    int killed = 0;
    for (const tenon_test::Seconds delay : tenon_test::kill_points(unbroken)) {
      world.folder.write(record, text);
      const Outcome outcome =
          world.list("--retry crashes", "timeout -s KILL " + std::to_string(delay.count()) + " ");
      killed += outcome.code == 128 + SIGKILL;
      const bool is_kept = std::filesystem::exists(world.folder.path(record));
      CHECK(contains(world.list().out, "quarantined") == is_kept);
      if (is_kept) CHECK(world.folder.read(record) == text);
      CHECK(world.files().size() == (is_kept ? 1 : 0));
    }
    CHECK(killed > 0);
    world.folder.write(record, text);
    CHECK(world.list("--retry crashes").code == 0);
    CHECK(world.load().code == 0);
    CHECK(world.files().empty());
  }
}
