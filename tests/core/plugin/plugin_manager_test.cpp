// States, conflicts, policies, versions and forks.
#include "core/plugin/plugin_manager.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <fcntl.h>
#include <thread>
#include <unistd.h>

#include <sys/mman.h>
#include <sys/wait.h>

#include "tests/core/plugin/fake_guard.hpp"
#include "tests/core/plugin/managed_folder.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

PluginPolicy policy_with(const PluginPolicy::Plugin& plugin) {
  PluginPolicy policy;
  policy.source = "config 'test.json'";
  policy.plugins.push_back(plugin);
  return policy;
}

std::vector<PluginPolicy::Plugin> listed(const std::vector<std::string>& names) {
  std::vector<PluginPolicy::Plugin> plugins(names.size());
  for (size_t i = 0; i < names.size(); ++i) plugins[i].name = names[i];
  return plugins;
}

PluginPolicy preferences(std::vector<PluginPolicy::Preference> prefer,
                         std::vector<PluginPolicy::Preference> disable) {
  PluginPolicy policy;
  policy.source = "config 'test.json'";
  policy.prefer = std::move(prefer);
  policy.disable = std::move(disable);
  return policy;
}

// A build of the plugin `cube` that declares these ops.
std::string cube(const std::string& version, const std::vector<std::string>& ops) {
  std::vector<std::string> facts = {R"({"plugin":{"id":"cube","version":")" + version +
                                    R"(","abi":[1,0]}})"};
  for (const std::string& op : ops)
    facts.push_back(R"({"op":{"schema":")" + op + R"((Tensor x) -> Tensor","doc":"A cube."}})");
  return make_elf(facts);
}

std::string message_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    CHECK(error.kind == TENON_ERROR_PLUGIN);
    return error.message;
  }
  FAIL("nothing was thrown");
  return {};
}

}  // namespace

