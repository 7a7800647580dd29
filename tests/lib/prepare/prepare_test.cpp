// Prepared models: results, lists, memory.
#include <thread>

#include "tests/lib/prepare/support.hpp"

using namespace preparing;

namespace {

const char* const mlp = R"({"type": "Sequential", "layers": [
    {"type": "Linear", "in_features": 8, "out_features": 16}, "ReLU",
    {"type": "Linear", "in_features": 16, "out_features": 4}, "Tanh",
    {"type": "Softmax", "dim": 1}]})";

std::string chain(const char* op, int length) {
  std::string layers;
  for (int i = 0; i < length; ++i) layers += (i == 0 ? "\"" : ", \"") + std::string(op) + "\"";
  return R"({"type": "Sequential", "layers": [)" + layers + "]}";
}

}  // namespace

TEST_SUITE("lib/prepare/prepare") {
  TEST_CASE("a prepared model gives the results of the model, by its list") {
    const Module model = model_of(mlp);
    const Prepared prepared = prepare(model);
    for (int i = 0; i < 3; ++i) CHECK(agrees(prepared, model, {randn({5, 8})}));
    CHECK(prepared.listed_runs() == 3);
    CHECK(prepared.runs_as_is() == 0);
    CHECK(prepared.reasons().empty());
  }

  TEST_CASE("examples are listed before the first call") {
    PrepareOptions options;
    options.rewrites.declared = false;
    const Prepared prepared = prepare(model_of(mlp), {{randn({2, 8})}, {randn({3, 8})}}, options);
    REQUIRE(prepared.lists().size() == 2);
    const PreparedList list = prepared.lists().front();
    CHECK(list.arguments == "f32[3, 8]");
    CHECK(list.reason.empty());
    CHECK(list.recorded == 5);
    REQUIRE(list.calls.size() == 5);
    CHECK(list.calls[1].op == "relu");
    CHECK(list.calls[1].provider == "math");
    CHECK(list.calls[1].in_arena);
    CHECK_FALSE(list.calls[4].in_arena);  // the output
  }

  TEST_CASE("members and state are those of the model") {
    const Module model = model_of(mlp);
    const Prepared prepared = prepare(model);
    CHECK(prepared.is_same(model));
    CHECK(prepared.named_parameters().front().first == "0.weight");
    CHECK(prepared.forward_schema() == model.forward_schema());
  }

  TEST_CASE("each layout of the arguments has a list, of which the last ones are kept") {
    const Module model = model_of(mlp);
    PrepareOptions options;
    options.lists = 2;
    const Prepared prepared = prepare(model, {}, options);
    for (const int64_t rows : {1, 2, 3, 1, 3}) CHECK(agrees(prepared, model, {randn({rows, 8})}));
    CHECK(agrees(prepared, model, {randn({8, 3}).transpose(0, 1)}));
    CHECK(agrees(prepared, model, {randn({0, 8})}));
    REQUIRE(prepared.lists().size() == 2);
    CHECK(prepared.lists().front().arguments == "f32[0, 8]");
    CHECK(prepared.runs_as_is() == 0);
  }

  TEST_CASE("arguments without elements have another list than those that have some") {
    const std::vector<std::pair<std::string, std::vector<int64_t>>> models{
        {mlp, {3, 8}},
        {chain("Tanh", 3), {3, 5}},
        {R"({"type": "Sequential", "layers": [
            {"type": "Conv2d", "in_channels": 2, "out_channels": 3, "kernel_size": 3},
            {"type": "BatchNorm2d", "num_features": 3}, "ReLU",
            {"type": "MaxPool2d", "kernel_size": 2}, "Flatten"]})",
         {3, 2, 6, 6}},
        {R"({"type": "Sequential", "layers": [{"type": "LayerNorm", "normalized_shape": [4]}, "GELU",
            {"type": "Softmax", "dim": 1}]})",
         {3, 4}}};
    for (const auto& [document, shape] : models) {
      CAPTURE(document);
      const Module model = model_of(document);
      std::vector<int64_t> none = shape;
      none[0] = 0;
      const Prepared prepared = prepare(model, {{randn(none)}});
      const NoGrad no_grad;
      for (int i = 0; i < 2; ++i) {
        for (const std::vector<int64_t>& sizes : {none, shape}) {
          const Tensor found = prepared(randn(sizes));
          CHECK(found.size(0) == sizes[0]);
          CHECK(agrees(prepared, model, {randn(sizes)}));
        }
      }
      REQUIRE(prepared.lists().size() == 2);
      CHECK(prepared.lists().back().layouts.front().sizes() == none);
      CHECK(prepared.runs_as_is() == 0);
    }
  }

  TEST_CASE("examples of another shape, rank or dtype than the call leave nothing behind") {
    const Module model = model_of(chain("Tanh", 3));
    const Prepared prepared =
        prepare(model, {{randn({3, 4}).to(f64)}, {randn({2})}, {full({5}, 1, i64)}});
    for (const Tensor& input :
         {randn({3, 4}), randn({3, 4}).to(f64), randn({3, 4, 1}), randn({2})}) {
      CHECK(agrees(prepared, model, {input}));
      const NoGrad no_grad;
      CHECK(prepared(input).dtype() == input.dtype());
    }
    CHECK(prepared.runs_as_is() == 0);
    const Module layers = model_of(mlp);
    const Prepared other = prepare(layers, {{full({2, 8}, 1, i64)}, {randn({2, 8}).to(f64)}});
    for (const PreparedList& list : other.lists()) CHECK_FALSE(list.reason.empty());
    CHECK(agrees(other, layers, {randn({2, 8})}));
    CHECK(other.listed_runs() == 1);
    CHECK(agrees(other, layers, {randn({2, 8}).to(f64)}));  // the error of the model
  }

  TEST_CASE("what the model refuses is refused with its words") {
    const Module model = model_of(mlp);
    const Prepared prepared = prepare(model, {{randn({2, 7})}});
    CHECK_FALSE(prepared.lists().front().reason.empty());
    CHECK(agrees(prepared, model, {randn({2, 7})}));
    CHECK(agrees(prepared, model, {randn({2, 8})}));
    CHECK_THROWS_AS(prepared(), TypeError);
    CHECK_THROWS_AS((prepared.call<std::tuple<Tensor, Tensor>>(randn({2, 8}))), TypeError);
    CHECK_THROWS_WITH_AS(prepare(Module()), "the module is undefined: assign one before using it",
                         TypeError);
  }

  TEST_CASE("results that are needed at different times share memory") {
    const Prepared prepared = prepare(model_of(chain("Tanh", 20)), {{randn({1000})}});
    const PreparedList list = prepared.lists().front();
    CHECK(list.result_bytes == 20 * 4000);
    CHECK(list.shared_bytes == 19 * 4000);
    CHECK(list.arena_bytes == 4032);  // in place, in multiples of 64 bytes
    CHECK(list.calls[7].in_place);
    CHECK_FALSE(list.calls[0].in_place);
  }

  TEST_CASE("kernels make results in the shared memory, once the first run has shown which do") {
    add_plugin_path(TENON_FIXTURES "/prepared");
    const Module model = model_of(R"({"type": "Graph", "nodes": {
        "first": {"op": "cumsum", "inputs": ["input"], "dim": 0},
        "two": {"op": "prepared.makes_two"},
        "last": {"op": "cumsum", "dim": 0},
        "tail": {"op": "prepared.makes_two"}}})");
    const Prepared prepared = prepare(model, {{randn({1000})}});
    const PreparedList list = prepared.lists().front();
    CHECK(list.calls[0].in_arena);
    CHECK_FALSE(list.calls[1].in_arena);
    CHECK(list.calls[2].in_arena);
    CHECK(list.arena_bytes == 4032);
    CHECK(list.peak_bytes <= list.recorded_peak_bytes + 64);
    for (int i = 0; i < 3; ++i) CHECK(agrees(prepared, model, {randn({1000})}));
    CHECK(prepared.listed_runs() == 3);
  }

  TEST_CASE("a result that a kernel begins to keep stays as it is") {
    add_plugin_path(TENON_FIXTURES "/prepared");
    const NoGrad no_grad;
    const Op kept("prepared.kept_result");
    const Module model = model_of(R"({"type": "Graph", "nodes": {
        "kept": {"op": "prepared.keeps_result"},
        "sum": {"op": "cumsum", "dim": 0}, "more": {"op": "tanh"}, "last": {"op": "neg"}}})");
    const Prepared prepared = prepare(model, {{randn({100})}});
    CHECK(prepared.lists().front().calls[0].in_arena);
    kept.call<Tensor>(true);
    const Tensor input = randn({100});
    prepared(input);
    const Tensor result = kept.call<Tensor>(false);
    CHECK(same_bits(result, input));
    for (int i = 0; i < 3; ++i) CHECK(agrees(prepared, model, {randn({100})}));
    CHECK(same_bits(result, input));
    CHECK(prepared.listed_runs() == 4);
  }

  TEST_CASE("a result stays as it is when the next run has begun") {
    const Module model = model_of(chain("Tanh", 3));
    const Prepared prepared = prepare(model);
    const NoGrad no_grad;
    const Tensor first_input = randn({100});
    const Tensor first = prepared(first_input), expected = first.clone();
    prepared(randn({100}));
    CHECK(same_bits(first, expected));
  }

  TEST_CASE("calls on parameters alone are folded, and unused ones dropped") {
    const Module model = model_of(R"({"type": "Graph", "nodes": {
        "numbers": {"op": "arange", "inputs": [4]},
        "squares": {"op": "mul", "inputs": ["numbers", "numbers"]},
        "unused": {"op": "exp", "inputs": ["input"]},
        "more": {"op": "neg", "inputs": ["unused"]},
        "sum": {"op": "add", "inputs": ["input", "squares"]}}, "outputs": ["sum"]})");
    const Prepared prepared = prepare(model, {{randn({4})}});
    const PreparedList list = prepared.lists().front();
    CHECK(list.reason.empty());
    CHECK(list.folded == std::vector<std::string>{"arange", "mul"});
    CHECK(list.dropped == std::vector<std::string>{"exp", "neg"});
    CHECK(list.calls.size() == 1);
    CHECK(agrees(prepared, model, {randn({4})}));
  }

  TEST_CASE("an argument that is given twice is one tensor") {
    const Module model = model_of(R"({"type": "Graph", "inputs": ["a", "b"], "nodes": {
        "doubled": {"op": "add_", "inputs": ["a", "a"]},
        "sum": {"op": "add", "inputs": ["a", "b"]}}, "outputs": ["sum"]})");
    const Prepared prepared = prepare(model);
    const NoGrad no_grad;
    for (int i = 0; i < 2; ++i) {
      const Tensor apart = ones({3}), other = ones({3}), same = ones({3});
      CHECK(prepared.call<Tensor>(apart, other).to_vector<float>() == std::vector<float>(3, 3));
      CHECK(prepared.call<Tensor>(same, same).to_vector<float>() == std::vector<float>(3, 4));
      CHECK(same.to_vector<float>() == std::vector<float>(3, 2));
    }
    CHECK(prepared.listed_runs() == 4);
    const Tensor whole = ones({6});
    prepared.call<Tensor>(narrow(whole, 0, 0, 3), narrow(whole, 0, 3, 3));
    CHECK(has(prepared.reasons(), "two arguments share memory"));
  }

  TEST_CASE("keywords and numbers are part of a call's layout") {
    const Module model =
        model_of(R"({"type": "LSTM", "input_size": 3, "hidden_size": 2, "num_layers": 2})");
    const Prepared prepared = prepare(model);
    const NoGrad no_grad;
    const Tensor input = randn({4, 2, 3}), hidden = randn({2, 2, 2});
    using Three = std::tuple<Tensor, Tensor, Tensor>;
    for (int i = 0; i < 2; ++i) {
      const auto [output, last, cell] = prepared.call<Three>(input, arg("hidden") = hidden);
      const auto [expected, own_last, own_cell] = model.call<Three>(input, arg("hidden") = hidden);
      CHECK(same_bits(output, expected));
      CHECK(same_bits(last, own_last));
      CHECK(same_bits(cell, own_cell));
    }
    CHECK(agrees(prepared, model, {input}));
    CHECK(prepared.lists().size() == 2);
    CHECK(prepared.lists().back().arguments == "f32[4, 2, 3], hidden=f32[2, 2, 2]");
    CHECK(prepared.runs_as_is() == 0);
  }

  TEST_CASE(
      "memory of views is counted once: of an argument not at all, of a result in the block with "
      "it") {
    const Module model = model_of(R"({"type": "Graph", "inputs": ["x"], "outputs": ["y"], "nodes": {
      "u": {"op": "unsqueeze", "inputs": ["x"], "dim": 0}, "e": {"op": "exp", "inputs": ["u"]},
      "t": {"op": "transpose", "inputs": ["e"], "dim0": 1, "dim1": 2},
      "s": {"op": "sin", "inputs": ["t"]}, "y": {"op": "sum", "inputs": ["s"]}}})");
    const Prepared prepared = prepare(model, {{randn({16, 16})}});
    const PreparedList list = prepared.lists().front();
    CHECK(list.reason == "");
    constexpr int64_t matrix = 16 * 16 * 4, number = 4;
    CHECK(list.result_bytes == 2 * matrix + number);
    CHECK(list.recorded_peak_bytes == 2 * matrix);
    CHECK(list.peak_bytes <= 2 * matrix + number);
    CHECK(list.calls[0].bytes == 0);  // a view of the argument
  }

  TEST_CASE("kernels may keep what they make of a weight that is mapped, for all clones once") {
    add_plugin_path(TENON_FIXTURES "/prepared");
    const NoGrad no_grad;
    float memory[2] = {1, 2};
    const int64_t shape = 2, stride = 1;
    const Module model = model_of(R"({"type": "prepared.Numbers"})");
    Module(model).assign("weight", wrap_buffer(static_cast<float*>(memory), {&shape, 1},
                                               {&stride, 1}, f32, nullptr, nullptr)
                                       .requires_grad_());
    CHECK(model(ones({2})).item() == 0);
    const Prepared prepared = prepare(model);
    const double number = prepared(ones({2})).item();
    CHECK(number != 0);
    CHECK(prepared(ones({2})).item() == number);
    CHECK(prepared.clone()(ones({2})).item() == number);
    CHECK(prepared(ones({3})).item() == number);
    Tensor(model.tensor("weight")).add_(1);
    prepared(ones({2}));
    const double later = prepared(ones({2})).item();
    CHECK(later != 0);
    CHECK(later != number);
  }

  TEST_CASE("clones share weights and run at the same time") {
    const Module model = model_of(mlp);
    const Prepared prepared = prepare(model);
    std::vector<std::thread> threads;
    std::vector<Prepared> clones{prepared.clone(), prepared.clone()};
    std::vector<int> wrong(clones.size(), 0);
    // Drawn here: a recording refuses ops while the process's generator moves.
    const std::vector<Tensor> inputs{randn({2, 8}), randn({2, 8})};
    for (size_t t = 0; t < clones.size(); ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 50; ++i) wrong[t] += agrees(clones[t], model, {inputs[t]}) ? 0 : 1;
      });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(wrong == std::vector<int>{0, 0});
    for (const Prepared& clone : clones) {
      CHECK(clone.listed_runs() == 50);
      CHECK(clone.tensor("0.weight").is_same(model.tensor("0.weight")));
    }
  }

  TEST_CASE("a pass may rewrite the list") {
    const Module model = model_of(chain("Tanh", 2));
    PrepareOptions options;
    options.passes.push_back([](prepared::CallList& list) {
      for (prepared::ListedCall& call : list.calls) {
        if (call.op.name() == "tanh") call.op = Op("sin");
      }
    });
    const Prepared prepared = prepare(model, {}, options);
    const NoGrad no_grad;
    const Tensor input = randn({6});
    CHECK(same_bits(prepared(input), sin(sin(input))));
    CHECK(same_bits(prepared.call_as_is<Tensor>(input), tanh(tanh(input))));
  }
}
