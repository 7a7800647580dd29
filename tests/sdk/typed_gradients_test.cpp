// Gradients through tensors of other types than Tensor: overrides with rules, conversions,
// wrappers, children, and what is refused instead of being lost.
#include <cmath>

#include <tenon/override_entry.hpp>
#include <tenon/state/module_file.hpp>
#include <tenon/state/tensor_file.hpp>

#include "tests/sdk/functions.hpp"

using namespace functions;

namespace {

Op tg(const std::string& name) {
  static const bool found = (add_plugin_path(TENON_FIXTURES "/typed_gradients"), true);
  (void)found;
  return Op("tg." + name);
}
Tensor diagonal(int64_t n, double value) { return tg("diagonal").call<Tensor>(n, value); }
Tensor make_one(const std::string& type, const Tensor& data, const std::string& note = "") {
  return tg("make").call<Tensor>(type, data, note);
}

}  // namespace

TEST_SUITE("sdk/typed_gradients") {
  TEST_CASE("F-284 the gradient of a tensor-like has its structure, through its conversion") {
    Tensor s = diagonal(2, 3).requires_grad_();
    const Tensor x = tensor({{1., 2.}, {3., 4.}}).requires_grad_();
    const Tensor y = sum(tenon::mul(s, x));
    CHECK(y.item<double>() == 15);
    y.backward();
    CHECK(type_name(s.grad()) == "Diagonal");
    CHECK(s.grad().text() == "Diagonal(2, 2.5)");  // the mean of 1 and 4
    CHECK(type_name(x.grad()) == "Tensor");
    CHECK(x.grad().text() == "tensor([[3., 0.],\n        [0., 3.]])");
  }

  TEST_CASE("F-284 an override with a backward is recorded, and its gradients are of its type") {
    Tensor s = diagonal(2, 3).requires_grad_();
    const Tensor t = diagonal(2, 5);
    const Tensor product = tenon::mul(s, t);
    CHECK(product.text() == "Diagonal(2, 15.0)");
    CHECK(product.requires_grad());
    CHECK(product.grad_fn().name() == "MulBackward");
    product.backward(diagonal(2, 1));
    CHECK(s.grad().text() == "Diagonal(2, 5.0)");
    // A plain gradient is projected on its way.
    s.set_grad({});
    tenon::mul(s, t).backward(tensor({{1., 7.}, {7., 3.}}));
    CHECK(s.grad().text() == "Diagonal(2, 10.0)");
  }

  TEST_CASE("F-284 gradients of a type are added by its own add, in one run and over several") {
    Tensor s = diagonal(2, 3).requires_grad_();
    for (const std::string expected : {"Diagonal(2, 6.0)", "Diagonal(2, 12.0)"}) {
      tenon::mul(s, s).backward(diagonal(2, 1));
      CHECK(s.grad().text() == expected);
    }
  }

  TEST_CASE("a result without history that an override hides refuses its gradient") {
    const Tensor s = diagonal(2, 3).requires_grad_();
    const Tensor hidden = tenon::neg(s);
    CHECK(hidden.requires_grad());
    const Refusal refused = refusal([&] { hidden.backward(diagonal(2, 1)); });
    CHECK(refused.kind == TENON_ERROR_NOT_IMPLEMENTED);
    CHECK(refused.text ==
          "[neg::backward] not implemented: the override neg[Diagonal] (plugin 'typed_gradients') "
          "returned a tensor without a history; give the override a "
          "backward, compute its result by ops, or call it under no_grad");
    CHECK(!s.grad().defined());
    {
      const NoGrad off;
      CHECK(!tenon::neg(s).requires_grad());
    }
    CHECK(!tenon::neg(diagonal(2, 3)).requires_grad());
  }

  TEST_CASE("a handler that hides history is refused as well, ops without gradient are not") {
    const Tensor x = make_one("Forgetful", tensor({1., 2.})).requires_grad_();
    const Tensor y = sum(x);
    CHECK(has(refusal([&] { y.backward(); }).text, "handler of Forgetful"));
    CHECK(!Op("argmax")(x).tensor().requires_grad());
    CHECK(!Op("zeros_like")(x).tensor().requires_grad());
    CHECK(!x.detach().requires_grad());
  }

  TEST_CASE("F-284 a child's gradient is what its type says, a plain one otherwise") {
    Tensor kept = make_one("Kept", tensor({1., 2.})).requires_grad_();
    for (int i = 1; i <= 2; ++i) {
      sum(kept * kept).backward();
      CHECK(type_name(kept.grad()) == "Kept");
      CHECK(kept.grad().to_vector<int64_t>() == std::vector<int64_t>{2 * i, 4 * i});
    }
    const Tensor wrong = make_one("Wrong", tensor({1., 2.})).requires_grad_();
    const Refusal refused = refusal([&] { sum(wrong).backward(); });
    CHECK(refused.kind == TENON_ERROR_TYPE);
    CHECK(has(refused.text,
              "project_gradient of Wrong (plugin 'typed_gradients') gave a tensor of "
              "another shape or dtype for a gradient of shape [2]"));
  }

  TEST_CASE("F-277 F-318 a wrapper written as descriptor only: conversions, metadata, gradients") {
    const Tensor x = tensor({1., 2.}).requires_grad_();
    const Tensor named = make_one("Named", x, "first");
    const Tensor other = make_one("Named", tensor({5., 5.}), "second");
    CHECK(named.shape()[0] == 2);
    const Tensor product = tenon::mul(named, other);
    CHECK(product.text().substr(0, 6) == "first:");
    CHECK(type_name(product) == "Named");
    CHECK(Op("add")(tensor({1., 1.}), other).tensor().text() == "second: tensor([6., 6.])");
    CHECK(other.text() == "second: tensor([5., 5.])");
    sum(product).backward();
    CHECK(x.grad().to_vector<float>() == std::vector<float>{5, 5});
    CHECK(tenon::add(make_one("Dropping", x, "lost"), 1).text().substr(0, 5) == "none:");
    const Tensor merged =
        tenon::add(make_one("Merging", tensor({1.}), "a"), make_one("Merging", tensor({1.}), "b"));
    CHECK(merged.text() == "ab: tensor([2.])");
    CHECK(Op("to")(other, f64).tensor().dtype() == f64);
  }

  TEST_CASE("F-318 what is saved for backward keeps its type and what the type keeps") {
    Tensor s = diagonal(2, 3).requires_grad_();
    Tensor product;
    {
      const Tensor factor = diagonal(2, 7);
      product = tenon::mul(s, factor);
    }
    product.backward(diagonal(2, 1));
    CHECK(s.grad().text() == "Diagonal(2, 7.0)");
  }

  TEST_CASE("F-300 an explanation says whose rules record the call") {
    const Tensor s = diagonal(2, 3).requires_grad_();
    CHECK(explain(Op("mul"), s, diagonal(2, 1))["gradient"].text() ==
          "records MulBackward (input needs a gradient)");
    CHECK(explain(Op("neg"), s)["gradient"].text() == "through the ops that it calls");
    CHECK(explain(Op("sinh"), tensor({1.0f}).requires_grad_())["gradient"].text() ==
          "records SinhBackward0 by the rules of plugin typed_gradients (input needs a gradient)");
  }

  TEST_CASE("F-277 modules keep, train, convert, save and load what wrappers hold") {
    TemporaryFile file;
    tg("diagonal");
    Module module = Module::create("tg.Keeper", arg("value") = 3.0);
    sum(module(tensor({1., 2.}))).backward();
    CHECK(module.tensor("weight").grad().to_vector<float>() == std::vector<float>{1, 2});
    state::save(module, file.path);
    const auto saved = state::load_tensors(file.path);
    REQUIRE(saved.size() == 2);
    CHECK(saved[0].first == "weight.data");
    CHECK(saved[1].first == "running");
    Module other = Module::create("tg.Keeper", arg("value") = 0.0);
    state::load(other, file.path);
    CHECK(other.tensor("weight").text() == "kept: tensor([3., 3.])");
    CHECK(other.tensor("running").to_vector<float>() == std::vector<float>{4, 4});
    other.to(f64);
    CHECK(type_name(other.tensor("weight")) == "Named");
    CHECK(type_name(other.tensor("running")) == "Kept");
    CHECK(other.tensor("weight").dtype() == f64);
    CHECK(other.tensor("weight").requires_grad());
    CHECK(ensure_tensor(other.tensor("weight")).dtype() == f64);
    const Refusal refused = refusal([&] {
      state::save_tensors(file.path, {{"d", diagonal(2, 1)}});
    });
    CHECK(refused.kind == TENON_ERROR_TYPE);
    CHECK(has(refused.text, "'d' is a Diagonal, which has no component tensors"));
    CHECK(state::load_tensors(file.path).size() == 2);
  }

  TEST_CASE("F-273 one rule of an op comes from another plugin, the others stay") {
    const Tensor x = tensor({1.0f}).requires_grad_();
    const auto gradient = [&](const char* op) {
      return gradients({sum(Op(op)(x).tensor())}, {x})[0].item<double>();
    };
    tg("diagonal");  // loads the plugin
    const double sinh_rule = std::cosh(1.0), cosh_rule = std::sinh(1.0);
    CHECK(gradient("sinh") == doctest::Approx(sinh_rule / 2));
    CHECK(gradient("cosh") == doctest::Approx(cosh_rule));
    const DualLevel level;
    const Tensor dual = make_dual(tensor({1.0f}), tensor({1.0f}));
    CHECK(unpack_dual(Op("cosh")(dual).tensor()).tangent.item<double>() == doctest::Approx(10));
    // sinh's own jvp is declared to be its backward, from any provider.
    CHECK(unpack_dual(Op("sinh")(dual).tensor()).tangent.item<double>() ==
          doctest::Approx(sinh_rule / 2));
  }

  TEST_CASE("F-273 rules of an op whose backward is called vjp; rules that are switched off") {
    tg("diagonal");
    const Tensor x = tensor({1.0f}).requires_grad_();
    CHECK(gradients({sum(tg("twice")(x).tensor())}, {x})[0].item<double>() == 2);
    const auto gradient = [&] {
      return gradients({sum(Op("sinh")(x).tensor())}, {x})[0].item<double>();
    };
    const OverrideEntry rules("sinh[Tensor]");
    for (int time = 0; time < 2; ++time) {
      {
        const OverrideDisabled off(rules);
        CHECK(gradient() == doctest::Approx(std::cosh(1.0)));
      }
      CHECK(gradient() == doctest::Approx(std::cosh(1.0) / 2));
    }
    const DualLevel level;
    const Tensor dual = make_dual(tensor({1.0f}), tensor({1.0f}));
    CHECK(unpack_dual(tg("twice")(dual).tensor()).tangent.item<double>() == 20);
  }

  TEST_CASE(
      "a subclass of Tensor and what it wraps see what is changed in place through the other") {
    for (const char* type : {"Kept", "Declining"}) {
      CAPTURE(type);
      const Tensor x = leaf({1, 2}), y = leaf({1, 2}), w = leaf({1, 2});
      const Tensor wrapped = x * 1, wrapper = make_one(type, wrapped);
      const auto gradient = [&](const Tensor& of) {
        return numbers(ensure_tensor(gradients({sum(of)}, {x}, recorded())[0]));
      };
      Op("mul_")(wrapper, 3);
      CHECK(gradient(wrapped) == Numbers{3, 3});
      CHECK(gradient(wrapper) == Numbers{3, 3});
      Op("mul_")(wrapped, 2);
      CHECK(gradient(wrapper) == Numbers{6, 6});
      CHECK(refusal([&] { Op("mul_")(make_one(type, y), 3); }).kind == TENON_ERROR_INPLACE);
      const Tensor constant = make_one(type, row({1, 2}));
      Op("mul_")(constant, w);
      CHECK(constant.requires_grad());
      const DualLevel level;
      const Tensor dual = make_dual(row({1}), row({5}));
      const Tensor result = Op("mul")(make_one(type, dual), 2).tensor();
      CHECK(numbers(ensure_tensor(unpack_dual(result).tangent)) == Numbers{10});
    }
  }

  TEST_CASE("a change in place that a handler hides makes every later use an error") {
    const Tensor plain = row({1, 2}), x = make_one("Forgetful", plain);
    const Tensor w = leaf({1, 2});
    CHECK(Op("mul_")(x, w).tensor().handle() == x.handle());
    for (const Tensor& changed : {x, plain}) {
      CHECK(changed.requires_grad());
      CHECK(has(refusal([&] { sum(changed).backward(); }).text, "handler of Forgetful"));
    }
    // One that has a history already must not keep it.
    const Tensor computed = w * 1, y = make_one("Forgetful", computed);
    Op("mul_")(y, 3);
    for (const Tensor& changed : {y, computed})
      CHECK(has(refusal([&] { sum(changed).backward(); }).text, "handler of Forgetful"));
  }

  TEST_CASE("a result that the rule of an override marks as a constant is one") {
    const Tensor kept = make_one("Kept", row({1, -2})).requires_grad_();
    CHECK(!Op("abs")(kept).tensor().requires_grad());
  }

  TEST_CASE("what is not the operand's own, or has a history elsewhere, is not changed in place") {
    const Tensor x = leaf({1, 2});
    const Tensor named = make_one("Named", x * 1);
    Op("mul_")(named, 3);
    CHECK(gradients({sum(ensure_tensor(named))}, {x})[0].to_vector<double>() == Numbers{3, 3});
    const Tensor weight = make_one("Named", row({1, 2})).requires_grad_();
    const Refusal history = refusal([&] { Op("mul_")(weight, 3); });
    CHECK(history.kind == TENON_ERROR_INPLACE);
    CHECK(has(history.text, "mul_(): it would change a Named in place"));
    {
      const NoGrad off;
      Op("mul_")(weight, 3);
    }
    CHECK(numbers(ensure_tensor(weight)) == Numbers{3, 6});
    const Refusal copied = refusal([&] { Op("mul_")(diagonal(2, 1), 3); });
    CHECK(copied.kind == TENON_ERROR_TYPE);
    CHECK(has(copied.text, "makes a copy"));
  }

  TEST_CASE("the tangent of a tensor-like goes through its conversion") {
    const DualLevel level;
    const Tensor dual = make_dual(make_one("Named", row({3})), row({5}));
    const Tensor result = ensure_tensor(Op("mul")(dual, 2).tensor());
    CHECK(numbers(unpack_dual(result).tangent) == Numbers{10});
  }

  TEST_CASE("a type that adds nothing has its parent's payload: the tensor's own, or a new one") {
    const Tensor renamed = make_one("Renamed", tensor({1.0f}));
    CHECK(type_name(renamed) == "Renamed");
    const Refusal nothing = refusal([] { make_one("Recounted", tensor({1.0f})); });
    CHECK(nothing.kind == TENON_ERROR_TYPE);
    CHECK(has(nothing.text,
              "Recounted has the payload of Counted, which cannot be made from "
              "nothing"));
    const Tensor counted = make_one("Counted", tensor({1.0f}));
    const Tensor recounted = make_one("Recounted", counted);
    CHECK(service::types().payload(recounted.handle()) ==
          service::types().payload(counted.handle()));
  }

  TEST_CASE("a conversion has the shape of what it converts") {
    const Tensor misshapen = make_one("Misshapen", tensor({1.0f}));
    const Refusal refused = refusal([&] { Op("neg")(misshapen); });
    CHECK(refused.kind == TENON_ERROR_TYPE);
    CHECK(refused.text == "to_tensor of Misshapen gave a tensor of shape [3] for one of shape [2]");
  }

  TEST_CASE("a tensor-like that does not convert to numbers cannot require grad") {
    add_plugin_path(TENON_FIXTURES "/types");
    Tensor bare = Op("tx.make")("Bare").tensor();
    CHECK(refusal([&] { bare.requires_grad_(); }).kind == TENON_ERROR_TYPE);
  }
}
