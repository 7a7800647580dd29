// Batch rules: as text in plugin files, and as functions.
#include <tenon/transforms/rule_text.hpp>

#include "tests/lib/transforms/support.hpp"

using namespace batching;

namespace {

std::string fault(const char* text) {
  return refusal<ValueError>([&] { transforms::read_batch_rule(text, "acme"); });
}

}  // namespace

TEST_SUITE("lib/transforms/batch_rules") {
  TEST_CASE("a rule names ops, a family and conditions") {
    const auto rule = transforms::read_batch_rule(
        "acme.a, acme.b: leading(x=2, y) where rank(x) >= 2, not batched(y), mode == 'full'",
        "acme");
    CHECK(rule.ops == std::vector<std::string>{"acme.a", "acme.b"});
    CHECK(rule.family == "leading");
    CHECK(rule.parameters == std::vector<std::string>{"x", "y"});
    CHECK(rule.numbers == std::vector<int64_t>{2, -1});
    REQUIRE(rule.conditions.size() == 3);
    CHECK(rule.conditions[0].function == "rank");
    CHECK(rule.conditions[1].negated);
    CHECK(rule.conditions[2].value.text == "full");
  }

  TEST_CASE("a rule is an expression of ops") {
    const auto rule = transforms::read_batch_rule(
        "acme.blend(x, y, t) = add(mul(x, t), acme.split(y, [0, -1], alpha=0.5).1)", "acme");
    CHECK(rule.family.empty());
    CHECK(rule.parameters == std::vector<std::string>{"x", "y", "t"});
    CHECK(rule.expression.text == "add");
    const transforms::RuleTerm& split = rule.expression.terms[1];
    CHECK(split.integer == 1);
    CHECK(split.terms[1].terms[1].integer == -1);
    CHECK(split.keywords[2] == "alpha");
    CHECK(split.terms[2].number == 0.5);
  }

  TEST_CASE("texts that are not rules are refused at their column") {
    CHECK(fault("acme.a") == "column 7: expected ':' or '(', found the end");
    CHECK(fault("acme.a: sideways(x)") == "'sideways' is not a family of batch rules");
    CHECK(fault("acme.a: dims(dim") == "column 17: expected ')', found the end");
    CHECK(fault("acme.a, acme.b(x) = x") ==
          "column 15: expected ':', since a rule of several ops names a family, found '('");
    CHECK(fault("acme.a(x) = add(x, ") == "column 20: expected a term, found the end");
    CHECK(fault("acme.a: loop where rank(x)") == "column 27: expected a comparison, found the end");
    CHECK(fault("acme.a: loop where size(x) == 2") == "'size' is not a function of conditions");
    CHECK(fault("acme.a: refuse(no)") == "column 16: expected a text in quotes, found 'n'");
    CHECK(fault("acme.a: loop now") == "column 14: expected the end of the rule, found 'n'");
  }

  TEST_CASE(
      "rules of shipped plugins are read, for ops that exist, with parameters that these have") {
    const transforms::BatchRules read = transforms::read_batch_rules(document(Document::facts));
    CHECK(read.faults.empty());
    CHECK(read.rules.size() > 80);
    for (const transforms::BatchRule& rule : read.rules) {
      for (const std::string& op : rule.ops) {
        CAPTURE(rule.text);
        const std::string schema = Op(op).schema();
        for (const std::string& parameter : rule.parameters)
          CHECK(schema.find(" " + parameter) != std::string::npos);
      }
    }
  }
}
