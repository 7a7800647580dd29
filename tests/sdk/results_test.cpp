// Results of ops: values of every kind, whole after the call, and their places in rules.
#include <limits>

#include <tenon/gradcheck.hpp>
#include <tenon/listing/listing.hpp>

#include "tests/sdk/functions.hpp"

namespace {

using namespace functions;

Op results(const std::string& name) { return fixture("results." + name); }
template <class Result>
Result get(const std::string& name, int64_t n) {
  return results(name).call<Result>(n, row({1, 2, 3}));
}
// Reuses memory that was released too early.
void churn() {
  for (int64_t bytes = 8; bytes <= 4096; bytes *= 2) {
    const std::vector<char> fill(static_cast<size_t>(bytes), '\x55');
    std::vector<Value> texts(8);
    for (Value& text : texts)
      detail::check(service::values().string_create, fill.data(), bytes, text.slot());
  }
}

}  // namespace

TEST_SUITE("sdk/results") {
  TEST_CASE("F-017 a result of every kind") {
    CHECK(get<int64_t>("int", 9) == 9);
    CHECK(get<int32_t>("short_int", -4) == -4);
    CHECK(get<double>("float", 3) == 1.5);
    CHECK(get<bool>("bool", 3));
    CHECK(get<std::string>("str", 100) == std::string(100, 'x'));
    CHECK(get<std::string>("str", 0).empty());
    CHECK(get<std::string>("str_view", 0) == "a view");
    CHECK(get<std::string>("str_pointer", 0) == "a pointer");
    CHECK(get<DType>("dtype", 0) == f64);
    CHECK(get<Scalar>("scalar", 2).to<int64_t>() == 2);
    CHECK(get<Scalar>("scalar", 1).to<double>() == 0.5);
    CHECK(get<std::vector<int64_t>>("short_ints", 0) == std::vector<int64_t>{1, -2});
    CHECK(get<std::vector<int64_t>>("sizes", 0) == std::vector<int64_t>{3});
    CHECK(get<std::vector<double>>("three_floats", 5) == Numbers{1, 2, 5});
    CHECK(get<std::vector<bool>>("bools", 3) == std::vector<bool>(3, true));
    CHECK(get<std::vector<std::string>>("strs", 3) ==
          std::vector<std::string>(3, std::string(40, 'y')));
    CHECK(numbers(get<Tensor>("tensor", 2)) == Numbers{2, 4, 6});
    for (const char* op : {"no_tensor", "optional_tensor"}) {
      CHECK_FALSE(get<Tensor>(op, 0).defined());
      CHECK_FALSE(get<std::optional<Tensor>>(op, 0).has_value());
      CHECK(numbers(get<Tensor>(op, 1)) == Numbers{1, 2, 3});
    }
    CHECK(get<std::vector<Tensor>>("tensors", 3).size() == 3);
    CHECK(get<std::optional<std::vector<Tensor>>>("maybe_tensors", 1)->size() == 2);
    CHECK_FALSE(get<std::optional<std::vector<Tensor>>>("maybe_tensors", 0).has_value());
    CHECK(get<std::vector<double>>("scalars", 3) == Numbers{0, 0.25, 0.5});
    CHECK(get<std::vector<int64_t>>("any", 3) == std::vector<int64_t>{-3, -2, 1});
    CHECK(get<std::vector<int64_t>>("argument", 0) == std::vector<int64_t>{3});
    CHECK(get<std::string>("argument", 1) == "text");
  }

  TEST_CASE("lists belong to the caller, whatever their length") {
    for (int64_t n : {0, 1, 2, 7, 8, 64, 1000, 100000}) {
      Value ints = results("ints")(n, row({1}));
      Value floats = results("floats")(n, row({1}));
      churn();
      const auto integers = ints.to<std::vector<int64_t>>();
      const auto reals = floats.to<std::vector<double>>();
      REQUIRE(integers.size() == static_cast<size_t>(n));
      REQUIRE(reals.size() == static_cast<size_t>(n));
      int64_t wrong = 0;
      for (int64_t i = 0; i < n; ++i) {
        wrong += integers[static_cast<size_t>(i)] != i * i - 3;
        wrong += reals[static_cast<size_t>(i)] != static_cast<double>(i) / 4;
      }
      CHECK(wrong == 0);
      ints = Value();
      floats = Value();
      churn();
    }
  }

  TEST_CASE("several results at once") {
    using All = std::tuple<std::vector<int64_t>, std::string, Tensor, std::vector<double>, Tensor,
                           DType, std::vector<Tensor>, Scalar>;
    const auto [a, b, c, d, e, f, g, h] = results("everything").call<All>(3, row({1, 2}));
    CHECK(a == std::vector<int64_t>{-3, -2, 1});
    CHECK(b == "text");
    CHECK(numbers(c) == Numbers{3, 6});
    CHECK(d == Numbers{0, 0.25, 0.5});
    CHECK_FALSE(e.defined());
    CHECK(f == i16);
    CHECK(g.size() == 2);
    CHECK(h.to<int64_t>() == 7);
  }

  TEST_CASE("a result of another type than asked for is refused with both") {
    CHECK(has(refusal([] { get<std::string>("int", 2); }).text,
              "int(): result 0 is int, but the call reads it as a string"));
    CHECK(has(refusal([] { get<int64_t>("float", 3); }).text,
              "float(): result 0 is float, but the call reads it as an int"));
    CHECK(has(refusal([] { get<double>("str", 1); }).text,
              "str(): result 0 is str, but the call reads it as a number"));
    CHECK(has(refusal([] { get<std::vector<std::string>>("ints", 1); }).text,
              "ints(): result 0 is list of ints, but the call reads it as a list of strings"));
    CHECK(refusal([] { get<std::vector<int64_t>>("floats", 1); }).kind == TENON_ERROR_TYPE);
  }

  TEST_CASE("F-173 results in plain C") {
    using First = std::tuple<int64_t, double, bool, std::string, DType, Scalar,
                             std::vector<int64_t>, std::vector<double>>;
    const auto [a, b, c, d, e, f, g, h] = fixture("results_plain.first").call<First>(12);
    CHECK((a == 12 && b == 0.25 && c && d == "text" && e == i16 && f.to<double>() == 7.5));
    CHECK(g == std::vector<int64_t>{1, -2, 3});
    CHECK(h == Numbers{0.5, -1.5});
    using Second = std::tuple<Tensor, std::vector<Tensor>, Tensor, std::vector<bool>,
                              std::vector<std::string>, std::vector<double>, Value>;
    const Tensor x = row({1, 2});
    const auto [i, j, k, l, m, n, o] = fixture("results_plain.second").call<Second>(x);
    CHECK((i.is_same(x) && j.size() == 2 && j[1].is_same(x) && !k.defined()));
    CHECK(l == std::vector<bool>{true, false});
    CHECK(m == std::vector<std::string>{"one", "three"});
    CHECK(n == Numbers{1, 2.5});
    CHECK(o.to<std::vector<int64_t>>() == std::vector<int64_t>{4, 5});
    CHECK(g.size() == 3);
  }

  TEST_CASE("F-020 a tuple of one stays a tuple, a bare result stays bare") {
    const Op single = results("single"), bare = results("tensor");
    CHECK(numbers(std::get<0>(single.call<std::tuple<Tensor>>(2, row({3})))) == Numbers{6});
    CHECK(numbers(bare.call<Tensor>(2, row({3}))) == Numbers{6});
    CHECK(refusal([&] { single.call<Tensor>(2, row({3})); }).text ==
          "results.single() has a tuple of 1 result, and is called for 1 result: name a result "
          "type that fits, such as std::tuple<Tensor>");
    CHECK(has(refusal([&] { bare.call<std::tuple<Tensor>>(2, row({3})); }).text,
              "has 1 result, and is called for a tuple of 1 result"));
    CHECK(numbers(single(2, row({3})).tensor()) == Numbers{6});
    CHECK(listing::op("results.single")["schema"].text() ==
          "results.single(int n, Tensor x) -> (Tensor y)");
  }

  TEST_CASE("F-045 gradients and tangents go by the position of the result") {
    const Tensor x = leaf({1, -2, 3});
    using Scaled = std::tuple<double, Tensor, std::vector<int64_t>>;
    const auto [by, y, list] = results("scaled").call<Scaled>(x, 2.5);
    CHECK(by == 2.5);
    CHECK(list == std::vector<int64_t>{1, 2});
    sum(y).backward();
    CHECK(numbers(x.grad()) == Numbers{2.5, 2.5, 2.5});
    const auto scaled = [](const Tensor& t) {
      return std::get<1>(results("scaled").call<Scaled>(t, 2.5));
    };
    const auto squares = [](const Tensor& t) {
      const auto [name, second, absent, fourth] =
          results("squares").call<std::tuple<std::string, Tensor, Tensor, Tensor>>(t);
      return std::vector<Tensor>{second, fourth};
    };
    CHECK(gradcheck(scaled, {x}, {.check_forward_ad = true}));
    CHECK(gradgradcheck(scaled, {x}));
    CHECK(gradcheck(squares, {x}));
    CHECK(gradcheck(
        [](const Tensor& t) {
          const auto [number, mask, z] =
              results("marked").call<std::tuple<int64_t, Tensor, Tensor>>(t);
          CHECK_FALSE(mask.requires_grad());
          return z;
        },
        {x}));
    CHECK(gradcheck(
        [](const Tensor& t) {
          auto [tensors, number, last] =
              results("list_and_number").call<std::tuple<std::vector<Tensor>, int64_t, Tensor>>(t);
          tensors.push_back(last);
          return tensors;
        },
        {x}));
  }

  TEST_CASE("static objects of a plugin are made before its entry is called") {
    add_plugin_path(TENON_FIXTURES "/static_objects");
    CHECK(numbers(Op("static_objects.use").call<Tensor>(tensor({-1.0, 2.0, 4.0}))) ==
          Numbers{2, 8, 14});
    const Refusal refused = refusal([] { Op("static_objects.wrong").call<Tensor>(row({1})); });
    CHECK(has(refused.text, "relo"));
  }
}
