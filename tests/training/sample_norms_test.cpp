// Norms of the gradients of single samples, beside a loop over them.
#include <cmath>

#include <tenon/device.hpp>

#include "support.hpp"

namespace {

tenon::Module model_of(const std::string& layers) {
  return tenon::create_module(Json::parse(R"({"type": "Sequential", "layers": [)" + layers + "]}"));
}
const training::Loss& cross_entropy() {
  static const training::Loss loss(Json::parse(R"({"type": "nn.functional.cross_entropy"})"));
  return loss;
}
// Samples of 4 numbers in 3 classes, whose rows in the file are 100, 101, ...
training::Samples samples_of(int64_t count) {
  training::Samples samples;
  samples.inputs = tenon::randn({count, 4});
  samples.labels = tenon::randint(0, 3, {count});
  samples.rows = tenon::arange(100, 100 + count, 1, tenon::i64);
  return samples;
}
double norm_alone(const tenon::Module& model, const training::Samples& samples, int64_t at) {
  const training::Samples one = samples.narrow(at, 1);
  model.zero_grad();
  cross_entropy()(model(one.inputs), one.labels).backward();
  double total = 0;
  for (const Tensor& parameter : model.parameters()) {
    if (parameter.requires_grad()) total += tenon::sum(parameter.grad() * parameter.grad()).item();
  }
  return std::sqrt(total);
}

constexpr const char* kLayers = R"({"type": "Linear", "in_features": 4, "out_features": 8}, "Tanh",
  {"type": "Linear", "in_features": 8, "out_features": 3})";
constexpr const char* kNormed = R"({"type": "Linear", "in_features": 4, "out_features": 8},
  {"type": "BatchNorm1d", "num_features": 8}, {"type": "Linear", "in_features": 8, "out_features": 3})";

}  // namespace

TEST_SUITE("sample norms") {
  TEST_CASE("norms are those of a backward for each sample alone") {
    const tenon::Module model = model_of(kLayers);
    const training::Samples samples = samples_of(301);
    const training::SampleNorms norms =
        training::sample_norms(model, cross_entropy(), samples, 301);
    CHECK(norms.count == 301);
    REQUIRE(norms.most.size() == 301);
    for (const training::SampleNorm& one : norms.most)
      CHECK(one.norm ==
            doctest::Approx(norm_alone(model, samples, one.sample - 100)).epsilon(1e-4));
    CHECK(norms.largest == norms.most.front().norm);
    CHECK(norms.median == norms.most[150].norm);
    CHECK(norms.least == norms.most.back().norm);
  }

  TEST_CASE(
      "norms of a model on a device are those of the CPU, and its samples stay where they are") {
    const tenon::Module model = model_of(kLayers);
    const training::Samples samples = samples_of(20);
    const training::SampleNorms cpu = training::sample_norms(model, cross_entropy(), samples, 20);
    tenon::device::move(model, tenon::device::Device("sim:1"));
    const training::SampleNorms sim = training::sample_norms(model, cross_entropy(), samples, 20);
    REQUIRE(sim.most.size() == 20);
    for (size_t i = 0; i < 20; ++i) {
      CHECK(sim.most[i].sample == cpu.most[i].sample);
      CHECK(sim.most[i].norm == doctest::Approx(cpu.most[i].norm).epsilon(1e-4));
    }
    CHECK(tenon::device::name_of(samples.inputs) == "cpu");
  }

  TEST_CASE("frozen parameters do not count, and none at all is refused") {
    const tenon::Module model = model_of(kLayers);
    const training::Samples samples = samples_of(5);
    const std::vector<Tensor> parameters = model.parameters();
    Tensor(parameters[0]).requires_grad_(false);
    const training::SampleNorms norms = training::sample_norms(model, cross_entropy(), samples, 1);
    CHECK(norms.most[0].norm ==
          doctest::Approx(norm_alone(model, samples, norms.most[0].sample - 100)).epsilon(1e-4));
    for (const Tensor& parameter : parameters) Tensor(parameter).requires_grad_(false);
    CHECK(contains(refusal([&] { training::sample_norms(model, cross_entropy(), samples); }),
                   "norms of gradients: Sequential has no parameter that requires grad"));
  }

  TEST_CASE("a layer that computes a sample from others is refused by name, and changes nothing") {
    const tenon::Module model = model_of(kNormed);
    const training::Samples samples = samples_of(9);
    model.train();
    const auto draws = tenon::generator_state();
    CHECK(contains(refusal([&] { training::sample_norms(model, cross_entropy(), samples); }),
                   "norms of gradients: layer '1' (BatchNorm1d) computes a sample from the others "
                   "of its batch in training mode"));
    CHECK(tenon::sum(tenon::abs(model.buffers()[0])).item() == 0);  // running means
    CHECK(tenon::generator_state().offset == draws.offset);
    model.eval();
    const training::SampleNorms norms = training::sample_norms(model, cross_entropy(), samples, 9);
    CHECK(norms.most[8].norm ==
          doctest::Approx(norm_alone(model, samples, norms.most[8].sample - 100)).epsilon(1e-4));
  }

  TEST_CASE("samples that draw random numbers are measured, too") {
    const tenon::Module model =
        model_of(std::string(kLayers) + R"(, {"type": "Dropout", "p": 0.2})");
    model.train();
    CHECK(training::sample_norms(model, cross_entropy(), samples_of(6)).most.size() == 5);
  }
}
