// Listings of tensor types, and how they handle ops.
#include <tenon/listing/listing.hpp>

#include "tests/lib/listing/support.hpp"

namespace listing = tenon::listing;
using tenon::Json;

namespace {

void use_fixtures() {
  static const FixtureFolder folder({"types/types", "ties/ties", "bad_types/payload_negative"});
}
std::string how(const Json& coverage, const std::string& op) {
  return named(coverage["ops"], op)["how"].text();
}

}  // namespace

TEST_SUITE("listing/types") {
  TEST_CASE(
      "types are listed from facts, with the overrides that name them, and nothing is loaded") {
    use_fixtures();
    const Json types = listing::types();
    const Json a = named(types, "TieA");
    CHECK(a["provider"].text() == "ties");
    CHECK(a["fallback"].text() == "decline");
    CHECK(a["overrides"].integer() == 6);
    CHECK_FALSE(a["parent"].defined());
    CHECK(named(types, "TieChild")["parent"].text() == "TieB");
    CHECK(named(types, "TieChild")["fallback"].text() == "inherit");
    const Json tables = tenon::document(tenon::Document::registrations);
    CHECK(tables["types"].size() == 1);
  }

  TEST_CASE("one type is loaded, and lists the overrides that are active for it") {
    use_fixtures();
    const Json type = listing::type("TieChild");
    CHECK(type["name"].text() == "TieChild");
    std::string ops;
    for (const std::string& op : texts(type["overrides_in_force"], "op")) ops += op + " ";
    CHECK(contains(ops, "ties.diamond"));
    CHECK(contains(message_of([] { listing::type("TieChil"); }),
                   "no tensor type is named 'TieChil' (did you mean 'TieChild'?)"));
  }

  TEST_CASE("each way to handle an op is listed as such, and the counts add up") {
    use_fixtures();
    for (const char* type : {"ScalarTensor", "SS2", "Converting", "Never", "Meta", "Tensor"}) {
      CAPTURE(type);
      const Json coverage = listing::coverage(type), counts = coverage["counts"];
      int64_t sum = 0;
      for (int64_t i = 0; i < counts.size(); ++i) sum += counts[i].integer();
      CHECK(sum == coverage["ops"].size());
    }
    CHECK(how(listing::coverage("ScalarTensor"), "add") == "handled");
    CHECK(how(listing::coverage("ScalarTensor"), "mul") == "missing");
    CHECK(how(listing::coverage("SS2"), "mul") == "inherited");
    CHECK(how(listing::coverage("Converting"), "mul") == "fallback");
    CHECK(how(listing::coverage("Never"), "mul") == "missing");
    CHECK(contains(message_of([] { listing::coverage("ScalarTenso"); }), "'ScalarTensor'"));
  }

  TEST_CASE("a config may say which ops a type covers, and which fall back") {
    use_fixtures();
    tenon::apply_policy(Json::parse(
        R"({"types": {"Meta": {"covers": ["m*", "add"]},
                      "Converting": {"fallback_ops": {"deny": ["a*s"]}}}})"));
    const Json covered = listing::coverage("Meta");
    CHECK(covered["covers"].size() == 2);
    for (const std::string& op : texts(covered["ops"], "name"))
      CHECK((op == "add" || op.front() == 'm'));
    const Json converting = listing::coverage("Converting");
    CHECK(how(converting, "abs") == "missing");
    CHECK(how(converting, "add") == "fallback");
    CHECK(how(converting, "asinh") == "fallback");
  }

  TEST_CASE("overrides that tie are listed, whatever other plugins are refused for") {
    use_fixtures();
    const Json ambiguities = listing::ambiguities();
    REQUIRE(ambiguities.size() > 0);
    std::string ops;
    for (int64_t i = 0; i < ambiguities.size(); ++i) {
      ops += ambiguities[i]["op"].text() + " ";
      CHECK(ambiguities[i]["overrides"].size() == 2);
      CHECK_FALSE(ambiguities[i]["fix"].text().empty());
    }
    CHECK(contains(ops, "ties.meet"));
    CHECK(contains(ops, "ties.diamond"));
    CHECK_FALSE(contains(ops, "ties.pair"));  // never all three types at once
  }
}
