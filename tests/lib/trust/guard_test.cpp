// The guard from an application's side: what configs pin, lock and restrict is enforced in this process.
#include <atomic>
#include <cctype>
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>

#include <sys/mman.h>

#include <tenon/state/atomic_file.hpp>
#include <tenon/trust/lock.hpp>
#include <tenon/trust/sha256.hpp>

#include "tests/lib/trust/support.hpp"

using namespace tenon::trust;
using namespace trust_test;

namespace {

namespace fs = std::filesystem;

constexpr const char* kLibrary = "libbeside_library.so";

// A folder of plugins, and processes whose guard keeps no quarantine.
struct World {
  TemporaryFolder folder;

  std::string in_process(const std::function<std::string()>& body) const {
    return in_child([&] {
      GuardOptions options;
      options.state_folder.clear();
      REQUIRE(install(options));
      tenon::add_plugin_path(folder.path());
      return body();
    });
  }
  // A config that lists the plugin with its hash.
  static void pin(const std::string& id, const std::string& hash) {
    tenon::apply_policy(
        Json::parse(R"({"plugins": [{"name": ")" + id + R"(", "sha256": ")" + hash + R"("}]})"));
  }
  // The file that locks what is in the folder.
  std::string lock() const {
    const std::string file = folder / "tenon.lock";
    CHECK(in_process([&] {
            const MadeLock made = make_lock(tenon::document(tenon::Document::loadable));
            tenon::state::write_file(file, lock_document(made.lock).dump(2));
            return std::string();
          }) == "");
    return file;
  }
  static void freeze(const std::string& file) {
    tenon::apply_policy(tenon::JsonObject().set("frozen", file).json());
  }
  static std::string load(const std::string& id) {
    tenon::load_plugin(id);
    return "loaded";
  }
  void install_library(const std::string& build = "") const {
    const std::string from = build.empty() ? "/" : "/beside/" + build + "/";
    fs::copy_file(TENON_FIXTURES + from + kLibrary, folder / "next",
                  fs::copy_options::overwrite_existing);
    fs::rename(folder / "next", folder / kLibrary);
  }
};

}  // namespace

