// Scores of models that were opened from files.
#include "support.hpp"

namespace {

training::Samples samples_of(int64_t count) {
  training::Samples samples;
  samples.inputs = tenon::randn({count, 4});
  samples.labels = tenon::randint(0, 3, {count});
  return samples;
}
tenon::Module classifier() {
  tenon::Module model = tenon::create_module(
      Json::parse(R"({"type": "Linear", "in_features": 4, "out_features": 3})"));
  model.eval();
  return model;
}

}  // namespace

TEST_SUITE("evaluation of prepared models") {
  TEST_CASE("samples are scored in the fewest batches that lists are for") {
    tenon::Module model = classifier();
    const training::Loss loss(Json::parse(R"({"type": "cross_entropy"})"));
    const std::vector<training::Metric> metrics = {
        training::Metric(Json::parse(R"({"type": "accuracy"})"))};
    struct Case {
      std::vector<int64_t> lengths;
      int64_t samples, batches;
    };
    for (const Case& one : {Case{{5}, 5, 1}, Case{{5, 3}, 9, 3}, Case{{4, 3, 1}, 6, 2},
                            Case{{2, 6}, 16, 4}, Case{{1}, 4, 4}}) {
      CAPTURE(one.samples);
      std::vector<std::vector<Tensor>> examples;
      for (const int64_t length : one.lengths) examples.push_back({tenon::zeros({length, 4})});
      const Folder folder;
      tenon::prepare(model, examples).save(folder.file("net.tenon"));
      const tenon::Prepared opened = tenon::open_prepared(folder.file("net.tenon"));
      const training::Samples samples = samples_of(one.samples);
      const training::Score found = training::evaluate(opened, &loss, metrics, samples),
                            expected = training::evaluate(model, &loss, metrics, samples, 256);
      CHECK(opened.listed_runs() == one.batches);
      CHECK(found.count == one.samples);
      CHECK(*found.loss == doctest::Approx(*expected.loss).epsilon(1e-5));
      CHECK(*found.find("accuracy") == *expected.find("accuracy"));
    }
  }

  TEST_CASE("lengths that do not add up to the samples, and other layouts, are refused") {
    const Folder folder;
    tenon::prepare(classifier(), {{tenon::zeros({4, 4})}, {tenon::zeros({6, 4})}})
        .save(folder.file("net.tenon"));
    const tenon::Prepared opened = tenon::open_prepared(folder.file("net.tenon"));
    CHECK(refusal([&] { training::evaluate(opened, nullptr, {}, samples_of(9)); }) ==
          "the prepared model is for batches of 6, 4 samples, which do not add up to 9; prepare it "
          "for batches of 3, too");
    training::Samples wide = samples_of(4);
    wide.inputs = tenon::randn({4, 5});
    CHECK(contains(refusal([&] { training::evaluate(opened, nullptr, {}, wide); }),
                   "and the samples are f32[4, 5]; prepare it for batches of them"));
  }
}
