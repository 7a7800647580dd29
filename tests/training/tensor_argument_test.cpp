// Tensors that a config gives to ops: numbers and lists of them, and names of ops that compute them.
#include <cmath>

#include <tenon/json_tensor.hpp>

#include "support.hpp"

namespace {

Tensor scores() { return tenon::tensor({1.0, -0.5, 0.25, 0.0, 2.0, -1.0}).reshape({2, 3}); }
Tensor targets() {
  const std::vector<int64_t> values = {2, 0};
  return tenon::from_range(values.begin(), values.end());
}
double loss_of(const std::string& weight, const Tensor& output) {
  const training::Loss loss(Json::parse(R"({"type": "cross_entropy", "weight": )" + weight + "}"));
  return loss(output, targets()).item();
}
double expected(const Tensor& weight, const Tensor& output) {
  static const tenon::Op op("nn.functional.cross_entropy");
  return op.call<Tensor>(output, targets(), weight).item();
}
std::vector<std::string> faults(const std::string& section) {
  const Json json = Json::parse(section);
  return training::op_faults(training::loss_role(),
                             training::find_op(training::loss_role(), json["type"].text(), json),
                             json);
}

}  // namespace

TEST_SUITE("tensor arguments") {
  TEST_CASE("numbers are a tensor of the operands' dtype, whole ones too") {
    const Tensor weight = tenon::tensor({1.0, 5.0, 0.5});
    CHECK(loss_of("[1.0, 5.0, 0.5]", scores()) == expected(weight, scores()));
    const Tensor wide = scores().to(tenon::f64);
    CHECK(loss_of("[1, 5, 0.5]", wide) == expected(weight.to(tenon::f64), wide));
    CHECK(loss_of("[1, 5, 2]", scores()) == expected(tenon::tensor({1.0, 5.0, 2.0}), scores()));
    CHECK(loss_of("null", scores()) == expected(Tensor(), scores()));
  }

  TEST_CASE("lists in lists are a tensor of as many dimensions") {
    const Tensor output = scores().sigmoid(), target = tenon::ones({2, 3});
    const training::Loss loss(
        Json::parse(R"({"type": "binary_cross_entropy", "weight": [[1, 2, 3], [4, 5, 6]]})"));
    static const tenon::Op op("nn.functional.binary_cross_entropy");
    CHECK(
        loss(output, target).item() ==
        op.call<Tensor>(output, target, tenon::arange(1, 7, 1, tenon::f32).reshape({2, 3})).item());
  }

  TEST_CASE("a list of tensors is written as a list of these, whose shapes may differ") {
    const training::OpRole role{"op", {"{}"}, 0, {}, {"type"}};
    const auto section = [](const std::string& operands) {
      return Json::parse(R"({"type": "einsum", "equation": "ij,j->", "operands": )" + operands +
                         "}");
    };
    const training::OpChoice choice(role, section("[[[1, 2], [3, 4.5]], [1, 2.5]]"));
    CHECK(choice.call_one({}).tensor().item<float>() == 1 + 5 + 3 + 11.25F);
    const auto fault = [&](const std::string& operands) {
      const Json json = section(operands);
      const auto all = training::op_faults(role, training::find_op(role, "einsum", json), json);
      return all.empty() ? "no fault" : all.front();
    };
    CHECK(fault("[[[1]], [1]]") == "no fault");
    CHECK(contains(fault("[[[1, 2], [3]], [1]]"),
                   "found a list of 1 element, where the first has 2"));
    CHECK(contains(fault("3"), "takes 'Tensor[] operands', found 3"));
    CHECK(contains(fault("\"x\""), "takes 'Tensor[] operands', found \"x\""));

    const tenon::Module graph = tenon::create_module(Json::parse(
        R"({"type": "Graph", "inputs": ["x"], "nodes": {
              "sum": {"op": "einsum", "inputs": {}, "equation": "ij,j->",
                      "operands": [[[1, 2], [3, 4.5]], [1, 2.5]]},
              "all": {"op": "add", "inputs": ["x", "sum"]}}, "outputs": ["all"]})"));
    CHECK(graph(tenon::zeros({})).item<float>() == 20.25F);
  }

  TEST_CASE("whole numbers beyond those of f64 are tensors exactly") {
    const Tensor found =
        tenon::json_tensor(Json::parse("[9007199254740993, -9223372036854775807]"));
    CHECK(found.to_vector<int64_t>() ==
          std::vector<int64_t>{9007199254740993, -9223372036854775807});
    CHECK(tenon::json_tensor(Json::parse("[1, 2.5]")).dtype() == tenon::f32);
    CHECK(tenon::json_tensor(Json::parse("[[], []]")).sizes() == std::vector<int64_t>{2, 0});
  }

  TEST_CASE("what is not a tensor is refused, with the place and the reason") {
    const auto fault = [](const std::string& weight) {
      const std::vector<std::string> all =
          faults(R"({"type": "cross_entropy", "weight": )" + weight + "}");
      return all.empty() ? "no fault" : all.front();
    };
    CHECK(fault("[1, 2]") == "no fault");
    CHECK(contains(fault("[[1], [2, 3]]"), "found a list of 2 elements, where the first has 1"));
    CHECK(contains(fault("[[1], 2]"), "found a number, where others are lists"));
    CHECK(contains(fault("[1, [2]]"), "found a list, where others are numbers"));
    CHECK(contains(fault("[1, true]"), "found true"));
    CHECK(contains(fault("true"), "takes 'Tensor? weight', found true"));
    CHECK(contains(fault("\"balancd\""), "no op of weights is named 'balancd' (did you mean"));
    CHECK(contains(fault(R"({"type": "balanced", "x": 1})"), "has no argument 'x'"));
  }

  TEST_CASE("docs and editors offer the tensors of an op that are not its operands") {
    for (const training::ConfigChoice& choice : training::config_choices("loss")) {
      if (choice.names.back() != "nn.functional.cross_entropy") continue;
      CHECK(choice.parameters.front().name == "weight");
      CHECK(choice.parameters.front().is_tensor());
      return;
    }
    FAIL("no loss is cross_entropy");
  }

  TEST_CASE("balanced weights are the same for all classes together") {
    const std::vector<int64_t> values = {0, 0, 0, 0, 0, 0, 1, 1, 2, 2, 2, 2};
    const Tensor labels = tenon::from_range(values.begin(), values.end());
    training::Loss loss(Json::parse(R"({"type": "cross_entropy", "weight": "balanced"})"));
    CHECK(
        contains(refusal([&] { loss(scores(), targets()); }), "has not been computed from labels"));
    loss.fit(labels, 3);
    CHECK(loss(scores(), targets()).item() ==
          expected(tenon::tensor({12.0 / 18, 12.0 / 6, 12.0 / 12}), scores()));
    training::Loss four(Json::parse(R"({"type": "cross_entropy", "weight": "balanced"})"));
    CHECK(contains(refusal([&] { four.fit(labels, 4); }), "no label is of class 3"));
  }

  TEST_CASE("labels that a loss ignores count neither for its weights nor for metrics") {
    const std::vector<int64_t> values = {0, 0, -1, 1, 2, 2, -1, -1};
    const Tensor labels = tenon::from_range(values.begin(), values.end());
    training::Loss loss(
        Json::parse(R"({"type": "cross_entropy", "weight": "balanced", "ignore_index": -1})"));
    loss.fit(labels, 3);
    CHECK(loss(scores(), targets()).item() ==
          expected(tenon::tensor({5.0 / 6, 5.0 / 3, 5.0 / 6}), scores()));
    training::Samples samples;
    samples.inputs = tenon::ones({8, 2});
    samples.labels = labels;
    tenon::Module model = tenon::create_module(
        Json::parse(R"({"type": "Linear", "in_features": 2, "out_features": 3})"));
    const std::vector<training::Metric> metrics = {
        training::Metric(Json::parse(R"({"type": "accuracy"})"))};
    const training::Score score = training::evaluate(model, &loss, metrics, samples, 4);
    CHECK(score.count == 8);
    CHECK(score.labels == 5);
    // Each row has the same scores, so that one class is right.
    const double accuracy = *score.find("accuracy");
    CHECK((accuracy == doctest::Approx(0.4) || accuracy == doctest::Approx(0.2)));
    // Without a label that counts a metric is NaN, whatever it says of no samples.
    samples.labels = tenon::full({8}, -1, tenon::i64);
    const std::vector<training::Metric> refusing = {
        training::Metric(Json::parse(R"({"type": "mean_absolute_error"})"))};
    const training::Score none = training::evaluate(model, &loss, refusing, samples, 4);
    CHECK(none.labels == 0);
    CHECK(std::isnan(*none.find("mean_absolute_error")));
  }

  TEST_CASE("a loss that compares elements refuses shapes that only broadcast, and names both") {
    const training::Loss squares(Json::parse(R"({"type": "mse_loss"})"));
    const std::string message = refusal([&] { squares(tenon::zeros({2, 1}), tenon::zeros({2})); });
    CHECK(
        contains(message, "the output has shape [2, 1] and the target [2], which only broadcast"));
    CHECK(refusal([&] { squares(tenon::zeros({2, 1}), tenon::zeros({2, 1})); }) == "no error");
    // As many classes as samples: the target has one number for each row.
    const training::Loss classes(Json::parse(R"({"type": "cross_entropy"})"));
    const Tensor square = tenon::zeros({2, 2});
    const std::vector<int64_t> one = {0, 1};
    CHECK(refusal([&] { classes(square, tenon::from_range(one.begin(), one.end())); }) ==
          "no error");
    CHECK(contains(refusal([&] { squares(square, tenon::zeros({2})); }),
                   "[2, 2] and the target [2]"));
  }
}
