// Listings about types: what there is, what they cover, and why a call goes where it goes.
#include "tests/sdk/functions.hpp"

using namespace functions;

namespace {

const bool found = (add_plugin_path(TENON_FIXTURES "/types"), true);

}  // namespace

TEST_SUITE("sdk/explain") {
  TEST_CASE("types are listed from facts") {
    REQUIRE(found);
    const Tree types = describe("types");
    bool seen_one = false;
    for (int64_t i = 0; i < types.size(); ++i) {
      if (types[i]["name"].text() != "SS2") continue;
      seen_one = true;
      CHECK(types[i]["parent"].text() == "S2");
      CHECK(types[i]["provider"].text() == "types");
    }
    CHECK(seen_one);
    CHECK(describe("type", "ScalarTensor")["overrides_in_force"].size() == 2);
    CHECK(has(refusal([] { describe("type", "ScalarTenso"); }).text, "'ScalarTensor'"));
  }

  TEST_CASE("F-132 F-305 the coverage of a type adds up to all overridable ops") {
    const Tree coverage = describe("coverage", "ScalarTensor");
    const Tree counts = coverage["counts"];
    CHECK(counts["handled"].integer() == 2);
    CHECK(counts["missing"].integer() + 2 == coverage["ops"].size());
    CHECK(describe("coverage", "Converting")["counts"]["missing"].integer() == 0);
    CHECK(describe("coverage", "SS2")["counts"]["inherited"].integer() == coverage["ops"].size());
  }

  TEST_CASE("F-300 why tells who is asked in which order and who would answer") {
    const Tree added = describe("why", "add ScalarTensor Tensor");
    CHECK(added["answer"]["what"].text() == "override add[ScalarTensor]");
    CHECK(added["answer"]["provider"].text() == "types");
    CHECK(added["order"][0].text() == "ScalarTensor");
    CHECK(describe("why", "add Tensor Tensor")["answer"]["what"].text() == "kernel");
    CHECK(describe("why", "add S2 SS2")["order"][0].text() == "SS2");
    CHECK(describe("why", "mul Converting Scalar")["answer"]["what"].text() ==
          "fallback to_tensor of Converting");
  }

  TEST_CASE("F-302 why gives the error of a call that nobody answers") {
    CHECK(describe("why", "mul ScalarTensor ScalarTensor")["error"].text() ==
          "no implementation found for 'tenon.mul' on types that implement tenon_function: "
          "[ScalarTensor]");
    CHECK(describe("why", "mean Bare")["error"].text() ==
          "mean(): argument 'input' (position 1) must be Tensor, not Bare");
    const Tree apart = describe("why", "add S2 S3");
    CHECK(apart["steps"][0]["reason"].text() ==
          "its default handler declines: S3 is not in its line of descent");
  }
}
