// Functions and their context: attributes, phases, saved tensors, gradients, in-place changes and
// views.
#include "tests/sdk/functions.hpp"

namespace {

using namespace functions;

Refusal backward_refusal(const char* how) {
  return refusal([&] { styles("attributes").call<Tensor>(leaf({1}), how).backward(); });
}

}  // namespace

TEST_SUITE("sdk/context") {
  TEST_CASE("F-037 attributes are set, read, replaced and erased") {
    const Tensor x = leaf({1});
    styles("attributes").call<Tensor>(x, "right").backward();
    CHECK(numbers(x.grad()) == Numbers{7.5});
    CHECK(styles_seen() == "two3");
    styles("attributes").call<Tensor>(x, "replaced").backward();
    CHECK(numbers(x.grad()) == Numbers{14.5});
    // A plain run reads what it sets, though no rule will read it later.
    CHECK(numbers(styles("attributes").call<Tensor>(row({1}), "right")) == Numbers{1});
    CHECK(has(refusal([&] { styles("attributes")(row({1}), "erase twice"); }).text,
              "has no attribute 'name' to erase"));
  }

  TEST_CASE("attributes are checked by name and by type") {
    CHECK(has(backward_refusal("missing").text,
              "the context of 'styles.attributes' has no attribute 'cuont'"));
    CHECK(has(backward_refusal("erased").text, "has no attribute 'count'"));
    const Refusal type = backward_refusal("type");
    CHECK(type.kind == TENON_ERROR_TYPE);
    CHECK(has(type.text, "the attribute 'count' on the context of 'styles.attributes' is "));
    CHECK(has(type.text, ", not double"));
    CHECK(has(backward_refusal("stash type").text, "the stash on the context"));
  }

  TEST_CASE("F-021 every method knows its phase") {
    const struct {
      const char *how, *text;
    } misuses[] = {
        {"set", "setting an attribute can be called only in forward and jvp, not in backward"},
        {"erase", "erasing an attribute can be called only in forward and jvp, not in backward"},
        {"materialize", "set_materialize_grads can be called only in forward, not in backward"},
        {"dirty", "mark_dirty can be called only in forward, not in backward"},
        {"constant", "mark_non_differentiable can be called only in forward, not in backward"},
        {"forward", "save_for_forward can be called only in forward, not in backward"},
        {"index", "argument 2 of 'styles.attributes' is asked for, which has 2 parameters"},
        {"result", "result 1 of 'styles.attributes' is asked for, which has 1 result"},
        {"negative result", "result -1 of 'styles.attributes' is asked for, which has 1 result"}};
    for (const auto& misuse : misuses) {
      CAPTURE(misuse.how);
      CHECK(has(backward_refusal(misuse.how).text, misuse.text));
    }
    CHECK(backward_refusal("result").kind == TENON_ERROR_INDEX);
    CHECK(has(refusal([] { styles("attributes")(leaf({1}), "result in forward"); }).text,
              "reading a result can be called only in backward and jvp, not in forward"));
    CHECK(has(refusal([] { styles("options")(leaf({1}), true); }).text,
              "reading the options of the call can be called only in backward, not in forward"));
  }

  TEST_CASE("F-038 F-272 the needed inputs are known in forward and in backward") {
    const Tensor a = leaf({1}), c = leaf({2}), plain = row({3});
    styles("needs").call<Tensor>(a, 1, none, c).backward();
    CHECK(styles_seen() == "03:03");
    styles("needs").call<Tensor>(plain, 1, none, c).backward();
    CHECK(styles_seen() == "3:3");
    styles("needs").call<Tensor>(plain, 1, none, plain);
    CHECK(styles_seen() == ":");
  }

  TEST_CASE("F-317 backward may read how it was called") {
    const Tensor x = leaf({1});
    const Tensor y = styles("options").call<Tensor>(x, false);
    y.backward({}, true);
    CHECK(styles_seen() == "retain plain");
    gradients({y}, {x}, recorded());
    CHECK(styles_seen() == "retain create");
    y.backward();
    CHECK(styles_seen() == "free plain");
  }

  TEST_CASE("F-202 a saved tensor that clears on access is read once, and owned by its reader") {
    const Tensor x = leaf({3});
    styles("read_once").call<Tensor>(x, false).backward();
    CHECK(styles_seen() == "1");
    CHECK(numbers(x.grad()) == Numbers{6});
    const Refusal again = refusal([&] { styles("read_once").call<Tensor>(x, true).backward(); });
    CHECK(again.kind == TENON_ERROR_GRAPH);
    CHECK(has(again.text, "saved tensor 0 of ReadOnceBackward was read before"));
    const Tensor y = styles("read_once").call<Tensor>(x, false);
    y.backward({}, true);
    CHECK(has(refusal([&] { y.backward(); }).text, "was read before"));
  }

  TEST_CASE("F-203 gradients that are owned go as soon as backward lets them") {
    const Tensor x = leaf({1});
    const auto run = [&](bool again) {
      return styles("boxed").call<std::tuple<Tensor, Tensor, Tensor>>(x, again);
    };
    const auto [a, b, c] = run(false);
    (a * 2 + b * 3 + c * 4).backward();
    CHECK(styles_seen() == "111");
    CHECK(numbers(x.grad()) == Numbers{2 + 6 + 12});
    const auto [d, e, f] = run(false);
    e.backward({}, true);  // the others are zeros
    CHECK(numbers(x.grad()) == Numbers{22});
    CHECK(numbers(gradients({d}, {x}, recorded())[0]) == Numbers{1});
    CHECK(
        has(refusal([&] { std::get<0>(run(true)).backward(); }).text, "takes its gradients twice"));
  }

  TEST_CASE("reading what was not kept says what to declare") {
    const Refusal refused =
        refusal([] { styles("unkept").call<Tensor>(leaf({1}), leaf({2})).backward(); });
    CHECK(has(refused.text,
              "backward of 'styles.unkept' reads tensor 'y', which was not kept: name "
              "it in the op's `saves`, or keep it with save_for_backward"));
  }

  TEST_CASE("FW-09 what is saved for backward only is not visible in jvp") {
    const DualLevel level;
    const Tensor dual = make_dual(row({1}), row({1}));
    CHECK(has(refusal([&] { styles("unkept_in_jvp").call<Tensor>(dual); }).text,
              "save_for_forward kept 0"));
  }

  TEST_CASE("F-077 jvp may erase what only it needs") {
    const Tensor x = leaf({3});
    Tensor y;
    {
      const DualLevel level;
      y = styles("erase_in_jvp").call<Tensor>(make_dual(x, row({1})));
      CHECK(numbers(unpack_dual(y).tangent) == Numbers{6});
    }
    CHECK(has(refusal([&] { y.backward(); }).text, "has no attribute 'twice'"));
    styles("erase_in_jvp").call<Tensor>(x).backward();
    CHECK(numbers(x.grad()) == Numbers{1});
  }

  TEST_CASE("F-311 F-056 an intermediate that forward kept refuses a second derivative") {
    const Tensor x = leaf({2});
    for (const char* how : {"save", "stash", "list", "input", "output"}) {
      CAPTURE(how);
      const Tensor y = styles("cube_keeping").call<Tensor>(x, how);
      CHECK(numbers(gradients({y}, {x}, {{}, true})[0]) == Numbers{12});
      const Tensor g = gradients({y}, {x}, recorded())[0];
      CHECK(numbers(g) == Numbers{12});
      CHECK(g.requires_grad());
      const Refusal refused = refusal([&] { gradients({g}, {x}); });
      CHECK(refused.kind == TENON_ERROR_GRAPH);
      CHECK(has(refused.text, "Make it an output of forward"));
      CHECK(refused.op == "styles.cube_keeping");
      CHECK(has(refused.text, std::string(how) == "save" ? "saved tensor 0" : "stashed"));
    }
    // Marked as constant: its author's word is taken.
    const Tensor y = styles("cube_keeping").call<Tensor>(x, "constant");
    const Tensor seed = leaf({1});
    GradientOptions options = recorded();
    options.seeds = {seed};
    const Tensor g = gradients({y}, {x}, options)[0];
    CHECK(numbers(gradients({g}, {seed})[0]) == Numbers{12});
  }

  TEST_CASE("F-057 the same tensor as an output, and saved, is right") {
    const Tensor x = leaf({2});
    const auto [y, slope] = styles("cube_setup").call<std::tuple<Tensor, Tensor>>(x);
    const Tensor g = gradients({y}, {x}, recorded())[0];
    CHECK(numbers(g) == Numbers{12});
    CHECK(numbers(gradients({g}, {x})[0]) == Numbers{12});
  }

  TEST_CASE("F-314 a gradient larger than its input is summed, or refused in a strict scope") {
    const Tensor x = leaf({1, 2});
    sum(styles("unsummed").call<Tensor>(x)).backward();
    CHECK(numbers(x.grad()) == Numbers{3, 3});
    const StrictGradients strict;
    const Refusal refused = refusal([&] { sum(styles("unsummed").call<Tensor>(x)).backward(); });
    CHECK(has(refused.text,
              "UnsummedBackward returned an invalid gradient at index 0 - got [3, 2] for an input "
              "of shape [2], and strict gradients are asked for"));
    CHECK(numbers(x.grad()) == Numbers{3, 3});
    const StrictGradients off(false);
    sum(styles("unsummed").call<Tensor>(x)).backward();
    CHECK(numbers(x.grad()) == Numbers{6, 6});
  }

  TEST_CASE("F-316 returned inputs, views and dirty tensors: a clear error or the right gradient") {
    struct Case {
      const char* how;
      Numbers gradient;     // gradient of first + 2 * second, when the call is right
      const char* refused;  // else what the call says
      bool in_place;        // whether the first result may be changed in place
    };
    const Case cases[] = {
        {"plain", {12}, nullptr, true},
        {"duplicate", {12}, nullptr, false},
        {"input twice", {12}, nullptr, false},
        {"view of input", {12}, nullptr, false},
        {"view of intermediate", {12}, nullptr, true},
        {"view of result", {12}, nullptr, false},
        {"dirty intermediate", {}, "is none of the inputs", false},
        {"dirty lost", {}, "is not among the results", false},
        {"dirty nothing", {}, "was given an undefined tensor", false},
        {"dirty twice", {}, "is returned twice", false},
        {"dirty constant", {}, "is marked as not differentiable too", false},
    };
    for (const Case& each : cases) {
      CAPTURE(each.how);
      const Tensor x = leaf({1});
      const auto call = [&] {
        return styles("returning").call<std::tuple<Tensor, Tensor>>(x * 1, each.how);
      };
      if (each.refused != nullptr) {
        CHECK(has(refusal(call).text, each.refused));
        continue;
      }
      const auto [first, second] = call();
      CHECK_FALSE(first.is_same(second));
      CHECK(first.grad_fn().name() == "ReturningBackward");
      (first + second * 2).backward();
      CHECK(numbers(x.grad()) == each.gradient);
      const auto [changed, other] = call();
      Tensor(x).set_grad({});
      if (each.in_place) {
        changed.mul_(3);
        sum(changed).backward();
        CHECK(numbers(x.grad()) == Numbers{30});
      } else {
        const Refusal refused = refusal([&changed = changed, &other = other] {
          changed.mul_(3);
          (changed + other).backward();
        });
        CHECK(refused.kind == TENON_ERROR_INPLACE);
        CHECK(has(refused.text, "created inside a custom Function"));
      }
    }
  }
}
