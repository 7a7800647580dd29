// tenon overridable.
#include <set>

#include <doctest/doctest.h>

#include "program.hpp"

TEST_SUITE("overridable") {
  TEST_CASE("the first five of nn.functional print as they always have") {
    const Outcome outcome = run_program("overridable nn.functional --first 5");
    CHECK(outcome.code == 0);
    CHECK(outcome.out ==
          "['adaptive_avg_pool1d', 'adaptive_avg_pool2d', 'adaptive_avg_pool3d',\n"
          "'adaptive_max_pool1d', 'adaptive_max_pool1d_with_indices']\n");
  }

  TEST_CASE("without a namespace all are printed, the root first, in order") {
    const tenon::Json namespaces = run_program("overridable --json").json();
    CHECK(namespaces[0]["namespace"].text() == "");
    std::string before_namespace;
    for (int64_t i = 0; i < namespaces.size(); ++i) {
      const std::string name = namespaces[i]["namespace"].text();
      CHECK((i == 0 || before_namespace < name));
      before_namespace = name;
      std::string before;
      for (int64_t n = 0; n < namespaces[i]["ops"].size(); ++n) {
        CHECK(before < namespaces[i]["ops"][n].text());
        before = namespaces[i]["ops"][n].text();
      }
    }
    const std::string text = run_program("overridable").out;
    CHECK(text.rfind("tenon\n['", 0) == 0);
    CHECK(contains(text, "\n\nnn.functional\n['"));
  }

  TEST_CASE("every op is either overridable or ignored") {
    std::multiset<std::string> listed;
    const tenon::Json namespaces = run_program("overridable --json").json();
    for (int64_t i = 0; i < namespaces.size(); ++i) {
      const std::string name = namespaces[i]["namespace"].text();
      for (int64_t n = 0; n < namespaces[i]["ops"].size(); ++n) {
        listed.insert((name.empty() ? "" : name + ".") + namespaces[i]["ops"][n].text());
      }
    }
    const tenon::Json ignored = run_program("ignored --json").json();
    for (int64_t i = 0; i < ignored.size(); ++i) listed.insert(ignored[i]["name"].text());
    std::set<std::string> all;
    const tenon::Json ops = run_program("ops --all --json").json();
    for (int64_t i = 0; i < ops.size(); ++i) all.insert(ops[i]["name"].text());
    CHECK(listed == std::multiset<std::string>(all.begin(), all.end()));
  }

  TEST_CASE("internal ops are listed with --all, and are in the document in any case") {
    const std::string text = run_program("overridable").out,
                      all = run_program("overridable --all").out;
    CHECK_FALSE(contains(text, "_backward'"));
    CHECK_FALSE(contains(text, "nn.grad"));
    CHECK(contains(all, "_backward'"));
    CHECK(all.size() > text.size());
    CHECK(contains(run_program("overridable --json").out, "_backward\""));
    CHECK(contains(run_program("overridable nn.grad").out, " internal ops, which --all lists\n"));
  }

  TEST_CASE("an unknown namespace is a fault") {
    const Outcome outcome = run_program("overridable nn.functionl");
    CHECK(outcome.code == 1);
    CHECK(contains(outcome.error, "(did you mean 'nn.functional'?)"));
  }
}
