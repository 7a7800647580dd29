// Children that print, wait, crash, or leave other processes behind.
#include <csignal>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <tenon/trust/child_process.hpp>

#include "tests/lib/trust/support.hpp"
#include "tests/support/emulation.hpp"

using namespace tenon::trust;
using namespace trust_test;

namespace {

ChildCommand shell(const std::string& commands) {
  ChildCommand command;
  command.program = "/bin/sh";
  command.arguments = {"sh", "-c", commands};
  return command;
}

// How the commands end, and what they print.
std::string end_of(const ChildCommand& command) {
  ChildProcess child(command);
  CHECK(child.wait());
  REQUIRE(child.status());
  return end_text(*child.status()) + ": " + child.output();
}

bool is_gone(int process) {
  for (int look = 0; look < 500; ++look) {
    const std::string status = read_file("/proc/" + std::to_string(process) + "/stat");
    if (status.empty() || contains(status, ") Z") || contains(status, ") X")) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

}  // namespace

TEST_SUITE("trust/child_process") {
  TEST_CASE("its output, errors among it, and its end are read; its input is empty") {
    CHECK(end_of(shell("echo out; echo err >&2; cat")) == "exit code 0: out\nerr\n");
    CHECK(end_of(shell("exit 3")) == "exit code 3: ");
    CHECK(end_of(shell("kill -ABRT $$")) == "SIGABRT (Aborted): ");
  }

  TEST_CASE("more output than a pipe has room for is read while it runs, and its end is kept") {
    ChildCommand command = shell("head -c 3000000 /dev/zero | tr '\\0' x; echo the end");
    command.output_kept = 1000;
    const std::string text = end_of(command);
    CHECK(text.size() < 1100);
    CHECK(contains(text, "x\nthe end\n") == false);
    CHECK(contains(text, "xthe end\n"));
  }

  TEST_CASE("a variable takes the place of the inherited one, and the others stay") {
    ::setenv("TENON_TEST_A", "inherited", 1);
    ::setenv("TENON_TEST_AB", "kept", 1);
    ChildCommand command = shell("echo $TENON_TEST_A $TENON_TEST_AB; env | grep -c ^TENON_TEST_A=");
    command.environment = {"TENON_TEST_A=given"};
    CHECK(end_of(command) == "exit code 0: given kept\n1\n");
    command.environment = {"TENON_TEST_A"};
    CHECK(end_of(command) == "exit code 1: kept\n0\n");
    ::unsetenv("TENON_TEST_A");
    ::unsetenv("TENON_TEST_AB");
  }

  TEST_CASE("its current folder is the one that is given") {
    const TemporaryFolder folder;
    ChildCommand command = shell("pwd");
    command.folder = folder.path();
    CHECK(end_of(command) == "exit code 0: " + folder.path() + "\n");
  }

  TEST_CASE("whether it has ended is known without waiting") {
    ChildProcess child(shell("read line; exit 4"));
    ChildProcess other(shell("sleep 600"));
    CHECK_FALSE(other.has_ended());
    while (!child.has_ended()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    CHECK(end_text(child.status().value()) == "exit code 4");
    CHECK(child.wait(0));
  }

  TEST_CASE("one that closes its output and runs on is waited for") {
    CHECK(end_of(shell("echo last; exec >&- 2>&-; sleep 0.2; exit 3")) == "exit code 3: last\n");
  }

  TEST_CASE("descriptors are passed under their numbers, whichever numbers they have here") {
    int first[2], second[2];
    REQUIRE(::pipe(first) == 0);
    REQUIRE(::pipe(second) == 0);
    REQUIRE(::write(first[1], "one\n", 4) == 4);
    REQUIRE(::write(second[1], "two\n", 4) == 4);
    for (const int end : {first[1], second[1]}) ::close(end);
    ChildCommand command = shell("cat <&0; cat <&5");
    // Each other's numbers, where that is possible.
    command.descriptors = {{0, first[0]}, {5, second[0]}};
    CHECK(end_of(command) == "exit code 0: one\ntwo\n");
    for (const int end : {first[0], second[0]}) ::close(end);
  }

  TEST_CASE("the pipes of other children do not reach it") {
    const std::string before = end_of(shell("ls /proc/self/fd | wc -l"));
    const ChildProcess other(shell("sleep 600"));
    CHECK(end_of(shell("ls /proc/self/fd | wc -l")) == before);
  }

  TEST_CASE("one that does not end is killed after its time, with all that it has started") {
    const TemporaryFolder folder;
    ChildProcess child(shell("sleep 600 & echo $! >" + folder.path() + "/number; sleep 600"));
    CHECK_FALSE(child.wait(1));
    REQUIRE(child.status());
    CHECK(end_text(*child.status()) == "SIGKILL (Killed)");
    CHECK(is_gone(std::atoi(read_file(folder / "number").c_str())));
  }

  TEST_CASE("what it has left behind is killed, and does not keep this process waiting") {
    ChildProcess child(shell("sleep 600 & echo $!"));
    CHECK(child.wait(30));
    CHECK(is_gone(std::atoi(child.output().c_str())));
  }

  TEST_CASE("one that is not waited for is killed") {
    int number = 0;
    {
      const ChildProcess child(shell("sleep 600"));
      number = child.number();
    }
    CHECK(is_gone(number));
  }

  TEST_CASE("several threads wait for their children, each for its own") {
    std::vector<std::thread> threads;
    std::vector<std::string> ends(8);
    for (size_t i = 0; i < ends.size(); ++i) {
      threads.emplace_back([&ends, i] {
        ChildProcess child(shell("sleep 0.0" + std::to_string(i) + "; echo " + std::to_string(i) +
                                 "; exit " + std::to_string(i)));
        child.wait(60);
        ends[i] = end_text(child.status().value_or(-1)) + ": " + child.output();
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (size_t i = 0; i < ends.size(); ++i)
      CHECK(ends[i] == "exit code " + std::to_string(i) + ": " + std::to_string(i) + "\n");
  }

  TEST_CASE("where SIGCHLD is ignored its end is not known") {
    const auto before = std::signal(SIGCHLD, SIG_IGN);
    ChildProcess child(shell("echo done"));
    CHECK(child.wait(60));
    std::signal(SIGCHLD, before);
    CHECK_FALSE(child.status());
  }

  TEST_CASE("a program that is not there is refused") {
    if (tenon_test::cannot_emulate("posix_spawn() does not learn that its child could not start"))
      return;
    ChildCommand command;
    command.program = "/no/such/program";
    command.arguments = {"program"};
    CHECK_THROWS_WITH(ChildProcess{command},
                      "cannot start a child process: No such file or directory");
  }
}
