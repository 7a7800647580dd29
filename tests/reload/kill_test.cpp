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
#include <sys/prctl.h>
#include <sys/wait.h>

#include "tests/reload/build.hpp"
#include "tests/support/kill_points.hpp"

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
    // A trial whose parent is killed is for this process to wait for.
    REQUIRE(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
  }
  ~Installation() {
    prctl(PR_SET_CHILD_SUBREAPER, 0);
    fs::remove_all(folder_);
  }
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

  // Reloads the plugin so often.
  pid_t start(int reloads) const {
    const std::string count = std::to_string(reloads), state = folder_ + "/state";
    const pid_t process = fork();
    if (process != 0) return process;
    setenv("TENON_QUARANTINE", "1", 1);
    setenv("XDG_STATE_HOME", state.c_str(), 1);
    execl(TENON_RELOADER, "tenon_reloader", plugins().c_str(), count.c_str(), nullptr);
    _exit(127);
  }

 private:
  std::string plugins() const { return folder_ + "/plugins"; }
  static std::string bytes_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::string folder_;
};

// The exit code of a process, or 128 and the signal that ended it, once what it started has ended, too.
int end_of(pid_t process) {
  int status = 0;
  REQUIRE(waitpid(process, &status, 0) == process);
  while (waitpid(-1, nullptr, 0) > 0) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

TEST_SUITE("killed while it reloads") {
  TEST_CASE("the next process runs the build that is there, and accuses no plugin") {
    const Installation place;
    const tenon_test::Seconds unbroken =
        tenon_test::time_of([&] { REQUIRE(end_of(place.start(20)) == 1); });
    for (const tenon_test::Seconds delay : tenon_test::kill_points(unbroken)) {
      const pid_t process = place.start(1'000'000);
      std::this_thread::sleep_for(delay);
      kill(process, SIGKILL);
      REQUIRE(end_of(process) == 128 + SIGKILL);
      const int installed = place.installed();
      REQUIRE(installed != 0);
      CHECK(end_of(place.start(0)) == installed);
      CHECK(place.remembered("quarantine-") == 0);
    }
    // Of the builds that were being loaded nothing is kept once another is in their place.
    place.install("2");
    CHECK(end_of(place.start(0)) == 2);
    CHECK(place.remembered() == 0);
  }
}
