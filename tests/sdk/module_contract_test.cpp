// The contract of modules: how calls are bound, what members follow, what attributes can be.
#include <algorithm>

#include <tenon/state/module_state.hpp>

#include "tests/sdk/functions.hpp"

namespace {

using namespace functions;
using Step = std::tuple<Tensor, Tensor, int64_t>;

Module create(const char* json) {
  fx("seen");
  return create_module(Json::parse(json));
}
Module cell() { return create(R"({"type": "modules.Cell", "size": 2, "scale": 3})"); }

}  // namespace

TEST_SUITE("sdk/module_contract") {
  TEST_CASE(
      "F-085 F-087 F-088 forward takes optional inputs and keywords, and gives several results") {
    const Module module = cell();
    CHECK(module.forward_schema() ==
          "forward(Tensor input, Tensor? hidden=None, *, int repeat=1) -> (Tensor output, Tensor "
          "hidden, int steps)");
    const Tensor x = tensor({1, 2}, f32);
    const auto [output, hidden, steps] = module.call<Step>(x);
    CHECK(numbers(output) == Numbers{6, 12});
    CHECK(numbers(hidden) == Numbers{3, 6});
    CHECK(steps == 1);
    const auto [again, state, count] = module.call<Step>(x, hidden, arg("repeat") = 2);
    CHECK(numbers(state) == Numbers{9, 18});
    CHECK(count == 2);
    const auto [named, same, one] = module.call<Step>(arg("hidden") = hidden, arg("input") = x);
    CHECK(numbers(same) == Numbers{6, 12});
    CHECK(one == 1);
    sum(again + named).backward();
    CHECK(numbers(module.tensor("weight").grad()) == Numbers{10, 20});
  }

  TEST_CASE("F-099 an op and a module of one name are found each in its own place") {
    const Module module = cell();
    CHECK(module.type() == "modules.Cell");
    CHECK(numbers(Op("modules.Cell").call<Tensor>(row({1}))) == Numbers{2});
  }

  TEST_CASE("F-092 a tensor that is not registered is not a parameter, and is not converted") {
    Module module = create(R"({"type": "modules.Stash"})");
    const Tensor plain = module.call<Tensor>();
    CHECK(module.named_parameters().size() == 1);
    CHECK(module.named_buffers().size() == 1);
    module.to(f64);
    CHECK(module.tensor("weight").dtype() == f64);
    CHECK(module.tensor("running").dtype() == f64);
    CHECK(module.call<Tensor>().is_same(plain));
    CHECK(plain.dtype() == f32);
  }

  TEST_CASE("calls are refused in the words of an op's") {
    const Module module = cell();
    const Tensor x = tensor({1, 2}, f32);
    const auto text = [](auto&& call) { return refusal(call).text; };
    CHECK(text([&] { module.call<Step>(); }) ==
          "Cell.forward() missing 1 required positional argument: 'input'");
    CHECK(text([&] { module.call<Step>(x, x, x); }) ==
          "Cell.forward() takes from 1 to 2 positional arguments but 3 were given");
    CHECK(text([&] { module.call<Step>(x, 7); }) ==
          "Cell.forward(): argument 'hidden' (position 2) must be Tensor, not int");
    CHECK(text([&] { module.call<Step>(x, arg("repat") = 1); }) ==
          "Cell.forward() got an unexpected keyword argument 'repat' (did you mean 'repeat'?)");
    CHECK(text([&] { module(x); }) ==
          "modules.Cell() has 3 results, and is called for 1: name a result type that fits, such "
          "as module.call<std::tuple<Tensor, Tensor>>(...)");
    CHECK(has(text([&] { module.call<std::tuple<Tensor, Tensor, Tensor>>(x); }), "int"));
  }

  TEST_CASE("modules are attributes: one, none, a list, a dictionary") {
    const Module module = create(R"({"type": "modules.Residual",
        "body": {"type": "Linear", "in_features": 2, "out_features": 2},
        "more": ["ReLU", {"type": "Tanh"}], "named": {"left": "Sigmoid", "right": "GELU"}})");
    CHECK(module.text() ==
          "Residual(\n"
          "  (body): Linear(in_features=2, out_features=2, bias=True)\n"
          "  (after): None\n"
          "  (more0): ReLU()\n"
          "  (more1): Tanh()\n"
          "  (left): Sigmoid()\n"
          "  (right): GELU(approximate='none')\n"
          ")");
    const Tensor x = tensor({{1, 2}}, f32);
    CHECK(numbers(module(x)) == numbers(x + module.child("body")(x)));
    // From code, with modules that exist already.
    const Module body = Module::create("Tanh"), after = Module::create("ReLU");
    const Module coded = Module::create(
        "modules.Residual", arg("body") = body, arg("after") = after,
        arg("more") = std::vector<Module>{body, after}, arg("named") = ModuleDict{{"x", body}});
    CHECK(coded.child("body").is_same(body));
    CHECK(coded.child("x").is_same(body));
    CHECK(coded.child("more1").is_same(after));
    CHECK(numbers(coded(x)) == numbers((x + x.tanh()).relu()));
    CHECK(refusal([&] { Module::create("modules.Residual", arg("body") = 3); }).text ==
          "Residual(): argument 'body' must be Module, not int");
  }

  TEST_CASE("a description's faults are reported at once, each with its place and schema") {
    const Refusal refused = refusal([] {
      create(R"({"type": "Sequential", "layers": [
          {"type": "Linear", "in_features": 2, "out_features": true},
          {"type": "Linear", "in_features": 2, "out_featurs": 3},
          {"type": "Linear", "in_features": 2, "out_features": -1},
          {"typ": "ReLU"}, {"type": "Relu"}, 7,
          {"type": "modules.Residual", "body": {"type": "Linear", "in_features": "x"}}]})");
    });
    CHECK(refused.kind == TENON_ERROR_CONFIG);
    INFO(refused.text);
    for (const char* part :
         {"/layers/0/out_features", "argument 'out_features' must be int, not bool",
          "/layers/1/out_featurs", "unexpected keyword argument 'out_featurs' (did you mean",
          "/layers/1",
          "Linear() missing 1 required attribute: 'out_features'; the schema is "
          "Linear(int in_features, int out_features, bool bias=True)",
          "/layers/2", "out_features must be at least 0, got -1", "/layers/3",
          "a module needs a \"type\"", "/layers/4/type", "did you mean 'ReLU'", "/layers/5",
          "a module is an object with a \"type\", or a type's name", "/layers/6/body/in_features",
          "must be int, not str"})
      CHECK_MESSAGE(has(refused.text, part), part);
    CHECK(has(refusal([] {
                create(R"({"type": "Linear", "in_features": 1, "out_features": 1,
                                       "layers": ["ReLU"]})");
              }).text,
              "Linear() got an unexpected keyword argument 'layers'"));
  }

  TEST_CASE("members follow what the host has under their names") {
    Module module = cell();
    const Tensor x = tensor({1, 1}, f32);
    module.assign("bias", full({2}, 10.0).requires_grad_());
    CHECK(numbers(std::get<1>(module.call<Step>(x))) == Numbers{13, 13});
    CHECK(module.named_parameters().size() == 2);
    module.assign("weight", full({2}, 1.0).requires_grad_());
    CHECK(numbers(std::get<1>(module.call<Step>(x))) == Numbers{11, 11});
    module.assign("bias", Tensor());
    CHECK(numbers(std::get<1>(module.call<Step>(x))) == Numbers{1, 1});
    CHECK(refusal([&] { module.assign("bias", full({2}, 1.0)); }).text ==
          "cannot assign 'Tensor' as parameter 'bias' (Parameter or None expected)");
    module.to(f64);
    CHECK(std::get<1>(module.call<Step>(x.to(f64))).dtype() == f64);
    Module residual = create(R"({"type": "modules.Residual", "body": "ReLU"})");
    residual.assign("after", Module::create("Tanh"));
    CHECK(numbers(residual(x)) == numbers((x + x).tanh()));
  }

  TEST_CASE("a definition replaces its own members, and copies of them are values") {
    const Module module =
        create(R"({"type": "modules.Growing", "settings": {"value": 3, "factor": 5}})");
    CHECK(module.tensor("weight").item() == 15);
    CHECK(module(ones({1})).item() == 15);
  }

  TEST_CASE("MOD-15 clone copies tensors, children and native state, or names who cannot") {
    const Module module = create(R"({"type": "modules.Residual", "body": {"type": "Linear",
        "in_features": 2, "out_features": 2}, "more": ["modules.Counter"]})");
    using Counted = std::tuple<Tensor, int64_t>;
    const Tensor x = tensor({{1, 2}}, f32);
    CHECK(std::get<1>(module.child("more0").call<Counted>(x)) == 1);
    const Module copy = module.clone();
    CHECK(copy.text() == module.text());
    CHECK(numbers(copy(x)) == numbers(module(x)));
    CHECK(copy.attribute<Module>("body").is_same(copy.child("body")));
    CHECK(copy.attribute<std::vector<Module>>("more")[0].is_same(copy.child("more0")));
    {
      const NoGrad off;
      module.child("body").tensor("weight").zero_();
    }
    CHECK(numbers(copy(x)) != numbers(module(x)));
    CHECK(std::get<1>(copy.child("more0").call<Counted>(x)) == 2);
    CHECK(std::get<1>(module.child("more0").call<Counted>(x)) == 2);
    const Module stiff = create(R"({"type": "modules.Residual", "body": "modules.Uncopied"})");
    CHECK(
        has(refusal([&] { stiff.clone(); }).text, "clone is not implemented for modules.Uncopied"));
    const Module swap = create(R"({"type": "modules.Swap", "count": 2})").clone();
    CHECK(swap.forward_schema() == "forward(Tensor x0, Tensor x1) -> (Tensor, Tensor)");
  }

  TEST_CASE("instances have their own forward schemas") {
    const Module swap = create(R"({"type": "modules.Swap", "count": 3})");
    const auto [a, b, c] =
        swap.call<std::tuple<Tensor, Tensor, Tensor>>(full({}, 1), full({}, 2), full({}, 3));
    CHECK(a.item() == 3);
    CHECK(c.item() == 1);
    CHECK(has(refusal([&] { swap(ones({1})); }).text, "missing 2 required positional arguments"));
  }

  TEST_CASE("apply visits children before parents") {
    const Module family = Module::create("fx.Family");
    std::vector<int64_t> values;
    family.child("root").apply(
        [&](const Module& module) { values.push_back(module.attribute<int64_t>("value")); });
    CHECK(values.back() == 0);
    CHECK(values.size() == 10);
    const auto at = [&](int64_t value) {
      return std::find(values.begin(), values.end(), value) - values.begin();
    };
    CHECK(at(2) < at(1));
    CHECK(at(9) < at(7));
    CHECK(at(7) < at(5));
  }

  TEST_CASE("MOD-09 MOD-10 walks without the module itself, and under a prefix") {
    const Module family = Module::create("fx.Family").child("root");
    std::vector<std::string> names;
    for (const auto& [name, module] : family.named_modules(true, "test_prefix"))
      names.push_back(name);
    CHECK(names == std::vector<std::string>{"test_prefix", "test_prefix.0", "test_prefix.0.0",
                                            "test_prefix.0.1", "test_prefix.1", "test_prefix.2",
                                            "test_prefix.2.0", "test_prefix.2.1",
                                            "test_prefix.2.1.0", "test_prefix.2.1.1"});
    CHECK(family.modules(false).size() == 9);
  }

  TEST_CASE("ST-12 state in memory: strict with every fault, or with a report") {
    const Module from = create(R"({"type": "Linear", "in_features": 2, "out_features": 3})");
    const Module into = create(R"({"type": "Linear", "in_features": 2, "out_features": 3})");
    state::load_state(into, state::state_of(from));
    CHECK(numbers(into.tensor("weight")) == numbers(from.tensor("weight")));
    CHECK_FALSE(into.tensor("weight").is_same(from.tensor("weight")));
    const std::vector<float> before = into.tensor("weight").to_vector<float>();
    const std::vector<std::pair<std::string, Tensor>> state = {{"weight", ones({3, 3})},
                                                               {"extra", ones({1})}};
    CHECK(refusal([&] { state::load_state(into, state); }).text ==
          "Error(s) in loading state_dict for Linear:\n"
          "\tMissing key(s) in state_dict: \"bias\".\n"
          "\tUnexpected key(s) in state_dict: \"extra\".\n"
          "\tsize mismatch for weight: copying a param with shape [3, 3] from checkpoint, the "
          "shape in current model is [3, 2].");
    CHECK(into.tensor("weight").to_vector<float>() == before);
    CHECK(has(refusal([&] { state::load_state(into, state, false); }).text,
              "size mismatch for weight"));
    const state::LoadReport report =
        state::load_state(into, {{"weight", ones({3, 2})}, {"more", ones({1})}}, false);
    CHECK(report.missing == std::vector<std::string>{"bias"});
    CHECK(report.unexpected == std::vector<std::string>{"more"});
    CHECK(numbers(into.tensor("weight")) == Numbers(6, 1));
  }
}
