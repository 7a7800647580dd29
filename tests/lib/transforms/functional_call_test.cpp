// Modules as functions of their parameters.
#include <tenon/transforms/functional_call.hpp>
#include <tenon/transforms/jacobian.hpp>

#include "tests/lib/transforms/derivative_support.hpp"

namespace {

using namespace transforming;

Module network() {
  Module module = create_module(Json::parse(R"({"type": "Sequential", "layers": [
    {"type": "Linear", "in_features": 3, "out_features": 4}, {"type": "Tanh"},
    {"type": "Linear", "in_features": 4, "out_features": 1}]})"));
  module.to(f64);
  return module;
}

}  // namespace

TEST_SUITE("lib/transforms/functional_call") {
  TEST_CASE("a call gets its parameters as arguments, and the module keeps its own") {
    const Module model = network();
    const Tensor x = row({1, 2, 3}).view({1, 3});
    Parameters parameters = parameters_of(model);
    CHECK(parameters.size() == 4);
    CHECK_FALSE(parameters.at("0.weight").requires_grad());
    const Tensor own = model.tensor("0.weight");
    CHECK(numbers(functional_call(model, parameters, x)) == numbers(model(x)));
    parameters.at("2.bias") = parameters.at("2.bias") + 1;
    CHECK(functional_call(model, parameters, x).item() == doctest::Approx(model(x).item() + 1));
    CHECK(model.tensor("0.weight").is_same(own));
    CHECK(functional_call(model, {{"2.bias", parameters.at("2.bias")}}, x).item() ==
          doctest::Approx(model(x).item() + 1));
  }

  TEST_CASE("gradients of a model are those of backward, for every parameter") {
    const Module model = network();
    const Tensor x = row({1, 2, 3, -1, 0, 2}).view({2, 3});
    const auto loss = [&](const Parameters& parameters, const Tensor& input) {
      return sum(functional_call(model, parameters, input));
    };
    const Parameters found = grad(loss)(parameters_of(model), x);
    sum(model(x)).backward();
    for (const auto& [name, gradient] : found)
      CHECK_MESSAGE(close(gradient, model.tensor(name.c_str()).grad()), name);
    const auto of_input = [&](const Tensor& input) { return loss(parameters_of(model), input); };
    CHECK(hessian(of_input)(x).sizes() == std::vector<int64_t>{2, 3, 2, 3});
  }

  TEST_CASE("a shared parameter is replaced under all of its names") {
    Module model = create_module(Json::parse(R"({"type": "Sequential", "layers": [
      {"type": "Linear", "in_features": 2, "out_features": 2, "bias": false},
      {"type": "Linear", "in_features": 2, "out_features": 2, "bias": false}]})"));
    model.to(f64);
    model.child("1").assign("weight", model.tensor("0.weight"));
    CHECK(parameters_of(model).size() == 1);
    const Tensor doubled = row({2, 0, 0, 2}).view({2, 2});
    CHECK(numbers(functional_call(model, {{"0.weight", doubled}}, row({1, 3}).view({1, 2}))) ==
          Numbers{4, 12});
  }

  TEST_CASE("wrong names and shapes are refused, and nothing stays replaced") {
    const Module model = network();
    const Tensor x = row({1, 2, 3}).view({1, 3}), own = model.tensor("2.bias");
    Refused error = refused([&] { functional_call(model, {{"2.bais", row({1})}}, x); });
    CHECK(error.kind == TENON_ERROR_VALUE);
    CHECK(has(error.text, "has no parameter or buffer '2.bais'"));
    CHECK(has(error.text, "2.bias"));
    error = refused([&] {
      functional_call(model, {{"0.bias", row({1, 2, 3, 4})}, {"2.bias", row({1, 2})}}, x);
    });
    CHECK(error.kind == TENON_ERROR_VALUE);
    CHECK(has(error.text,
              "'2.bias' of Sequential has shape [1], but the tensor given for it has "
              "shape [2]"));
    refused([&] { functional_call(model, {{"2.bias", row({1})}}, row({1})); });
    CHECK(model.tensor("2.bias").is_same(own));
    CHECK(model.tensor("0.bias").requires_grad());
  }
}