TEST_SUITE("plugin manager") {
  TEST_CASE("a folder that is added is searched first") {
    ManagedFolder world;
    world.folder.add("plain");
    REQUIRE(world.manager->list().size() == 1);
    const TemporaryFolder other;
    const std::string path = other.add("plain");
    world.manager->add_search_path(other.path());
    CHECK(world.listing("plain").path == path);
    CHECK(world.manager->folders()[0].path == other.path());
  }

  TEST_CASE("conflicts: an op with two providers is an error that names both, in any order") {
    ManagedFolder world;
    world.folder.add("plain");
    world.folder.add("duplicate");
    const std::string message = message_of([&] { world.manager->ensure_op("plain.add_one"); });
    CHECK(contains(message, "'duplicate' ("));
    CHECK(contains(message, "'plain' ("));
    CHECK(contains(message, "prefer"));
    // An op without conflict works, and its use does not decide the contest.
    CHECK(world.manager->ensure_op("duplicate.own"));
    CHECK(world.registrar.names == std::set<std::string>{"duplicate:duplicate.own"});
    CHECK(message_of([&] { world.manager->ensure_op("plain.add_one"); }) == message);
    const auto providers = world.manager->providers(ItemKind::Op, "plain.add_one");
    REQUIRE(providers.size() == 2);
    CHECK(providers[0].standing == ProviderStanding::Contested);
    CHECK(providers[1].standing == ProviderStanding::Contested);
  }

  TEST_CASE("conflicts: a plugin that is asked for by name outranks one that is in a folder") {
    ManagedFolder world;
    world.folder.add("plain");
    world.folder.add("duplicate");
    world.manager->load("duplicate");
    CHECK(world.has("duplicate:plain.add_one"));
    CHECK(world.manager->ensure_op("plain.add_one"));
    const auto providers = world.manager->providers(ItemKind::Op, "plain.add_one");
    CHECK(providers[0].standing == ProviderStanding::Chosen);
    CHECK(providers[1].standing == ProviderStanding::Outranked);
    CHECK(contains(providers[1].reason, "'duplicate'"));
    const PluginFailure failure = failure_of([&] { world.manager->load("plain"); });
    CHECK(failure.stage == PluginStage::Register);
    CHECK(contains(failure.problem, "op 'plain.add_one' would have two providers"));
    CHECK(contains(failure.problem, "'duplicate'"));
    CHECK(world.state("plain") == PluginState::Indexed);
  }

  TEST_CASE("conflicts: being named does not rank what gives a name another meaning") {
    ManagedFolder world;
    world.folder.add("plain");
    const PluginFailure failure = failure_of([&] { world.manager->load(fixture("other_schema")); });
    CHECK(failure.stage == PluginStage::Register);
    CHECK(contains(failure.problem,
                   "op 'plain.add_one' would have two providers: nothing ranks it above or below "
                   "'plain' ("));
    CHECK(contains(failure.problem, "their schemas differ in parameter 2: "));
    CHECK(world.registrar.names.empty());
    // A policy that names it changes nothing, one that prefers it does.
    PluginPolicy named = preferences({}, {});
    named.plugins = listed({"other_schema"});
    world.folder.add("other_schema");
    CHECK(world.manager->check(named).size() == 1);
    world.manager->apply(preferences({{"plain.add_one", "other_schema"}}, {}));
    CHECK(world.manager->ensure_op("plain.add_one"));
    CHECK(world.has("other_schema:plain.add_one"));
  }

  TEST_CASE("conflicts: one that comes late cannot replace what is registered") {
    ManagedFolder world;
    world.folder.add("plain");
    CHECK(world.manager->ensure_op("plain.add_one"));
    const PluginFailure failure = failure_of([&] { world.manager->load(fixture("duplicate")); });
    CHECK(contains(failure.problem, "has registered it already"));
    CHECK(world.registrar.names == std::set<std::string>{"plain:plain.add_one"});
  }

  TEST_CASE("conflicts: being asked for later gives a loaded plugin what was contested") {
    ManagedFolder world;
    world.folder.add("plain");
    world.folder.add("duplicate");
    CHECK(world.manager->ensure_op("duplicate.own"));
    CHECK(!world.has("duplicate:plain.add_one"));
    world.manager->load("duplicate");
    CHECK(world.has("duplicate:plain.add_one"));
    CHECK(world.registrar.commits == 2);
  }

  TEST_CASE("policy: prefer decides a conflict, disable removes a provider") {
    ManagedFolder world;
    world.folder.add("plain");
    world.folder.add("duplicate");
    world.manager->apply(preferences({{"plain.*", "plain"}}, {}));
    world.manager->load("duplicate");
    world.manager->load("plain");
    CHECK(world.registrar.names ==
          std::set<std::string>{"duplicate:duplicate.own", "plain:plain.add_one"});

    ManagedFolder second;
    second.folder.add("plain");
    second.folder.add("duplicate");
    second.manager->apply(preferences({}, {{"*.add_*", "plain"}}));
    CHECK(second.manager->ensure_op("plain.add_one"));
    CHECK(second.has("duplicate:plain.add_one"));
    const auto providers = second.manager->providers(ItemKind::Op, "plain.add_one");
    CHECK(providers[1].standing == ProviderStanding::Disabled);
    CHECK(contains(providers[1].reason, "config 'test.json'"));
  }

  TEST_CASE("F-303 the list decides between duplicates where the policy says so") {
    struct Case {
      DuplicateChoice preference;
      const char* provider;
      const char* reason;
    };
    for (const Case& one :
         {Case{DuplicateChoice::First, "plain", "first in the list of config 'test.json'"},
          Case{DuplicateChoice::Last, "duplicate", "last in the list of config 'test.json'"}}) {
      ManagedFolder world;
      world.folder.add("plain");
      world.folder.add("duplicate");
      PluginPolicy policy = preferences({}, {});
      policy.plugins = listed({"plain", "duplicate"});
      policy.duplicates = one.preference;
      world.manager->apply(policy);
      // The order of loading says nothing.
      world.manager->load("duplicate");
      world.manager->load("plain");
      CHECK(world.has(std::string(one.provider) + ":plain.add_one"));
      for (const auto& provider : world.manager->providers(ItemKind::Op, "plain.add_one")) {
        CHECK((provider.plugin == one.provider) == (provider.standing == ProviderStanding::Chosen));
        CHECK(contains(provider.reason, one.reason));
      }
    }
  }

  TEST_CASE(
      "F-303 F-304 every conflict is reported at once, with both providers and what differs") {
    ManagedFolder world;
    world.folder.add("plain");
    world.folder.add("duplicate");
    world.folder.add("other_schema");
    PluginPolicy policy = preferences({}, {});
    policy.plugins = listed({"plain", "other_schema"});
    const auto failures = world.manager->check(policy);
    REQUIRE(failures.size() == 2);
    for (const PluginFailure& failure : failures) {
      const std::string rival = failure.plugin == "plain" ? "other_schema" : "plain";
      CHECK(contains(failure.problem,
                     "op 'plain.add_one' would have two providers: nothing ranks "
                     "it above or below '" +
                         rival + "' ("));
      CHECK(contains(failure.problem, "their schemas differ in parameter 2: "));
    }
    CHECK(contains(failures[0].problem, "nothing of 'plain', 'float by=1.0' of 'other_schema'"));
    const std::string message = message_of([&] { world.manager->ensure_op("plain.add_one"); });
    CHECK(contains(message, "3 providers"));
    CHECK(contains(message, "nothing of 'duplicate', 'float by=1.0' of 'other_schema'"));
  }

  TEST_CASE("F-307 the environment ranks before any policy") {
    TemporaryFolder folder;
    folder.add("plain");
    folder.add("duplicate");
    FakeHost host;
    FakeRegistrar registrar;
    SearchEnvironment environment;
    environment.plugin_path = folder.path();
    environment.prefer = " plain.* = duplicate ,x[A,B]=plain,nonsense";
    PluginManager manager(host.table(), registrar, environment);
    manager.apply(preferences({{"plain.*", "plain"}}, {}));
    CHECK(manager.ensure_op("plain.add_one"));
    CHECK(registrar.names.contains("duplicate:plain.add_one"));
    CHECK(manager.providers(ItemKind::Op, "plain.add_one")[0].reason ==
          "preferred by TENON_PREFER: plain.*");
    CHECK(contains(manager.providers(ItemKind::Op, "plain.add_one")[1].reason,
                   "ranks above it, preferred by TENON_PREFER: plain.*"));
    CHECK(manager.preferred("x", "x[A, B]", "plain", "duplicate") == "plain");
  }

  TEST_CASE("F-307 while a warning of a scan waits for its reader, other threads use plugins") {
    ManagedFolder world;
    world.folder.add("plain");
    SearchEnvironment environment;
    environment.plugin_path = world.folder.path();
    environment.prefer = "plain.*=plain,*=nosuch";
    PluginManager manager(world.host.table(), world.registrar, environment);
    // Standard error leads into a pipe that is full.
    int ends[2];
    REQUIRE(::pipe2(ends, O_NONBLOCK) == 0);
    while (::write(ends[1], "x", 1) == 1) continue;
    REQUIRE(::fcntl(ends[1], F_SETFL, 0) == 0);
    std::fflush(stderr);
    const int terminal = ::dup(2);
    REQUIRE(::dup2(ends[1], 2) == 2);
    std::thread warned([&] { manager.list(); });
    std::atomic<bool> used{false};
    std::thread other([&] {
      // Says nothing before the other thread has scanned, and does not scan.
      while (manager.preferred("plain.x", "plain.x[T]", "plain", "plain").empty())
        std::this_thread::yield();
      used = manager.ensure_op("plain.add_one");
    });
    const auto begin = std::chrono::steady_clock::now();
    while (!used && std::chrono::steady_clock::now() - begin < std::chrono::seconds(10))
      std::this_thread::yield();
    const bool in_time = used;
    std::string said;
    const auto read_all = [&] {
      char text[4096];
      for (ssize_t size = 0; (size = ::read(ends[0], text, sizeof text)) > 0;)
        said.append(text, static_cast<size_t>(size));
    };
    read_all();
    other.join();
    warned.join();
    REQUIRE(::dup2(terminal, 2) == 2);
    read_all();
    for (const int file : {ends[0], ends[1], terminal}) ::close(file);
    CHECK(in_time);
    CHECK(contains(said, "TENON_PREFER: no plugin has the id 'nosuch'"));
  }

  TEST_CASE("policy: a preference that matches nothing is refused, with the name that was meant") {
    ManagedFolder world;
    world.folder.add("plain");
    const auto refused = [&](const PluginPolicy& policy) {
      const auto failures = world.manager->check(policy);
      REQUIRE(failures.size() == 1);
      return failures[0].text();
    };
    CHECK(refused(preferences({}, {{"plain.add_onee", ""}})) ==
          "ops.disable: 'plain.add_onee' matches no op or module of any plugin (did you mean "
          "'plain.add_one'?); asked for by config 'test.json'; correct the name, or remove the "
          "entry");
    CHECK(contains(refused(preferences({{"other.*", "plain"}}, {})),
                   "ops.prefer: 'other.*' matches no op or module of plugin 'plain'"));
    CHECK(contains(refused(preferences({}, {{"plain.*", "slow"}})), "of plugin 'slow'"));
  }

  TEST_CASE("policy: the error for an op that is disabled everywhere says so") {
    ManagedFolder world;
    world.folder.add("plain");
    world.manager->apply(preferences({}, {{"plain.add_one", ""}}));
    CHECK(contains(message_of([&] { world.manager->ensure_op("plain.add_one"); }),
                   "disabled by config 'test.json'"));
    world.manager->load("plain");
    CHECK(world.registrar.names.empty());
  }

  TEST_CASE("policy: a preferred plugin that fails is not silently replaced") {
    ManagedFolder world;
    world.folder.add("plain");
    world.folder.add("duplicate");
    world.registrar.refused = "duplicate";
    world.manager->apply(preferences({{"*", "duplicate"}}, {}));
    for (int i = 0; i < 2; ++i) {
      CHECK(contains(message_of([&] { world.manager->ensure_op("plain.add_one"); }),
                     "the table is full"));
    }
  }

  TEST_CASE("policy: eager loads now, never loads not, options reach init") {
    ManagedFolder world;
    world.folder.add("slow");
    world.folder.add("plain");
    PluginPolicy policy = policy_with({"slow", LoadMode::Eager, "", {}, parse_json("{\"a\":1}")});
    policy.plugins.push_back({"plain", LoadMode::Never, "", {}, {}});
    world.manager->apply(policy);
    CHECK(world.state("slow") == PluginState::Active);
    CHECK(world.state("plain") == PluginState::Excluded);
    CHECK(contains(world.listing("plain").reason, "config 'test.json'"));
    CHECK(contains(message_of([&] { world.manager->ensure_op("plain.add_one"); }),
                   "\"load\" is \"never\" in config"));
    CHECK(contains(message_of([&] { world.manager->load("plain"); }),
                   "it is excluded: \"load\" is \"never\" in config"));
  }

  TEST_CASE("policy: plugins are named by path, and folders come from it") {
    ManagedFolder world;
    const TemporaryFolder other;
    const std::string path = other.add("plain");
    world.manager->apply(policy_with({path, LoadMode::Lazy, "1.2", {}, {}}));
    CHECK(world.state("plain") == PluginState::Indexed);
    CHECK(world.manager->ensure_op("plain.add_one"));

    ManagedFolder second;
    PluginPolicy folders;
    folders.search_paths = {other.path()};
    second.manager->apply(folders);
    CHECK(second.manager->ensure_op("plain.add_one"));
  }

  TEST_CASE("policy: a plugin that is not required may be missing, and nothing else") {
    ManagedFolder world;
    world.folder.add("plain");
    const auto optional = [](const std::string& name, LoadMode mode = LoadMode::Lazy) {
      PluginPolicy policy = policy_with({name, mode, "", {}, {}});
      policy.plugins[0].required = false;
      return policy;
    };
    world.manager->apply(optional("nosuch"));
    world.manager->apply(optional("nosuch", LoadMode::Eager));
    world.manager->apply(optional("/nowhere/nosuch.so"));
    world.manager->apply(optional("/nowhere/nosuch.so", LoadMode::Eager));
    CHECK(world.manager->list().size() == 1);
    PluginPolicy ranked = optional("nosuch");
    ranked.prefer = {{"plain.*", "nosuch"}};
    ranked.disable = {{"other.*", "nosuch"}};
    world.manager->apply(ranked);
    CHECK(world.manager->ensure_op("plain.add_one"));

    PluginPolicy version = optional("plain");
    version.plugins[0].version = ">=9";
    ManagedFolder second;
    second.folder.add("plain");
    CHECK(failure_of([&] { second.manager->apply(version); }).stage == PluginStage::Version);
  }

  TEST_CASE("policy: a name beside a path is checked, and no plugin is listed by both") {
    ManagedFolder world;
    const std::string path = world.folder.add("plain");
    PluginPolicy both = policy_with({path, LoadMode::Lazy, "", {}, {}});
    both.plugins[0].id = "other";
    CHECK(failure_of([&] { world.manager->apply(both); }).problem ==
          "the file at this path is plugin 'plain'");
    both.plugins[0].id = "plain";
    world.manager->apply(both);
    ManagedFolder second;
    PluginPolicy twice;
    twice.plugins = listed({second.folder.add("plain"), "plain"});
    CHECK(failure_of([&] { second.manager->apply(twice); }).problem ==
          "the config lists it twice, by its id and by its path");
  }

  TEST_CASE("without autoload of folders only plugins that are named are used") {
    ManagedFolder world(false);
    const std::string path = world.folder.add("plain");
    CHECK(world.state("plain") == PluginState::Excluded);
    CHECK(contains(world.listing("plain").reason, "loading from folders is switched off"));
    CHECK_THROWS_AS(world.manager->ensure_op("plain.add_one"), Error);
    SUBCASE("by a config") {
      world.manager->apply(policy_with({"plain", LoadMode::Lazy, "", {}, {}}));
    }
    SUBCASE("by its path in a config") {
      world.manager->apply(policy_with({path, LoadMode::Lazy, "", {}, {}}));
    }
    SUBCASE("by a load") { world.manager->load("plain"); }
    SUBCASE("by a load of its file") { world.manager->load(path); }
    CHECK(world.manager->ensure_op("plain.add_one"));

    ManagedFolder second;
    second.folder.add("plain");
    PluginPolicy off;
    off.autoload = false;
    second.manager->apply(off);
    CHECK(second.state("plain") == PluginState::Excluded);
    CHECK_THROWS_AS(second.manager->ensure_op("plain.add_one"), Error);
  }

  TEST_CASE("policy: expected and found version are named") {
    ManagedFolder world;
    const std::string path = world.folder.add("plain");
    const PluginFailure version = failure_of([&] {
      world.manager->apply(policy_with({"plain", LoadMode::Lazy, ">=2", {}, {}}));
    });
    CHECK(version.stage == PluginStage::Version);
    CHECK(version.expected == "version >=2");
    CHECK(version.found == "1.2.0");
    CHECK(version.asked_by == "config 'test.json'");
    // Nothing of the refused policy stays.
    CHECK(world.state("plain") == PluginState::Indexed);
    world.manager->apply(policy_with({"plain", LoadMode::Eager, ">=1.2, <2", {}, {}}));
    CHECK(world.state("plain") == PluginState::Active);
  }

  TEST_CASE(
      "policy: swaps of a file whose bytes a guard judges never run a constructor of other bytes") {
    ManagedFolder world;
    const std::string approved = read_file(fixture("constructed/constructed_approved"));
    const std::string foreign = read_file(fixture("constructed/constructed_foreign"));
    const std::string path = world.folder / "constructed.so";
    write_file(path, approved);
    FakeGuard fake;
    fake.wants = TENON_GUARD_WANTS_BYTES;
    fake.on_judge = [&](const tenon_guarded_file& file, const tenon_guard_report& report) {
      if (file.occasion != TENON_GUARD_LOAD) return TENON_OK;
      if (std::string_view(static_cast<const char*>(file.bytes), file.byte_count) == approved)
        return TENON_OK;
      refuse(report, "other bytes");
      return TENON_ERROR_PLUGIN;
    };
    world.manager->set_guard(fake.guard());
    const int record = ::memfd_create("constructed", MFD_CLOEXEC);
    REQUIRE(record >= 0);
    ::setenv("TENON_TEST_CONSTRUCTED", std::to_string(record).c_str(), 1);
    std::atomic<bool> done{false};
    std::thread attacker([&] {
      for (unsigned int round = 0; !done; ++round) {
        write_file(world.folder / "next", round % 2 == 0 ? foreign : approved);
        std::filesystem::rename(world.folder / "next", path);
      }
    });
    size_t loads = 0, refused = 0;
    bool pinned = false;
    const auto begin = std::chrono::steady_clock::now();
    while (loads + refused < 100'000 &&
           std::chrono::steady_clock::now() - begin < std::chrono::seconds(5)) {
      try {
        world.manager->load("constructed");
        ++loads;
        world.manager->unload("constructed", UnloadChoice::Force);
      } catch (const PluginError& error) {
        ++refused;
        pinned = pinned || contains(error.failure.problem, "other bytes");
      }
    }
    done = true;
    attacker.join();
    ::unsetenv("TENON_TEST_CONSTRUCTED");
    CHECK(read_file("/proc/self/fd/" + std::to_string(record)) == std::string(loads, 'a'));
    ::close(record);
    CHECK(loads > 0);
    CHECK(pinned);
    world.manager->set_guard(nullptr);
  }

  TEST_CASE(
      "policy: of bytes that are judged a private copy is mapped, with the libraries beside it") {
    ManagedFolder world;
    const std::string path = world.folder.add("beside");
    std::filesystem::copy_file(std::string(TENON_FIXTURES) + "/libbeside_library.so",
                               world.folder / "libbeside_library.so");
    FakeGuard fake;
    fake.wants = TENON_GUARD_WANTS_BYTES;
    world.manager->set_guard(fake.guard());
    world.manager->load("beside");
    const std::string maps = read_file("/proc/self/maps");
    CHECK(contains(maps, "memfd:tenon-plugin"));
    CHECK(contains(maps, world.folder / "libbeside_library.so"));
    CHECK_FALSE(contains(maps, path));
    world.manager->set_guard(nullptr);
  }

  TEST_CASE("policy: all faults are reported at once, and then nothing has changed") {
    ManagedFolder world;
    world.folder.add("plain");
    world.folder.add("duplicate");
    world.folder.add("abi_major");
    PluginPolicy policy = preferences({{"*", "unknown"}}, {});
    policy.plugins = {{"plain", LoadMode::Eager, "", {}, {}},
                      {"duplicate", LoadMode::Eager, "", {}, {}},
                      {"missing", LoadMode::Lazy, "", {}, {}},
                      {"/no/such/file.so", LoadMode::Lazy, "", {}, {}},
                      {"abi_major", LoadMode::Lazy, "", {}, {}}};
    const std::vector<PluginFailure> failures = world.manager->check(policy);
    REQUIRE(failures.size() == 6);
    CHECK(failures[0].plugin == "plain");
    CHECK(contains(failures[0].problem, "'duplicate'"));
    CHECK(failures[1].plugin == "duplicate");
    CHECK(contains(failures[1].problem, "'plain'"));
    CHECK(failures[2].plugin == "missing");
    CHECK(failures[3].path == "/no/such/file.so");
    CHECK(failures[4].stage == PluginStage::Version);
    CHECK(failures[5].plugin == "unknown");
    const std::string message = message_of([&] { world.manager->apply(policy); });
    for (const PluginFailure& failure : failures) CHECK(contains(message, failure.text()));
    CHECK(world.registrar.names.empty());
    CHECK(world.manager->list().size() == 3);
    CHECK(contains(message_of([&] { world.manager->ensure_op("plain.add_one"); }), "2 providers"));
  }

  TEST_CASE("policy: what comes too late for a loaded plugin is refused") {
    ManagedFolder world;
    world.folder.add("slow");
    world.manager->load("slow");
    const auto refused = [&](const PluginPolicy& policy) {
      const auto failures = world.manager->check(policy);
      REQUIRE(failures.size() == 1);
      return failures[0].problem;
    };
    CHECK(contains(refused(policy_with({"slow", LoadMode::Never, "", {}, {}})),
                   "cannot be disabled"));
    CHECK(contains(refused(policy_with({"slow", LoadMode::Lazy, "", {}, parse_json("{}")})),
                   "options come too late"));
    CHECK(contains(refused(preferences({}, {{"slow.first", ""}})), "registered already"));
    CHECK(refused(policy_with({"slow", LoadMode::Lazy, "7", {}, {}})) ==
          "its version differs from the version in the config");
  }

  TEST_CASE("listings are sorted, name origins, and show losers with their reason") {
    ManagedFolder world;
    const TemporaryFolder other;
    world.folder.add("plain");
    world.folder.add("duplicate", "a_first_file.so");
    other.add("plain");
    world.manager->add_search_path(other.path());
    const auto list = world.manager->list();
    REQUIRE(list.size() == 3);
    CHECK(list[0].id == "duplicate");
    CHECK(list[1].id == "plain");
    CHECK(list[2].id == "plain");
    const PluginListing& loser = list[1].state == PluginState::Shadowed ? list[1] : list[2];
    CHECK(loser.state == PluginState::Shadowed);
    CHECK(loser.path == world.folder / "plain.so");
    CHECK(loser.origin == PluginOrigin::Environment);
    CHECK(contains(loser.reason, other.path()));
  }

// The thread sanitizer allows no threads after a fork; the address sanitizer's own allocator may be
// locked by a thread that the child does not have.
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
  TEST_CASE("the child of a fork waits for no thread that it does not have") {
    ManagedFolder world;
    world.folder.add("slow");
    const auto forked = [](const std::function<bool()>& in_child) {
      const pid_t child = fork();
      if (child == 0) {
        alarm(20);  // ends a child that hangs
        _exit(in_child() ? 0 : 1);
      }
      int status = -1;
      REQUIRE(waitpid(child, &status, 0) == child);
      CHECK(status == 0);
    };
    std::atomic<bool> registering{false}, go_on{false};
    world.registrar.before_commit = [&] {
      registering = true;
      while (!go_on) std::this_thread::yield();
    };
    std::thread loader([&] { world.manager->load("slow"); });
    while (!registering) std::this_thread::yield();
    forked([&] {
      try {
        world.manager->load("slow");
      } catch (const PluginError& error) {
        return error.message.find(
                   "the process was forked while another thread loaded the plugin") !=
               error.message.npos;
      }
      return false;
    });
    go_on = true;
    loader.join();
    CHECK(world.state("slow") == PluginState::Active);
    std::atomic<bool> stop{false};
    std::thread busy([&] {
      for (int i = 0; !stop; ++i) {
        if (i < 64) world.manager->add_search_path(world.folder.path() + "/none");
        world.manager->list();
      }
    });
    for (int round = 0; round < 50; ++round) forked([&] { return !world.manager->list().empty(); });
    stop = true;
    busy.join();
  }

  TEST_CASE("a plugin that registers more while the process forks stays active in the child") {
    ManagedFolder world;
    world.folder.add("plain");
    world.folder.add("duplicate");
    world.manager->apply(preferences({{"plain.add_one", "duplicate"}}, {}));
    world.manager->load("plain");
    REQUIRE_FALSE(world.has("plain:plain.add_one"));
    world.manager->apply(preferences({{"plain.add_one", "plain"}}, {}));
    std::atomic<bool> registering{false}, go_on{false};
    world.registrar.before_commit = [&] {
      registering = true;
      while (!go_on) std::this_thread::yield();
    };
    std::thread loader([&] { world.manager->ensure_op("plain.add_one"); });
    while (!registering) std::this_thread::yield();
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);  // ends a child that hangs
      world.registrar.before_commit = {};
      const bool active = world.state("plain") == PluginState::Active;
      _exit(active && world.manager->ensure_op("plain.add_one") && world.has("plain:plain.add_one")
                ? 0
                : 1);
    }
    go_on = true;
    loader.join();
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
    CHECK(world.has("plain:plain.add_one"));
  }
