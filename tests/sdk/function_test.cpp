// Functions of a plugin: arguments, contexts, gradients right and wrong, errors.
#include "tests/sdk/functions.hpp"

namespace {

using namespace functions;

Tensor square(double value) { return full({5, 5}, value, f64).requires_grad_(); }

}  // namespace

TEST_SUITE("sdk/function") {
  TEST_CASE("AG-24 an argument that is not a tensor is in the middle") {
    const Tensor x = square(3), y = square(4), seed = scalar(1).requires_grad_();
    backward({sum(apply("mix", x, 2, y))}, {{seed}, true, true});
    CHECK(numbers(x.grad()) == numbers(y + 1));
    CHECK(numbers(y.grad()) == numbers(x + 2));
    CHECK(x.grad().requires_grad());
    CHECK(y.grad().requires_grad());
    CHECK(x.grad().grad_fn().defined());
    for (Tensor each : {x, y})
      each.set_grad({});  // ends the cycle of a leaf and its gradient's history
  }

  TEST_CASE("AG-27 a Function that returns its input unchanged") {
    for (const bool flat : {false, true}) {
      Tensor x = flat ? scalar(1) : row({1});
      x.requires_grad_();
      const Tensor y = apply("identity", x);
      CHECK_FALSE(y.is_same(x));
      CHECK(y.data<double>() == x.data<double>());
      CHECK(y.grad_fn().name() == "IdentityBackward");
      CHECK(x.is_leaf());
      y.backward();
      CHECK(x.grad().item() == 2);
      apply("identity", x.clone()).backward();
      CHECK(x.grad().item() == 4);
    }
  }

  TEST_CASE("AG-30 F-047 backward may return no gradient") {
    const Tensor x = leaf({3});
    apply("no_gradient", x).backward();
    apply("no_gradient", x * x).backward();
    sum(apply("no_gradient", x)).backward();
    CHECK_FALSE(x.grad().defined());
    GradientOptions allow;
    allow.allow_unused = true;
    CHECK_FALSE(gradients({apply("no_gradient", x)}, {x}, allow)[0].defined());
  }

  TEST_CASE("AG-31 F-036 undefined gradients are zeros, unless the Function wants to know") {
    for (const bool materialize : {true, false}) {
      const Tensor x = leaf({1, 1});
      const auto [first, second] =
          fx("two_outputs").call<std::tuple<Tensor, Tensor>>(x, materialize);
      sum(second).backward();
      CHECK(seen() == (materialize ? "[0 0 ][1 1 ]" : "none[1 1 ]"));
      CHECK(numbers(x.grad()) == Numbers{2, 2});
      const Tensor z = leaf({1, 1});
      const auto outputs = fx("two_outputs").call<std::tuple<Tensor, Tensor>>(z, materialize);
      sum(apply("no_gradient", std::get<1>(outputs))).backward();
      CHECK(seen() == (materialize ? "[0 0 ][0 0 ]" : "nonenone"));
      if (materialize)
        CHECK(numbers(z.grad()) == Numbers{0, 0});
      else
        CHECK_FALSE(z.grad().defined());
    }
  }

  TEST_CASE("AG-32 F-034 results marked as not differentiable") {
    const Tensor x = leaf({-1, 2});
    const Tensor mask = apply("mask", x);
    CHECK_FALSE(mask.requires_grad());
    sum(masked_fill(x, mask, 0)).backward();
    CHECK(numbers(x.grad()) == Numbers{1, 0});
    const Tensor z = leaf({1, 2});
    const auto [first, second] = fx("marked").call<std::tuple<Tensor, Tensor>>(z);
    CHECK_FALSE(first.requires_grad());
    CHECK(second.requires_grad());
    sum(second).backward();
    CHECK(seen() == "[0 0 ][1 1 ]");
    CHECK(numbers(z.grad()) == Numbers{1, 1});
    const auto [same, other] = fx("marked_input").call<std::tuple<Tensor, Tensor>>(z);
    CHECK_FALSE(same.requires_grad());
    CHECK(z.requires_grad());
    CHECK(other.requires_grad());
  }

  TEST_CASE("AG-36 a gradient of the wrong shape") {
    const Tensor x = square(1);
    const Refusal refused = refusal([&] { sum(apply("wrong_gradient", x, "shape")).backward(); });
    CHECK(has(refused.text,
              "WrongGradientBackward returned an invalid gradient at index 0 - got [10] but "
              "expected shape compatible with [5, 5]"));
    CHECK_FALSE(x.grad().defined());
  }

  TEST_CASE("AG-38 F-046 F-048 F-053 the number of returned gradients") {
    const Tensor x = leaf({1}), y = leaf({2});
    apply("two_spare", x, y).backward();
    CHECK(numbers(x.grad()) == Numbers{1});
    CHECK(numbers(y.grad()) == Numbers{1});
    const Refusal many = refusal([&] { apply("two_many", x, y).backward(); });
    CHECK(many.text ==
          "function TwoManyBackward returned an incorrect number of gradients (expected 2, got 3)");
    CHECK(many.op == "fx.two_many");
    CHECK(many.provider == "functions");
    const Refusal few = refusal([&] { apply("two_few", x, y).backward(); });
    CHECK(few.text ==
          "function TwoFewBackward returned an incorrect number of gradients (expected 2, got 1)");
    const Refusal argument = refusal([&] {
      apply("wrong_gradient", square(1), "argument").backward(ones({5, 5}, f64));
    });
    CHECK(has(argument.text, "at position 2"));
    CHECK(has(argument.text, "'how' was not a tensor"));
    CHECK(numbers(x.grad()) == Numbers{1});
    CHECK(numbers(y.grad()) == Numbers{1});
  }

  TEST_CASE("every kind of garbage from a rule is refused or made to fit, and .grad stays whole") {
    const Tensor x = square(1);
    const auto run = [&](const char* how) {
      return refusal([&] { sum(apply("wrong_gradient", x, how)).backward(); });
    };
    CHECK(has(run("dtype").text, "expected dtype f64 but got i64"));
    CHECK(has(run("few").text, "expected 1, got 0"));
    CHECK(has(run("many").text, "expected 1, got 3"));
    CHECK_FALSE(x.grad().defined());
    CHECK(run("undefined").kind == TENON_OK);
    CHECK_FALSE(x.grad().defined());
    CHECK(run("more nones").kind == TENON_OK);
    CHECK(numbers(x.grad())[0] == 1);
    CHECK(run("broadcast").kind == TENON_OK);
    CHECK(numbers(x.grad())[0] == 4);
    CHECK(run("wider").kind == TENON_OK);
    CHECK(x.grad().dtype() == f64);
    // Each of two leaves behind a failing rule is untouched or complete.
    const Tensor a = square(1), b = square(1);
    const Tensor good = a * 2;
    CHECK(refusal([&] {
            sum(good + apply("wrong_gradient", a * b, "shape") + b).backward();
          }).kind == TENON_ERROR_RUNTIME);
    CHECK_FALSE(a.grad().defined());
    CHECK_FALSE(b.grad().defined());
  }

  TEST_CASE("AG-39 nothing may be saved") {
    const Tensor x = leaf({3});
    apply("save_nothing", x).backward();
    CHECK(numbers(x.grad()) == Numbers{6});
  }

  TEST_CASE("AG-42 F-054 vjp is another name for backward") {
    const Tensor x = leaf({2});
    apply("cube_vjp", x).backward();
    CHECK(numbers(x.grad()) == Numbers{12});
  }

  TEST_CASE(
      "AG-44 F-015 F-022 F-023 F-032 F-052 F-059 the note's Linear function with and without "
      "bias") {
    const Tensor x = tensor({{1, 2}, {3, 4}}, f64).requires_grad_();
    const Tensor w = tensor({{1, 0}, {0, 1}, {1, 1}}, f64).requires_grad_();
    const Tensor b = leaf({1, 2, 3});
    const Tensor y = apply("linear", x, w, b);
    CHECK(numbers(y) == Numbers{2, 4, 6, 4, 6, 10});
    sum(y).backward();
    CHECK(numbers(x.grad()) == Numbers{2, 2, 2, 2});
    CHECK(numbers(w.grad()) == Numbers{4, 6, 4, 6, 4, 6});
    CHECK(numbers(b.grad()) == Numbers{2, 2, 2});
    for (const bool spelled : {false, true}) {
      const Tensor z = spelled ? apply("linear", x, w, none) : apply("linear", x, w);
      CHECK(numbers(z) == Numbers{1, 2, 3, 3, 4, 7});
      sum(z).backward();
    }
    CHECK(numbers(x.grad()) == Numbers{6, 6, 6, 6});
    CHECK(numbers(b.grad()) == Numbers{2, 2, 2});
  }

  TEST_CASE("AG-45 a saved input that was changed in place since") {
    const Tensor x = leaf({1, 2}), y = x.clone();
    const Tensor z = apply("square_of", y);
    y.add_(1);
    const Refusal refused = refusal([&] { sum(z).backward(); });
    CHECK(refused.kind == TENON_ERROR_INPLACE);
    CHECK(has(refused.text, "is at version 1; expected version 0"));
    CHECK(has(refused.text, "SquareOfBackward"));
    CHECK(has(refused.text, "'add_' (plugin 'math')"));
    CHECK_FALSE(x.grad().defined());
  }

  TEST_CASE("F-051 backward can ask which gradients are needed") {
    const Tensor x = leaf({1, 2, 3}), y = leaf({4, 5, 6});
    const auto asked = [&](const Tensor& result, const std::vector<Tensor>& inputs) {
      gradients({sum(result)}, inputs);
      return seen();
    };
    CHECK(asked(apply("needs", x * 1, y), {x, y}) == "xy");
    CHECK(asked(apply("needs", x * 1, y), {x}) == "x");
    CHECK(asked(apply("needs", x, y * 2), {y}) == "y");
    const std::vector<Tensor> only = {y};
    backward({sum(apply("needs", x, y))}, {}, &only);
    CHECK(seen() == "y");
    sum(apply("needs", x, y.detach())).backward();
    CHECK(seen() == "x");
    // A view that is changed in place: its history is its base's.
    for (const bool first : {true, false}) {
      const Tensor base = x * 1;
      apply("needs", base.slice(0, 0, 2), y.slice(0, 0, 2));
      CHECK(numbers(gradients({sum(base)}, {first ? x : y})[0]) ==
            (first ? Numbers{1, 1, 1} : Numbers{1, 1, 0}));
      CHECK(seen() == (first ? "x" : "y"));
    }
  }

  TEST_CASE("AG-54 F-033 a dirty input is the result itself") {
    const Tensor x = leaf({1, 2}), h = x * 1;
    const int64_t version = h.version();
    const Tensor y = apply("double_in_place", h);
    CHECK(y.is_same(h));
    CHECK(h.version() > version);
    CHECK(numbers(h) == Numbers{2, 4});
    sum(h * 3).backward();
    CHECK(numbers(x.grad()) == Numbers{6, 6});
    {
      const NoGrad off;
      const Tensor z = x * 1;
      CHECK(apply("double_in_place", z).is_same(z));
      CHECK(apply("double_in_place", h).is_same(h));
    }
    const Tensor base = x * 1, part = base.slice(0, 0, 1);
    CHECK(apply("double_in_place", part).is_same(part));
    Tensor(x).set_grad({});
    sum(base).backward();
    CHECK(numbers(x.grad()) == Numbers{2, 1});
    CHECK(has(refusal([&] { apply("dirty_lost", x * 1); }).text, "marked dirty"));
  }

  TEST_CASE("a Function may change a view in place and give other results beside it") {
    const Tensor x = leaf({1, 2, 3});
    const Tensor base = x * 1, part = base.slice(0, 0, 2);
    const auto [same, triple] =
        fx("double_in_place_and_triple").call<std::tuple<Tensor, Tensor>>(part);
    CHECK(same.is_same(part));
    CHECK(numbers(base) == Numbers{2, 4, 3});
    CHECK(numbers(triple) == Numbers{3, 6});
    (sum(base * row({1, 10, 100})) + sum(triple * 1000)).backward({}, true);
    CHECK(numbers(x.grad()) == Numbers{3002, 3020, 100});
    Tensor(x).set_grad({});
    sum(same).backward();
    CHECK(numbers(x.grad()) == Numbers{2, 2, 0});
  }

  TEST_CASE("AG-55 a leaf that requires grad must not be dirty") {
    const Tensor x = leaf({1, 2});
    const Refusal whole = refusal([&] { apply("double_in_place", x); });
    CHECK(whole.kind == TENON_ERROR_INPLACE);
    CHECK(has(whole.text, "leaf"));
    CHECK(has(whole.text, "in-place"));
    CHECK(refusal([&] { apply("double_in_place", x.slice(0, 0, 1)); }).kind == TENON_ERROR_INPLACE);
  }

  TEST_CASE("AG-70 F-018 grad mode inside and outside of Functions") {
    const Tensor x = leaf({1});
    {
      const NoGrad off;
      CHECK_FALSE(apply("grad_modes", x).requires_grad());
      const Tensor same = apply("identity", x);
      CHECK_FALSE(same.requires_grad());
      CHECK_FALSE(same.grad_fn().defined());
      CHECK(x.requires_grad());
    }
    const Tensor y = apply("grad_modes", x);
    CHECK(seen() == "off");
    y.backward({}, true);
    CHECK(seen() == "off");
    GradientOptions create;
    create.create_graph = true;
    gradients({y}, {x}, create);
    CHECK(seen() == "on");
  }

  TEST_CASE("AG-73 F-058 a rule that is differentiable once says so") {
    const Tensor x = leaf({2});
    apply("cube_once", x).backward();
    CHECK(numbers(x.grad()) == Numbers{12});
    const Tensor seed = leaf({1});
    GradientOptions create;
    create.create_graph = true;
    create.seeds = {seed};
    const Tensor g = gradients({apply("cube_once", x)}, {x}, create)[0];
    CHECK(numbers(g) == Numbers{12});
    CHECK(g.requires_grad());
    const std::string text =
        "trying to differentiate twice a function that was marked with once_differentiable";
    const Refusal again = refusal([&] { g.backward({}, true); });
    CHECK(has(again.text, text));
    CHECK(again.op == "fx.cube_once");
    CHECK(has(refusal([&] { gradients({g}, {x}); }).text, text));
    CHECK(has(refusal([&] { gradients({g * g}, {seed}); }).text, text));
    create.allow_unused = true;
    CHECK(has(refusal([&] { gradients({g}, {x}, create); }).text, text));
    create.seeds = {row({1})};
    const Tensor plain = gradients({apply("cube_once", x)}, {x}, create)[0];
    CHECK_FALSE(plain.requires_grad());
    CHECK(has(refusal([&] { gradients({plain}, {x}); }).text, "does not require grad"));
    create.refuse_constants = true;
    const Tensor refusing = gradients({apply("cube_once", x)}, {x}, create)[0];
    CHECK(numbers(refusing) == Numbers{12});
    CHECK(has(refusal([&] { gradients({refusing}, {x}, create); }).text, text));
  }

  TEST_CASE(
      "F-055 F-060 a rule made of ops is differentiable again, also through its own saved result") {
    for (const char* name : {"cube", "cube_by_result", "cube_vjp"}) {
      CAPTURE(name);
      const Tensor x = leaf({2});
      GradientOptions create;
      create.create_graph = true;
      const Tensor g = gradients({apply(name, x)}, {x}, create)[0];
      CHECK(numbers(g) == Numbers{12});
      const Tensor h = gradients({g}, {x}, create)[0];
      CHECK(numbers(h) == Numbers{12});
      CHECK(numbers(gradients({h}, {x})[0]) == Numbers{6});
    }
  }

  TEST_CASE("F-030 saving a result makes no cycle") {
    const auto live = [] { return fx("live_stashes").call<int64_t>(); };
    const int64_t before = live();
    {
      const Tensor x = leaf({2});
      for (int i = 0; i < 100; ++i) apply("cube_by_result", x);
      CHECK(live() == before);
      const Tensor kept = apply("cube_by_result", x), used = apply("cube_by_result", x);
      CHECK(live() == before + 2);
      used.backward();
      CHECK(live() == before + 1);
    }
    CHECK(live() == before);
  }

  TEST_CASE("AG-82 a backward inside a backward") {
    const Tensor x = leaf({1, 2, 3}), y = row({4, 5, 6});
    sum(apply("nested", x, y)).backward();
    CHECK(numbers(x.grad()) == Numbers{4, 5, 6});
  }

  TEST_CASE("AG-86 what a rule throws reaches the caller, and a fresh graph works") {
    const Tensor x = leaf({1}), other = leaf({1});
    const auto run = [&](const char* how) {
      apply("throw_in_backward", x + other * 0, how).backward();
    };
    CHECK_THROWS_AS(run("value"), ValueError);
    CHECK_THROWS_AS(run("index"), IndexError);
    CHECK_THROWS_AS(run("memory"), MemoryError);
    CHECK_THROWS_AS(run("standard"), RuntimeError);
    CHECK_THROWS_AS(run("other"), RuntimeError);
    const Refusal refused = refusal([&] { run("value"); });
    CHECK(refused.text == "Shape mismatch!");
    CHECK(refused.op == "fx.throw_in_backward");
    CHECK_FALSE(x.grad().defined());
    CHECK_FALSE(other.grad().defined());
    apply("cube", x).backward();
    CHECK(numbers(x.grad()) == Numbers{3});
  }

  TEST_CASE("GC-23 an op without derivative refuses recorded operands at any position") {
    const Tensor x = leaf({1}), plain = row({1});
    for (const auto& [first, list] :
         {std::pair{x, std::vector<Tensor>{plain}}, {plain, {plain, x}}, {plain, {x}}}) {
      const Refusal refused =
          refusal([&first = first, &list = list] { apply("opaque", first, list); });
      CHECK(refused.kind == TENON_ERROR_NOT_IMPLEMENTED);
      CHECK(has(refused.text, "autograd not implemented for op 'fx.opaque'"));
      const NoGrad off;
      CHECK(numbers(apply("opaque", first, list)) == Numbers{2});
    }
    const Tensor h = x * 1;
    CHECK(refusal([&] { apply("opaque_", h); }).kind == TENON_ERROR_NOT_IMPLEMENTED);
    CHECK(numbers(h) == Numbers{1});  // raised before anything changed
  }

  TEST_CASE("F-019 lists of operands and of results carry gradients by position") {
    const Tensor a = leaf({1}), b = row({1}), c = leaf({1});
    apply("weighed_sum", std::vector<Tensor>{a, b, c}, 2.0).backward();
    CHECK(numbers(a.grad()) == Numbers{2});
    CHECK(numbers(c.grad()) == Numbers{6});
    const std::vector<Tensor> copies = fx("copies").call<std::vector<Tensor>>(a, 300);
    CHECK(copies.size() == 300);
    (copies[0] + copies[299]).backward();
    CHECK(seen() == "[300 ]");
    CHECK(numbers(a.grad()) == Numbers{303});
  }

  TEST_CASE("a view that a Function makes belongs to the caller's tensor") {
    const Tensor x = tensor({{1, 2}, {3, 4}}, f64).requires_grad_();
    const Tensor base = x * 1, view = apply("view_inside", base);
    view.mul_(3);
    CHECK(numbers(base) == Numbers{3, 6, 9, 12});
    sum(base).backward();
    CHECK(numbers(x.grad()) == Numbers{3, 3, 3, 3});
  }

  TEST_CASE("F-003 a composite is differentiated through its ops") {
    const Tensor x = leaf({3});
    GradientOptions create;
    create.create_graph = true;
    const Tensor g = gradients({apply("composite", x)}, {x}, create)[0];
    CHECK(numbers(g) == Numbers{7});
    CHECK(numbers(gradients({g}, {x})[0]) == Numbers{2});
  }

  TEST_CASE("what belongs to forward is refused in backward") {
    const Refusal refused = refusal([&] { apply("save_in_backward", leaf({1})).backward(); });
    CHECK(has(refused.text, "save_for_backward can be called only in forward"));
    CHECK(has(refused.text, "fx.save_in_backward"));
  }
}
