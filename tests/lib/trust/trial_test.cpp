// Trials whose program is a script of the test: what it is given, and what is read from its end.
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <sys/stat.h>

#include <tenon/trust/trial.hpp>

#include "tests/lib/trust/support.hpp"
#include "tests/support/emulation.hpp"

using namespace tenon::trust;
using namespace trust_test;

namespace {

constexpr double kLong = 60;  // seconds that no trial of these tests takes

class Trial {
 public:
  explicit Trial(const std::string& commands) {
    write_file(program_, "#!/bin/sh\n" + commands + "\n");
    REQUIRE(::chmod(program_.c_str(), 0700) == 0);
  }
  TrialEnd run(double seconds = kLong) const {
    const Json config = Json::parse(R"({"plugins": [{"path": "/p/a.so"}]})");
    return run_trial(program_, state(), config, seconds);
  }
  std::string state() const { return folder_ / "state"; }
  // Whose number the script has written to the file `child`. A killed process is a zombie until the one
  // that has taken it over waits for it; before that its end may take a moment.
  bool has_killed_its_child() const {
    const std::string number = read_file(folder_ / "child");
    REQUIRE(std::atoi(number.c_str()) > 0);
    const std::string stat = "/proc/" + number.substr(0, number.find('\n')) + "/stat";
    for (int look = 0; look < 1000; ++look) {
      const std::string status = read_file(stat);
      if (status.empty() || contains(status, ") Z") || contains(status, ") X")) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }

 private:
  TemporaryFolder folder_;
  std::string program_ = folder_ / "trial";
};

}  // namespace

TEST_SUITE("trust/trial") {
  TEST_CASE("the program opens the plugins of the config that it reads") {
    const TrialEnd end = Trial("echo \"$#: $1\"; cat").run();
    CHECK(end.finished);
    CHECK(end.text == "exit code 0");
    CHECK(contains(end.output, "1: open-plugin"));
    CHECK(contains(end.output, R"("path":"/p/a.so")"));
  }

  TEST_CASE("it has the environment of this process, and a state folder that goes with it") {
    ::setenv("TENON_TEST_TRIAL", "passed on", 1);
    ::setenv("XDG_STATE_HOME", "/of/this/process", 1);
    const Trial trial(
        "echo \"$TENON_TEST_TRIAL; $XDG_STATE_HOME\"; stat -c %a \"$XDG_STATE_HOME\"");
    const TrialEnd end = trial.run();
    ::unsetenv("TENON_TEST_TRIAL");
    ::unsetenv("XDG_STATE_HOME");
    CHECK(contains(end.output, "passed on; " + trial.state()));
    CHECK(contains(end.output, "700"));
    CHECK_FALSE(std::filesystem::exists(trial.state()));
  }

  TEST_CASE("its end is named, and that by a signal from outside proves nothing") {
    struct Row {
      const char* command;
      const char* text;
      bool finished;
    };
    for (const Row& row : {Row{"exit 3", "exit code 3", true},
                           Row{"kill -SEGV $$", "SIGSEGV (Segmentation fault)", true},
                           Row{"kill -ABRT $$", "SIGABRT (Aborted)", true},
                           Row{"kill -KILL $$", "SIGKILL (Killed)", false},
                           Row{"kill -TERM $$", "SIGTERM (Terminated)", false},
                           Row{"kill -INT $$", "SIGINT (Interrupt)", false}}) {
      CAPTURE(row.command);
      const TrialEnd end = Trial(row.command).run();
      CHECK(end.text == row.text);
      CHECK(end.finished == row.finished);
    }
  }

  TEST_CASE("one that does not end is killed when its time is over, with what it has started") {
    const Trial trial("sleep 600 & echo $! >\"$(dirname \"$0\")/child\"; wait");
    const TrialEnd end = trial.run(3);
    CHECK_FALSE(end.finished);
    CHECK_FALSE(std::filesystem::exists(trial.state()));
    CHECK(trial.has_killed_its_child());
  }

  TEST_CASE("what a program that has ended leaves running is killed too") {
    const Trial trial("sleep 600 >/dev/null 2>&1 & echo $! >\"$(dirname \"$0\")/child\"");
    CHECK(trial.run().finished);
    CHECK(trial.has_killed_its_child());
  }

  TEST_CASE("of its output the end is kept, and the lines of its backtrace apart from it") {
    const TrialEnd end =
        Trial(
            "head -c 9000 /dev/zero | tr '\\0' x; echo; echo the end; echo '-- backtrace --'; "
            "echo first; echo; printf 'sec\\033ond'")
            .run();
    CHECK(end.output.size() <= 4096);
    CHECK(end.output.ends_with("the end\n"));
    REQUIRE(end.backtrace.size() == 2);
    CHECK(end.backtrace[0] == "first");
    CHECK(contains(end.backtrace[1], "sec"));
    CHECK_FALSE(contains(end.backtrace[1], "\033"));
  }

  TEST_CASE("markers that it leaves are read before its folder goes") {
    const TrialEnd none = Trial("exit 0").run();
    CHECK(none.markers.empty());
    const Trial other(
        "mkdir -p \"$XDG_STATE_HOME/tenon\"; echo 'not a marker' "
        ">\"$XDG_STATE_HOME/tenon/loading-1-1.json\"");
    CHECK(other.run().markers.empty());
  }

  TEST_CASE("a program that is not there is refused") {
    if (tenon_test::cannot_emulate("posix_spawn() does not learn that its child could not start"))
      return;
    const TemporaryFolder folder;
    CHECK_THROWS_WITH(run_trial(folder / "none", folder / "state", Json::parse("{}"), kLong),
                      doctest::Contains("cannot start a child process"));
    CHECK_FALSE(std::filesystem::exists(folder / "state"));
  }

  TEST_CASE("a folder that is there is refused") {
    const TemporaryFolder folder;
    CHECK_THROWS_WITH(run_trial("/bin/true", folder.path(), Json::parse("{}"), kLong),
                      doctest::Contains("cannot make a folder"));
    CHECK(std::filesystem::exists(folder.path()));
  }

  TEST_CASE("the program that runs trials is the command line, where it is found") {
    const std::string program = trial_program();
    if (program.empty()) return;
    CHECK(std::filesystem::path(program).filename() == "tenon");
    CHECK(std::filesystem::is_regular_file(program));
  }
}
