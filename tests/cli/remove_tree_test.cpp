// Removing folders whose modes are in the way. As another user where the test runs as root, whom no
// mode stops.
#include "remove_tree.hpp"

#include <filesystem>
#include <fstream>
#include <unistd.h>

#include <doctest/doctest.h>
#include <sys/stat.h>

#include "program.hpp"

namespace fs = std::filesystem;

namespace {

class OtherUser {
 public:
  OtherUser() {
    constexpr uid_t other = 65534;
    if (geteuid() == 0) changed_ = seteuid(other) == 0;
  }
  ~OtherUser() {
    if (changed_) static_cast<void>(seteuid(0) == 0);
  }
  OtherUser(const OtherUser&) = delete;
  OtherUser& operator=(const OtherUser&) = delete;

 private:
  bool changed_ = false;
};

}  // namespace

TEST_SUITE("check") {
  TEST_CASE("folders are removed whatever their modes, and links without what they lead to") {
    const Workspace folder;
    fs::permissions(folder.path(), fs::perms::all);
    fs::create_directory(folder.path("kept"));
    std::ofstream(folder.path("kept") / "file") << "kept";
    const OtherUser user;
    const fs::path top = folder.path("top");
    for (const mode_t mode : {0700U, 0500U, 0000U}) {
      CAPTURE(mode);
      fs::create_directories(top / "a" / "b");
      std::ofstream(top / "a" / "b" / "file") << "text";
      fs::create_directory_symlink(folder.path("kept"), top / "a" / "link");
      REQUIRE(chmod((top / "a" / "b").c_str(), mode) == 0);
      REQUIRE(chmod((top / "a").c_str(), mode) == 0);
      std::error_code fault;
      cli::remove_tree(top, fault);
      CHECK_FALSE(fault);
      CHECK_FALSE(fs::exists(top));
    }
    CHECK(fs::exists(folder.path("kept") / "file"));
    std::error_code fault;
    cli::remove_tree(folder.path("none"), fault);
    CHECK_FALSE(fault);
  }
}
