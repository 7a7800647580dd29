// Which override is nearest, between which nothing decides, and what finding that out costs.
#include <deque>
#include <string>

#include <doctest/doctest.h>

#include "core/base/error.hpp"
#include "core/dispatch/types/override.hpp"
#include "core/dispatch/types/plan.hpp"

using namespace tenon::core;

namespace {

// Registrations of one plugin: types, and overrides of the op "sp.op", into the process's table.
class Brings {
 public:
  explicit Brings(std::string provider) : provider_(std::move(provider)) {}
  Brings& type(const std::string& name, const std::string& parent = "") {
    tenon_type_descriptor& descriptor = types_.emplace_back();
    descriptor.size = sizeof descriptor;
    descriptor.name = keep(name);
    descriptor.parent = parent.empty() ? nullptr : keep(parent);
    return *this;
  }
  Brings& entry(const std::string& op, const std::string& types,
                const std::string& accepts = "Tensor") {
    tenon_override_descriptor& descriptor = overrides_.emplace_back();
    descriptor.size = sizeof descriptor;
    descriptor.schema = keep(schema_of(op));
    descriptor.types = keep(types);
    descriptor.accepts = keep(accepts);
    descriptor.run = [](void*, const tenon_call*, tenon_value*, tenon_error**) -> tenon_status {
      return TENON_OK;
    };
    return *this;
  }
  // The warnings.
  std::vector<std::string> commit(const TypeTable::RegistrationPolicy& policy = {}) {
    std::vector<const tenon_type_descriptor*> types;
    for (const auto& type : types_) types.push_back(&type);
    std::vector<const tenon_override_descriptor*> overrides;
    for (const auto& entry : overrides_) overrides.push_back(&entry);
    auto prepared = TypeTable::process().prepare(
        provider_, types, overrides,
        [](std::string_view op) {
          return TypeTable::OpSource{schema_of(std::string(op)), "ops"};
        },
        policy, {});
    std::vector<std::string> warnings = prepared.warnings;
    TypeTable::process().commit(std::move(prepared));
    return warnings;
  }