TEST_SUITE("trust/guard") {
  TEST_CASE("it is installed once, and again after it was removed") {
    const std::string text = in_child([] {
      std::string steps;
      steps += install() ? "installed " : "refused ";
      steps += install() ? "installed " : "refused ";
      uninstall();
      steps += install() ? "installed" : "refused";
      return steps;
    });
    CHECK(text == "installed refused installed");
  }

  TEST_CASE("without it the host refuses configs that pin or restrict plugins, and takes others") {
    const World world;
    const std::string hash(64, 'a');
    const std::string pinned = in_child([&] {
      World::pin("math", hash);
      return std::string();
    });
    CHECK(contains(pinned, "this program has no load guard that could enforce it"));
    CHECK(contains(pinned, "tenon::trust::install()"));
    CHECK(contains(in_child([] {
                     World::freeze("/no/such/tenon.lock");
                     return std::string();
                   }),
                   "has no load guard"));
    CHECK(in_child([] {
            tenon::apply_policy(Json::parse(R"({"quarantine": false, "autoload": false})"));
            return std::string("applied");
          }) == "applied");
    // Removed afterwards: what was pinned is not loaded any more.
    world.folder.add("plain");
    const std::string removed = world.in_process([&] {
      World::pin("plain", sha256_file(world.folder / "plain.so"));
      uninstall();
      return World::load("plain");
    });
    CHECK(contains(removed, "has no load guard"));
  }

  TEST_CASE(
      "bytes that a config pins are compared when it is applied, and again when they are mapped") {
    const World world;
    const std::string path = world.folder.add("plain");
    const std::string hash = sha256_file(path);
    const std::string other = world.in_process([&] {
      World::pin("plain", std::string(64, 'a'));
      return std::string();
    });
    CHECK(contains(other, "/plugins/0/sha256"));
    CHECK(contains(other, "its bytes are not those that the config pins"));
    CHECK(contains(other, "expected sha256 " + std::string(64, 'a')));
    CHECK(contains(other, "found sha256 " + hash));
    std::string upper = hash;
    for (char& digit : upper) digit = static_cast<char>(std::toupper(digit));
    CHECK(world.in_process([&] {
      World::pin("plain", upper);
      return World::load("plain");
    }) == "loaded");
    const std::string changed = world.in_process([&] {
      World::pin("plain", hash);
      write_file(path, read_file(path) + "more");
      return World::load("plain");
    });
    CHECK(contains(changed, "its bytes are not those that the config pins"));
  }

  TEST_CASE("swaps of a pinned plugin's file never run a constructor of other bytes") {
    const World world;
    const std::string approved = read_file(fixture("constructed/constructed_approved"));
    const std::string foreign = read_file(fixture("constructed/constructed_foreign"));
    const std::string path = world.folder / "constructed.so";
    write_file(path, approved);
    const std::string text = world.in_process([&] {
      World::pin("constructed", sha256_file(path));
      const int record = ::memfd_create("constructed", MFD_CLOEXEC);
      ::setenv("TENON_TEST_CONSTRUCTED", std::to_string(record).c_str(), 1);
      std::atomic<bool> done{false};
      std::thread attacker([&] {
        for (unsigned int round = 0; !done; ++round) {
          write_file(world.folder / "next", round % 2 == 0 ? foreign : approved);
          fs::rename(world.folder / "next", path);
        }
      });
      size_t loads = 0, refused = 0, others = 0;
      const auto begin = std::chrono::steady_clock::now();
      while (loads + refused < 100'000 &&
             std::chrono::steady_clock::now() - begin < std::chrono::seconds(5)) {
        try {
          tenon::load_plugin("constructed");
          ++loads;
          tenon::unload("constructed", tenon::Unload::force);
        } catch (const tenon::PluginError& error) {
          ++refused;
          others += contains(error.what(), "those that the config pins") ? 0 : 1;
        }
      }
      done = true;
      attacker.join();
      const std::string ran = read_file("/proc/self/fd/" + std::to_string(record));
      if (ran != std::string(loads, 'a')) return "ran: " + ran;
      return std::string(loads == 0 ? "no load" : refused == others ? "never refused" : "safe");
    });
    CHECK(text == "safe");
  }

  TEST_CASE("what is locked is loaded, and nothing else; locked names keep their plugin") {
    const World world;
    world.folder.add("plain");
    const std::string lock = world.lock();
    world.folder.add("slow");
    CHECK(world.in_process([&] {
      World::freeze(lock);
      return World::load("plain");
    }) == "loaded");
    CHECK(contains(world.in_process([&] {
      World::freeze(lock);
      return World::load("slow");
    }),
                   "it is not in the lock file '" + lock + "'"));
    CHECK(contains(world.in_process([&] {
      World::load("slow");
      World::freeze(lock);
      return std::string();
    }),
                   "it is loaded already, and not in the lock file"));
    world.folder.add("other_schema");
    const std::string ranked = world.in_process([&] {
      tenon::apply_policy(Json::parse(R"({"ops": {"prefer": {"plain.add_one": "plain"}}})"));
      World::freeze(lock);
      tenon::apply_policy(Json::parse(R"({"ops": {"prefer": {"plain.add_one": "other_schema"}}})"));
      return std::string();
    });
    CHECK(contains(ranked, "op 'plain.add_one' is now provided by another plugin"));
  }

  TEST_CASE(
      "a plugin that changes after the lock was compared is not loaded, nor one with two locks") {
    const World world;
    const std::string path = world.folder.add("plain");
    const std::string lock = world.lock();
    const std::string changed = world.in_process([&] {
      World::freeze(lock);
      write_file(path, read_file(path) + "more");
      return World::load("plain");
    });
    CHECK(contains(changed, "its bytes are not those in the lock file '" + lock + "'"));
    fs::remove(path);
    world.folder.add("plain");
    PluginLock two = read_lock(lock);
    REQUIRE(two.plugins.size() >= 1);
    for (LockedPlugin& plugin : two.plugins) plugin.libraries.clear();
    const std::string other = world.folder / "two.lock";
    write_file(other, lock_document(two).dump());
    const std::string refused = world.in_process([&] {
      World::freeze(lock);
      World::freeze(other);
      return World::load("plain");
    });
    CHECK((contains(refused, "which is not locked with it") ||
           contains(refused, "pins other libraries than the active lock file")));
  }

  TEST_CASE("the lock that is enforced is the file as it was when it was applied") {
    const World world;
    world.folder.add("plain");
    const std::string lock = world.lock();
    world.folder.add("slow");
    CHECK(contains(world.in_process([&] {
      World::freeze(lock);
      write_file(lock, "{}");
      const std::string plain = World::load("plain");
      return plain + World::load("slow");
    }),
                   "it is not in the lock file"));
    CHECK(contains(world.in_process([&] {
      World::freeze(lock);
      return std::string();
    }),
                   "expected a member 'lock_version'"));
  }

  TEST_CASE("of a library of a locked plugin the bytes that run are those that are locked") {
    const World world;
    world.folder.add("beside");
    world.install_library();
    const std::string lock = world.lock();
    const std::string text = world.in_process([&] {
      World::freeze(lock);
      std::atomic<bool> done{false};
      std::thread attacker([&] {
        for (int round = 0; !done.load(); ++round)
          world.install_library(round % 2 == 0 ? "foreign" : "");
      });
      int loads = 0, refused = 0, foreign = 0;
      for (int attempt = 0; attempt < 300; ++attempt) {
        ::unsetenv("TENON_TEST_BESIDE");
        try {
          tenon::load_plugin("beside");
          ++loads;
          tenon::unload("beside", tenon::Unload::force);
        } catch (const tenon::PluginError& error) {
          refused += contains(error.what(), "has other bytes") ? 1 : 1000;
        }
        const char* const build = std::getenv("TENON_TEST_BESIDE");
        foreign += build != nullptr && std::string(build) == "foreign" ? 1 : 0;
      }
      done = true;
      attacker.join();
      if (foreign > 0) return std::string("a foreign library ran");
      return std::string(loads == 0 ? "no load" : refused >= 1000 ? "another refusal" : "safe");
    });
    CHECK(text == "safe");
  }

  TEST_CASE(
      "keys that are not of minisign are refused, and a guard that is set later judges by them") {
    const World world;
    world.folder.add("plain");
    CHECK(contains(world.in_process([] {
      tenon::apply_policy(Json::parse(R"({"keys": [{"key": "RWS6", "namespaces": ["a"]}]})"));
      return std::string();
    }),
                   "not a minisign key"));
    const std::string text = world.in_process([&] {
      tenon::apply_policy(Json::parse(
          R"({"keys": [{"key": "RWS6/tORAf9awkBJJ2KILsIwrwsmZwONKeRHi6ulsRYpM6+YAHp2VdfW",
                        "namespaces": ["plain"]}]})"));
      uninstall();
      install();
      return World::load("plain");
    });
    CHECK(contains(text, "it has no signature"));
  }
}
