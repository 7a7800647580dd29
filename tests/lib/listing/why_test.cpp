// Calls that are written down by types: how words become arguments.
#include <tenon/listing/listing.hpp>
#include <tenon/listing/why.hpp>

#include "tests/lib/listing/support.hpp"

using tenon::Json;
using tenon::listing::why;

namespace {

// "input: Tensor (position), dim: int (assumed)"
std::string arguments(const std::string& op, const std::vector<std::string>& operands) {
  const Json list = why(op, operands)["arguments"];
  std::string text;
  for (int64_t i = 0; i < list.size(); ++i) {
    const std::string given = list[i]["given"].text();
    if (given == "default") continue;
    text += (text.empty() ? "" : ", ") + list[i]["name"].text() + ": " + list[i]["value"].text() +
            " (" + given + ")";
  }
  return text;
}
std::string error(const std::string& op, const std::vector<std::string>& operands) {
  return why(op, operands)["error"].text();
}

}  // namespace

TEST_SUITE("listing/why") {
  TEST_CASE("operands are given by position, then by name, and the rest is assumed") {
    CHECK(arguments("add", {"Tensor", "Scalar"}) ==
          "input: Tensor (position), other: Scalar (position)");
    CHECK(arguments("add", {"Tensor", "other=Tensor:f64", "alpha=2"}) ==
          "input: Tensor (position), other: Tensor:f64 (keyword), alpha: 2 (keyword)");
    CHECK(arguments("select", {"Tensor"}) ==
          "input: Tensor (position), dim: int (assumed), index: int (assumed)");
    CHECK(arguments("cat", {"Tensor,Tensor", "dim=1"}) ==
          "tensors: Tensor,Tensor (position), dim: 1 (keyword)");
    CHECK(arguments("cat", {"[Tensor]"}) == "tensors: [Tensor] (position)");
  }

  TEST_CASE("values are read as they are written") {
    CHECK(arguments("sum", {"Tensor", "dim=None", "keepdim=True"}) ==
          "input: Tensor (position), dim: None (keyword), keepdim: True (keyword)");
    CHECK(arguments("mul", {"Tensor", "2.5"}) == "input: Tensor (position), other: 2.5 (position)");
    CHECK(arguments("data.read_csv", {"'a b'"}) == "path: 'a b' (position)");
    CHECK(arguments("data.read_csv", {"a b"}) == "path: a b (position)");
  }

  TEST_CASE("dtypes decide what the kernel computes in; without them that is left open") {
    CHECK(why("add", {"Tensor:i64", "Tensor:f64"})["kernel"]["compute"].text() == "f64");
    CHECK_FALSE(why("add", {"Tensor", "Tensor"})["kernel"]["compute"].defined());
  }

  TEST_CASE("faults of the call are part of the explanation, those of its words are errors") {
    CHECK(error("add", {"Tensor"}) == "add() missing 1 required positional argument: 'other'");
    CHECK(error("abs", {"Tensor", "Tensor"}) ==
          "abs() takes 1 positional argument but 2 were given");
    CHECK(error("abs", {"Tensor", "place=1"}) ==
          "abs() got an unexpected keyword argument 'place'");
    CHECK(contains(message_of([] { why("ad", {"Tensor"}); }), "no op is named 'ad'"));
    CHECK(contains(message_of([] {
                     why("add", {"Tenso", "1"});
                   }),
                   "no tensor type is named 'Tenso'"));
    CHECK(message_of([] {
            why("add", {"Tensor:f31", "1"});
          }) == "unknown dtype in 'Tensor:f31', as in Tensor:f32");
  }

  TEST_CASE("a call that would fail has one thing to try") {
    const auto suggestion = [](const std::string& op, const std::vector<std::string>& operands) {
      return why(op, operands)["suggestion"].text();
    };
    CHECK(suggestion("add", {"Tensor"}) == "call it as add(input, other, *, alpha=1, out=None)");
    CHECK(suggestion("bitwise_and", {"Tensor:f32", "Tensor:f32"}) ==
          "see `tenon show bitwise_and` for what it takes");
  }

  TEST_CASE("an explanation of live arguments has the versions of plugins") {
    const Json told = tenon::listing::explain(tenon::Op("add"), 1, 2);
    CHECK(told["version"].text() == tenon::listing::plugin("math")["version"].text());
  }
}
