// Settings of a module beside its attributes: init, load, dtype, frozen.
#include "tests/sdk/functions.hpp"

using namespace functions;

namespace {

Module made(const std::string& document) { return create_module(Json::parse(document)); }
std::vector<float> values(const Module& module, const char* name) {
  return module.tensor(name).detach().to_vector<float>();
}
std::string refused(const std::string& document) {
  return refusal([&] { made(document); }).text;
}

}  // namespace

TEST_SUITE("sdk/module_settings") {
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
    const TemporaryFile file;
    const Module whole = made(R"({"type": "Sequential", "layers": [
        {"type": "Linear", "in_features": 2, "out_features": 2},
        {"type": "Linear", "in_features": 2, "out_features": 3}]})");
    whole.save(file.path);
    const std::string load = R"("load": {"file": ")" + file.path + R"(", "prefix": "1."})";
    const Module net = made(R"({"type": "Graph", "nodes": {
        "a": {"op": "tanh"},
        "b": {"module": {"type": "Linear", "in_features": 2, "out_features": 3, )" +
                            load + R"(}}}})");
    CHECK(values(net, "b.weight") == values(whole, "1.weight"));
    CHECK(values(net, "b.bias") == values(whole, "1.bias"));
    const Module all = made(R"({"type": "Sequential", "layers": [
        {"type": "Linear", "in_features": 2, "out_features": 2},
        {"type": "Linear", "in_features": 2, "out_features": 3}], "load": ")" +
                            file.path + R"("})");
    CHECK(values(all, "0.weight") == values(whole, "0.weight"));

    const std::string linear =
        R"({"type": "Linear", "in_features": 2, "out_features": 3, "load": )";
    CHECK(has(refused(linear + R"({"file": ")" + file.path + R"(", "prefix": "2."}})"),
              "/load: no tensor of '" + file.path + "' has a name that begins with '2.'"));
    const std::string misfit =
        refused(linear + R"({"file": ")" + file.path + R"(", "prefix": "0."}})");
    CHECK(has(misfit, "/load: Error(s) in loading state_dict for Linear:"));
    CHECK(has(misfit, "size mismatch for weight"));
    CHECK(has(misfit, "The file is '" + file.path + "'"));
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
}
