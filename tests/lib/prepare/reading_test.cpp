// Prepared models that go by numbers which they read: of arguments, and of results.
#include <cmath>

#include "tests/lib/prepare/support.hpp"

using namespace preparing;

namespace {

template <class... Keywords>
Module fixture_model(const std::string& type, const Keywords&... keywords) {
  static const bool found = (add_plugin_path(TENON_FIXTURES "/prepared"), true);
  (void)found;
  Module module = Module::create("prepared." + type, keywords...);
  module.eval();
  return module;
}
Tensor number_of(int64_t value) { return full(IntList(), static_cast<double>(value), i64); }

}  // namespace

TEST_SUITE("lib/prepare/reading") {
  TEST_CASE("the numbers of an argument that the model reads belong to the list") {
    const Module model = fixture_model("Repeats");
    const Prepared prepared = prepare(model, {{randn({3}), number_of(2)}});
    CHECK(prepared.lists().front().arguments == "f32[3], i64[] = 2");
    CHECK(prepared.lists().front().calls.size() == 4);
    for (const int64_t times : {2, 3, 0, 2, 3}) {
      CHECK(agrees(prepared, model, {randn({3}), number_of(times)}));
      CHECK(agrees(prepared, model, {randn({3}), full({1}, static_cast<double>(times), i64)}));
    }
    CHECK(prepared.listed_runs() == 10);
    CHECK(prepared.lists().size() == 6);
    CHECK(prepared.reasons().empty());
  }

  TEST_CASE("a model that takes a new way at each call runs as it is in the end") {
    const Module model = fixture_model("Repeats");
    PrepareOptions options;
    options.lists = 3;
    const Prepared prepared = prepare(model, {}, options);
    for (int64_t times = 0; times < 6; ++times)
      CHECK(agrees(prepared, model, {randn({3}), number_of(times)}));
    CHECK(prepared.listed_runs() == 3);
    CHECK(has(prepared.reasons(), "it takes another way for each of more than 3 numbers"));
    CHECK(agrees(prepared, model, {randn({4}), number_of(1)}));
    CHECK(prepared.listed_runs() == 4);
  }

  TEST_CASE("each way that results decide has a list, which is found again") {
    const Module model = fixture_model("Halves");
    const Prepared prepared = prepare(model);
    for (const double size : {1.5, 0.5, 7.0, 1.5, 3.0, 0.5, 7.0})
      CHECK(agrees(prepared, model, {full({5}, size)}));
    CHECK(prepared.listed_runs() == 7);
    REQUIRE(prepared.lists().size() == 4);
    CHECK(prepared.lists().front().compared == 4);
    for (int i = 0; i < 20; ++i)
      CHECK(agrees(prepared, model, {full({5}, std::exp2(static_cast<double>(i)))}));
    CHECK(has(prepared.reasons(), "it takes another way for each of more than 8 numbers"));
  }

  TEST_CASE("a model that has changed an argument before it reads runs as it is") {
    const Module model = fixture_model("WritesAndReads");
    const Prepared prepared = prepare(model);
    for (const double sign : {4.0, -4.0, 4.0}) CHECK(agrees(prepared, model, {full({2}, sign)}));
    CHECK(prepared.listed_runs() == 0);
  }

  TEST_CASE("an argument that is read and returned is the argument of the caller") {
    const Module model = fixture_model("ShowsNumber");
    const Prepared prepared = prepare(model);
    const NoGrad no_grad;
    for (int i = 0; i < 2; ++i) {
      const Tensor below = number_of(-3), above = number_of(3);
      const auto [first, same] = prepared.call<std::tuple<Tensor, Tensor>>(ones({2}), below);
      CHECK(same.is_same(below));
      const auto [second, view] = prepared.call<std::tuple<Tensor, Tensor>>(ones({2}), above);
      CHECK(view.data<int64_t>() == above.data<int64_t>());
    }
    CHECK(prepared.listed_runs() == 2);
  }

  TEST_CASE("random walks by numbers give the same bits when they are prepared") {
    int64_t listed = 0, runs = 0;
    for (int64_t seed = 0; seed < 600; ++seed) {
      CAPTURE(seed);
      const Module model = fixture_model("Walks", arg("seed") = seed);
      const Prepared prepared = prepare(model);
      const int64_t rows = seed % 7 == 6 ? 0 : 1 + seed % 4;
      for (const int64_t number : {0, 1, 2, 1, 0, 5})
        REQUIRE(agrees(prepared, model, {randn({rows, 3}), number_of(number)}));
      listed += prepared.listed_runs();
      runs += prepared.listed_runs() + prepared.runs_as_is();
    }
    CHECK(listed > runs / 2);
  }
}
