// tenon new: what it writes; another test builds it.
#include <fstream>

#include <doctest/doctest.h>

#include "program.hpp"
#include "tests/support/png.hpp"

TEST_SUITE("new") {
  TEST_CASE("a project is written with its name in place, and the next commands are printed") {
    const Workspace folder;
    const Outcome outcome = run_program_in(folder.path(), "new wave_2");
    CHECK(outcome.code == 0);
    CHECK(contains(outcome.out, "created wave_2\n"));
    CHECK(contains(outcome.out, "\n  cd wave_2\n  cmake -S . -B build"));
    CHECK(contains(outcome.out, "\n  tenon check build/wave_2.so\n"));
    CHECK(contains(outcome.out, "\n  tenon --plugin-path build show wave_2\n"));
    for (const char* file :
         {"CMakeLists.txt", "wave_2.cpp", "tests/wave_2_test.cpp", "README.md", ".gitignore"}) {
      CAPTURE(file);
      const std::string text = folder.read(std::string("wave_2/") + file);
      CHECK_FALSE(text.empty());
      CHECK_FALSE(contains(text,
                           "@"
                           "NAME"));
    }
    CHECK(contains(folder.read("wave_2/wave_2.cpp"), "TENON_PLUGIN(wave_2, "));
    CHECK(contains(folder.read("wave_2/CMakeLists.txt"),
                   "tenon_add_plugin(NAME wave_2 SOURCES wave_2.cpp)"));
  }

  TEST_CASE("a project in C has a source in C, and the rest alike") {
    const Workspace folder;
    const Outcome outcome = run_program_in(folder.path(), "new wave_2 --c");
    CHECK(outcome.code == 0);
    CHECK(contains(outcome.out, "  wave_2.c\n"));
    CHECK_FALSE(contains(outcome.out, "wave_2.cpp"));
    for (const char* file :
         {"CMakeLists.txt", "wave_2.c", "tests/wave_2_test.cpp", "README.md", ".gitignore"}) {
      CAPTURE(file);
      const std::string text = folder.read(std::string("wave_2/") + file);
      CHECK_FALSE(text.empty());
      for (const char* mark : {"NAME", "SOURCE", "LANGUAGES"})
        CHECK_FALSE(contains(text, std::string("@") + mark));
    }
    CHECK(contains(folder.read("wave_2/wave_2.c"), "TENON_PLUGIN(wave_2, "));
    CHECK(contains(folder.read("wave_2/CMakeLists.txt"),
                   "tenon_add_plugin(NAME wave_2 SOURCES wave_2.c)"));
    CHECK(contains(folder.read("wave_2/CMakeLists.txt"), "LANGUAGES C CXX"));
    CHECK(contains(run_program("new --help").out, "  tenon new hello --c\n"));
  }

  TEST_CASE("an empty folder will do, one with something in it will not") {
    const Workspace folder;
    CHECK(run_program_in(folder.path(), "new wave --dir .").code == 0);
    CHECK_FALSE(folder.read("wave.cpp").empty());
    const Outcome again = run_program_in(folder.path(), "new wave --dir .");
    CHECK(again.code == 2);
    CHECK(again.error == "tenon: '.' exists and is not an empty folder; name another by --dir\n");
  }

  TEST_CASE("folders above are made, too") {
    const Workspace folder;
    CHECK(run_program_in(folder.path(), "new wave --dir a/b").code == 0);
    CHECK_FALSE(folder.read("a/b/wave.cpp").empty());
  }

  TEST_CASE("names that cannot be are refused and leave nothing") {
    const Workspace folder;
    for (const char* name : {"2wave", "my-wave", "a.b", "tenon", "test", "math", "''"}) {
      CAPTURE(name);
      const Outcome outcome = run_program_in(folder.path(), std::string("new ") + name);
      CHECK(outcome.code == 2);
      CHECK_FALSE(outcome.error.empty());
    }
    CHECK(std::filesystem::is_empty(folder.path()));
  }

  TEST_CASE("a config with samples trains as it is written, and overwrites nothing") {
    const Workspace folder;
    const Outcome made = run_program_in(folder.path(), "new --config");
    CAPTURE(made.error);
    CHECK(made.code == 0);
    CHECK(made.out ==
          "created config.jsonc\ncreated samples.csv\n\nnext:\n"
          "  tenon plan config.jsonc\n  tenon run config.jsonc\n");
    const Outcome plan = run_program_in(folder.path(), "plan config.jsonc");
    CAPTURE(plan.error);
    CHECK(plan.code == 0);
    const Outcome run = run_program_in(folder.path(), "run config.jsonc -q --json");
    CAPTURE(run.error);
    REQUIRE(run.code == 0);
    CHECK(run.json()["accuracy"].number() >= 0.9);
    CHECK(std::filesystem::exists(folder.path("config.safetensors")));
    CHECK(std::filesystem::exists(folder.path("config.svg")));

    const std::string config = folder.read("config.jsonc"), rows = folder.read("samples.csv");
    const Outcome again = run_program_in(folder.path(), "new --config");
    CHECK(again.code == 1);
    CHECK(contains(again.error, "config.jsonc': it exists; name another file"));
    CHECK(contains(run_program_in(folder.path(), "new --config other.json").error,
                   "samples.csv': it exists"));
    CHECK_FALSE(std::filesystem::exists(folder.path("other.json")));
    CHECK(folder.read("config.jsonc") == config);
    CHECK(folder.read("samples.csv") == rows);
    // In a folder, which is made where there is none.
    std::filesystem::create_directory(folder.path("here"));
    CHECK(run_program_in(folder.path(), "new --config here").code == 0);
    CHECK(run_program_in(folder.path(), "new --config there/c.json").code == 0);
    CHECK(run_program_in(folder.path(), "run there/c.json -q").code == 0);
    CHECK(std::filesystem::exists(folder.path("here/samples.csv")));
  }

  TEST_CASE("a config explains every key, and each can be used by taking its marks away") {
    const Workspace folder;
    CHECK(run_program_in(folder.path(), "new --config").code == 0);
    const std::string text = folder.read("config.jsonc");
    const tenon::Json schema = run_program("schema --open").json();
    const auto check = [&](const tenon::Json& object) {
      for (int64_t i = 0; i < object["properties"].size(); ++i) {
        CAPTURE(object["properties"].key(i));
        CHECK(contains(text, "\"" + object["properties"].key(i) + "\": "));
      }
    };
    check(schema);
    for (const char* section : {"data", "split", "training", "output"})
      check(schema["definitions"][section]);
    for (const char* key : {"\"scale\": ", "\"validation\": ", "\"monitor\": ", "\"threads\": "}) {
      CAPTURE(key);
      std::string used = text;
      const size_t at = used.find(std::string("// ") + key);
      REQUIRE(at != std::string::npos);
      folder.write("used.json", used.erase(at, 3));
      const Outcome plan = run_program_in(folder.path(), "plan used.json");
      CAPTURE(plan.error);
      CHECK(plan.code == 0);
    }
  }

  TEST_CASE("a config fits the samples that are given: classes, numbers, images") {
    const Workspace folder(true);
    const auto trained = [&](const std::string& name, const std::string& data) {
      const Outcome made =
          run_program_in(folder.path(), "new --config " + name + " --data " + data);
      CAPTURE(made.error);
      CHECK(made.code == 0);
      const Outcome run = run_program_in(folder.path(), "run " + name + " -q --json");
      CAPTURE(run.error);
      REQUIRE(run.code == 0);
      return run.json();
    };
    CHECK(trained("b.json", "blobs.csv")["accuracy"].number() >= 0.9);
    CHECK(trained("sub/b.json", "blobs.csv")["accuracy"].number() >= 0.9);
    CHECK_FALSE(std::filesystem::exists(folder.path("samples.csv")));
    CHECK(trained("p.json", "plane.csv")["metrics"]["mean_absolute_error"].number() >= 0);
    for (int i = 0; i < 40; ++i) {
      const char* const name = i % 2 == 0 ? "dark" : "light";
      std::filesystem::create_directories(folder.path("pictures") / name);
      folder.write("pictures/" + std::string(name) + "/" + std::to_string(i) + ".png",
                   png::file(4, 4, 1, std::string(16, static_cast<char>(i % 2 * 90 + i))));
    }
    CHECK(trained("i.json", "pictures")["accuracy"].number() >= 0.9);
    const Outcome gone = run_program_in(folder.path(), "new --config g.json --data gone.csv");
    CHECK(gone.code == 1);
    CHECK_FALSE(std::filesystem::exists(folder.path("g.json")));
  }
}
