// The text of failures.
#include "core/plugin/failure.hpp"

#include <set>
#include <string>

#include <doctest/doctest.h>

using namespace tenon::core;

TEST_SUITE("plugin failure") {
  TEST_CASE("no two stages have the same name") {
    std::set<std::string> names;
    for (int stage = 0; stage <= static_cast<int>(PluginStage::Register); ++stage)
      names.insert(plugin_stage_text(static_cast<PluginStage>(stage)));
    CHECK(names.size() == 7);
    CHECK_FALSE(names.contains("unknown"));
  }

  TEST_CASE("all that is known is in one line, in the order place, plugin, problem, remedy") {
    PluginFailure failure;
    failure.stage = PluginStage::Version;
    failure.plugin = "blas";
    failure.path = "/a/blas.so";
    failure.problem = "it is too new";
    failure.expected = "1.0";
    failure.found = "2.0";
    failure.remedy = "update the host";
    failure.asked_by = "op 'mm'";
    failure.place = "c.json:3:14: /plugins/0";
    CHECK(failure.text() ==
          "c.json:3:14: /plugins/0: cannot load plugin 'blas' at stage version: it is too new; "
          "expected 1.0, found 2.0; file '/a/blas.so'; asked for by op 'mm'; update the host");
  }

  TEST_CASE("the lines that a problem shows come last") {
    PluginFailure failure;
    failure.plugin = "blas";
    failure.path = "/a/blas.so";
    failure.problem = "schema error at column 3: no\n  f(x)\n    ^";
    failure.remedy = "correct it";
    CHECK(failure.text() ==
          "cannot load plugin 'blas' at stage find: schema error at column 3: no; file "
          "'/a/blas.so'; correct it\n  f(x)\n    ^");
  }

  TEST_CASE("what is not known leaves no trace") {
    PluginFailure failure;
    failure.problem = "the rule matches nothing";
    CHECK(failure.text() == "the rule matches nothing");
    failure.path = "/a/x.so";
    failure.found = "3";
    CHECK(failure.text() ==
          "cannot load plugin '/a/x.so' at stage find: the rule matches nothing; found 3");
  }

  TEST_CASE("the error of a failure carries its text and the plugin as provider") {
    PluginFailure failure;
    failure.plugin = "blas";
    failure.problem = "broken";
    const PluginError error(failure);
    CHECK(error.kind == TENON_ERROR_PLUGIN);
    CHECK(error.provider == "blas");
    CHECK(error.message == failure.text());
  }
}