 private:
  static std::string schema_of(const std::string& op) {
    return op + (op == "sp.list" ? "(Tensor[] all) -> Tensor" : "(Tensor a, Tensor b) -> Tensor");
  }
  const char* keep(const std::string& text) { return texts().emplace_back(text).c_str(); }
  static std::deque<std::string>& texts() {
    static auto* all = new std::deque<std::string>;  // descriptors live as long as the process
    return *all;
  }
  std::string provider_;
  std::deque<tenon_type_descriptor> types_;
  std::deque<tenon_override_descriptor> overrides_;
};

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_SUITE("specificity") {
  TEST_CASE("F-282 a diamond is found across plugins, and the entry that it suggests ends it") {
    const std::string op = "sp.diamond";
    CHECK(Brings("spa")
              .type("SpA")
              .type("SpDescendant", "SpA")
              .type("SpB")
              .type("SpChild", "SpB")
              .entry(op, "SpA, SpB", "SpDescendant")
              .commit()
              .empty());
    Brings second("spb");
    second.type("SpOwn", "SpChild").entry(op, "SpA, SpChild").entry("sp.other", "SpOwn");
    CHECK_THROWS_WITH_AS(second.commit({true, true, {}}),
                         doctest::Contains("possible fix: register sp.diamond[SpChild, "
                                           "SpDescendant]"),
                         Error);
    CHECK(TypeTable::process().find("SpOwn") == nullptr);
    // Another plugin will provide it.
    CHECK(Brings("spc")
              .type("SpElse")
              .entry("sp.expected", "SpA, SpB", "SpDescendant")
              .entry("sp.expected", "SpA, SpChild")
              .commit({true, true,
                       [](const std::string& key) {
                         return key == "sp.expected[SpChild, SpDescendant]";
                       }})
              .empty());
    const std::vector<std::string> warnings = second.commit({false, true, {}});
    REQUIRE(warnings.size() == 1);
    CHECK(has(warnings[0],
              "sp.diamond[SpA, SpB] from 'spa' and sp.diamond[SpA, SpChild] from "
              "'spb'"));
    const auto count = [&] {
      int64_t found = 0;
      for (const Ambiguity& ambiguity : TypeTable::process().ambiguities())
        found += ambiguity.first->schema.name == op ? 1 : 0;
      return found;
    };
    CHECK(count() == 1);
    CHECK(Brings("spd").entry(op, "SpChild, SpDescendant").commit({true, true, {}}).empty());
    CHECK(count() == 0);
  }

  TEST_CASE("F-282 what one of two is nearer to in everything is decided") {
    CHECK(Brings("spe")
              .type("SpP")
              .type("SpQ", "SpP")
              .type("SpR")
              .entry("sp.plain", "SpP", "*")
              .entry("sp.plain", "SpQ", "*")
              .entry("sp.plain", "SpP, SpR", "*")
              .entry("sp.plain", "SpQ, SpR", "*")
              .entry("sp.plain", "SpR", "*")
              .commit({true, false, {}})
              .empty());
  }

  TEST_CASE("F-283 who owns one of the types, or the op, may override it") {
    Brings own("spf");
    CHECK(own.type("SpMine").entry("sp.any", "SpMine, SpA").commit({true, false, {}}).empty());
    CHECK(Brings("ops").entry("sp.any", "SpA").commit({true, false, {}}).empty());
    CHECK_THROWS_WITH_AS(Brings("spg").entry("sp.pirate", "SpA").commit({true, false, {}}),
                         doctest::Contains("type SpA of 'spa'"), Error);
    CHECK(Brings("spg").entry("sp.pirate", "SpA").commit({true, true, {}}).empty());
  }

  TEST_CASE("F-282 registering stays cheap with many types and overrides") {
    Brings many("sph");
    constexpr int kTypes = 1000, kOps = 10;
    for (int t = 0; t < kTypes; ++t) {
      const std::string name = "SpMany" + std::to_string(t);
      many.type(name);
      for (int o = 0; o < kOps; ++o) many.entry("sp.many" + std::to_string(o), name);
    }
    // A search over all pairs would outlast the time that a test has.
    CHECK(many.commit({true, false, {}}).empty());
  }

  TEST_CASE("lists of many types are looked through for a while, not for ever") {
    std::vector<std::string> names;
    Brings crowd("crowd");
    for (int i = 0; i < 16; ++i) crowd.type(names.emplace_back("SpCrowd" + std::to_string(i)));
    std::string all;
    for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
    const std::vector<std::string> entries = {"SpCrowd0, SpCrowd1",
                                              "SpCrowd0, SpCrowd2",
                                              "SpCrowd0, SpCrowd1, SpCrowd2",
                                              "SpCrowd0, SpCrowd3",
                                              "SpCrowd0, SpCrowd1, SpCrowd3",
                                              "SpCrowd0, SpCrowd2, SpCrowd3",
                                              "SpCrowd0, SpCrowd1, SpCrowd2, SpCrowd3"};
    for (const std::string& types : entries) crowd.entry("sp.list", types, all);
    crowd.commit();
  }

  TEST_CASE("the end of a long line of descent is asked") {
    constexpr int kLength = 140;
    Brings line("line");
    for (int i = 0; i < kLength; ++i) {
      const std::string name = "SpLine" + std::to_string(i);
      line.type(name, i == 0 ? "Tensor" : "SpLine" + std::to_string(i - 1));
      line.entry("sp.line", name);
    }
    line.commit();
    tenon_op_descriptor op{};
    op.size = sizeof op;
    op.schema = "sp.line(Tensor a, Tensor b) -> Tensor";
    op.run = [](void*, tenon_context*, const tenon_value*, tenon_value*, tenon_error**) {
      return tenon_status{TENON_OK};
    };
    const auto implementation = make_implementation(op, "ops");
    OperandTypes types;
    types.add(*TypeTable::process().find("SpLine" + std::to_string(kLength - 1)));
    const Plan plan = make_plan(TypeTable::process(), *implementation, types);
    CHECK(plan.chains.at(0).first_override == 0);
    CHECK(plan.chains.at(0).first_handler == kLength);
  }
}
