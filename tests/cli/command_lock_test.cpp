// tenon lock and --frozen: what was approved runs, and nothing else.
#include <array>
#include <csignal>
#include <filesystem>
#include <set>
#include <thread>

#include <doctest/doctest.h>

#include "program.hpp"
#include "tests/support/kill_points.hpp"

namespace {

// A folder with a plugin, a config that names it, and the lock file of both.
struct Locked {
  Workspace folder;
  std::string config = (folder.path("config.json")).string();

  explicit Locked(const std::string& plugins = "\"plain\"") {
    std::filesystem::create_directory(folder.path("plugins"));
    add("plain.so");
    folder.write("config.json",
                 "{\"schema_version\": 1, \"autoload\": false, \"search_paths\": "
                 "[\"plugins\"], \"plugins\": [" +
                     plugins + "]}");
  }
  void add(const std::string& file, const std::string& as = "") const {
    std::filesystem::copy_file(std::string(TENON_FIXTURES) + "/" + file,
                               folder.path("plugins") / (as.empty() ? file : as),
                               std::filesystem::copy_options::overwrite_existing);
  }
  Outcome lock(const std::string& options = "") const {
    return run_program("lock " + config + " " + options);
  }
  Outcome plan() const { return run_program("plan --frozen --no-shapes " + config); }
};

}  // namespace

