// Typed wrappers that are generated from a plugin's facts.
#include <fixture_second_ops.hpp>
#include <fixture_signatures_ops.hpp>

#include <tenon/tenon.hpp>

#include "tests/sdk/functions.hpp"

using namespace functions;

namespace {

void load_signatures() {
  static const bool loaded = (load_plugin(TENON_FIXTURES "/signatures.so"), true);
  (void)loaded;
}

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
    using tenon::detail::find_op;
    const tenon_op* pair = find_op<std::tuple<int64_t, std::string>>("signatures.pair");
    CHECK(Op(pair).name() == "signatures.pair");
    const Refusal refused = refusal([] { find_op<int64_t>("signatures.pair"); });
    CHECK(refused.kind == TENON_ERROR_TYPE);
    CHECK(has(refused.text, "signatures.pair() has 2 results, and is called for 1 result"));
    CHECK_THROWS_AS(find_op<void>("signatures.single"), tenon::TypeError);
  }

  TEST_CASE("functions, methods and operators of the shipped ops are one op") {
    const Tensor x = row({1, 2});
    CHECK(numbers(tenon::add(x, 2)) == Numbers{3, 4});
    CHECK(numbers(x.add(2)) == Numbers{3, 4});
    CHECK(numbers(x + 2) == Numbers{3, 4});
    CHECK(numbers(tenon::nn::functional::softmax(row({0, 0}), 0)) == Numbers{0.5, 0.5});
  }
}
