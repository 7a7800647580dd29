// tenon types, coverage, and show for a type.
#include <filesystem>
#include <map>

#include <doctest/doctest.h>

#include "program.hpp"

namespace {

Outcome with_types(const std::string& arguments) {
  return run_program("--plugin-path " TENON_FIXTURES "/types " + arguments);
}

// A folder of the plugin with batch rules alone: others in its folder are not to be loaded.
class BatchRuleFolder {
 public:
  BatchRuleFolder() {
    std::filesystem::create_symlink(TENON_FIXTURES "/planted/planted_batches.so",
                                    folder_.path("planted_batches.so"));
  }
  Outcome run(const std::string& arguments) const {
    return run_program("--plugin-path " + folder_.path().string() + " " + arguments);
  }

 private:
  Workspace folder_;
};

}  // namespace

TEST_SUITE("types") {
  TEST_CASE("types are listed with parent, handler, fallback and plugin") {
    const Outcome outcome = with_types("types");
    CHECK(outcome.code == 0);
    CHECK(contains(outcome.out, "TYPE"));
    CHECK(contains(outcome.out, "SS2"));
    CHECK(with_types("types --json").json().size() > 3);
    CHECK(contains(with_types("show SS2").out, "parent    S2"));
    CHECK(contains(with_types("show ScalarTensor").out, "add(input, other"));
    CHECK(contains(with_types("show ScalarTenso").error, "did you mean 'ScalarTensor'?"));
  }

  TEST_CASE("coverage leaves internal ops out of its text, without --all") {
    const Outcome text = with_types("coverage ScalarTensor"),
                  all = with_types("coverage ScalarTensor --all");
    CHECK_FALSE(contains(text.out, "_backward"));
    CHECK(contains(all.out, "_backward"));
    CHECK(contains(with_types("coverage ScalarTensor --json").out, "_backward"));
  }

  TEST_CASE("coverage of vmap prints how each op runs, and the plugin of its rule") {
    const BatchRuleFolder folder;
    const tenon::Json coverage = folder.run("coverage transform:vmap --json").json();
    std::map<std::string, tenon::Json> ops;
    for (int64_t i = 0; i < coverage["ops"].size(); ++i)
      ops.emplace(coverage["ops"][i]["name"].text(), coverage["ops"][i]);
    const auto how = [&](const char* op) { return ops.at(op)["how"].text(); };
    CHECK(how("sum") == "rule");
    CHECK(how("mul") == "elementwise");
    CHECK(how("kron") == "ops");
    CHECK(how("bernoulli") == "random");
    CHECK(how("nonzero") == "refused");
    CHECK(how("planted_batches.right_loop") == "loop");
    CHECK(how("planted_batches.right_sums") == "function");
    // A rule of another plugin than the op's.
    const tenon::Json trace = ops.at("trace");
    CHECK(trace["how"].text() == "function");
    CHECK(trace["plugin"].text() == "blas");
    CHECK(trace["ways"][int64_t{0}]["provider"].text() == "planted_batches");
    const tenon::Json conditions = ops.at("planted_batches.right_conditions")["ways"];
    REQUIRE(conditions.size() == 2);
    CHECK(contains(conditions[int64_t{0}]["rule"].text(), "where rank(input) == 1"));
    int64_t count = 0;
    for (int64_t i = 0; i < coverage["counts"].size(); ++i)
      count += coverage["counts"][coverage["counts"].key(i)].integer();
    CHECK(count == coverage["ops"].size());
    const Outcome text = folder.run("coverage transform:vmap");
    CHECK(contains(text.out, "planted_batches.right_each"));
    CHECK(contains(run_program("coverage transform:pmap").error,
                   "no transform is named 'pmap': expected vmap"));
  }

  TEST_CASE("why names the batch rules of a call with a batched operand") {
    const BatchRuleFolder folder;
    CHECK(contains(run_program("why cumsum Batched dim=0").out,
                   "vmap       rule 'cummax, cummin, cumprod, cumsum"));
    const tenon::Json why = folder.run("why trace Batched --json").json();
    CHECK(why["batching"][int64_t{0}]["how"].text() == "function");
    CHECK(why["batching"][int64_t{0}]["provider"].text() == "planted_batches");
    CHECK(contains(folder.run("why planted_batches.right_loop Batched Tensor").out,
                   "in a loop over samples: no plugin has a batch rule for it"));
    CHECK_FALSE(run_program("why cumsum Tensor dim=0 --json").json()["batching"].defined());
  }

  TEST_CASE("F-305 coverage prints what a type handles and what it misses") {
    const Outcome outcome = with_types("coverage ScalarTensor");
    CHECK(outcome.code == 0);
    CHECK(contains(outcome.out, "handled 2  by its own overrides\n  add, mean\n"));
    CHECK(contains(outcome.out, "missing "));
    CHECK(contains(with_types("coverage Scalar").error, "Scalar"));
  }

  TEST_CASE("F-305 a handler for every op is listed as one, since it may decline") {
    const Outcome declining = with_types("coverage S");
    CHECK(contains(declining.out, "handled 3  by its own overrides\n  div, mean, mm\n"));
    CHECK(contains(declining.out, "asked of its handler, which may decline\n"));
    const tenon::Json ops = with_types("coverage S --json").json()["ops"];
    CHECK(ops[0]["how"].text() == "handler");
    CHECK(ops[0]["by"].text() == "handler of S");
    CHECK(with_types("coverage Never --json").json()["counts"]["missing"].integer() == ops.size());
  }

  TEST_CASE("F-305 the counts of every type add up to all overridable ops") {
    const tenon::Json types = with_types("types --json").json();
    for (int64_t t = 0; t < types.size(); ++t) {
      const tenon::Json coverage =
          with_types("coverage " + types[t]["name"].text() + " --json").json();
      int64_t sum = 0;
      for (int64_t i = 0; i < coverage["counts"].size(); ++i)
        sum += coverage["counts"][i].integer();
      CHECK(sum == coverage["ops"].size());
      for (int64_t i = 0; i < coverage["ops"].size(); ++i) {
        const bool missing = coverage["ops"][i]["how"].text() == "missing";
        CHECK(missing == coverage["ops"][i]["by"].is_null());
      }
    }
  }

  TEST_CASE("F-353 a baseline whose ops are still covered passes, one that covered more does not") {
    const Workspace folder;
    const Outcome now = with_types("coverage ScalarTensor --json");
    folder.write("now.json", now.out);
    CHECK(with_types("coverage ScalarTensor --baseline " + folder.path("now.json").string()).code ==
          0);
    folder.write("more.json",
                 R"({"type": "ScalarTensor", "ops": [{"name": "mul", "how": "handled"}]})");
    const Outcome lost =
        with_types("coverage ScalarTensor --baseline " + folder.path("more.json").string());
    CHECK(lost.code == 1);
    CHECK(contains(lost.out, "more.json': mul\n"));
    folder.write("other.json", R"({"type": "S2", "ops": []})");
    CHECK(contains(
        with_types("coverage ScalarTensor --baseline " + folder.path("other.json").string()).error,
        "is not one of 'ScalarTensor'"));
  }

  TEST_CASE("F-132 coverage counts the ops alone that the config says a type covers") {
    const Workspace folder;
    const auto coverage = [&](const std::string& types) {
      folder.write("c.json", R"({"schema_version": 1, "types": {)" + types + "}}");
      return with_types("coverage ScalarTensor --json --config " + folder.path("c.json").string());
    };
    const tenon::Json counts =
        coverage(R"("ScalarTensor": {"covers": ["add", "mean", "mul"]})").json()["counts"];
    CHECK(counts["handled"].integer() == 2);
    CHECK(counts["missing"].integer() == 1);
    CHECK(
        coverage(R"("ScalarTensor": {"covers": ["nn.*"]})").json()["counts"]["handled"].integer() ==
        0);
    const Outcome unknown = coverage(R"("ScalarTenso": {}, "Meta": {"covers": ["ad_"]})");
    CHECK(unknown.code == 1);
    CHECK(
        contains(unknown.error,
                 "no plugin provides a tensor type 'ScalarTenso' (did you mean 'ScalarTensor'?)"));
    CHECK(contains(unknown.error, "types: Meta: 'ad_' matches no op of any plugin"));
  }

  TEST_CASE("F-238 a fallback stands for the ops that the config allows, and for none it denies") {
    const Workspace folder;
    const auto how = [&](const std::string& settings, const std::string& op) {
      folder.write("c.json",
                   R"({"schema_version": 1, "types": {"ScalarTensor": )" + settings + "}}");
      const tenon::Json ops =
          with_types("coverage ScalarTensor --json --config " + folder.path("c.json").string())
              .json()["ops"];
      for (int64_t i = 0; i < ops.size(); ++i) {
        if (ops[i]["name"].text() == op) return ops[i]["how"].text();
      }
      return std::string("no such op");
    };
    CHECK(how(R"({})", "mul") == "missing");
    CHECK(how(R"({"fallback": "to_tensor"})", "mul") == "fallback");
    const std::string chosen =
        R"({"fallback": "to_tensor", "fallback_ops": {"allow": ["m*"], "deny": ["mm"]}})";
    CHECK(how(chosen, "mul") == "fallback");
    CHECK(how(chosen, "mm") == "missing");
    CHECK(how(chosen, "exp") == "missing");
  }

  TEST_CASE("F-136 a type that handles some ops alone is warned of, unless that is meant") {
    const Outcome outcome = with_types("coverage ScalarTensor --json");
    const int64_t all = outcome.json()["ops"].size();
    CHECK(contains(outcome.error, "warning types: type ScalarTensor handles 2 of " +
                                      std::to_string(all) + " overridable ops"));
    CHECK(contains(outcome.error, "mark it partial"));
    CHECK(contains(outcome.error, "type TenfoldScalar handles 2 of"));
    // Marked, with a handler, with a fallback, and for no op at all.
    for (const char* type : {"D", "SD", "Meta", "Converting", "Bare", "Never"}) {
      CAPTURE(type);
      CHECK(!contains(outcome.error, "type " + std::string(type) + " handles"));
    }
    const Workspace folder;
    folder.write("c.json", R"({"schema_version": 1, "types": {
      "ScalarTensor": {"covers": ["add", "mean"]},
      "TenfoldScalar": {"covers": ["add", "sub"]}}})");
    const Outcome narrowed =
        with_types("coverage ScalarTensor --config " + folder.path("c.json").string());
    CHECK(!contains(narrowed.error, "ScalarTensor handles"));
    CHECK(contains(narrowed.error, "TenfoldScalar handles 1 of 2"));
    CHECK(run_program("--plugin-path " TENON_FIXTURES "/types coverage ScalarTensor",
                      "TENON_LOG=error")
              .error == "");
  }
}
