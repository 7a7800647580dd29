// Functions in every form: instances, set-up, residuals; configured ops; what listings say of them.
#include <tenon/gradcheck.hpp>
#include <tenon/listing/listing.hpp>

#include "tests/sdk/functions.hpp"

namespace {

using namespace functions;

std::string member(const std::string& op, const char* key) { return listing::op(op)[key].text(); }

}  // namespace

TEST_SUITE("sdk/styles") {
  TEST_CASE("F-010 an instance has its attributes in forward and again in backward") {
    const Tensor x = leaf({1, 2}), y = leaf({1, 2});
    styles("add_constant");
    const ConfiguredOp three = configure("styles.add_constant", arg("constant") = 3.0);
    const ConfiguredOp five = configure("styles.add_constant", arg("constant") = 5);
    // Called twice before either backward.
    const Tensor a = three.call<Tensor>(x), b = five.call<Tensor>(y), c = three.call<Tensor>(y);
    CHECK(numbers(a) == Numbers{4, 5});
    CHECK(numbers(b) == Numbers{6, 7});
    CHECK(numbers(c) == Numbers{4, 5});
    sum(b).backward();
    CHECK(styles_seen() == "5/5");
    sum(a).backward();
    CHECK(styles_seen() == "3/3");
    sum(c).backward();
    CHECK(numbers(x.grad()) == Numbers{1, 1});
    CHECK(numbers(y.grad()) == Numbers{2, 2});
    CHECK(three.attribute<double>("constant") == 3);
    CHECK(five.attribute<double>("constant") == 5);  // an int where the schema says float
    CHECK(a.grad_fn().name() == "AddConstantBackward");
  }

  TEST_CASE("F-013 the static call and the configured one are the same") {
    const Tensor x = leaf({0.1, 0.7});
    const Tensor plain = styles("add_constant").call<Tensor>(x, arg("constant") = 0.3);
    const Tensor configured =
        configure("styles.add_constant", arg("constant") = 0.3).call<Tensor>(x);
    CHECK(numbers(plain) == numbers(configured));
  }

  TEST_CASE("attributes may be left to their defaults, be of any kind, and come from JSON") {
    const Tensor x = tensor({{1, 2, 3}, {4, 5, 6}}, f64).requires_grad_();
    styles("swap");
    const ConfiguredOp swap = configure("styles.swap");
    CHECK(swap.attribute_names() == std::vector<std::string>{"first", "second"});
    CHECK(swap.attribute<int64_t>("second") == 1);
    const Tensor y = swap.call<Tensor>(x);
    CHECK(y.sizes() == std::vector<int64_t>{3, 2});
    (y * tensor({{1, 2}, {3, 4}, {5, 6}}, f64)).sum().backward();
    CHECK(numbers(x.grad()) == Numbers{1, 3, 5, 2, 4, 6});

    const ConfiguredOp labelled =
        configure(Json::parse(R"({"op": "styles.labelled", "label": "L", "shape": [1, 2, 3]})"));
    CHECK(labelled.attribute<std::string>("label") == "L");
    CHECK(labelled.attribute<std::vector<int64_t>>("shape") == std::vector<int64_t>{1, 2, 3});
    const Tensor z = leaf({3});
    labelled.call<Tensor>(z).backward();  // `by` takes its default
    CHECK(styles_seen() == "L3");
    CHECK(numbers(z.grad()) == Numbers{12});
    labelled.call<Tensor>(z, 1.0).backward();
    CHECK(numbers(z.grad()) == Numbers{18});
    CHECK(gradcheck([&](const std::vector<Tensor>& in) { return swap.call<Tensor>(in[0]); }, {x}));
  }

  TEST_CASE("F-011 configured ops are strict about their attributes") {
    const auto refused = [](const char* json) {
      return refusal([&] { configure(Json::parse(json)); });
    };
    styles("add_constant");
    CHECK(has(refused(R"({"op": "styles.add_constant"})").text,
              "missing 1 required keyword-only argument: 'constant'"));
    const Refusal unknown =
        refused(R"({"op": "styles.add_constant", "constnat": 1, "constant": 2})");
    CHECK(unknown.kind == TENON_ERROR_TYPE);
    CHECK(has(unknown.text, "'constnat' (did you mean 'constant'?)"));
    CHECK(refused(R"({"op": "styles.add_constant", "constant": "x"})").kind == TENON_ERROR_TYPE);
    CHECK(refused(R"({"constant": 1})").kind == TENON_ERROR_CONFIG);
    CHECK(refusal([] { configure("styles.cube_residual", arg("power") = 2); }).kind ==
          TENON_ERROR_TYPE);
    const ConfiguredOp three = configure("styles.add_constant", arg("constant") = 3);
    CHECK(has(refusal([&] { three(leaf({1}), 2); }).text, "takes 1 positional argument"));
    CHECK(refusal([&] { three.attribute<double>("other"); }).kind == TENON_ERROR_ARGUMENT);
    CHECK(refusal([&] { three.call<std::tuple<Tensor, Tensor>>(leaf({1})); }).kind ==
          TENON_ERROR_TYPE);
  }

  TEST_CASE("F-200 MyCube in both forms, with right second derivatives") {
    const Tensor x = leaf({2, -1, 0.5});
    const auto by_setup = [](const std::vector<Tensor>& in) {
      return std::get<0>(styles("cube_setup").call<std::tuple<Tensor, Tensor>>(in[0]));
    };
    const auto by_residual = [](const std::vector<Tensor>& in) {
      return styles("cube_residual").call<Tensor>(in[0]);
    };
    CHECK(gradcheck(by_setup, {x}));
    CHECK(gradcheck(by_residual, {x}));
    CHECK(gradgradcheck(by_setup, {x}));
    CHECK(gradgradcheck(by_residual, {x}));
    CHECK(numbers(by_setup({x})) == numbers(by_residual({x})));
  }

  TEST_CASE("set-up and residuals serve the jvp too") {
    const Tensor x = row({2}), t = row({10});
    const DualLevel level;
    const Tensor dual = make_dual(x, t);
    const auto [y, slope] = styles("cube_setup").call<std::tuple<Tensor, Tensor>>(dual);
    CHECK(numbers(unpack_dual(y).tangent) == Numbers{120});
    CHECK(numbers(unpack_dual(slope).tangent) == Numbers{120});
    CHECK(numbers(unpack_dual(styles("cube_residual").call<Tensor>(dual)).tangent) == Numbers{120});
  }

  TEST_CASE("an instance may return a residual and call its rule vjp") {
    const Tensor x = leaf({3});
    const Tensor y = styles("power_residual").call<Tensor>(x, arg("power") = 4);
    const Tensor g = gradients({y}, {x}, recorded())[0];
    CHECK(numbers(g) == Numbers{108});
    CHECK(numbers(gradients({g}, {x})[0]) == Numbers{108});
  }

  TEST_CASE("F-016 F-204 defaults and keywords come from the schema") {
    const Tensor a = leaf({1}), c = leaf({2});
    CHECK(numbers(styles("needs").call<Tensor>(a, 2)) == Numbers{1});
    CHECK(numbers(styles("needs").call<Tensor>(a, arg("k") = 2, arg("c") = c)) == Numbers{3});
    CHECK(has(refusal([&] { styles("needs")(a); }).text, "missing 1 required positional argument"));
  }

  TEST_CASE("F-026 listings say which form and rules a Function has") {
    styles("seen");
    const auto rules = [](const char* op) {
      const Json list = listing::op(op)["rules"];
      std::string text;
      for (int64_t i = 0; i < list.size(); ++i) text += (i == 0 ? "" : " ") + list[i].text();
      return text;
    };
    CHECK(member("styles.add_constant", "form") == "instance");
    CHECK(member("styles.cube_setup", "form") == "setup");
    CHECK(member("styles.cube_residual", "form") == "residual");
    CHECK(member("styles.power_residual", "form") == "instance residual");
    CHECK(member("styles.attributes", "form") == "context");
    CHECK(member("add", "form") == "op");
    CHECK(rules("styles.add_constant") == "forward backward");
    CHECK(rules("styles.cube_setup") == "forward setup_context backward jvp");
    CHECK(rules("styles.no_backward") == "forward");
    CHECK(member("styles.add_constant", "double_backward") == "yes");
    CHECK(member("styles.attributes", "double_backward") == "unknown");
    CHECK(member("styles.no_backward", "double_backward") == "none");
    CHECK(member("fx.cube_once", "double_backward") == "once");
    CHECK(member("fx.composite", "double_backward") == "yes");
  }

  TEST_CASE(
      "AG-42 a Function without backward works forward and says at backward what is missing") {
    const Tensor x = leaf({1});
    const Tensor y = styles("no_backward").call<Tensor>(x);
    CHECK(numbers(y) == Numbers{2});
    CHECK(y.requires_grad());
    CHECK(y.grad_fn().name() == "NoBackwardBackward");
    const Refusal refused = refusal([&] { (y * 3).backward(); });
    CHECK(refused.kind == TENON_ERROR_NOT_IMPLEMENTED);
    CHECK(has(refused.text, "[styles.no_backward::backward] not implemented"));
    CHECK(has(refused.text, "implement either of them"));
    CHECK(refused.op == "styles.no_backward");
    CHECK(refused.provider == "styles");
    CHECK_FALSE(x.grad().defined());
    const DualLevel level;
    const Refusal forward =
        refusal([&] { styles("unsummed").call<Tensor>(make_dual(row({1}), row({1}))); });
    CHECK(has(forward.text, "[styles.unsummed::jvp] not implemented"));
  }

  TEST_CASE("a standard exception says which op threw it") {
    const Refusal refused = refusal([] { styles("standard").call<Tensor>(leaf({1})).backward(); });
    CHECK(refused.text == "vector::at (thrown by 'styles.standard')");
    CHECK(refused.op == "styles.standard");
  }
}
