// The environment, and programs with elevated rights, which have none.
#include "core/base/environment.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>
#include <vector>

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>

#include "core/base/error.hpp"
#include "core/dispatch/table/core_ops.hpp"
#include "core/dispatch/table/registry.hpp"
#include "core/plugin/plugin_manager.hpp"
#include "core/runtime/runtime.hpp"

using namespace tenon::core;
namespace fs = std::filesystem;

namespace {

// A group that this process is in, or may give files to, and is not its own.
gid_t other_group() {
  if (geteuid() == 0) return getegid() + 1;
  std::vector<gid_t> groups(static_cast<size_t>(getgroups(0, nullptr)));
  if (getgroups(static_cast<int>(groups.size()), groups.data()) < 0) return getegid();
  for (const gid_t group : groups) {
    if (group != getegid()) return group;
  }
  return getegid();
}

}  // namespace

TEST_SUITE("environment") {
  TEST_CASE("variables are read, and what is not set is null") {
    setenv("TENON_TEST_WORD", "word", 1);
    CHECK(environment("TENON_TEST_WORD") == std::string("word"));
    unsetenv("TENON_TEST_WORD");
    CHECK(environment("TENON_TEST_WORD") == nullptr);
  }

  TEST_CASE("a switch says no in four words, in capitals as well") {
    for (const char* no : {"0", "false", "off", "no", "False", "NO"}) CHECK(says_no(no));
    for (const char* other : {"", "1", "true", "True", "yes", "y", "nothing"})
      CHECK_FALSE(says_no(other));
  }

  // Run by the next case in a copy of this program: 8 when it reads the environment and advises to
  // use it, 7 when it does neither.
  TEST_CASE("elevated child" * doctest::skip()) {
    const bool reads = environment("TENON_TEST_WORD") != nullptr;
    std::string refused;
    try {
      plugin_manager().load("no_plugin_has_this_id", "");
    } catch (const Error& error) {
      refused = error.message;
    }
    std::string missing;
    try {
      require_core_op(CoreOp::add_in_place, Registry());
    } catch (const Error& error) {
      missing = error.message;
    }
    for (const std::string& text : {refused, missing}) {
      const bool advises = text.find("name its folder in TENON_PLUGIN_PATH") != text.npos;
      const bool other = text.find("add its folder with add_plugin_path()") != text.npos;
      if (advises == other || advises != reads) _exit(9);
    }
    _exit(reads ? 8 : 7);
  }

  TEST_CASE("a set-gid program reads no variable, and advises none") {
    if (other_group() == getegid()) {
      MESSAGE("skipped: there is no other group to run in");
      return;
    }
    char name[] = "/tmp/tenon-environment-XXXXXX";
    REQUIRE(mkdtemp(name) != nullptr);
    const std::string copy = std::string(name) + "/program";
    fs::copy_file(fs::read_symlink("/proc/self/exe"), copy);
    const auto run = [&] {
      const std::string command =
          "TENON_TEST_WORD=word '" + copy + "' --no-skip -tc='elevated child' >/dev/null 2>&1";
      const int status = std::system(command.c_str());
      return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    };
    CHECK(run() == 8);
    REQUIRE(chown(copy.c_str(), static_cast<uid_t>(-1), other_group()) == 0);
    REQUIRE(chmod(copy.c_str(), 02755) == 0);
    CHECK(run() == 7);
    fs::remove_all(name);
  }

  TEST_CASE("nor does a set-uid program, or one with capabilities") {
    if (geteuid() != 0 || std::system("command -v setpriv >/dev/null 2>&1") != 0) {
      MESSAGE("skipped: only root can start programs as another user, with setpriv");
      return;
    }
    char name[] = "/tmp/tenon-environment-XXXXXX";
    REQUIRE(mkdtemp(name) != nullptr);
    REQUIRE(chmod(name, 0755) == 0);
    const std::string copy = std::string(name) + "/program";
    fs::copy_file(fs::read_symlink("/proc/self/exe"), copy);
    REQUIRE(chmod(copy.c_str(), 0755) == 0);
    const auto run = [&] {
      const std::string command =
          "TENON_TEST_WORD=word setpriv --reuid=65534 --regid=65534 --clear-groups '" + copy +
          "' --no-skip -tc='elevated child' >/dev/null 2>&1";
      const int status = std::system(command.c_str());
      return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    };
    CHECK(run() == 8);
    REQUIRE(chmod(copy.c_str(), 04755) == 0);
    CHECK(run() == 7);
    REQUIRE(chmod(copy.c_str(), 0755) == 0);
    CHECK(run() == 8);
    // CAP_NET_BIND_SERVICE, permitted and effective; version 2 of the attribute.
    const uint32_t capabilities[5] = {0x02000001, 1U << 10U, 0, 0, 0};
    if (setxattr(copy.c_str(), "security.capability", capabilities, sizeof capabilities, 0) == 0)
      CHECK(run() == 7);
    else
      MESSAGE("skipped: this file system keeps no capabilities");
    fs::remove_all(name);
  }
}
