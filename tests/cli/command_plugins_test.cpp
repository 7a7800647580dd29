// tenon plugins: what is found, and what is refused.
#include <doctest/doctest.h>

#include "program.hpp"

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
}
