// Random graphs of at least twenty ops, prepared: the bits of the graph as it is, whatever rewrites are used.
#include <algorithm>
#include <random>

#include "tests/lib/prepare/random_graph.hpp"
#include "tests/lib/prepare/support.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace preparing;

namespace {

// Rules whose sides are equal by bits; some have no end, some undo each other.
const std::vector<std::string> kExactRules = {
    "t.neg_twice: neg(neg(x)) => x",
    "t.relu_twice: relu(relu(x)) => relu(x)",
    "t.relu_abs: relu(abs(x)) => abs(x)",
    "t.abs_neg: abs(neg(x)) => abs(x)",
    "t.abs_twice: abs(abs(x)) => abs(x)",
    "t.doubled: add(x, x) => mul(x, 2)",
    "t.swapped: add(x, y) => add(y, x)",
    "t.one_more: exp(x) => mul(exp(x), 1)",
    "t.one_less: mul(x, 1) => x",
    "t.two_more: tanh(x) => neg(neg(tanh(x)))",
    "t.squared: mul(x, x) => mul(x, mul(x, 1))",
    "t.transposed_twice: transpose(transpose(x, a, b), a, b) => x",
    "t.transposed_later: tanh(transpose(x, a, b)) => transpose(tanh(x), a, b)",
    "t.transposed_sooner: transpose(tanh(x), a, b) => tanh(transpose(x, a, b))",
    "t.selected_later: neg(select(x, d, i)) => select(neg(x), d, i)",
    "t.unsqueezed_later: abs(unsqueeze(x, d)) => unsqueeze(abs(x), d)",
    "t.joined: [neg(x), neg(y)] => chunk(neg(cat([x, y], 0)), 2, 0) "
    "where same_shape(x, y), dim(x) > 0, size(x, 0) > 0",
    "t.both: [tanh(x), sigmoid(x)] => [tanh(mul(x, 1)), sigmoid(x)]"};

}  // namespace

TEST_SUITE("lib/prepare/graphs") {
  TEST_CASE("random graphs give the same bits when they are prepared, and opened again") {
    const tenon_test::TemporaryFolder folder;
    int64_t listed = 0, runs = 0, saved = 0;
    for (unsigned seed = 0; seed < 1000; ++seed) {
      CAPTURE(seed);
      const int64_t rows = seed % 10 == 9 ? 0 : 1 + seed % 5;
      RandomGraph graph(seed, rows);
      const std::string document = graph.document();
      CAPTURE(document);
      const Module model = model_of(document);
      const Prepared prepared = prepare(model);
      for (int i = 0; i < 3; ++i) {
        if (result_count(model) <= 3)
          REQUIRE(agrees(prepared, model, {randn({rows, 4}), randn({4})}));
      }
      if (seed % 5 == 0 && !prepared.lists().empty() && prepared.lists().front().reason.empty() &&
          result_count(model) <= 3) {
        prepared.save(folder / "graph.tenon");
        const Prepared opened = open_prepared(folder / "graph.tenon");
        for (int i = 0; i < 3; ++i) REQUIRE(agrees(opened, model, {randn({rows, 4}), randn({4})}));
        ++saved;
      }
      listed += prepared.listed_runs();
      runs += prepared.listed_runs() + prepared.runs_as_is();
    }
    CHECK(listed > runs * 9 / 10);
    CHECK(saved > 150);
  }

  TEST_CASE("random graphs give the same bits under random rules whose sides are equal") {
    int64_t used = 0, stopped = 0;
    for (unsigned seed = 0; seed < 500; ++seed) {
      CAPTURE(seed);
      const int64_t rows = seed % 10 == 9 ? 0 : 1 + seed % 5;
      RandomGraph graph(seed + 5000, rows);
      const std::string document = graph.document();
      CAPTURE(document);
      std::mt19937 random(seed);
      std::vector<std::string> texts = kExactRules;
      std::shuffle(texts.begin(), texts.end(), random);
      texts.resize(1 + random() % texts.size());
      PrepareOptions options;
      options.rewrites.declared = false;
      for (const std::string& text : texts) {
        CAPTURE(text);
        options.rewrites.rules.push_back(rewrites::read_rule("", text));
        options.rewrites.prefer.push_back(options.rewrites.rules.back().name);
      }
      const Module model = model_of(document);
      if (result_count(model) > 3) continue;
      const Prepared prepared = prepare(model, {}, options);
      for (int i = 0; i < 2; ++i) REQUIRE(agrees(prepared, model, {randn({rows, 4}), randn({4})}));
      for (const PreparedList& list : prepared.lists()) {
        for (const rewrites::Applied& one : list.rewrites) used += one.count;
        for (const std::string& one : list.refused) {
          if (one.find("stopped") != std::string::npos) ++stopped;
        }
      }
    }
    CHECK(used > 300);
    CHECK(stopped > 50);
  }
}
