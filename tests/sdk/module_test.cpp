// Modules through the skin: registration, walks, state, printing.
#include <cstdio>

#include "tests/sdk/functions.hpp"

namespace {

using namespace functions;

using Names = std::vector<std::string>;

Module module_of(const std::string& type) {
  fx("seen");
  return Module::create(type);
}
template <class Items>
Names names_of(const Items& items) {
  Names names;
  for (const auto& item : items) names.push_back(item.first);
  return names;
}
// Modules below, itself first, with their dotted names.
std::vector<std::pair<std::string, Module>> walk_modules(const Module& module) {
  Value names, items;
  int64_t count = 0;
  detail::check(host().module_walk, module.handle(), 3, 1, &count, names.slot(), items.slot());
  const Names texts = names.texts();
  std::vector<std::pair<std::string, Module>> list;
  for (size_t i = 0; i < texts.size(); ++i)
    list.emplace_back(texts[i], Module::borrow(items.get().as.modules[i]));
  return list;
}
Module linear_of(int64_t in, int64_t out, bool bias = true) {
  return Module::create("Linear", arg("in_features") = in, arg("out_features") = out,
                        arg("bias") = bias);
}
Module sequential(const std::string& layers) {
  return create_module(Tree::parse(R"({"type": "Sequential", "layers": [)" + layers + "]}"));
}

}  // namespace

