// Listings about types: what there is, what they cover, and why a call goes where it goes.
#include <algorithm>

#include <tenon/listing/listing.hpp>
#include <tenon/listing/why.hpp>
#include <tenon/mode.hpp>

#include "tests/sdk/functions.hpp"

using namespace functions;

namespace {

const bool found = (add_plugin_path(TENON_FIXTURES "/types"), true);

}  // namespace

TEST_SUITE("sdk/explain") {
  TEST_CASE("types are listed from facts") {
    REQUIRE(found);
    const Json types = listing::types();
    bool seen_one = false;
    for (int64_t i = 0; i < types.size(); ++i) {
      if (types[i]["name"].text() != "SS2") continue;
      seen_one = true;
      CHECK(types[i]["parent"].text() == "S2");
      CHECK(types[i]["provider"].text() == "types");
    }
    CHECK(seen_one);
    CHECK(listing::type("ScalarTensor")["overrides_in_force"].size() == 2);
    CHECK(has(refusal([] { listing::type("ScalarTenso"); }).text, "'ScalarTensor'"));
  }

  TEST_CASE("F-132 F-305 the coverage of a type adds up to all overridable ops") {
    const Json coverage = listing::coverage("ScalarTensor");
    const Json counts = coverage["counts"];
    CHECK(counts["handled"].integer() == 2);
    CHECK(counts["missing"].integer() + 2 == coverage["ops"].size());
    CHECK(listing::coverage("Converting")["counts"]["missing"].integer() == 0);
    CHECK(listing::coverage("SS2")["counts"]["inherited"].integer() == coverage["ops"].size());
  }

  TEST_CASE("F-300 why prints what is asked in which order and what would run") {
    const Json added = listing::why("add", {"ScalarTensor", "Tensor"});
    CHECK(added["answer"]["what"].text() == "override add[ScalarTensor]");
    CHECK(added["answer"]["provider"].text() == "types");
    CHECK(added["order"][0].text() == "ScalarTensor");
    CHECK(listing::why("add", {"Tensor", "Tensor"})["answer"]["what"].text() == "kernel");
    CHECK(listing::why("add", {"S2", "SS2"})["order"][0].text() == "SS2");
    CHECK(listing::why("mul", {"Converting", "Scalar"})["answer"]["what"].text() ==
          "fallback to_tensor of Converting");
  }

  TEST_CASE("F-302 why returns the error of a call without an implementation") {
    CHECK(listing::why("mul", {"ScalarTensor", "ScalarTensor"})["error"].text() ==
          "no implementation found for 'tenon.mul' on types that implement tenon_function: "
          "[ScalarTensor]");
    CHECK(listing::why("mean", {"Bare"})["error"].text() ==
          "mean(): argument 'input' (position 1) must be Tensor, not Bare");
    const Json apart = listing::why("add", {"S2", "S3"});
    CHECK(apart["steps"][0]["reason"].text() ==
          "its default handler declines: S3 is not in its line of descent");
  }

  TEST_CASE("F-300 a live call is explained: arguments, dtypes and what is recorded, golden text") {
    const Tensor x = leaf({1, 2}), y = ones({2}, i64);
    const Op add_op("add");
    Json why = listing::explain(add_op, x, y, arg("alpha") = true);
    const std::string isa = why["kernel"]["isa"].text();
    CHECK(listing::explain_text(why) ==
          "add(input, other, *, alpha=1, out=None)\n"
          "  arguments  input: Tensor f64[2], other: Tensor i64[2], alpha: True\n"
          "  defaults   out=None\n"
          "  types      Tensor\n"
          "  modes      none\n"
          "  asked      none: all operands are plain\n"
          "  runs       kernel, plugin math 1.0.0\n"
          "  kernel     computes in f64, gives f64, on cpu, " +
              isa +
              " loops\n"
              "  gradient   records AddBackward0 (input needs a gradient)\n");
    const auto gradient = [&](const auto&... arguments) {
      return explain(add_op, arguments...)["gradient"].text();
    };
    CHECK(gradient(x, x) == "records AddBackward0 (input, other need gradients)");
    CHECK(gradient(y, y) == "records nothing: no operand requires grad");
    {
      const NoGrad off;
      CHECK(gradient(x, x) == "records nothing: grad mode is off");
    }
    {
      const InferenceMode on;
      CHECK(gradient(x, x) == "records nothing: inference mode is on");
    }
    CHECK(explain(Op("eq"), x, y)["kernel"]["result"].text() == "bool");
    CHECK(has(listing::explain_text(listing::explain(Op("sum"), x, 0)),
              "dim: 0 (int to list of ints)"));
    // Nothing was run.
    CHECK(x.grad_fn().defined() == false);
  }

  TEST_CASE("F-300 a call records what its explanation says") {
    const Tensor x = leaf({1, 2});
    for (const char* name : {"exp", "neg", "sum", "floor", "abs"}) {
      CAPTURE(name);
      const Op op(name);
      const std::string gradient = explain(op, x)["gradient"].text();
      const Tensor result = op(x).tensor();
      CHECK((gradient.rfind("records nothing", 0) == 0) == !result.requires_grad());
      if (result.requires_grad()) CHECK(has(gradient, "records " + result.grad_fn().name() + " "));
    }
  }

  TEST_CASE("F-300 modes are asked first, and explaining asks none") {
    CountMode count;
    const ModeScope scope(count);
    const Tensor x = row({1});
    const int64_t before = count.calls().empty() ? 0 : count.calls().begin()->second;
    const Json why = listing::explain(Op("mul"), x, 2);
    CHECK(why["modes"][0].text() == "count");
    CHECK(why["steps"][0]["what"].text() == "mode count");
    CHECK(why["answer"]["what"].text() == "mode count");
    CHECK(why["then"]["what"].text() == "kernel");
    CHECK(has(listing::explain_text(why),
              "  runs       mode count\n  then       kernel, plugin math"));
    CHECK(count.calls().count("mul") == 0);
    CHECK(before >= 0);
  }

  TEST_CASE("F-302 a call that would fail is explained in six lines at most, golden text") {
    const Tensor scalar = Op("tx.scalar").call<Tensor>(2, 2.0);
    // An op that no fixture has an override for.
    const Op pow_op("pow"), add_op("add");
    const Json why = listing::explain(pow_op, scalar, 3);
    CHECK(listing::explain_text(why) ==
          "pow(input: ScalarTensor f32[2, 2], exponent: 3)\n"
          "  fails      TypeError: no implementation found for 'tenon.pow' on types that implement "
          "tenon_function: [ScalarTensor]\n"
          "  passed     ScalarTensor: no override for pow and no handler\n"
          "  try        register an override pow[ScalarTensor], or convert by "
          "ensure_tensor(ScalarTensor) or by the type's fallback\n");
    // The error is the call's own, whatever kind it is of.
    const auto same = [](const Op& op, const auto&... arguments) {
      const Refusal refused = refusal([&] { op(arguments...); });
      const Json told = listing::explain(op, arguments...);
      CHECK(refused.kind != TENON_OK);
      CHECK(told["error"].text() == refused.text);
      const std::string text = listing::explain_text(told);
      CHECK(std::count(text.begin(), text.end(), '\n') <= 6);
    };
    same(pow_op, scalar, 3);
    same(add_op, scalar);
    same(add_op, scalar, scalar, arg("alhpa") = 2);
    same(add_op, row({1}), "two");
    same(add_op, Op("tx.make").call<Tensor>("Never"), 1);
    same(Op("mean"), Op("tx.make").call<Tensor>("Bare"));
    same(Op("tx.tag"), scalar);
    same(add_op, leaf({1}), 1, arg("out") = row({1}));
    same(Op("add_"), leaf({1}), 1);
    same(
        Op("add_"),
        [] {
          const InferenceMode on;
          return ones({1});
        }(),
        1);
    same(Op("bitwise_and"), row({1}), row({1}));
  }

  TEST_CASE("F-305 what coverage says of a type is what would answer") {
    const std::pair<const char*, int> ops[] = {{"add", 2}, {"div", 2},  {"mm", 2},  {"mul", 2},
                                               {"neg", 1}, {"mean", 1}, {"cat", 1}, {"tx.foo", 2}};
    const Json types = listing::types();
    for (int64_t t = 0; t < types.size(); ++t) {
      const std::string type = types[t]["name"].text();
      const Json covered = listing::coverage(type)["ops"];
      for (const auto& [op, operands] : ops) {
        std::string by;
        CAPTURE(type);
        CAPTURE(op);
        for (int64_t i = 0; i < covered.size(); ++i) {
          if (covered[i]["name"].text() == op) by = covered[i]["by"].text();
        }
        const std::vector<std::string> same(static_cast<size_t>(operands), type);
        CHECK(listing::why(op, same)["answer"]["what"].text() == by);
      }
    }
  }
}
