// Typed wrappers that are generated from a plugin's facts.
#include <array>
#include <fixture_second_ops.hpp>
#include <fixture_signatures_ops.hpp>
#include <thread>
#include <vector>

#include <tenon/tenon.hpp>

#include "tests/sdk/functions.hpp"

using namespace functions;
using tenon::detail::WrappedOp;

namespace {

void load_signatures() {
  static const bool loaded = (load_plugin(TENON_FIXTURES "/signatures.so"), true);
  (void)loaded;
}

// Writes down op and spelling of each call, then continues it.
class Spellings : public Mode {
 public:
  Spellings() : Mode("spellings") {}
  Results tenon_function(const Call& call) override {
    constexpr std::array names = {"function", "method", "operator", "handle"};
    seen.push_back(call.name() + " " + names[static_cast<size_t>(call.spelling())]);
    return call.call_parent();
  }
  std::vector<std::string> seen;
};

}  // namespace

TEST_SUITE("sdk/wrappers") {
  TEST_CASE("names that C++ keeps for itself get an underscore") {
    load_signatures();
    CHECK(tenon::signatures::delete_() == 34);
    CHECK(tenon::signatures::delete_(5, 6) == 56);
  }

  TEST_CASE("names that C++ would take for one another differ") {
    load_signatures();
    CHECK(tenon::signatures::norm(1) == 12);
    CHECK(tenon::signatures::norm_::detail::bounds());
  }

  TEST_CASE("defaults are those of the schema") {
    load_signatures();
    CHECK(tenon::signatures::defaults() == "say \"hi\" 1 -2 half true large bool none none");
    CHECK(tenon::signatures::defaults("a", {3, 4}, {5, 6}, std::vector<double>{1}, false, 2, f32, 7,
                                      row({1})) == "a 4 6 false small other scalar tensor");
  }

  TEST_CASE("lists of every kind have the schema's defaults") {
    load_signatures();
    const std::string expected = "true false | a, b say \"hi\" it's | 1 2.5 | 1 2 | true | 0";
    CHECK(tenon::signatures::lists() == expected);
    CHECK(tenon::signatures::lists(std::array<bool, 1>{true}) ==
          "true" + expected.substr(expected.find(" |")));
  }

  TEST_CASE("an escaped quote ends no default") {
    load_signatures();
    CHECK(tenon::signatures::escaped() == "it's, (odd 2");
    CHECK(tenon::signatures::escaped("", 3) == " 3");
  }

  TEST_CASE("another provider of a shipped op has its function in its own namespace") {
    // Both headers are included: neither defines the other's function again.
    static_assert(std::is_same_v<decltype(&tenon::second::add), decltype(&tenon::add)>);
    static_assert(std::is_same_v<decltype(&tenon::second::nn::functional::linear),
                                 decltype(&tenon::nn::functional::linear)>);
    static_assert(std::is_same_v<decltype(&tenon::second_third), Tensor (*)(const Tensor&)>);
  }

  TEST_CASE("results have the C++ types of the schema's") {
    load_signatures();
    CHECK(tenon::signatures::pair(7) == std::tuple<int64_t, std::string>(7, "7"));
    CHECK(tenon::signatures::single(7) == std::tuple<int64_t>(7));
    const auto [tensors, ints, floats, texts] =
        tenon::signatures::deep::space::lists({row({1}), row({2})}, 3);
    CHECK(tensors.size() == 2);
    CHECK(ints == std::vector<int64_t>{1});
    CHECK(floats == std::vector<double>{0.5});
    CHECK(texts == std::vector<std::string>{"one"});
    tenon::signatures::nothing();
  }

  TEST_CASE("a handle for a result that the op does not give is refused before any call") {
    load_signatures();
    WrappedOp pair("signatures.pair"), single("signatures.single");
    CHECK(Op(pair.handle<std::tuple<int64_t, std::string>>()).name() == "signatures.pair");
    WrappedOp wrong("signatures.pair");
    for (int times = 0; times < 2; ++times) {
      const Refusal refused = refusal([&] { wrong.handle<int64_t>(); });
      CHECK(refused.kind == TENON_ERROR_TYPE);
      CHECK(has(refused.text, "signatures.pair() has 2 results, and is called for 1 result"));
    }
    CHECK_THROWS_AS(single.handle<void>(), tenon::TypeError);
    // A Value holds the one result of a tuple as well.
    CHECK(single.handle<tenon::Value>() == single.handle<std::tuple<int64_t>>());
  }

  TEST_CASE("an op that is not there is refused at each call") {
    WrappedOp missing("signatures.of_no_plugin");
    for (int times = 0; times < 2; ++times)
      CHECK(has(refusal([&] { missing.handle<Tensor>(); }).text, "signatures.of_no_plugin"));
  }

  TEST_CASE("many threads may be the first to use a wrapper") {
    load_signatures();
    WrappedOp op("signatures.single");
    std::vector<const tenon_op*> found(8);
    std::vector<std::thread> workers;
    for (auto& handle : found)
      workers.emplace_back([&] { handle = op.handle<std::tuple<int64_t>>(); });
    for (std::thread& worker : workers) worker.join();
    CHECK(found == std::vector<const tenon_op*>(8, Op("signatures.single").handle()));
  }

  TEST_CASE("functions, methods and operators of the shipped ops are one op") {
    const Tensor x = row({1, 2});
    CHECK(numbers(tenon::add(x, 2)) == Numbers{3, 4});
    CHECK(numbers(x.add(2)) == Numbers{3, 4});
    CHECK(numbers(x + 2) == Numbers{3, 4});
    CHECK(numbers(tenon::nn::functional::softmax(row({0, 0}), 0)) == Numbers{0.5, 0.5});
  }

  TEST_CASE("F-137 a type's handler sees how its op was called: each spelling is the one op") {
    load_plugin(TENON_FIXTURES "/handlers.so");
    const Tensor x = Op("handlers.spelled").call<Tensor>(row({1}));
    const Op add_op("add");
    const auto seen = [](const Tensor& answer) { return static_cast<Spelling>(answer.item()); };
    CHECK(seen(tenon::add(x, 2)) == Spelling::function);
    CHECK(seen(tenon::add(x, x, 3)) == Spelling::function);
    CHECK(seen(x.add(2)) == Spelling::method);
    CHECK(seen(row({1}).add(x, 3)) == Spelling::method);
    CHECK(seen(x.sum()) == Spelling::method);
    CHECK(seen(x + x) == Spelling::operator_);
    CHECK(seen(2 - x) == Spelling::operator_);
    CHECK(seen(-x) == Spelling::operator_);
    CHECK(seen(row({1}) < x) == Spelling::operator_);
    CHECK(seen(add_op.call<Tensor>(x, 2)) == Spelling::handle);
    CHECK(seen(add_op.call<Tensor>(x, x, arg("alpha") = 2)) == Spelling::handle);
  }

  TEST_CASE("F-137 modes see spellings, through each other and of recorded calls") {
    Spellings inner, outer;
    Tensor x = leaf({1, 2}), changed = row({3, 4});
    {
      const ModeScope a(outer), b(inner);
      tenon::add(x, x);
      x.mul(2);
      x / 2;
      changed += 1;
      Op("neg").call<Tensor>(x);
      ones({1});
    }
    const std::vector<std::string> expected = {"add function",  "mul method", "div operator",
                                               "add_ operator", "neg handle", "ones function"};
    CHECK(inner.seen == expected);
    CHECK(outer.seen == expected);
  }
}
