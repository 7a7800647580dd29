// Labels in the form that a model's output asks for.
#include "support.hpp"

namespace {

Tensor codes(const std::vector<int64_t>& values) {
  return tenon::from_range(values.begin(), values.end());
}

// A model that scores 3 classes for each of `places` numbers: [samples, 3, places].
tenon::Module scoring() {
  return tenon::create_module(Json::parse(R"({"type": "Graph", "nodes": {
      "columns": {"op": "unsqueeze", "dim": -1},
      "scores": {"module": {"type": "Linear", "in_features": 1, "out_features": 3}},
      "output": {"op": "transpose", "dim0": 1, "dim1": 2}}})"));
}

training::Dataset fitted(const Tensor& labels) {
  training::Dataset dataset;
  dataset.train.inputs = tenon::ones({2, 4});
  dataset.train.labels = labels;
  tenon::Module model = scoring();
  training::fit_labels(Json::parse("{}"), model, dataset);
  return dataset;
}

}  // namespace

TEST_SUITE("fit_labels") {
  TEST_CASE("a sample may have a class at each of several places") {
    const training::Dataset dataset = fitted(codes({0, 1, 2, 0, 2, 2, 1, 0}).reshape({2, 4}));
    CHECK(dataset.train.labels.dtype() == tenon::i64);
    CHECK(dataset.train.labels.sizes() == std::vector<int64_t>{2, 4});

    tenon::Module model = scoring();
    const training::Loss loss(Json::parse(R"({"type": "cross_entropy"})"));
    const std::vector<training::Metric> metrics = {
        training::Metric(Json::parse(R"({"type": "accuracy"})"))};
    const training::Score score = training::evaluate(model, &loss, metrics, dataset.train, 1);
    CHECK(score.count == 2);
    CHECK(score.labels == 8);
    CHECK(*score.loss > 0);
    CHECK(*score.find("accuracy") <= 1);
  }

  TEST_CASE("classes that the model does not score are refused, at any place") {
    CHECK(contains(refusal([] {
                     fitted(codes({0, 1, 2, 0, 2, 3, 1, 0}).reshape({2, 4}));
                   }),
                   "the label of sample 2 (train) is 3, but the model scores 3 classes, 0 to 2"));
  }

  TEST_CASE(
      "a refusal of labels names the first in its file, its value, and how many more there are") {
    training::Dataset dataset;
    dataset.train.inputs = tenon::ones({4, 4});
    dataset.train.labels = tenon::tensor({0.0, 7.0, 0.5, 1.0});
    dataset.train.rows = codes({5, 9, 3, 0});
    dataset.test.inputs = tenon::ones({2, 4});
    dataset.test.labels = tenon::tensor({2.0, -1.0});
    tenon::Module model = tenon::create_module(
        Json::parse(R"({"type": "Linear", "in_features": 4, "out_features": 3})"));
    const auto message = [&](const char* config) {
      return refusal([&] { training::fit_labels(Json::parse(config), model, dataset); });
    };
    CHECK(
        contains(message("{}"),
                 "the label of sample 4 (train) is 0.5, but the model scores 3 classes, 0 to 2; 2 "
                 "more labels do not fit"));
    dataset.train.labels = codes({0, 1, 2, 1});
    CHECK(contains(message("{}"),
                   "the label of sample 2 (test) is -1, but the model scores 3 "
                   "classes, 0 to 2"));
    dataset.test.labels = tenon::tensor({2.0, -1.0});
    CHECK(message(R"({"loss": {"type": "cross_entropy", "ignore_index": -1}})") == "no error");
    CHECK(dataset.classes == 3);
  }

  TEST_CASE("numbers of the output's shape stay numbers") {
    const training::Dataset dataset = fitted(tenon::zeros({2, 3, 4}));
    CHECK(dataset.train.labels.dtype() == tenon::f32);
    CHECK(dataset.train.labels.sizes() == std::vector<int64_t>{2, 3, 4});
  }

  TEST_CASE("labels of another shape are refused") {
    CHECK(contains(refusal([] {
                     fitted(codes({0, 1, 2, 0}).reshape({2, 2}));
                   }),
                   "the model gives 12 numbers for a sample, but a label has 2"));
  }
}
