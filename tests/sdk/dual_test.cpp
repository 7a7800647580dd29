// Forward mode through the skin.
#include <algorithm>
#include <cmath>

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
      {
        const DualLevel inner;
        CHECK_FALSE(tangent_of(d).defined());
        CHECK_FALSE(tangent_of(d * 2).defined());
      }
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

  TEST_CASE("a change of a dual in place reaches its tangent in place, and the views of both") {
    const Tensor t = row({1, 1, 1, 1});
    const DualLevel level;
    const Tensor d = make_dual(row({1, 2, 3, 4}), t), first = d.narrow(0, 0, 2);
    d.mul_(2);
    CHECK(tangent_of(d).is_same(t));
    CHECK(numbers(t) == Numbers{2, 2, 2, 2});
    CHECK(numbers(tangent_of(first)) == Numbers{2, 2});
    first.mul_(first);
    CHECK(numbers(d) == Numbers{4, 16, 6, 8});
    CHECK(numbers(t) == Numbers{8, 16, 2, 2});
    d.narrow(0, 2, 2).zero_();
    CHECK(numbers(t) == Numbers{8, 16, 0, 0});
    first.copy_(row({5, 6}));
    CHECK(numbers(t) == Numbers{0, 0, 0, 0});
  }

  TEST_CASE("what gets its first tangent in place gives it to its base and to all views") {
    const DualLevel level;
    const Tensor base = row({1, 2, 3, 4}), early = base.narrow(0, 1, 2),
                 part = base.narrow(0, 0, 2);
    part.mul_(make_dual(row({3, 3}), row({10, 20})));
    CHECK(numbers(tangent_of(part)) == Numbers{10, 40});
    CHECK(numbers(tangent_of(base)) == Numbers{10, 40, 0, 0});
    CHECK(numbers(tangent_of(early)) == Numbers{40, 0});
    CHECK(numbers(tangent_of(early * 2)) == Numbers{80, 0});
    early.add_(early);
    CHECK(numbers(tangent_of(base)) == Numbers{10, 80, 0, 0});
    const Tensor plain = row({1, 2}), view = plain.narrow(0, 1, 1);
    plain.add_(make_dual(row({1, 1}), row({5, 6})));
    CHECK(numbers(tangent_of(view)) == Numbers{6});
    CHECK(numbers(tangent_of(plain.exp())) == numbers(plain.exp() * row({5, 6})));
  }

  TEST_CASE("tangents share memory only where their primals do") {
    const Tensor t = row({1, 1});
    const DualLevel level;
    const Tensor d = make_dual(row({1, 2}), t), wide = expand(row({7}), {2});
    for (const Tensor& made : {d + 1, d.clone(), maximum(d, -9), cat({d}), d.contiguous() + 0})
      made.mul_(3);
    CHECK(numbers(t) == Numbers{1, 1});
    CHECK(numbers(tangent_of(make_dual(d, wide).mul_(2))) == Numbers{14, 14});
    CHECK(numbers(wide) == Numbers{7, 7});
  }

  TEST_CASE("an operand in two places, or a view of what changes, counts as it was") {
    const DualLevel level;
    const Tensor d = make_dual(row({3, 4}), row({1, 1}));
    d.mul_(d);
    CHECK(numbers(tangent_of(d)) == Numbers{6, 8});
    d.mul_(d.narrow(0, 0, 1).clone());
    CHECK(numbers(tangent_of(d)) == Numbers{108, 72 + 96});
  }

  TEST_CASE("changes in place can be differentiated, through tangents too") {
    const Tensor p = leaf({3});
    const DualLevel level;
    const Tensor d = make_dual(p, row({1}));
    Tensor y = d * 1;
    y.mul_(d);
    y.mul_(d);
    CHECK(numbers(tangent_of(y)) == Numbers{27});
    CHECK(numbers(gradients({tangent_of(y)}, {p})[0]) == Numbers{18});
  }

  TEST_CASE("a tangent that is a leaf requiring grad is not changed in place") {
    const DualLevel level;
    const Tensor t = leaf({1}), d = make_dual(row({2}), t);
    CHECK(refusal([&] { d.mul_(2); }).kind == TENON_ERROR_INPLACE);
    CHECK(numbers(d) == Numbers{2});
    const NoGrad off;
    d.mul_(2);
    CHECK(numbers(t) == Numbers{2});
  }

  TEST_CASE("a dual of a leaf that requires grad is not changed in place") {
    const DualLevel level;
    const Tensor x = leaf({1});
    Tensor d = make_dual(x, row({1}));
    CHECK(refusal([&] { d.mul_(2); }).kind == TENON_ERROR_INPLACE);
    CHECK(numbers(x) == Numbers{1});
    const NoGrad off;
    d.mul_(2);
    CHECK(numbers(x) == Numbers{2});
  }

  TEST_CASE("F-079 Functions: in place, views and identity are mirrored, whatever their jvp does") {
    for (const bool again : {false, true}) {
      const Tensor t = row({1, 2});
      const DualLevel level;
      const Tensor d = make_dual(row({1, 2}), t);
      const Tensor y = apply("triple_in_place", d, again);
      CHECK(tangent_of(y).is_same(t));
      CHECK(numbers(t) == Numbers{3, 6});
    }
    const Tensor t = ones({2, 2}, f64);
    const DualLevel level;
    const Tensor d = make_dual(ones({2, 2}, f64), t);
    apply("flat", d, false).mul_(2);
    CHECK(numbers(t) == Numbers{2, 2, 2, 2});
    apply("same", d).mul_(2);
    CHECK(numbers(t) == Numbers{4, 4, 4, 4});
    const Refusal refused = refusal([&] { apply("flat", d, true); });
    CHECK(has(refused.text, "view of 'x'"));
    CHECK(refused.op == "fx.flat");
  }

  TEST_CASE("a jvp that reads its own result can be differentiated") {
    const Tensor p = leaf({2});
    {
      const DualLevel level;
      const Tensor y = apply("cube_by_result", make_dual(p, row({1})));
      CHECK(numbers(gradients({tangent_of(y)}, {p})[0]) == Numbers{12});
    }
    CHECK(fx("live_stashes").call<int64_t>() == 0);
  }

  TEST_CASE("forward mode over backward: gradients carry tangents, into .grad too") {
    const Tensor p = leaf({2});
    const DualLevel level;
    apply("cube_by_result", make_dual(p, row({1}))).backward();
    CHECK(numbers(p.grad()) == Numbers{12});
    CHECK(numbers(tangent_of(p.grad())) == Numbers{12});
    (make_dual(p, row({1})) * 3).exp().backward();
    CHECK(tangent_of(p.grad()).item() == doctest::Approx(12 + 9 * std::exp(6.0)));
  }

  TEST_CASE("F-078 a jvp declared as not differentiable is not differentiated") {
    const Tensor p = leaf({3});
    const DualLevel level;
    const Tensor t = tangent_of(apply("jvp_once", make_dual(p, row({1}))));
    CHECK(numbers(t) == Numbers{6});
    CHECK(has(refusal([&] { gradients({t}, {p}); }).text, "the jvp of op 'fx.jvp_once'"));
    const Tensor d = make_dual(row({3}), leaf({1}));
    const Refusal refused = refusal([&] { apply("jvp_once", d); });
    CHECK(has(refused.text, "'fx.jvp_once'"));
    CHECK(has(refused.text, "tangent of 'x' requires grad"));
    const NoGrad off;
    CHECK(numbers(tangent_of(apply("jvp_once", d))) == Numbers{6});
  }

  TEST_CASE("F-081 tangents of none arrive where a Function declines zeros") {
    const DualLevel level;
    apply("none_tangents", make_dual(row({1}), row({2})), row({1}));
    CHECK(seen() == "[2 ]none");
  }

  TEST_CASE("F-080 a jvp returns one tangent for each result") {
    const DualLevel level;
    const Refusal refused = refusal([&] {
      fx("few_tangents").call<std::tuple<Tensor, Tensor>>(make_dual(row({1}), row({2})));
    });
    CHECK(has(refused.text, "incorrect number of tangents from its jvp (expected 2, got 1)"));
    CHECK(refused.op == "fx.few_tangents");
  }

  TEST_CASE("a tangent of a constant, or of another part of the base, is refused") {
    const DualLevel level;
    const Tensor dual = make_dual(row({1, 2, 3, 4}), row({5, 6, 7, 8}));
    const auto tangents = [&](const char* wrong) {
      return fx("tangents").call<std::tuple<Tensor, Tensor, Tensor>>(dual, wrong);
    };
    const auto [part, constant, positive] = tangents("");
    CHECK(numbers(unpack_dual(part).tangent) == Numbers{5, 6});
    CHECK_FALSE(unpack_dual(constant).tangent.defined());
    CHECK_FALSE(unpack_dual(positive).tangent.defined());
    const auto refused = [&](const char* wrong) { return refusal([&] { tangents(wrong); }).text; };
    CHECK(has(refused("constant"), "tangent at index 1, but that output is marked as not"));
    CHECK(has(refused("integer"), "tangent at index 2, but that output has dtype bool"));
    for (const char* wrong : {"part", "stride"})
      CHECK(has(refused(wrong), "it has to be the same view of that one's tangent"));
  }

  TEST_CASE("large tangents are computed in blocks, to the same bits") {
    const int64_t count = 70001;  // the last block is not full
    const Tensor a = arange(count, none, 1, f64) / 1000 + 1, b = a.square(), t = a.sin();
    const auto run = [&](int64_t from, int64_t size) {
      const DualLevel level;
      const Tensor x = make_dual(a.narrow(0, from, size), t.narrow(0, from, size));
      const Tensor y = make_dual(b.narrow(0, from, size), a.narrow(0, from, size));
      return tangent_of((x / y + y.sqrt().mul_(x) - where(gt(x, 3), x, y)) * 2 + 1)
          .to_vector<double>();
    };
    Numbers pieces;
    for (int64_t from = 0; from < count; from += 10007) {
      for (const double value : run(from, std::min<int64_t>(10007, count - from)))
        pieces.push_back(value);
    }
    CHECK(run(0, count) == pieces);
  }

  TEST_CASE("levels inside each other give second derivatives") {
    const DualLevel level;
    const Tensor x = make_dual(row({2}), row({1}));
    Tensor first;
    {
      const DualLevel inner;
      first = tangent_of(apply("tangent_product", make_dual(x, row({1})), x * x, 1.0));
    }
    CHECK(numbers(first) == Numbers{4});              // d/dy (y * x^2)
    CHECK(numbers(tangent_of(first)) == Numbers{4});  // d/dx x^2
    {
      const DualLevel inner;
      const Tensor both = make_dual(x, row({1}));
      first = tangent_of(both * both * both);
      CHECK(tangent_of(both.exp() / both).sum().item() == doctest::Approx(std::exp(2.0) / 4));
    }
    CHECK(numbers(first) == Numbers{12});
    CHECK(numbers(tangent_of(first)) == Numbers{12});
  }

  TEST_CASE("levels are not mixed up") {
    // d/dx (x * d/dy (x + y)) = 1
    const DualLevel level;
    const Tensor x = make_dual(row({3}), row({1}));
    Tensor slope;
    {
      const DualLevel inner;
      slope = tangent_of(x + make_dual(row({5}), row({1})));
    }
    CHECK(numbers(slope) == Numbers{1});
    const Tensor product = x * slope;
    CHECK(numbers(tangent_of(product)) == Numbers{1});
    // The inner tangent of what depends on the outer one alone.
    {
      const DualLevel inner;
      const Tensor y = make_dual(x, row({1}));
      CHECK_FALSE(tangent_of(x * 2).defined());
      slope = tangent_of(x * y);
    }
    CHECK(numbers(slope) == Numbers{3});
    CHECK(numbers(tangent_of(slope)) == Numbers{1});
    // A level that follows sees nothing of the one before.
    const DualLevel next;
    CHECK_FALSE(tangent_of(x * slope).defined());
  }

  TEST_CASE("changes in place and views carry the tangents of all levels") {
    const DualLevel level;
    const Tensor x = make_dual(row({2, 3}), row({1, 1}));
    Tensor tangent, part;
    {
      const DualLevel inner;
      const Tensor y = make_dual(x.clone(), row({1, 1}));
      const Tensor early = y.narrow(0, 0, 1);
      y.mul_(y);  // y^2
      y.mul_(y);  // y^4
      y.mul_(3);
      early.add_(early);
      tangent = tangent_of(y);
      part = tangent_of(early);
    }
    CHECK(numbers(tangent) == Numbers{2 * 12 * 8, 12 * 27});
    CHECK(numbers(tangent_of(tangent)) == Numbers{2 * 36 * 4, 36 * 9});
    CHECK(numbers(part) == Numbers{2 * 12 * 8});
    CHECK(numbers(tangent_of(part)) == Numbers{2 * 36 * 4});
    {
      const DualLevel inner;
      const Tensor base = row({1, 2, 3}), late = base.narrow(0, 1, 2);
      base.narrow(0, 0, 2).mul_(make_dual(x, row({1, 1})));
      tangent = tangent_of(late * x);
    }
    CHECK(numbers(tangent) == Numbers{4, 0});
    CHECK(numbers(tangent_of(tangent)) == Numbers{2, 0});
  }

  TEST_CASE("forward over forward over backward, and backward over both") {
    const Tensor p = leaf({2});
    Tensor second, third;
    {
      const DualLevel level;
      const Tensor x = make_dual(p, row({1}));
      {
        const DualLevel inner;
        const Tensor y = apply("cube_by_result", make_dual(x, row({1})));
        third = tangent_of(gradients({y * y}, {p}, {{}, true, true})[0]);  // (x^6)''
      }
      CHECK(numbers(third) == Numbers{30 * 16});
      CHECK(numbers(tangent_of(third)) == Numbers{120 * 8});
      second = tangent_of(third);
    }
    CHECK(numbers(gradients({second}, {p})[0]) == Numbers{360 * 4});
  }

  TEST_CASE("a large tangent at an inner level carries the outer one") {
    const Tensor a = arange(70001, none, 1, f64) / 70001 + 1;
    const DualLevel level;
    const Tensor x = make_dual(a, ones({70001}, f64));
    Tensor first;
    {
      const DualLevel inner;
      first = tangent_of(make_dual(x, ones({70001}, f64)).exp());
    }
    CHECK(numbers(tangent_of(first)) == numbers(a.exp()));
  }

  TEST_CASE("a jvp declared as not differentiable is not differentiated by a level around it") {
    const DualLevel level;
    const Tensor x = make_dual(row({3}), row({1}));
    const DualLevel inner;
    CHECK(numbers(tangent_of(apply("jvp_once", make_dual(row({3}), row({1}))))) == Numbers{6});
    const Refusal refused = refusal([&] { apply("jvp_once", make_dual(x, row({1}))); });
    CHECK(has(refused.text, "'fx.jvp_once'"));
    CHECK(has(refused.text, "tangent of 'x' is differentiated by the dual level around this one"));
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

  TEST_CASE("FW-10 F-075 a missing jvp") {
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
