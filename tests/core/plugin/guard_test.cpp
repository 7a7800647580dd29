// Guards that judge, and guards that fail, throw or answer nonsense: these refuse every plugin, with a
// reason that names them.
#include "core/plugin/load/guard.hpp"

#include <stdexcept>

#include "tests/core/plugin/fake_guard.hpp"
#include "tests/core/plugin/managed_folder.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

using Report = tenon_guard_report;
using File = tenon_guarded_file;
using Phases = std::vector<std::string>;

// A folder with the plugin `slow`, whose loads a guard judges.
struct Guarded {
  Guarded() {
    world.folder.add("slow");
    world.manager->set_guard(fake.guard());
  }
  ~Guarded() { world.manager->set_guard(nullptr); }

  std::string problem() {
    return failure_of([&] { world.manager->load("slow"); }).problem;
  }

  FakeGuard fake;
  ManagedFolder world;
};

PluginPolicy policy_for_guard(const char* document, bool needs_guard = false) {
  PluginPolicy policy;
  policy.source = "config 'c'";
  policy.guard = parse_json(document);
  policy.needs_guard = needs_guard;
  return policy;
}

}  // namespace

TEST_SUITE("plugin/guard") {
  TEST_CASE(
      "a guard sees a load from its file to its end, and nothing of the bytes unless it asks") {
    Guarded guarded;
    std::vector<uint32_t> occasions;
    guarded.fake.on_judge = [&](const File& file, const Report&) {
      occasions.push_back(file.occasion);
      CHECK(text_in(file.plugin) == "slow");
      CHECK(text_in(file.path) == guarded.world.folder / "slow.so");
      CHECK(file.stamp.size == std::filesystem::file_size(guarded.world.folder / "slow.so"));
      CHECK(file.bytes == nullptr);
      CHECK(file.facts == nullptr);
      return TENON_OK;
    };
    guarded.fake.on_before = [&](const File& file, const Report&) {
      CHECK(text_in(file.asked_by) == "op 'slow.first'");
      CHECK(contains(dump(*Json(file.alone)), "slow.so"));
      return TENON_OK;
    };
    CHECK(guarded.world.manager->ensure_op("slow.first"));
    CHECK(occasions == std::vector<uint32_t>{TENON_GUARD_FOUND, TENON_GUARD_LOAD});
    CHECK(guarded.fake.phases == Phases{"before", "entered", "after 1"});
    CHECK_FALSE(contains(read_file("/proc/self/maps"), "memfd:tenon-plugin"));
  }

  TEST_CASE("the bytes that a guard judges are those that are mapped, with what they declare") {
    Guarded guarded;
    guarded.fake.wants = TENON_GUARD_WANTS_BYTES | TENON_GUARD_WANTS_FACTS;
    const std::string path = guarded.world.folder / "slow.so";
    int judged = 0;
    guarded.fake.on_judge = [&](const File& file, const Report&) {
      CHECK(Json(file.facts)->get("id").as_string() == "slow");
      CHECK((file.bytes != nullptr) == (file.occasion == TENON_GUARD_LOAD));
      if (file.bytes == nullptr) return TENON_OK;
      ++judged;
      CHECK(std::string_view(static_cast<const char*>(file.bytes), file.byte_count) ==
            read_file(path));
      write_file(path, "other bytes");
      return TENON_OK;
    };
    guarded.world.manager->load("slow");
    CHECK(judged == 1);
    const std::string maps = read_file("/proc/self/maps");
    CHECK(contains(maps, "memfd:tenon-plugin"));
    CHECK_FALSE(contains(maps, path));
  }

  TEST_CASE("a refusal is listed, and refuses a load before code of the plugin runs") {
    Guarded guarded;
    guarded.fake.on_judge = [](const File&, const Report& report) {
      refuse(report, "it has a bad name", TENON_REFUSAL_QUARANTINED);
      refuse(report, "a second reason");
      return TENON_ERROR_PLUGIN;
    };
    const PluginListing listed = guarded.world.listing("slow");
    CHECK(listed.state == PluginState::Failed);
    REQUIRE(listed.failure);
    CHECK(listed.failure->problem == "it has a bad name");
    CHECK(listed.failure->quarantined);
    CHECK(guarded.problem() == "it has a bad name");
    CHECK(FakeHost::lines().empty());
    CHECK(guarded.fake.phases.empty());
  }

  TEST_CASE("guards that fail, throw or answer nonsense refuse the plugin") {
    struct Row {
      std::function<tenon_status(const File&, const Report&)> answer;
      const char* problem;
    };
    const Row rows[] = {
        {[](const File&, const Report&) -> tenon_status { return TENON_ERROR_IO; },
         "the load guard failed in judge with status 11 (IOError) and gave no reason"},
        {[](const File&, const Report&) -> tenon_status { return -7; }, "failed in judge"},
        {[](const File&, const Report&) -> tenon_status { throw std::runtime_error("oh"); },
         "the load guard threw an exception in judge: oh"},
        {[](const File&, const Report&) -> tenon_status { throw 3; },
         "threw an exception of unknown type in judge"},
        {[](const File&, const Report& report) -> tenon_status {
           refuse(report, "");
           return TENON_OK;
         },
         "the load guard refuses it without a reason"},
        {[](const File& file, const Report& report) -> tenon_status {
           const tenon_pinned_library none{};
           if (file.occasion == TENON_GUARD_LOAD) report.pin_libraries(report.sink, &none, 0);
           return TENON_OK;
         },
         "the load guard pins libraries of a plugin whose bytes it did not see"},
        {[](const File&, const Report& report) -> tenon_status {
           refuse(report, "refused, with success");
           return TENON_OK;
         },
         "refused, with success"}};
    for (const Row& row : rows) {
      CAPTURE(row.problem);
      Guarded guarded;
      guarded.fake.on_judge = row.answer;
      const std::string problem = guarded.problem();
      CAPTURE(problem);
      CHECK(contains(problem, row.problem));
      CHECK(FakeHost::lines().empty());
    }
    Guarded unknown;
    unknown.fake.wants = 64;
    CHECK(contains(unknown.problem(), "wants what this host does not know: 64"));
    Guarded throwing;
    throwing.fake.on_wants = [](const File&, const Report&) -> tenon_status { throw 1; };
    CHECK(contains(throwing.problem(), "in wants"));
  }

  TEST_CASE("before may refuse as well, and after follows what fails behind it") {
    Guarded guarded;
    guarded.fake.on_before = [](const File&, const Report& report) {
      refuse(report, "not today");
      return TENON_ERROR_PLUGIN;
    };
    CHECK(guarded.problem() == "not today");
    CHECK(guarded.fake.phases == Phases{"before"});
    CHECK(FakeHost::lines().empty());
    guarded.world.folder.add("init_fails");
    guarded.fake.on_before = [](const File&, const Report&) { return TENON_OK; };
    guarded.fake.phases.clear();
    CHECK(failure_of([&] { guarded.world.manager->load("init_fails"); }).stage ==
          PluginStage::Init);
    CHECK(guarded.fake.phases == Phases{"before", "entered", "after 0"});
  }

  TEST_CASE("a table that lacks a function is refused") {
    FakeGuard fake;
    tenon_load_guard table = fake.table();
    table.judge = nullptr;
    CHECK_THROWS_WITH(Guard{table}, doctest::Contains("no function for one of its steps"));
    table = fake.table();
    table.size = offsetof(tenon_load_guard, before);
    CHECK_THROWS_AS(Guard{table}, Error);
    CHECK(fake.phases.empty());  // a guard that was not set is not released
  }

  TEST_CASE("one guard is set at a time; a removed one is released, and judges no more") {
    ManagedFolder world;
    world.folder.add("slow");
    FakeGuard first, second;
    first.on_judge = [](const File&, const Report& report) {
      refuse(report, "by the first");
      return TENON_ERROR_PLUGIN;
    };
    world.manager->set_guard(first.guard());
    CHECK_THROWS_WITH(world.manager->set_guard(second.guard()),
                      doctest::Contains("another load guard is set"));
    CHECK(second.phases.empty());
    CHECK(world.state("slow") == PluginState::Failed);
    world.manager->set_guard(nullptr);
    CHECK(first.phases == Phases{"release"});
    CHECK(world.state("slow") == PluginState::Indexed);
    world.manager->set_guard(second.guard());
    world.manager->load("slow");
    CHECK(second.phases == Phases{"before", "entered", "after 1"});
    world.manager->set_guard(nullptr);
    CHECK(second.phases.back() == "release");
  }

  TEST_CASE("a guard that is removed during a load ends with it") {
    Guarded guarded;
    guarded.fake.on_before = [&](const File&, const Report&) {
      guarded.world.manager->set_guard(nullptr);
      return TENON_OK;
    };
    guarded.world.manager->load("slow");
    CHECK(guarded.fake.phases.size() >= 3);
    CHECK(guarded.world.state("slow") == PluginState::Active);
  }

  TEST_CASE("a guard is given what it has kept of each policy, the newest first") {
    Guarded guarded;
    std::vector<bool> applied;
    guarded.fake.on_adopt = [&](const Json& policy, bool applies, Json& kept, int32_t&) {
      applied.push_back(applies);
      if (policy->find("kept") != nullptr) kept = Json(policy->find("kept"));
      return TENON_OK;
    };
    guarded.world.manager->check(policy_for_guard(R"({"kept": 9})"));
    guarded.world.manager->apply(policy_for_guard(R"({"kept": 1})"));
    guarded.world.manager->apply(policy_for_guard("{}"));
    guarded.world.manager->apply(policy_for_guard(R"({"kept": 2})"));
    CHECK(applied == std::vector<bool>{false, true, true, true});
    std::string given;
    guarded.fake.on_judge = [&](const File& file, const Report&) {
      given.clear();
      for (int64_t i = 0; i < file.policy_count; ++i) given += dump(*file.policies[i]) + " ";
      return TENON_OK;
    };
    guarded.world.manager->load("slow");
    CHECK(given == "2 1 ");
  }

  TEST_CASE("a policy that the guard cannot adopt is refused, and changes nothing") {
    Guarded guarded;
    guarded.fake.on_adopt = [](const Json&, bool, Json&, int32_t&) -> tenon_status {
      return TENON_ERROR_CONFIG;
    };
    CHECK_THROWS_WITH(guarded.world.manager->apply(policy_for_guard("{}")),
                      doctest::Contains("the load guard failed in adopt"));
    guarded.fake.on_adopt = [](const Json&, bool, Json&, int32_t&) -> tenon_status { throw 1; };
    CHECK_THROWS_AS(guarded.world.manager->apply(policy_for_guard("{}")), Error);
    CHECK(guarded.world.state("slow") == PluginState::Indexed);
  }

  TEST_CASE("what a review finds is a fault of the policy that is applied") {
    Guarded guarded;
    guarded.fake.on_adopt = [](const Json& policy, bool, Json& kept, int32_t& reviews) {
      kept = policy;
      reviews = 1;
      return TENON_OK;
    };
    guarded.fake.on_review = [](const Json& loadable, bool newest, const Report& report) {
      CHECK(newest);
      CHECK(loadable->get("plugins").children()[0].get("id").as_string() == "slow");
      CHECK(loadable->get("ops").get("slow.first").size() == 1);
      refuse(report, "one");
      refuse(report, "two");
      return TENON_ERROR_PLUGIN;
    };
    const std::vector<PluginFailure> faults = guarded.world.manager->check(policy_for_guard("{}"));
    REQUIRE(faults.size() == 2);
    CHECK(faults[0].problem == "one");
    CHECK(faults[1].asked_by == "config 'c'");
    guarded.fake.on_review = [](const Json&, bool, const Report&) -> tenon_status { throw 1; };
    CHECK(
        contains(failure_of([&] { guarded.world.manager->apply(policy_for_guard("{}")); }).problem,
                 "in review"));
  }

  TEST_CASE("a policy that needs a guard is refused without one, and refuses all when it is gone") {
    ManagedFolder world;
    world.folder.add("slow");
    const auto refused = [&] { world.manager->apply(policy_for_guard("{}", true)); };
    CHECK_THROWS_WITH(refused(), doctest::Contains("tenon::trust::install()"));
    FakeGuard fake;
    world.manager->set_guard(fake.guard());
    refused();
    CHECK(world.state("slow") == PluginState::Indexed);
    world.manager->set_guard(nullptr);
    CHECK(world.state("slow") == PluginState::Failed);
    CHECK(contains(failure_of([&] { world.manager->load("slow"); }).problem,
                   "this program has no load guard that could enforce it"));
    CHECK(FakeHost::lines().empty());
  }

  TEST_CASE("a guard that is set later adopts the policies that are active") {
    ManagedFolder world;
    world.manager->apply(policy_for_guard(R"({"quarantine": false})"));
    FakeGuard fake;
    std::string adopted;
    fake.on_adopt = [&](const Json& policy, bool applies, Json&, int32_t&) {
      adopted += dump(*policy) + (applies ? " applies" : "");
      return TENON_OK;
    };
    world.manager->set_guard(fake.guard());
    CHECK(adopted == R"({"quarantine":false})");
    world.manager->set_guard(nullptr);
    fake.on_adopt = [](const Json&, bool, Json&, int32_t&) -> tenon_status {
      return TENON_ERROR_IO;
    };
    CHECK_THROWS_AS(world.manager->set_guard(fake.guard()), Error);
    FakeGuard other;
    world.manager->set_guard(other.guard());  // none is set
    world.manager->set_guard(nullptr);
  }
}
