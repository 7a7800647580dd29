// The table: all or nothing, two providers, readers beside writers.
#include "core/dispatch/table/registry.hpp"

#include <atomic>
#include <random>
#include <thread>
#include <unistd.h>

#include <sys/wait.h>

#include "core/dispatch/types/type_table.hpp"
#include "tests/core/dispatch/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

tenon_status nothing(void*, tenon_context*, const tenon_value*, tenon_value*, tenon_error**) {
  return TENON_OK;
}

void commit(Registry& registry, const std::string& provider, std::vector<tenon_op_descriptor> ops) {
  std::vector<const tenon_op_descriptor*> pointers;
  for (const tenon_op_descriptor& op : ops) pointers.push_back(&op);
  registry.commit(provider, pointers);
}

}  // namespace

TEST_SUITE("dispatch/registry") {
  TEST_CASE("a handle keeps its address while the table grows") {
    Registry registry;
    commit(registry, "one", {descriptor("t.a() -> int", nothing)});
    const tenon_op* a = registry.find("t.a");
    REQUIRE(a != nullptr);
    for (int i = 0; i < 100; ++i) {
      const std::string schema = "t.more" + std::to_string(i) + "() -> int";
      commit(registry, "one", {descriptor(schema.c_str(), nothing)});
    }
    CHECK(registry.find("t.a") == a);
    CHECK(a->name == "t.a");
    CHECK(registry.find("t.missing") == nullptr);
    CHECK(has(refusal([&] { registry.require("t.missing"); }, TENON_ERROR_VALUE), "'t.missing'"));
    CHECK(registry.find("t.more99") != nullptr);
  }

  TEST_CASE("a commit with one fault leaves nothing behind") {
    Registry registry;
    refusal(
        [&] {
          commit(registry, "one",
                 {descriptor("t.good() -> int", nothing), descriptor("t.bad(", nothing)});
        },
        TENON_ERROR_VALUE);
    CHECK(registry.find("t.good") == nullptr);
    CHECK(has(refusal(
                  [&] {
                    commit(
                        registry, "one",
                        {descriptor("t.x() -> int", nothing), descriptor("t.x() -> int", nothing)});
                  },
                  TENON_ERROR_PLUGIN),
              "'t.x' twice"));
    CHECK(registry.find("t.x") == nullptr);
  }

  TEST_CASE("two providers are named, and the first stays") {
    Registry registry;
    commit(registry, "one", {descriptor("t.a() -> int", nothing)});
    const std::string text =
        refusal([&] { commit(registry, "two", {descriptor("t.a() -> int", nothing)}); },
                TENON_ERROR_PLUGIN);
    CHECK(has(text, "'one'"));
    CHECK(has(text, "'two'"));
    CHECK(registry.find("t.a")->implementation.load()->provider == "one");
    CHECK(registry.find("t.a")->implementation.load()->next.load() == nullptr);
  }

  TEST_CASE("ranked providers are linked in their order, whichever comes first or goes") {
    std::mt19937 random(3);
    const std::vector<std::string> ids{"a", "b", "c", "d", "e"};
    for (int round = 0; round < 100; ++round) {
      Registry registry;
      std::vector<std::unique_ptr<PluginCode>> codes;
      for (const std::string& id : ids) codes.push_back(std::make_unique<PluginCode>(id, 1));
      std::vector<bool> present(ids.size());
      for (int step = 0; step < 12; ++step) {
        const size_t i = random() % ids.size();
        const tenon_op_descriptor op = descriptor("t.a() -> int", nothing);
        const tenon_op_descriptor* pointer = &op;
        // A provider that is there is withdrawn, or registered again in its own place.
        present[i] = !present[i] || random() % 3 == 0;
        if (present[i])
          registry.commit(ids[i], {&pointer, 1}, codes[i].get(), {{"t.a", ids}});
        else
          registry.withdraw(*codes[i]);
        std::vector<std::string> expected, linked;
        for (size_t k = 0; k < ids.size(); ++k) {
          if (present[k]) expected.push_back(ids[k]);
        }
        const Implementation* at = registry.find("t.a")->implementation.load();
        for (; at != nullptr; at = at->next.load()) linked.push_back(at->provider);
        CHECK(linked == expected);
        CHECK((registry.find("t.a")->withdrawn_by.load() == nullptr || expected.empty()));
      }
    }
  }

  TEST_CASE("ranked providers have one schema") {
    Registry registry;
    commit(registry, "one", {descriptor("t.a(int i) -> int", nothing)});
    const tenon_op_descriptor op = descriptor("t.a(int i=1) -> int", nothing);
    const tenon_op_descriptor* pointer = &op;
    CHECK(has(refusal(
                  [&] {
                    registry.commit("two", {&pointer, 1}, nullptr, {{"t.a", {"one", "two"}}});
                  },
                  TENON_ERROR_PLUGIN),
              "their schemas differ in parameter 1"));
  }

  TEST_CASE("rules of another plugin hold for every ranked provider, until they go") {
    Registry registry;
    PluginCode code("rules", 1);
    tenon_op_descriptor op = descriptor("t.a(Tensor input) -> Tensor", nothing);
    const tenon_op_descriptor* pointer = &op;
    const Registry::Ranked ranked{{"t.a", {"one", "two"}}};
    for (const char* provider : {"two", "one"})
      registry.commit(provider, {&pointer, 1}, nullptr, ranked);
    const auto linked = [&] {
      std::vector<std::string> texts;
      const Implementation* at = registry.find("t.a")->implementation.load();
      for (; at != nullptr; at = at->next.load())
        texts.push_back(at->provider + ":" + at->rules_provider);
      return texts;
    };
    tenon_op_descriptor rules = descriptor("t.a(Tensor input) -> Tensor");
    rules.backward = [](void*, tenon_context*, tenon_tensor* const*, int64_t, tenon_error**) {
      return tenon_status{TENON_OK};
    };
    registry.replace_rules("t.a", &rules, "rules", &code);
    CHECK(linked() == std::vector<std::string>{"one:rules", "two:rules"});
    registry.commit("one", {&pointer, 1}, nullptr, ranked);
    CHECK(linked() == std::vector<std::string>{"one:", "two:rules"});
    registry.replace_rules("t.a", &rules, "rules", &code);
    CHECK(linked() == std::vector<std::string>{"one:rules", "two:rules"});
    registry.withdraw(code);
    CHECK(linked() == std::vector<std::string>{"one:", "two:"});
  }

  TEST_CASE(
      "what is not registered is asked for, and a provider that went meanwhile is passed over") {
    Registry registry;
    PluginCode one("one", 1), two("two", 1);
    const tenon_op_descriptor op = descriptor("t.a() -> int", nothing);
    const tenon_op_descriptor* pointer = &op;
    const Registry::Ranked ranked{{"t.a", {"one", "two"}}};
    registry.commit("one", {&pointer, 1}, &one, ranked);
    const Implementation& first = *registry.find("t.a")->implementation.load();
    CHECK(registry.next_provider(first) == nullptr);
    bool goes = false;
    registry.set_next_finder([&](std::string_view name, const std::string& declined) {
      CHECK(name == "t.a");
      CHECK(declined == "one");
      registry.commit("two", {&pointer, 1}, &two, ranked);
      if (goes) registry.withdraw(one);
      return true;
    });
    CHECK(registry.next_provider(first)->provider == "two");
    registry.withdraw(two);
    goes = true;
    CHECK(registry.next_provider(first)->provider == "two");
    CHECK(registry.find("t.a")->implementation.load()->provider == "two");
  }

  TEST_CASE("an op without an implementation has a handle, whose calls say so") {
    tenon_op disabled("t.a");
    Outcome outcome;
    call(outcome, &disabled, {});
    CHECK(outcome.status == TENON_ERROR_NOT_IMPLEMENTED);
    CHECK(has(outcome.message, "'t.a' has no active implementation"));
  }

  TEST_CASE("readers find what is there while writers add") {
    Registry registry;
    commit(registry, "one", {descriptor("t.a() -> int", nothing)});
    std::atomic<bool> stop{false};
    std::atomic<int> lost{0};
    std::vector<std::thread> readers;
    for (int t = 0; t < 3; ++t) {
      readers.emplace_back([&] {
        while (!stop) lost += registry.find("t.a") == nullptr ? 1 : 0;
      });
    }
    for (int i = 0; i < 200; ++i) {
      const std::string schema = "t.more" + std::to_string(i) + "() -> int";
      commit(registry, "one", {descriptor(schema.c_str(), nothing)});
    }
    stop = true;
    for (std::thread& reader : readers) reader.join();
    CHECK(lost == 0);
  }

// The thread sanitizer allows no threads after a fork; the address sanitizer's own allocator may be
// locked by a thread that the child does not have.
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
  TEST_CASE("the child of a fork finds the table whole and free") {
    Registry registry;
    TypeTable::process();  // made before: as a static object it would stay half made in the child
    std::atomic<bool> stop{false};
    std::thread busy([&] {
      for (int i = 0; !stop; ++i) {
        const std::string schema = "t.more" + std::to_string(i % 500) + "() -> int";
        if (i < 500) commit(registry, "one", {descriptor(schema.c_str(), nothing)});
        registry.reason_declined("t.a", "one");
        TypeTable::process().types();
      }
    });
    for (int round = 0; round < 50; ++round) {
      const pid_t child = fork();
      if (child == 0) {
        alarm(20);  // ends a child that hangs
        commit(registry, "two", {descriptor("u.a() -> int", nothing)});
        TypeTable::process().types();
        _exit(registry.find("u.a") != nullptr ? 0 : 1);
      }
      int status = -1;
      REQUIRE(waitpid(child, &status, 0) == child);
      CHECK(status == 0);
    }
    stop = true;
    busy.join();
  }
#endif
}