TEST_SUITE("lock") {
  TEST_CASE("what is locked runs, and the lock file says what is locked") {
    const Locked locked;
    const Outcome outcome = locked.lock();
    CHECK(outcome.code == 0);
    CHECK(contains(outcome.out, "locked 1 plugin with "));
    const tenon::Json lock = tenon::Json::parse(locked.folder.read("tenon.lock"));
    CHECK(lock["plugins"][0]["id"].text() == "plain");
    CHECK(lock["ops"]["plain.add_one"].text() == "plain");
    CHECK(locked.lock("--check").out ==
          "nothing differs from " + locked.folder.path("tenon.lock").string() + "\n");
    CHECK(!contains(locked.plan().error, "lock"));
  }

  TEST_CASE("other bytes, another provider and a plugin that is gone are refused by name") {
    const Locked locked("\"plain\", {\"name\": \"other_schema\", \"require\": false}");
    REQUIRE(locked.lock().code == 0);
    locked.add("other_schema.so");
    Outcome outcome = locked.plan();
    CHECK(outcome.code == 1);
    CHECK(contains(outcome.error, "'plain.add_one'"));
    std::filesystem::remove(locked.folder.path("plugins") / "other_schema.so");
    std::string bytes = locked.folder.read("plugins/plain.so");
    locked.folder.write("plugins/plain.so", bytes + "more");
    outcome = locked.plan();
    CHECK(outcome.code == 1);
    CHECK(contains(outcome.error, "its bytes are not those that are locked"));
    CHECK(locked.lock("--check").code == 1);
    std::filesystem::remove(locked.folder.path("plugins") / "plain.so");
    CHECK(locked.plan().code == 1);
  }

  TEST_CASE("without a lock file --frozen says so") {
    const Locked locked;
    const Outcome outcome = locked.plan();
    CHECK(outcome.code == 1);
    CHECK(contains(outcome.error, "tenon.lock"));
  }

  TEST_CASE("another lock file can be written and checked, but nothing else is overwritten") {
    const Locked locked;
    const std::string other = locked.folder.path("other.lock").string();
    REQUIRE(locked.lock("-o " + other).code == 0);
    CHECK(locked.lock("-o " + other).code == 0);
    CHECK(locked.lock("--check -o " + other).code == 0);
    const std::string plugin = locked.folder.read("plugins/plain.so");
    locked.folder.write("plugins/plain.so", plugin + "more");
    CHECK(locked.lock("--check -o " + other).code == 1);
    const std::string config = locked.folder.read("config.json");
    const Outcome refused = locked.lock("-o " + locked.config);
    CHECK(refused.code == 1);
    CHECK(contains(refused.error, "it is the config"));
    locked.folder.write("notes.txt", "mine");
    CHECK(contains(locked.lock("-o " + locked.folder.path("notes.txt").string()).error,
                   "not a lock file"));
    CHECK(locked.folder.read("notes.txt") == "mine");
    CHECK(locked.folder.read("config.json") == config);
  }

  TEST_CASE("a config that names its lock file can be locked, and locked again") {
    const Locked locked;
    std::string config = locked.folder.read("config.json");
    config.insert(config.size() - 1, ", \"frozen\": \"tenon.lock\"");
    locked.folder.write("config.json", config);
    CHECK(locked.lock().code == 0);
    locked.folder.write("plugins/plain.so", locked.folder.read("plugins/plain.so") + "more");
    const Outcome refused = run_program("plan --no-shapes " + locked.config);
    CHECK(refused.code == 1);
    CHECK(contains(refused.error, "its bytes are not those that are locked"));
    CHECK(locked.lock().code == 0);
    CHECK(!contains(run_program("plan --no-shapes " + locked.config).error, "lock"));
  }

  TEST_CASE("a plugin whose library is missing is left out, and does not stop the others") {
    const Locked locked("\"plain\", {\"name\": \"beside\", \"require\": false}");
    locked.add("beside.so");
    const Outcome outcome = locked.lock();
    CHECK(outcome.code == 0);
    CHECK(contains(outcome.error, "left out of the lock"));
    CHECK(contains(outcome.out, "locked 1 plugin "));
    CHECK(locked.lock("--check").code == 0);
  }

  TEST_CASE("a plugin that is not in the lock file is not loaded") {
    const Locked locked;
    REQUIRE(locked.lock().code == 0);
    locked.folder.write("frozen.json",
                        "{\"schema_version\": 1, \"search_paths\": [\"plugins\"], \"frozen\": "
                        "\"tenon.lock\", \"plugins\": [{\"name\": \"slow\", \"load\": "
                        "\"eager\"}]}");
    locked.add("slow.so");
    const Outcome outcome =
        run_program("why slow.first Tensor --config " + locked.folder.path("frozen.json").string());
    CHECK(outcome.code == 1);
    CHECK(contains(outcome.error, "it is not in the lock file"));
  }

  TEST_CASE("a lock that is killed leaves the old file or the new one, and nothing else for long") {
    const Locked locked;
    const std::string bytes = locked.folder.read("plugins/plain.so");
    const std::array<std::string, 2> builds = {bytes, bytes + "more"};
    std::array<std::string, 2> locks;
    tenon_test::Seconds unbroken{};
    for (size_t i = 0; i < 2; ++i) {
      locked.folder.write("plugins/plain.so", builds[i]);
      unbroken = tenon_test::time_of([&] {
        RunningProgram program(locked.folder.path(), {"lock", locked.config});
        REQUIRE(program.end(0) == 0);  // waits
      });
      locks[i] = locked.folder.read("tenon.lock");
    }
    REQUIRE(locks[0] != locks[1]);
    int killed = 0;
    for (const tenon_test::Seconds delay : tenon_test::kill_points(unbroken)) {
      const std::string before = locked.folder.read("tenon.lock");
      const size_t next = before == locks[0] ? 1 : 0;
      locked.folder.write("plugins/plain.so", builds[next]);
      RunningProgram program(locked.folder.path(), {"lock", locked.config});
      std::this_thread::sleep_for(delay);
      killed += program.end(SIGKILL) == 128 + SIGKILL;
      const std::string after = locked.folder.read("tenon.lock");
      REQUIRE((after == before || after == locks[next]));
      CHECK(locked.lock("--check").code == (after == locks[next] ? 0 : 1));
    }
    CHECK(killed > 0);
    CHECK(locked.lock().code == 0);
    CHECK(locked.lock("--check").code == 0);
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(locked.folder.path()))
      names.insert(entry.path().filename().string());
    CHECK(names == std::set<std::string>{"config.json", "plugins", "tenon.lock"});
  }
}
