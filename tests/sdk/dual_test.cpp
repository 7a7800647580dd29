// Forward mode through the skin.
#include "tests/sdk/functions.hpp"

namespace {

using namespace functions;

Tensor tangent_of(const Tensor& tensor) { return unpack_dual(tensor).tangent; }

}  // namespace

TEST_SUITE("sdk/dual") {
  TEST_CASE("FW-01 pack and unpack") {
    const Tensor p = row({1, 2}), t = row({3, 4});
    const DualLevel level;
    const Tensor d = make_dual(p, t);
    CHECK(numbers(unpack_dual(d).primal) == Numbers{1, 2});
    CHECK(unpack_dual(d).tangent.is_same(t));
    CHECK_FALSE(tangent_of(p).defined());
    CHECK_FALSE(tangent_of(t).defined());
    CHECK(p.version() == 0);
    CHECK(t.version() == 0);
  }

  TEST_CASE("FW-02 levels") {
    const Tensor p = row({1}), t = row({3});
    Tensor d;
    {
      const DualLevel level;
      d = make_dual(p, t);
      CHECK(refusal([] { const DualLevel inner; }).kind == TENON_ERROR_RUNTIME);
      CHECK(tangent_of(d).defined());
    }
    CHECK_FALSE(tangent_of(d).defined());
    CHECK(numbers(d * 2) == Numbers{2});
    {
      const DualLevel level;
      CHECK_FALSE(tangent_of(d).defined());
      CHECK_FALSE(tangent_of(d * 2).defined());
    }
    CHECK(refusal([&] { make_dual(p, t); }).kind == TENON_ERROR_RUNTIME);
  }

  TEST_CASE("FW-03 tangents must fit") {
    const Tensor p = row({1, 2});
    const DualLevel level;
    CHECK(refusal([&] { make_dual(p, row({1})); }).kind == TENON_ERROR_VALUE);
    CHECK(refusal([&] { make_dual(p, zeros({2}, i64)); }).kind == TENON_ERROR_TYPE);
    CHECK(refusal([&] { make_dual(zeros({2}, i64), p); }).kind == TENON_ERROR_TYPE);
    CHECK(refusal([&] { make_dual(p, make_dual(p, p)); }).kind == TENON_ERROR_RUNTIME);
  }

  TEST_CASE("tangents go through ops, broadcasting and in-place changes") {
    const DualLevel level;
    const Tensor x = make_dual(row({1, 2}), row({1, 10}));
    CHECK(numbers(tangent_of(x * x)) == Numbers{2, 40});
    CHECK(numbers(tangent_of(sum(x * 3))) == Numbers{33});
    CHECK(numbers(tangent_of(x + zeros({2, 2}, f64))) == Numbers{1, 10, 1, 10});
    const Tensor y = x * 1;
    y.mul_(x);
    CHECK(numbers(tangent_of(y)) == Numbers{2, 40});
    CHECK(numbers(tangent_of(apply("scaled", x, 4.0))) == Numbers{4, 40});
    CHECK(numbers(tangent_of(apply("composite", x))) == Numbers{3, 50});
  }

  TEST_CASE("tangents of recorded calls can be differentiated") {
    const Tensor p = leaf({3});
    const DualLevel level;
    const Tensor d = make_dual(p, row({1}));
    const Tensor t = tangent_of(d * d * d);
    CHECK(numbers(t) == Numbers{27});
    CHECK(numbers(gradients({t}, {p})[0]) == Numbers{18});
  }

  TEST_CASE("FW-08 what cannot carry a tangent refuses") {
    const Tensor p = row({1, 2});
    const DualLevel level;
    const Tensor d = make_dual(p, p);
    const Refusal refused = refusal([&] { apply("opaque", d, std::vector<Tensor>{}); });
    CHECK(refused.kind == TENON_ERROR_NOT_IMPLEMENTED);
    CHECK(has(refused.text, "fx.opaque"));
    const Tensor out = empty_tensor({2}, f64);
    CHECK(has(refusal([&] { add(d, p, 1, out); }).text, "out"));
    CHECK(has(refusal([&] { add(p, p, 1, d); }).text, "out"));
    const Tensor greater = gt(d, 1);
    CHECK_FALSE(tangent_of(greater).defined());
    CHECK(numbers(greater) == Numbers{0, 1});
  }

  TEST_CASE("FW-09 a custom jvp with saved values") {
    const DualLevel level;
    const Tensor x = make_dual(scalar(3), scalar(10)), y = scalar(2);
    const Tensor z = apply("tangent_product", x, y, 4.0);
    CHECK(z.item() == 24);
    CHECK(tangent_of(z).item() == 80);
    CHECK(seen() == "[10 ][0 ]");
  }

  TEST_CASE("FW-10 a missing jvp") {
    const Tensor p = row({1});
    const DualLevel level;
    const Refusal refused = refusal([&] { apply("identity", make_dual(p, p)); });
    CHECK(refused.kind == TENON_ERROR_NOT_IMPLEMENTED);
    CHECK(has(refused.text, "implement its jvp"));
    CHECK(numbers(apply("identity", p)) == Numbers{1});
  }

  TEST_CASE("a tangent of the wrong shape is refused") {
    const Tensor p = row({1, 2});
    const DualLevel level;
    const Refusal refused = refusal([&] { apply("wrong_tangent", make_dual(p, p)); });
    CHECK(has(refused.text, "WrongTangentBackward"));
    CHECK(has(refused.text, "[7]"));
    CHECK(has(refused.text, "[2]"));
  }
}
