// Files written as a whole: replacement, failures that leave the old file, links and permissions.
#include <csignal>
#include <filesystem>
#include <string>
#include <unistd.h>
#include <vector>

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <tenon/error.hpp>
#include <tenon/state/atomic_file.hpp>

#include "tests/support/temporary_folder.hpp"

using tenon::state::AtomicFile;
using tenon::state::write_file;
using Folder = tenon_test::TemporaryFolder;
using tenon_test::bytes_of;
namespace fs = std::filesystem;

namespace {

std::string io_failure(const std::string& path, std::string_view data = "new") {
  try {
    write_file(path, data);
  } catch (const tenon::IOError& error) {
    const std::string message = error.what();
    CHECK(message.find("'" + path + "'") != std::string::npos);
    return message;
  }
  return "";
}

}  // namespace

TEST_SUITE("state/atomic_file") {
  TEST_CASE("a file is made, then replaced, and nothing else stays") {
    const Folder folder;
    write_file(folder / "a.json", "one");
    CHECK(bytes_of(folder / "a.json") == "one");
    write_file(folder / "a.json", std::string("\0two", 4));
    CHECK(bytes_of(folder / "a.json") == std::string("\0two", 4));
    write_file(folder / "empty", "");
    CHECK(bytes_of(folder / "empty") == "");
    CHECK(folder.entries() == 2);
  }

  TEST_CASE("without commit the old file stays and the temporary goes") {
    const Folder folder;
    write_file(folder / "a", "old");
    {
      AtomicFile file(folder / "a");
      file.write("half of the ne");
      CHECK(bytes_of(folder / "a") == "old");
    }
    CHECK(bytes_of(folder / "a") == "old");
    CHECK(folder.entries() == 1);
  }

  TEST_CASE("a full disk is an error with the path and the reason") {
    CHECK(io_failure("/dev/full") ==
          "cannot write '/dev/full': while writing: No space left on device");
  }

  TEST_CASE("a write that fails half-way leaves the old file") {
    const Folder folder;
    write_file(folder / "a", "old");
    rlimit before{};
    getrlimit(RLIMIT_FSIZE, &before);
    rlimit low = before;
    low.rlim_cur = 4096;
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &low);
    const std::string message = io_failure(folder / "a", std::string(100000, 'x'));
    setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, handler);
    CHECK(message.find("File too large") != std::string::npos);
    CHECK(bytes_of(folder / "a") == "old");
    CHECK(folder.entries() == 1);
  }

  TEST_CASE("folders that are missing or cannot be written to are reported") {
    const Folder folder;
    CHECK(io_failure(folder / "none/a").find("No such file or directory") != std::string::npos);
    CHECK(io_failure("/proc/tenon-cannot-be").find("cannot create a file in its folder") !=
          std::string::npos);
    CHECK(io_failure(folder / "") != "");
    CHECK(io_failure("") == "cannot write '': the path is empty");
    fs::create_directory(folder / "sub");
    CHECK(io_failure(folder / "sub").find("it is a folder") != std::string::npos);
    if (geteuid() == 0) return;  // root may write everywhere
    write_file(folder / "sub/a", "old");
    fs::permissions(folder / "sub", fs::perms::owner_read | fs::perms::owner_exec);
    CHECK(io_failure(folder / "sub/a").find("Permission denied") != std::string::npos);
    fs::permissions(folder / "sub", fs::perms::owner_all);
    CHECK(bytes_of(folder / "sub/a") == "old");
    fs::permissions(folder / "sub/a", fs::perms::owner_read);
    CHECK(io_failure(folder / "sub/a").find("Permission denied") != std::string::npos);
  }

  TEST_CASE("links stay links, and permissions stay as they were") {
    const Folder folder;
    write_file(folder / "real", "old");
    fs::permissions(folder / "real", fs::perms::owner_read | fs::perms::owner_write);
    fs::create_symlink("real", folder / "link");
    fs::create_symlink("link", folder / "second");
    write_file(folder / "second", "new");
    CHECK(fs::is_symlink(folder / "second"));
    CHECK(fs::is_symlink(folder / "link"));
    CHECK(bytes_of(folder / "real") == "new");
    struct stat status {};
    stat((folder / "real").c_str(), &status);
    CHECK((status.st_mode & 0777U) == 0600);

    fs::create_symlink("not-yet", folder / "dangling");
    write_file(folder / "dangling", "made");
    CHECK(fs::is_symlink(folder / "dangling"));
    CHECK(bytes_of(folder / "not-yet") == "made");
  }

  TEST_CASE("a link that another user made in a shared folder is not followed") {
    if (geteuid() != 0) {
      MESSAGE("skipped: only root can make links of others");
      return;
    }
    const Folder folder;
    write_file(folder / "victim", "old");
    fs::create_symlink("victim", folder / "planted");
    REQUIRE(lchown((folder / "planted").c_str(), 65534, 65534) == 0);
    CHECK(io_failure(folder / "planted") == "cannot write '" + (folder / "planted") +
                                                "': it is a symbolic link that another user made");
    fs::create_symlink("planted", folder / "chain");
    CHECK(io_failure(folder / "chain").find("another user") != std::string::npos);
    CHECK(bytes_of(folder / "victim") == "old");
    // In a folder of that user's own it is theirs to make.
    REQUIRE(chown((folder / ".").c_str(), 65534, 65534) == 0);
    write_file(folder / "planted", "new");
    CHECK(bytes_of(folder / "victim") == "new");
  }

  TEST_CASE("what a killed writer left goes with the next write of the same file") {
    const Folder folder;
    const pid_t child = fork();
    if (child == 0) {
      AtomicFile file(folder / "a");
      file.write("half");
      AtomicFile other(folder / "b");
      raise(SIGKILL);
    }
    REQUIRE(waitpid(child, nullptr, 0) == child);
    CHECK(folder.entries() == 2);
    write_file(folder / "a", "whole");
    CHECK(bytes_of(folder / "a") == "whole");
    CHECK(folder.entries() == 2);  // and what was left of b
    write_file(folder / "b", "whole");
    CHECK(folder.entries() == 2);
  }

  TEST_CASE("writers that are alive keep their temporaries, and one of them wins as a whole") {
    const Folder folder;
    {
      AtomicFile slow(folder / "a");
      slow.write("slow");
      write_file(folder / "a", "fast");
      slow.commit();
      CHECK(bytes_of(folder / "a") == "slow");
    }
    std::vector<pid_t> children;
    for (char letter = 'a'; letter < 'g'; ++letter) {
      const pid_t child = fork();
      if (child == 0) {
        try {
          for (int i = 0; i < 50; ++i) write_file(folder / "a", std::string(10000, letter));
        } catch (...) {
          _exit(1);
        }
        _exit(0);
      }
      children.push_back(child);
    }
    for (const pid_t child : children) {
      int status = -1;
      REQUIRE(waitpid(child, &status, 0) == child);
      CHECK(status == 0);
    }
    const std::string text = bytes_of(folder / "a");
    CHECK(text == std::string(10000, text[0]));
    CHECK(folder.entries() == 1);
  }

  TEST_CASE("a pipe behind a link of /proc is written to") {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    write_file("/proc/self/fd/" + std::to_string(ends[1]), "text");
    char block[8] = {};
    CHECK(read(ends[0], block, sizeof block) == 4);
    CHECK(std::string(block) == "text");
    close(ends[0]);
    close(ends[1]);
  }

  TEST_CASE("a new file has the permissions that the mask leaves") {
    const Folder folder;
    const mode_t mask = umask(027);
    write_file(folder / "a", "x");
    umask(mask);
    struct stat status {};
    stat((folder / "a").c_str(), &status);
    CHECK((status.st_mode & 0777U) == 0640);
  }
}
