// Plugins of other compilers and languages in one process: plain C, and Clang with libc++.
#include <string>

#include <doctest/doctest.h>

#include <tenon/tenon.hpp>

using tenon::Op, tenon::Tensor, tenon::tensor;

namespace {

void load_fixture(const std::string& name) {
  tenon::load_plugin(std::string(TENON_FIXTURES) + "/" + name + ".so");
}

std::string fail(const char* how, tenon_status& kind, std::string& op) {
  static const Op fail_op("foreign.fail");
  try {
    return fail_op(how).text();
  } catch (const tenon::Error& error) {
    kind = error.kind();
    op = error.op();
    return error.what();
  }
}

}  // namespace

TEST_SUITE("foreign") {
  TEST_CASE("a plain C plugin and a plugin against libc++ work beside those of GCC") {
    load_fixture("plain");
    load_fixture("foreign");
    const Tensor x = tensor({1.0, 2.0, 3.0}).requires_grad_();
    const Op cube("foreign.cube");
    const Tensor y = cube.call<Tensor>(x);
    CHECK(y.text() == "tensor([ 1.,  8., 27.], grad_fn=<CubeBackward>)");
    y.sum().backward();
    CHECK(x.grad().text() == "tensor([ 3., 12., 27.])");
    CHECK(Op("foreign.shifted").call<Tensor>(tensor({1.0}), tenon::arg("by") = 4).text() ==
          "tensor([5.])");
  }

  TEST_CASE("its Function is differentiated twice") {
    load_fixture("foreign");
    const Tensor x = tensor({2.0}, tenon::f64).requires_grad_();
    const Tensor y = Op("foreign.cube").call<Tensor>(x);
    tenon::GradientOptions options;
    options.create_graph = true;
    const Tensor first = tenon::gradients({y}, {x}, options)[0];
    CHECK(first.item() == 12);
    CHECK(tenon::gradients({first}, {x})[0].item() == 12);
  }

  TEST_CASE("what it throws arrives with kind, message and op") {
    load_fixture("foreign");
    tenon_status kind = 0;
    std::string op;
    CHECK(fail("value", kind, op) == "fail(): a value from abroad");
    CHECK(kind == TENON_ERROR_VALUE);
    CHECK(op == "foreign.fail");
    CHECK(fail("standard", kind, op) == "a standard exception (thrown by 'foreign.fail')");
    CHECK(kind == TENON_ERROR_RUNTIME);
    CHECK(fail("anything", kind, op) ==
          "an exception that is not a std::exception (thrown by 'foreign.fail')");
    CHECK(fail("nothing", kind, op) == "no fault named nothing");
  }

  TEST_CASE("an error of an op that it calls passes through it in its own kind and words") {
    load_fixture("foreign");
    tenon_status kind = 0;
    std::string op;
    CHECK(fail("nested", kind, op) == "fail(): mm(): inner sizes differ: [2, 3] and [2, 3]");
    CHECK(kind == TENON_ERROR_VALUE);
    CHECK(op == "foreign.fail");  // mm is in the cause
  }

  TEST_CASE("its module is built from attributes") {
    load_fixture("foreign");
    const tenon::Module twice = tenon::Module::create("Twice", tenon::arg("times") = 3);
    CHECK(twice(tensor({2.0})).text() == "tensor([6.])");
    CHECK(twice.text() == "Twice(times=3)");
  }

  TEST_CASE("F-343 casts and ids of types hold across compilers and libraries") {
    tenon::add_plugin_path(TENON_FIXTURES "/types");
    load_fixture("foreign_types");
    const Op describe("foreign_types.describe"), add("add"), mean("mean");
    const Tensor boxed = Op("foreign_types.box").call<Tensor>(tensor({1.0, 2.0}), "mine");
    CHECK(describe(boxed).text() == "mine");
    CHECK(tenon::text_of(add(boxed, tensor({1.0, 1.0}))) == "ForeignBox(mine: tensor([2., 3.]))");
    // A child here of a type from there: its overrides and casts take it, and the other way round.
    const Tensor here = Op("foreign_types.scalar").call<Tensor>(5, 2.0);
    const Tensor there = Op("tx.scalar").call<Tensor>(5, 2.0);
    CHECK(tenon::type_name(here) == "ForeignScalar");
    CHECK(tenon::text_of(mean(here)) == "0.4");
    CHECK(tenon::text_of(add(here, there)) == "ScalarTensor(N=5, value=4)");
    CHECK(here.text() == "ScalarTensor(N=5, value=2)");
    CHECK(describe(here).text() == "foreign 5");
    CHECK(describe(there).text() == "scalar 5");
    const Tensor tagged = Op("tx.make").call<Tensor>("Tagged", tensor({1.0}), "t");
    const Tensor labelled = Op("foreign_types.label").call<Tensor>(tensor({1.0}), "l");
    CHECK(describe(labelled * 2).text() == "l");
    CHECK_THROWS_WITH_AS(describe(tagged), "describe(): expected ForeignLabel, got Tagged",
                         tenon::TypeError);
    CHECK_THROWS_WITH_AS(Op("tx.tag")(labelled), "tag(): expected Tagged, got ForeignLabel",
                         tenon::TypeError);
  }

  TEST_CASE("F-343 exceptions of a handler keep their kind across compilers and libraries") {
    tenon::add_plugin_path(TENON_FIXTURES "/types");
    load_fixture("foreign_types");
    const Tensor boxed = Op("foreign_types.box").call<Tensor>(tensor({1.0}), "mine");
    const Op neg("neg"), abs("abs"), exp("exp"), sqrt("sqrt");
    CHECK_THROWS_WITH_AS(neg(boxed), "a standard exception from abroad", tenon::RuntimeError);
    CHECK_THROWS_WITH_AS(abs(boxed), "an exception that is not a std::exception",
                         tenon::RuntimeError);
    CHECK_THROWS_WITH_AS(exp(boxed), "a value from abroad", tenon::ValueError);
    CHECK(tenon::text_of(sqrt(boxed)) == "ForeignBox(mine: tensor([1.]))");
  }
}
