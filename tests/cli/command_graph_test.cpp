// tenon graph: text and images of models, and what cannot be drawn.
#include <doctest/doctest.h>

#include "program.hpp"

namespace {

bool has_graphviz() { return run_shell("command -v dot").code == 0; }

}  // namespace

TEST_SUITE("graph") {
  TEST_CASE("the text has modules as nodes, shapes on edges and a legend of plugins") {
    const Workspace folder(true);
    const Outcome outcome = run_program_in(folder.path(), "graph blobs.json");
    CHECK(outcome.code == 0);
    CHECK(outcome.out.rfind("digraph model {\n", 0) == 0);
    for (const char* part : {"<b>blobs.json: Sequential</b>", "<b>Linear</b>", "<b>ReLU</b>",
                             "<&#160;f32[16, 4]&#160;>", "<&#160;f32[16, 3]&#160;>",
                             "label=\"plugins\"", "label=<nn>"})
      CHECK_MESSAGE(contains(outcome.out, part), part);
    CHECK_FALSE(contains(outcome.out, "nn.functional.linear"));
    CHECK(run_program_in(folder.path(), "graph blobs.json").out == outcome.out);
  }

  TEST_CASE("--expand of a name that no module has is wrong usage, with the names that there are") {
    const Workspace folder(true);
    const Outcome outcome = run_program_in(folder.path(), "graph blobs.json --expand typo");
    CHECK(outcome.code == 2);
    CHECK(contains(outcome.error, "--expand: no module is named 'typo'; there are 0, 1, 2"));
    CHECK(run_program_in(folder.path(), "graph blobs.json --expand '['").code == 2);
    CHECK(run_program_in(folder.path(), "graph blobs.json --expand '0,x*'").code == 2);
  }

  TEST_CASE("--expand shows the ops of a module, with its parameters") {
    const Workspace folder(true);
    const std::string some = run_program_in(folder.path(), "graph blobs.json --expand 0").out;
    CHECK(contains(some, "<b>nn.functional.linear</b>"));
    CHECK(contains(some, "weight f32[16, 4]"));
    CHECK(contains(some, "label=<<b>0</b>&#160;&#160;Linear>"));
    CHECK(contains(some, "<b>ReLU</b>"));
    const std::string all = run_program_in(folder.path(), "graph blobs.json --expand '*'").out;
    CHECK(contains(all, "<b>relu</b>"));
    CHECK_FALSE(contains(all, "<b>ReLU</b>"));
  }

  TEST_CASE("--backward draws gradients, --prepared the list of calls") {
    const Workspace folder(true);
    const std::string backward =
        run_program_in(folder.path(), "graph blobs.json --backward --expand '*'").out;
    CHECK(contains(backward, "LinearBackward0"));
    CHECK(contains(backward, "<b>0.weight</b>"));
    CHECK(contains(backward, "gradient of f32[16, 4]"));
    const std::string prepared = run_program_in(folder.path(), "graph blobs.json --prepared").out;
    CHECK(contains(prepared, "<b>blobs.json: Sequential, prepared</b>"));
    const Outcome both = run_program_in(folder.path(), "graph blobs.json --prepared --backward");
    CHECK(both.code == 2);
    CHECK(contains(both.error, "choose one"));
  }

  TEST_CASE("a .dot file has the text that is printed") {
    const Workspace folder(true);
    const Outcome outcome = run_program_in(folder.path(), "graph blobs.json -o g.dot");
    CHECK(outcome.code == 0);
    CHECK(outcome.out == "g.dot: 5 nodes, 4 edges\n");
    CHECK(folder.read("g.dot") == run_program_in(folder.path(), "graph blobs.json").out);
  }

  TEST_CASE(
      "an image without Graphviz is an error that says what to install, and nothing is written") {
    const Workspace folder(true);
    const Outcome outcome =
        run_program_in(folder.path(), "graph blobs.json -o g.svg", "PATH=/nowhere");
    CHECK(outcome.code == 1);
    CHECK(contains(outcome.error,
                   "cannot draw 'g.svg': Graphviz's program `dot` is not in PATH; install it (the "
                   "package graphviz), or write the text: -o FILE.dot"));
    CHECK_FALSE(std::filesystem::exists(folder.path("g.svg")));
  }

  TEST_CASE("a Graphviz that fails is reported with what it printed") {
    const Workspace folder(true);
    folder.write("dot", "#!/bin/sh\necho 'out of ink' >&2\nexit 3\n");
    std::filesystem::permissions(folder.path("dot"), std::filesystem::perms::owner_all);
    const Outcome outcome = run_program_in(folder.path(), "graph blobs.json -o g.svg",
                                           "PATH=" + folder.path().string() + ":/usr/bin:/bin");
    CHECK(outcome.code == 1);
    CHECK(contains(outcome.error, "out of ink"));
    CHECK_FALSE(std::filesystem::exists(folder.path("g.svg")));
  }

  TEST_CASE("with Graphviz an image has all nodes and edges") {
    if (!has_graphviz()) {
      MESSAGE("not tested: Graphviz is not installed (tools/setup --graphviz)");
      return;
    }
    const Workspace folder(true);
    CHECK(run_program_in(folder.path(), "graph blobs.json --expand '*' -o g.svg").code == 0);
    const std::string svg = folder.read("g.svg");
    for (const char* part : {"<svg ", "relu", "weight f32[16, 4]", "f32[16, 3]",
                             "@media (prefers-color-scheme: dark)", "</svg>"})
      CHECK_MESSAGE(contains(svg, part), part);
  }

  TEST_CASE("what cannot be drawn says why") {
    const Workspace folder(true);
    folder.write("none.json", R"({"schema_version": 1})");
    const std::pair<const char*, const char*> faults[] = {
        {"graph none.json", "the config has no \"model\""},
        {"graph blobs.json -o g.png", "--output must end in .dot or .svg, got 'g.png'"},
        {"graph blobs.json -o blobs.csv.svg/g.dot", "blobs.csv.svg"},
        {"graph nothere.json", "nothere.json"},
        {"graph blobs.json --input x=2x2", "--input"}};
    for (const auto& [arguments, text] : faults) {
      const Outcome outcome = run_program_in(folder.path(), arguments);
      CHECK_MESSAGE(outcome.code != 0, arguments);
      CHECK_MESSAGE(contains(outcome.error, text), outcome.error);
    }
    folder.write("m.json", R"({"schema_version": 1, "model": {"type": "ReLU"}})");
    CHECK(contains(run_program_in(folder.path(), "graph m.json").error,
                   "neither \"data\" nor \"input\""));
  }
}
