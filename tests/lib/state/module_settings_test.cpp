// Settings of a module beside its attributes: init, load, dtype, frozen, recompute.

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <tenon/shapes_only.hpp>
#include <tenon/state/module_file.hpp>
#include <tenon/tenon.hpp>

#include "tests/support/temporary_folder.hpp"

using namespace tenon;
using tenon_test::TemporaryFolder;

namespace {

Module made(const std::string& document) { return state::create_module(Json::parse(document)); }
std::vector<float> values(const Module& module, const char* name) {
  return module.tensor(name).detach().to_vector<float>();
}
std::string refused(const std::string& document) {
  try {
    made(document);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}
bool has(const std::string& text, const std::string& part) {
  const bool found = text.find(part) != std::string::npos;
  if (!found) MESSAGE("'" << part << "' is not in: " << text);
  return found;
}
const std::string kLinear = R"({"type": "Linear", "in_features": 2, "out_features": 1, )";

}  // namespace

TEST_SUITE("state/module_settings") {
  TEST_CASE("init runs ops on the parameters that a pattern names, in order") {
    const Module net = made(R"({"type": "Sequential", "layers": [
        {"type": "Linear", "in_features": 2, "out_features": 2,
         "init": {"*": {"type": "nn.init.constant_", "val": 3}}},
        {"type": "Linear", "in_features": 2, "out_features": 1}],
      "init": {"*.bias": "nn.init.zeros_", "1.weight": {"type": "nn.init.constant_", "val": 0.5}}})");
    CHECK(values(net, "0.weight") == std::vector<float>(4, 3));
    CHECK(values(net, "0.bias") == std::vector<float>(2, 0));
    CHECK(values(net, "1.weight") == std::vector<float>(2, 0.5f));
    CHECK(net.tensor("0.weight").requires_grad());
    CHECK(net.tensor("0.weight").is_leaf());
  }

  TEST_CASE("an attribute that is a tensor is written as numbers, also in a Graph") {
    const Module net = made(R"({"type": "Graph", "inputs": ["scores", "classes"], "nodes": {
        "loss": {"module": {"type": "CrossEntropyLoss", "weight": [1.0, 5.0, 0.5]},
                 "inputs": ["scores", "classes"]}}})");
    CHECK(values(net, "loss.weight") == std::vector<float>{1, 5, 0.5});
    const Tensor scores = tensor({1.0, -0.5, 0.25, 0.0, 2.0, -1.0}).reshape({2, 3});
    const Tensor classes = tensor({2.0, 0.0}).to(i64);
    const Tensor weight = tensor({1.0, 5.0, 0.5});
    static const Op loss("nn.functional.cross_entropy");
    CHECK(net(scores, classes).item() == loss.call<Tensor>(scores, classes, weight).item());
    const Module whole = made(R"({"type": "CrossEntropyLoss", "weight": [1, 5, 2]})");
    CHECK(whole(scores, classes).item() ==
          loss.call<Tensor>(scores, classes, tensor({1.0, 5.0, 2.0})).item());
    CHECK_FALSE(made(R"({"type": "CrossEntropyLoss", "weight": null})").tensor("weight").defined());
  }

  TEST_CASE("an op of a Graph takes numbers and lists of them for a tensor") {
    const Module net = made(R"({"type": "Graph", "nodes": {
        "rows": {"op": "index_select", "inputs": ["input", 0, [2, 0]]},
        "scaled": {"op": "mul", "inputs": ["rows", [0.5, 2.0]]}}})");
    const Tensor input = tensor({1.0, 2.0, 3.0, 4.0, 5.0, 6.0}).reshape({3, 2});
    CHECK(net(input).to_vector<float>() == std::vector<float>{2.5, 12, 0.5, 4});
  }

  TEST_CASE("numbers that are not a tensor are refused with place and reason") {
    CHECK(has(refused(R"({"type": "CrossEntropyLoss", "weight": [[1], [2, 3]]})"),
              "weight: found a list of 2 elements, where the first has 1"));
    CHECK(
        has(refused(R"({"type": "CrossEntropyLoss", "weight": [1, "x"]})"), "weight: found \"x\""));
    CHECK(has(refused(R"({"type": "CrossEntropyLoss", "weight": "heavy"})"), "weight"));
    CHECK(has(refused(R"({"type": "Graph", "nodes": {
                  "a": {"op": "mul", "inputs": ["input", [1, [2]]]}}})"),
              "found a list, where others are numbers"));
  }

  TEST_CASE("recompute has a module run again in backward, to the same gradients") {
    const std::string layers =
        R"("layers": [{"type": "Linear", "in_features": 2, "out_features": 2}, "Tanh"]})";
    const Module plain = made(R"({"type": "Sequential", )" + layers);
    const Module again = made(R"({"type": "Sequential", "recompute": true, )" + layers);
    state::load_state(again, state::state_of(plain));
    int runs = 0;
    again.child("1").register_forward_hook(
        [&](const Module&, const Tensor&, const Tensor&) { ++runs; });
    const Tensor x = ones({3, 2});
    sum(plain(x)).backward();
    sum(again(x)).backward();
    CHECK(runs == 2);
    CHECK(again.tensor("0.weight").grad().to_vector<float>() ==
          plain.tensor("0.weight").grad().to_vector<float>());
    CHECK(has(refused(R"({"type": "Tanh", "recompute": 1})"), "/recompute: "));
  }

  TEST_CASE("dtype and frozen hold for a module and all in it, also in a Graph") {
    const Module net = made(R"({"type": "Graph", "nodes": {
        "encoder": {"module": {"type": "Sequential", "frozen": true, "dtype": "bfloat16", "layers": [
            {"type": "Linear", "in_features": 4, "out_features": 3}]}},
        "wide": {"op": "to", "dtype": "float32"},
        "head": {"module": {"type": "Linear", "in_features": 3, "out_features": 2}}}})");
    CHECK(net.tensor("encoder.0.weight").dtype() == bf16);
    CHECK_FALSE(net.tensor("encoder.0.weight").requires_grad());
    CHECK(net.tensor("head.weight").dtype() == f32);
    CHECK(net.tensor("head.weight").requires_grad());
    const Tensor output = net(ones({2, 4}).to(bf16));
    output.sum().backward();
    CHECK(net.tensor("head.weight").grad().defined());
    CHECK_FALSE(net.tensor("encoder.0.weight").grad().defined());
    CHECK_FALSE(net.clone().tensor("encoder.0.weight").requires_grad());
  }

  TEST_CASE("load takes the tensors of a prefix, into nested modules too") {
    const TemporaryFolder folder;
    const std::string path = folder / "state.safetensors";
    const Module whole = made(R"({"type": "Sequential", "layers": [
        {"type": "Linear", "in_features": 2, "out_features": 2},
        {"type": "Linear", "in_features": 2, "out_features": 3}]})");
    state::save(whole, path);
    const std::string load = R"("load": {"file": ")" + path + R"(", "prefix": "1."})";
    const Module net = made(R"({"type": "Graph", "nodes": {
        "a": {"op": "tanh"},
        "b": {"module": {"type": "Linear", "in_features": 2, "out_features": 3, )" +
                            load + R"(}}}})");
    CHECK(values(net, "b.weight") == values(whole, "1.weight"));
    CHECK(values(net, "b.bias") == values(whole, "1.bias"));
    const Module all = made(R"({"type": "Sequential", "layers": [
        {"type": "Linear", "in_features": 2, "out_features": 2},
        {"type": "Linear", "in_features": 2, "out_features": 3}], "load": ")" +
                            path + R"("})");
    CHECK(values(all, "0.weight") == values(whole, "0.weight"));

    const std::string linear =
        R"({"type": "Linear", "in_features": 2, "out_features": 3, "load": )";
    CHECK(has(refused(linear + R"({"file": ")" + path + R"(", "prefix": "2."}})"),
              "/load: no tensor of '" + path + "' has a name that begins with '2.'"));
    const std::string misfit = refused(linear + R"({"file": ")" + path + R"(", "prefix": "0."}})");
    CHECK(has(misfit, "/load: Error(s) in loading state_dict for Linear:"));
    CHECK(has(misfit, "size mismatch for weight"));
    CHECK(has(misfit, "The file is '" + path + "'"));
    CHECK(has(refused(linear + R"({"file": "nowhere.safetensors"}})"), "/load: cannot read"));
    CHECK(has(refused(linear + R"({"fil": "x"}})"), "'fil'"));
  }

  TEST_CASE("settings that do not fit are refused with their place") {
    const std::string linear = R"({"type": "Linear", "in_features": 2, "out_features": 1, )";
    CHECK(has(refused(linear + R"("dtype": "int64"})"),
              "/dtype: modules are converted to floating point dtypes only, not i64"));
    CHECK(has(refused(linear + R"("dtype": "float7"})"), "/dtype: "));
    CHECK(has(refused(linear + R"("frozen": 1})"), "/frozen: "));
    CHECK(has(refused(linear + R"("init": {"wieght": "nn.init.zeros_"}})"),
              "/init: no parameter of Linear fits 'wieght'; it has weight, bias"));
    CHECK(has(refused(linear + R"("init": {"weight": "relu"}})"),
              "/init: op 'relu' does not change its first argument in place"));
    CHECK(has(refused(linear + R"("init": {"weight": {"type": "nn.init.constant_", "value": 1}}})"),
              "'value'"));
    CHECK(has(refused(linear + R"("init": {"weight": "nn.init.zero_"}})"), "did you mean"));
  }

  TEST_CASE("an attribute of the same name is an attribute") {
    const Module prelu = made(R"({"type": "PReLU", "init": 0.5, "frozen": true})");
    CHECK(values(prelu, "weight") == std::vector<float>{0.5f});
    CHECK_FALSE(prelu.tensor("weight").requires_grad());
  }

  TEST_CASE("settings are applied in their own order, whatever the document's order is") {
    const TemporaryFolder folder;
    const Module saved =
        made(kLinear + R"("init": {"*": {"type": "nn.init.constant_", "val": 8}}})");
    state::save(saved, folder / "x.safetensors");
    const Module net = made(kLinear + R"("frozen": true, "dtype": "f64", "load": ")" +
                            (folder / "x.safetensors") + R"(", "init": {"*": "nn.init.zeros_"}})");
    CHECK(net.tensor("weight").dtype() == f64);
    CHECK(net.tensor("weight").to_vector<double>() == std::vector<double>{8, 8});
    CHECK_FALSE(net.tensor("bias").requires_grad());
  }

  TEST_CASE("what a lax load lacks stays as it is") {
    const TemporaryFolder folder;
    const std::string path = folder / "x.safetensors";
    state::save(made(R"({"type": "Linear", "in_features": 2, "out_features": 1, "bias": false,
        "init": {"*": {"type": "nn.init.constant_", "val": 8}}})"),
                path);
    const std::string lax = kLinear + R"("init": {"*": {"type": "nn.init.constant_", "val": 5}},
        "load": {"file": ")" +
                            path + R"(", "strict": )";
    CHECK(has(refused(lax + "true}}"), R"(Missing key(s) in state_dict: "bias")"));
    const Module net = made(lax + "false}}");
    CHECK(values(net, "weight") == std::vector<float>{8, 8});
    CHECK(values(net, "bias") == std::vector<float>{5});
  }

  TEST_CASE("where shapes alone are computed a state is mapped, not read") {
    const TemporaryFolder folder;
    const std::string path = folder / "x.safetensors";
    state::save(made(kLinear + R"("init": {"*": {"type": "nn.init.constant_", "val": 8}}})"), path);
    const ShapesOnly shapes;
    const Module net = made(kLinear + R"("load": ")" + path + R"("})");
    CHECK(net.tensor("weight").detach().to_vector<float>() == std::vector<float>{8, 8});
  }

  TEST_CASE("settings of another type than expected are refused") {
    CHECK(has(refused(kLinear + R"("init": {"*": 3}})"),
              "/init: found 3, expected the name of an op"));
    CHECK(has(refused(kLinear + R"("init": {"*": {"val": 3}}})"), "expected the name of an op"));
    CHECK(has(refused(kLinear + R"("init": "nn.init.zeros_"})"), "\"init\" is an object"));
    CHECK(has(refused(kLinear + R"("load": 3})"), "/load: found 3, expected the path"));
    CHECK(has(refused(kLinear + R"("load": {"file": "x", "strict": 1}})"),
              "\"strict\" is true or false, found 1"));
    CHECK(has(refused(kLinear + R"("dtype": 3})"), "/dtype: found 3"));
  }

  TEST_CASE("without the library a setting is an attribute that the type does not have") {
    try {
      create_module(Json::parse(kLinear + R"("frozen": true})"));
      FAIL("it is not refused");
    } catch (const ConfigError& error) {
      CHECK(has(error.what(), "Linear() got an unexpected keyword argument 'frozen'"));
    }
  }
}
