// How an override's signature stands in for its op's.
#include "core/dispatch/types/override.hpp"

#include <string>
#include <vector>

#include "tests/core/dispatch/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

const Schema& op() {
  static const Schema schema =
      parse_schema("t.add(Tensor input, Tensor other, *, Scalar alpha=1) -> Tensor");
  return schema;
}

}  // namespace

TEST_SUITE("override") {
  TEST_CASE("parameters are taken by position, keywords by name") {
    const Schema own = parse_schema("t.add(Tensor a, Tensor b, *, Scalar alpha=1) -> Tensor");
    const OverrideBinding binding = bind_override(own, op());
    CHECK(binding.source == std::vector<int8_t>{0, 1, 2});
    CHECK(binding.untaken.empty());
    CHECK(signature_differences(own, op(), binding).empty());
  }

  TEST_CASE("what it omits must have a default, and so must what it adds") {
    const Schema own = parse_schema("t.add(Tensor a, Tensor b, *, float scale=2.0) -> Tensor");
    const OverrideBinding binding = bind_override(own, op());
    CHECK(binding.source == std::vector<int8_t>{0, 1, -1});
    CHECK(binding.untaken == std::vector<uint8_t>{2});
    const std::vector<std::string> differences = signature_differences(own, op(), binding);
    CHECK(differences == std::vector<std::string>{"lacks alpha", "adds scale"});
    CHECK(has(refusal([] { bind_override(parse_schema("t.add(Tensor a) -> Tensor"), op()); },
                      TENON_ERROR_VALUE),
              "it does not take 'other', which every call passes"));
    CHECK(has(refusal(
                  [] {
                    bind_override(
                        parse_schema("t.add(Tensor a, Tensor b, *, float scale) -> Tensor"), op());
                  },
                  TENON_ERROR_VALUE),
              "its parameter 'scale' is not one of the op's and has no default"));
  }

  TEST_CASE("the nearest accepted type counts, any type last") {
    TensorType base, derived, other;
    derived.parent = &base;
    Override entry;
    entry.types = {&base};
    CHECK(entry.distance(derived) == 1);
    CHECK(entry.distance(other) == -1);
    entry.accepts = {&derived};
    CHECK(entry.distance(derived) == 0);
    entry.accepts_any = true;
    CHECK(entry.distance(other) > 1000);
    CHECK(entry.distance(derived) == 0);
    CHECK(entry.for_type(base));
    CHECK_FALSE(entry.for_type(derived));
  }
}
