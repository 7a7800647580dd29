// tenon show.
#include <doctest/doctest.h>

#include "program.hpp"

TEST_SUITE("show") {
  TEST_CASE("an op is shown in full by the last part of its name") {
    const Outcome outcome = run_program("show embedding");
    CHECK(outcome.code == 0);
    CHECK(outcome.out.rfind("nn.functional.embedding  op of plugin nn\n", 0) == 0);
    CHECK(contains(outcome.out, "\n  signature    (input, weight, *, padding_idx=None)\n"));
    CHECK(contains(outcome.out, "\n  overridable  yes\n"));
    CHECK(contains(outcome.out, "\n  provided by  nn, chosen\n"));
    CHECK(contains(outcome.out, "\nsee also: module Embedding\n"));
  }

  TEST_CASE("an op of several providers names them in their standing, before any is loaded") {
    const std::string ranked = "--plugin-path " TENON_FIXTURES "/ranked ";
    const Outcome outcome = run_program(ranked + "show ranked.scale");
    CHECK(
        contains(outcome.out, "\n  provided by  ranked_general, next: runs what 'ranked_small' ("));
    CHECK(contains(outcome.out,
                   "\n               ranked_small, chosen, may decline: asked first, "
                   "since it may decline\n"));
    const Outcome why = run_program(ranked + "why ranked.scale Tensor");
    CHECK(contains(why.out, "\n  next       ranked_general, where that declines\n"));
  }

  TEST_CASE("an op that cannot be overridden says why") {
    CHECK(contains(run_program("show randperm").out, "\n  overridable  no: "));
  }

  TEST_CASE("plugins and modules are shown as well") {
    CHECK(run_program("show math").out.rfind("math ", 0) == 0);
    CHECK(contains(run_program("show math").out, "\n  ops "));
    const Outcome types = run_program("--plugin-path " TENON_FIXTURES "/ties show ties");
    CHECK(contains(types.out, "\n  types "));
    CHECK(contains(types.out, "\n  overrides "));
    CHECK(run_program("show Linear").out.rfind("Linear  module of plugin nn\n", 0) == 0);
  }

  TEST_CASE("a plugin is shown with whether its code can be unmapped, and with what keeps it") {
    const Outcome plain = run_program("--plugin-path " TENON_FIXTURES " show plain");
    CHECK(contains(plain.out, "\n  unload    its code can be unmapped\n"));
    const std::string resident = "--plugin-path " TENON_FIXTURES "/resident show resident";
    CHECK(contains(run_program(resident).out,
                   "\n  unload    its code stays mapped:\n"
                   "            it is linked with -z nodelete\n"));
    const tenon::Json verdict = run_program(resident + " --json").json()[0]["unmap"];
    CHECK_FALSE(verdict["possible"].as_bool(true));
    CHECK(verdict["reasons"][0].text() == "it is linked with -z nodelete");
  }

  TEST_CASE("a refused plugin file is shown with the reason, by its path or name") {
    const std::string searched = "--plugin-path " TENON_FIXTURES " show ";
    for (const char* name : {"bad_json", "bad_json.so", TENON_FIXTURES "/bad_json.so"}) {
      CAPTURE(name);
      const Outcome outcome = run_program(searched + name);
      CHECK(outcome.code == 1);
      CHECK(contains(outcome.out, "\n  state     failed\n"));
      CHECK(contains(outcome.out, "\n  reason    cannot load plugin "));
      CHECK(contains(outcome.out, "one of its facts is not JSON"));
    }
    const tenon::Json json = run_program(searched + "bad_json --json").json();
    CHECK(json.size() == 1);
    CHECK(json[0]["kind"].text() == "plugin");
    CHECK(contains(json[0]["reason"].text(), "is not JSON"));
    // Files in other folders.
    CHECK(contains(run_program("show " TENON_FIXTURES "/bad_json.so").error, "is not JSON"));
    CHECK(contains(run_program("show " TENON_FIXTURES "/plain.so").error,
                   "plugin 'plain' of this file is in no folder that is searched"));
  }

  TEST_CASE("JSON is a list, each of a kind") {
    const tenon::Json module = run_program("show Conv2d --json").json();
    CHECK(module.size() == 1);
    CHECK(module[0]["kind"].text() == "module");
    CHECK(module[0]["provider"].text() == "nn");
    const tenon::Json ops = run_program("show softmax --json").json();
    CHECK(ops.size() == 1);
    CHECK(run_program("show softmax --all --json").json().size() == 2);
    CHECK(ops[0]["name"].text() == "nn.functional.softmax");
  }

  TEST_CASE("letters of the other case are forgiven when nothing else fits") {
    CHECK(run_program("show sequential").out.rfind("Sequential  module", 0) == 0);
  }

  TEST_CASE("an unknown name is a fault with a suggestion") {
    const Outcome outcome = run_program("show liner");
    CHECK(outcome.code == 1);
    CHECK(
        outcome.error ==
        "tenon: ValueError: no op, plugin, module, type or rewrite is named 'liner' (did you mean "
        "'Linear'?)\n");
  }
}
