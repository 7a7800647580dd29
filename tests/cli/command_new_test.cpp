// tenon new: what it writes; another test builds it.
#include <fstream>

#include <doctest/doctest.h>

#include "program.hpp"

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
    CHECK(again.error == "tenon: '.' exists and is not an empty folder\n");
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
}