#endif

  TEST_CASE("versions: two that a config names are there side by side, the first with the id") {
    for (const bool newer_first : {true, false}) {
      CAPTURE(newer_first);
      ManagedFolder world;
      write_file(world.folder / "a.so", cube("1.2.0", {"cube.solve", "cube.old"}));
      write_file(world.folder / "b.so", cube("1.3.0", {"cube.solve", "cube.new"}));
      CHECK(world.manager->list()[1].state == PluginState::Shadowed);
      PluginPolicy policy;
      policy.source = "config 'test.json'";
      policy.plugins = listed(newer_first ? std::vector<std::string>{"cube@1.3.0", "cube@1.2.0"}
                                          : std::vector<std::string>{"cube@1.2.0", "cube@1.3.0"});
      policy.prefer = {{"cube.w*", "cube@1.2.0"}};
      CHECK(world.manager->check(policy).at(0).problem ==
            "ops.prefer: 'cube.w*' matches no op or module of plugin 'cube@1.2.0'");
      policy.prefer.clear();
      CHECK(world.manager->check(policy).empty());
      world.manager->apply(policy);
      const std::string other = newer_first ? "cube@1.2.0" : "cube@1.3.0";
      const std::vector<PluginListing> listings = world.manager->list();
      REQUIRE(listings.size() == 2);
      CHECK(listings[0].id == "cube");
      CHECK(listings[0].version == (newer_first ? "1.3.0" : "1.2.0"));
      CHECK(listings[1].id == other);
      CHECK(listings[1].state == PluginState::Indexed);
      const auto chosen = [&](const std::string& op) {
        for (const ProviderListing& one : world.manager->providers(ItemKind::Op, op)) {
          if (one.standing == ProviderStanding::Chosen) return one.plugin;
        }
        return std::string("none");
      };
      CHECK(chosen("cube.solve") == "cube");
      CHECK(chosen("cube.old") == (newer_first ? other : "cube"));
      CHECK(chosen("cube.new") == (newer_first ? "cube" : other));
      world.manager->apply(preferences({{"cube.solve", other}}, {}));
      CHECK(chosen("cube.solve") == other);
      // The version that has the id is meant by both names.
      world.manager->apply(
          preferences({{"cube.solve", newer_first ? "cube@1.3.0" : "cube@1.2.0"}}, {}));
      CHECK(chosen("cube.solve") == "cube");
    }
  }

  TEST_CASE("versions: the id alone is the first file whose version is not named") {
    ManagedFolder world;
    for (const char* version : {"1.1.0", "1.2.0", "1.3.0"})
      write_file(world.folder / (std::string(version) + ".so"), cube(version, {"cube.solve"}));
    PluginPolicy policy;
    policy.source = "config 'test.json'";
    policy.plugins = listed({"cube", "cube@1.1.0"});
    world.manager->apply(policy);
    std::vector<std::string> found;
    for (const PluginListing& one : world.manager->list())
      found.push_back(one.id + " " + one.version + " " + plugin_state_text(one.state));
    CHECK(found == std::vector<std::string>{"cube 1.2.0 indexed", "cube 1.3.0 shadowed",
                                            "cube@1.1.0 1.1.0 indexed"});
    CHECK(contains(world.manager->list()[1].reason, "1.2.0.so"));
  }

  TEST_CASE("versions: one that is missing, and one that comes too late, are refused by name") {
    ManagedFolder world;
    write_file(world.folder / "a.so", cube("1.2.0", {"cube.solve"}));
    PluginFailure failure = failure_of([&] { world.manager->load("cube@1.4.0"); });
    CHECK(failure.plugin == "cube@1.4.0");
    CHECK(failure.problem == "no file of this version of plugin 'cube'");
    CHECK(failure.expected == "version 1.4.0");
    CHECK(failure.found == "1.2.0 (" + (world.folder / "a.so") + ")");
    CHECK(failure.remedy == "install it, or name a version that is there");
    CHECK(contains(failure_of([&] { world.manager->load("cub@1.4.0"); }).problem,
                   "no plugin has this id"));
    // By path, with a name that says another version.
    PluginPolicy::Plugin plugin;
    plugin.name = world.folder / "a.so";
    plugin.id = "cube@1.3.0";
    CHECK(world.manager->check(policy_with(plugin)).at(0).problem ==
          "the file at this path is plugin 'cube@1.2.0'");
    plugin.id = "cube@1.2.0";
    CHECK(world.manager->check(policy_with(plugin)).empty());
    // Another version of what is loaded.
    world.folder.add("slow");
    world.manager->load("slow@1.0.0");
    write_file(world.folder / "later.so", [] {
      return make_elf({R"({"plugin":{"id":"slow","version":"2.0.0","abi":[1,0]}})"});
    }());
    failure = failure_of([&] { world.manager->apply(policy_with(listed({"slow@2.0.0"})[0])); });
    CHECK(failure.problem == "version 1.0.0 of the plugin is loaded already");
    CHECK(failure.remedy ==
          "name all versions in one config, before anything of the plugin is used");
  }
}
