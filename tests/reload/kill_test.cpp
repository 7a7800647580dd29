// A process that is killed while it reloads leaves what the next one can load.
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <unistd.h>

#include <doctest/doctest.h>

#include "tests/reload/build.hpp"
#include "tests/support/kill_points.hpp"
#include "tests/support/process_tree.hpp"

namespace {

namespace fs = std::filesystem;

// A folder with a build of the plugin, and one for what quarantine remembers.
class Installation {
 public:
  Installation() {
    std::string pattern = (fs::temp_directory_path() / "tenon-killed-XXXXXX").string();
    REQUIRE(mkdtemp(pattern.data()) != nullptr);
    folder_ = pattern;
    fs::create_directory(plugins());
    install("1");
  }
  ~Installation() { fs::remove_all(folder_); }
  Installation(const Installation&) = delete;
  Installation& operator=(const Installation&) = delete;

  void install(const std::string& build) const { generation::install_in(plugins(), build); }
  // The number of the build that is there; 0 for a part of one.
  int installed() const {
    for (const int number : {1, 3}) {
      if (bytes_of(plugins() + "/generation.so") ==
          bytes_of(generation::build_file(std::to_string(number))))
        return number;
    }
    return 0;
  }
  // How many files quarantine has whose name begins so.
  int remembered(const std::string& prefix = "") const {
    int count = 0;
    for (const auto& entry : fs::directory_iterator(folder_ + "/state/tenon"))
      count += entry.path().filename().string().starts_with(prefix);
    return count;
  }

  // Reloads the plugin so often; makes trials, which are left when it is killed.
  tenon_test::ProcessTree start(int reloads) const {
    const std::string count = std::to_string(reloads), state = folder_ + "/state";
    return tenon_test::ProcessTree([&] {
      setenv("TENON_QUARANTINE", "1", 1);
      setenv("XDG_STATE_HOME", state.c_str(), 1);
      execl(TENON_RELOADER, "tenon_reloader", plugins().c_str(), count.c_str(), nullptr);
      _exit(127);
    });
  }

 private:
  std::string plugins() const { return folder_ + "/plugins"; }
  static std::string bytes_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::string folder_;
};

}  // namespace

TEST_SUITE("killed while it reloads") {
  TEST_CASE("the next process runs the build that is there, and accuses no plugin") {
    const Installation place;
    const tenon_test::Seconds unbroken =
        tenon_test::time_of([&] { REQUIRE(place.start(20).end() == 1); });
    for (const tenon_test::Seconds delay : tenon_test::kill_points(unbroken)) {
      const tenon_test::ProcessTree process = place.start(1'000'000);
      std::this_thread::sleep_for(delay);
      process.kill(SIGKILL);
      REQUIRE(process.end() == 128 + SIGKILL);
      const int installed = place.installed();
      REQUIRE(installed != 0);
      CHECK(place.start(0).end() == installed);
      CHECK(place.remembered("quarantine-") == 0);
    }
    // Nothing of builds that were being loaded is kept once another is in their place.
    place.install("2");
    CHECK(place.start(0).end() == 2);
    CHECK(place.remembered() == 0);
  }
}