TEST_SUITE("sdk/module") {
  TEST_CASE("every method of an undefined Module says that it is undefined") {
    Module none;
    const auto* undefined = "the module is undefined: assign one before using it";
    CHECK_THROWS_WITH_AS(none(ones({1})), undefined, TypeError);
    CHECK_THROWS_WITH_AS(none.type(), undefined, TypeError);
    CHECK_THROWS_WITH_AS(none.train(), undefined, TypeError);
    CHECK_THROWS_WITH_AS(none.parameters(), undefined, TypeError);
    CHECK_THROWS_WITH_AS(none.tensor("weight"), undefined, TypeError);
    CHECK_THROWS_WITH_AS(none.load("nowhere"), undefined, TypeError);
    CHECK_THROWS_WITH_AS(
        detail::check(host().module_to, nullptr, static_cast<tenon_dtype>(DType::f32)),
        "the module is null", ArgumentError);
  }

  TEST_CASE("MOD-01 train and eval reach all descendants") {
    Module family = module_of("fx.Family");
    CHECK(family.training());
    family.eval();
    for (const auto& [name, module] : walk_modules(family)) CHECK_FALSE(module.training());
    family.train();
    for (const auto& [name, module] : walk_modules(family)) CHECK(module.training());
  }

  TEST_CASE("MOD-02 zero_grad drops gradients") {
    const Module linear = linear_of(3, 4);
    sum(linear(ones({2, 3}))).backward();
    for (const Tensor& parameter : linear.parameters()) {
      CHECK(parameter.grad().defined());
      CHECK(count_nonzero(parameter.grad()).item() > 0);
    }
    linear.zero_grad();
    for (const Tensor& parameter : linear.parameters()) CHECK_FALSE(parameter.grad().defined());
    linear.zero_grad();
    for (const Tensor& parameter : linear.parameters()) CHECK_FALSE(parameter.grad().defined());
  }

  TEST_CASE("MOD-03 names are checked and stand once") {
    Module module = module_of("fx.Bare");
    for (const char* name : {"", "name.with.dot"}) {
      const std::string quoted = *name == 0 ? "\"\"" : "'" + std::string(name) + "'";
      CHECK(has(refusal([&] { module.register_parameter(name, ones({1})); }).text, quoted));
      CHECK(has(refusal([&] { module.register_buffer(name, ones({1})); }).text, quoted));
      CHECK(has(refusal([&] { module.register_child(name, module_of("fx.Bare")); }).text, quoted));
    }
    const Refusal again = refusal([&] { module.register_parameter("weight", zeros({1})); });
    CHECK(has(again.text, "already defined"));
    CHECK(has(refusal([&] { module.register_buffer("running", zeros({1})); }).text,
              "already defined"));
    module.register_child("part", module_of("fx.Bare"));
    CHECK(has(refusal([&] { module.register_child("part", module_of("fx.Bare")); }).text,
              "already defined"));
    CHECK(module.tensor("weight").sizes() == std::vector<int64_t>{3, 2});
    CHECK(names_of(module.named_parameters(false)) == Names{"weight"});
  }

  TEST_CASE("MOD-05 a parameter without a value is a name and nothing else") {
    Module module = module_of("fx.Bare");
    CHECK_FALSE(module.tensor("bias").defined());
    CHECK(module.parameters().size() == 1);
    module.to(f32);
    CHECK(module.tensor("weight").dtype() == f32);
    CHECK_FALSE(module.tensor("bias").defined());
    TemporaryFile file;
    module.save(file.path);
    for (const auto& [name, tensor] : load_tensors(file.path)) CHECK(name != "bias");
    CHECK(refusal([&] { module.tensor("nothing"); }).kind == TENON_ERROR_VALUE);
  }

  TEST_CASE("MOD-07 parameters require grad, buffers do not, both are converted") {
    Module module = module_of("fx.Bare");
    CHECK(module.tensor("weight").requires_grad());
    CHECK(module.tensor("weight").is_leaf());
    CHECK_FALSE(module.tensor("running").requires_grad());
    CHECK(names_of(module.named_buffers()) == Names{"running", "scratch"});
    module.to(f32);
    CHECK(module.tensor("running").dtype() == f32);
    CHECK(module.tensor("weight").requires_grad());
    CHECK(module.tensor("weight").is_leaf());
  }

  TEST_CASE("MOD-08 flat walks give the members themselves in the order of registration") {
    const Module linear = linear_of(2, 3);
    CHECK(names_of(linear.named_parameters()) == Names{"weight", "bias"});
    CHECK(linear.parameters()[0].is_same(linear.tensor("weight")));
    CHECK(linear.parameters()[1].is_same(linear.tensor("bias")));
  }

  TEST_CASE("MOD-09 modules with and without themselves") {
    const Module three = sequential(R"({"type": "ReLU"}, {"type": "ReLU"}, {"type": "ReLU"})");
    CHECK(names_of(walk_modules(three)) == Names{"", "0", "1", "2"});
    CHECK(walk_modules(three)[0].second.handle() == three.handle());
    CHECK(three.children().size() == 3);
  }

  TEST_CASE("MOD-10 deep walks: parents first, children in order, dotted names") {
    const Module family = module_of("fx.Family");
    Names names;
    std::vector<int64_t> values;
    for (const auto& [name, module] : walk_modules(family)) {
      if (name.empty()) continue;
      names.push_back(name);
      values.push_back(module.attribute<int64_t>(0));
    }
    CHECK(names == Names{"root", "root.0", "root.0.0", "root.0.1", "root.1", "root.2", "root.2.0",
                         "root.2.1", "root.2.1.0", "root.2.1.1"});
    CHECK(values == std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
    std::vector<int64_t> children;
    for (const Module& child : family.child("root").children())
      children.push_back(child.attribute<int64_t>(0));
    CHECK(children == std::vector<int64_t>{1, 4, 5});
    CHECK(family.tensor("root.2.1.0.weight").item() == 8);
    CHECK(family.named_parameters().size() == 10);
  }

  TEST_CASE("MOD-17 printing") {
    CHECK(linear_of(1, 1).text() == "Linear(in_features=1, out_features=1, bias=True)");
    CHECK(sequential("").text() == "Sequential()");
    CHECK(sequential(R"({"type": "Linear", "in_features": 1, "out_features": 2}, {"type": "ReLU"})")
              .text() ==
          "Sequential(\n  (0): Linear(in_features=1, out_features=2, bias=True)\n  (1): ReLU()\n)");
  }

  TEST_CASE("MOD-32 Sequential runs its parts in order") {
    const Module steps = sequential(
        R"({"type": "fx.Branch", "value": 1}, {"type": "fx.Branch", "value": 1}, {"type": "fx.Branch", "value": 1})");
    CHECK(steps(row({1})).item() == 4);
    CHECK(refusal([] { sequential("")(row({1})); }).kind != TENON_OK);
    const Module layers = sequential(R"({"type": "Linear", "in_features": 10, "out_features": 3},
                                        {"type": "Linear", "in_features": 3, "out_features": 5},
                                        {"type": "Linear", "in_features": 5, "out_features": 100})");
    CHECK(layers(zeros({1000, 10})).sizes() == std::vector<int64_t>{1000, 100});
  }

  TEST_CASE("MOD-36 the note's Linear module") {
    Module linear = linear_of(2, 3);
    CHECK(linear.tensor("weight").sizes() == std::vector<int64_t>{3, 2});
    CHECK(linear.tensor("bias").sizes() == std::vector<int64_t>{3});
    linear.to(f64);
    {
      const NoGrad off;
      linear.tensor("weight").copy_(tensor({{1, 0}, {0, 1}, {1, 1}}, f64));
      linear.tensor("bias").copy_(row({1, 2, 3}));
    }
    const Tensor x = tensor({{1, 2}, {3, 4}}, f64).requires_grad_(), y = linear(x);
    CHECK(numbers(y) == Numbers{2, 4, 6, 4, 6, 10});
    sum(y).backward();
    CHECK(numbers(x.grad()) == Numbers{2, 2, 2, 2});
    CHECK(numbers(linear.tensor("weight").grad()) == Numbers{4, 6, 4, 6, 4, 6});
    CHECK(numbers(linear.tensor("bias").grad()) == Numbers{2, 2, 2});
    const Module bare = linear_of(2, 3, false);
    CHECK(bare.parameters().size() == 1);
    CHECK_FALSE(bare.tensor("bias").defined());
    CHECK(has(bare.text(), "bias=False"));
  }

  TEST_CASE("ST-12 loading state, strict and not") {
    TemporaryFile file;
    Module module = module_of("fx.Bare");
    const Numbers before = numbers(module.tensor("weight"));
    save_tensors(file.path, {{"weight", zeros({3, 3}, f64)}, {"extra", zeros({1}, f64)}});
    const Refusal strict = refusal([&] { module.load(file.path); });
    CHECK(has(strict.text, "running"));
    CHECK(has(strict.text, "extra"));
    CHECK(has(strict.text, "[3, 3]"));
    CHECK(has(strict.text, "[3, 2]"));
    CHECK(numbers(module.tensor("weight")) == before);
    CHECK(refusal([&] { module.load(file.path, false); }).kind != TENON_OK);
    save_tensors(file.path, {{"weight", full({3, 2}, 7, f64)}, {"extra", zeros({1}, f64)}});
    CHECK(refusal([&] { module.load(file.path); }).kind != TENON_OK);
    CHECK(numbers(module.tensor("weight")) == before);
    module.load(file.path, false);
    CHECK(numbers(module.tensor("weight")) == Numbers(6, 7));
  }
}
