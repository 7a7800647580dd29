// Overrides as handles: fetched, called, wrapped, switched off.
#include <atomic>
#include <thread>

#include <tenon/override_entry.hpp>

#include "tests/sdk/functions.hpp"

using namespace functions;

namespace {

OverrideEntry entry_of(const std::string& key) {
  add_plugin_path(TENON_FIXTURES "/types");
  return OverrideEntry(key);
}
Tensor scalar_tensor(int64_t n, double value) { return Op("tx.scalar").call<Tensor>(n, value); }
template <class... Arguments>
std::string answer(const std::string& op, const Arguments&... arguments) {
  return text_of(Op(op)(arguments...));
}

}  // namespace

TEST_SUITE("sdk/override_entry") {
  TEST_CASE("F-245 what is registered is fetched by key and called") {
    const OverrideEntry add = entry_of("add[ScalarTensor]");
    CHECK(add.provider() == "types");
    CHECK(add.op() == Op("add"));
    CHECK(text_of(add(scalar_tensor(2, 2), scalar_tensor(2, 3)).take()) ==
          "ScalarTensor(N=2, value=5)");
    const Tensor plain = tensor({{1, 1}, {1, 1}});
    CHECK(refusal([&] { add(plain, plain); }).text ==
          "override add[ScalarTensor] from 'types' is not for these operands: no operand is a "
          "ScalarTensor");
    CHECK(refusal([&] { add(scalar_tensor(2, 2), 1, arg("alpha") = 2); }).text ==
          "add() got an unexpected keyword argument 'alpha'");
    CHECK(text_of(
              entry_of("mean[TenfoldScalar]")(Op("tx.scalar").call<Tensor>(5, 2.0, "TenfoldScalar"))
                  .take()) == "4.0");
    CHECK(entry_of("div[SD]")(Op("tx.make").call<Tensor>("SD"), Op("tx.make").call<Tensor>("D"))
              .declined());
    const Refusal unknown = refusal([] { OverrideEntry("mul[ScalarTensor]"); });
    CHECK(unknown.kind == TENON_ERROR_VALUE);
    CHECK(has(unknown.text, "no override 'mul[ScalarTensor]' is registered (did you mean '"));
    CHECK(has(refusal([] { OverrideEntry("add"); }).text, "'add[A, B]'"));
    CHECK(has(refusal([] { OverrideEntry("add[ScalarTensor]", "other"); }).text,
              "there is one by 'types'"));
    CHECK(has(refusal([] { OverrideEntry("add[ScalarTensor]", "other"); }).text,
              "by plugin 'other'"));
  }

  TEST_CASE("F-245 an override that is switched off leaves the call to the fallback") {
    const OverrideEntry mean = entry_of("mean[ScalarTensor]");
    const Tensor x = scalar_tensor(5, 2);
    CHECK(answer("mean", x) == "0.4");
    {
      const OverrideDisabled off(mean);
      CHECK(!mean.enabled());
      CHECK(has(refusal([&] { Op("mean")(x); }).text, "no implementation found for 'tenon.mean'"));
      CHECK(text_of(mean(x).take()) == "0.4");
      apply_policy(Json::parse(R"({"types": {"ScalarTensor": {"fallback": "to_tensor"}}})"));
      CHECK(answer("mean", x) == "tensor(0.4000)");
      apply_policy(Json::parse(R"({"types": {"ScalarTensor": {}}})"));
      const OverrideDisabled again(mean);
    }
    CHECK(mean.enabled());
    CHECK(answer("mean", x) == "0.4");
  }

  TEST_CASE("F-245 threads that call meanwhile see it on or off, and nothing else") {
    const OverrideEntry mean = entry_of("mean[ScalarTensor]");
    std::atomic<bool> stop{false};
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 2; ++t) {
      threads.emplace_back([&] {
        const Tensor x = scalar_tensor(5, 2);
        while (!stop) {
          try {
            if (answer("mean", x) != "0.4") ++wrong;
          } catch (const TypeError&) {
          }
        }
      });
    }
    for (int i = 0; i < 200; ++i) const OverrideDisabled off(mean);
    stop = true;
    for (std::thread& thread : threads) thread.join();
    CHECK(wrong == 0);
    CHECK(answer("mean", scalar_tensor(5, 2)) == "0.4");
  }

  TEST_CASE("F-245 F-307 F-320 the one that is preferred wraps the other") {
    apply_policy(Json::parse(R"({
      "search_paths": [")" TENON_FIXTURES R"(/ties", ")" TENON_FIXTURES R"(/mediator",
                       ")" TENON_FIXTURES R"(/second_mediator"],
      "plugins": [{"name": "ties"}, {"name": "mediator", "glue": true},
                  {"name": "second_mediator", "glue": true}],
      "ops": {"prefer": {"ties.meet[*]": "second_mediator"}}})"));
    const Op make("ties.make");
    const Tensor a = make.call<Tensor>("TieA"), b = make.call<Tensor>("TieB"),
                 c = make.call<Tensor>("TieC");
    CHECK(answer("ties.meet", c, a, b) == "'around ABC'");
    // F-282: the suggested entry decides, though above it nothing does.
    const Tensor child = make.call<Tensor>("TieChild"),
                 descendant = make.call<Tensor>("TieDescendant");
    CHECK(answer("ties.diamond", child, descendant) == "'ended'");
    {
      const OverrideDisabled tied(OverrideEntry("ties.diamond[TieChild, TieDescendant]"));
      CHECK(has(refusal([&] { Op("ties.diamond")(child, descendant); }).text, "is ambiguous"));
    }
    const OverrideEntry first("ties.meet[TieC,TieB,TieA]");
    CHECK(first.provider() == "second_mediator");
    const OverrideDisabled off(first);
    CHECK(answer("ties.meet", c, a, b) == "'ABC'");
    // Nothing decides where both are off.
    const OverrideDisabled both(OverrideEntry("ties.meet[TieA, TieB, TieC]", "mediator"));
    CHECK(has(refusal([&] { Op("ties.meet")(c, a, b); }).text,
              "possible fix: register ties.meet[TieC, TieA, TieB]"));
  }
}
