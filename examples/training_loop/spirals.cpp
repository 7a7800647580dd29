// A training loop in C++: the parts of tenon::training, and what happens between them in plain sight.
#include <cmath>
#include <cstdio>

#include <tenon/tenon.hpp>
#include <tenon/training/training.hpp>

namespace training = tenon::training;
using tenon::Json, tenon::Module, tenon::Tensor;

namespace {

// Two spirals, one for each class, with noise.
training::Samples spirals(int64_t count) {
  const Tensor turn = tenon::rand({count}).sqrt() * 9;
  const Tensor noise = tenon::randn({count, 2}) * 0.2;
  training::Samples samples;
  samples.labels = tenon::arange(0, count, 1, tenon::i64).remainder(2);
  const Tensor side = samples.labels.to(tenon::f32) * -2 + 1;  // 1 or -1
  samples.inputs = tenon::stack({turn * turn.cos() * side, turn * turn.sin() * side}, 1) + noise;
  return samples;
}

}  // namespace

int main() {
  tenon::seed_generator(3);
  const training::Samples train = spirals(1000), test = spirals(500);
  Module model = tenon::create_module(Json::parse(R"({"type": "Sequential", "layers": [
      {"type": "Linear", "in_features": 2, "out_features": 64}, "ReLU",
      {"type": "Linear", "in_features": 64, "out_features": 64}, "ReLU",
      {"type": "Linear", "in_features": 64, "out_features": 2}]})"));

  // Each part is an op with its settings, as in a config.
  const training::Loss loss(Json::parse(R"({"type": "cross_entropy"})"));
  const training::Metric accuracy(Json::parse(R"({"type": "accuracy"})"));
  training::Optimizer optimizer(Json::parse(R"({"type": "adamw", "learning_rate": 0.01})"),
                                model.named_parameters());
  const training::Schedule schedule({Json::parse(R"({"type": "warmup", "warmup_steps": 20})"),
                                     Json::parse(R"({"type": "cosine"})")});
  const training::GradientClip clip({Json::parse(R"({"type": "norm", "maximum": 1.0})")});

  training::Batches batches(train, 50);
  constexpr int64_t epochs = 60;
  const int64_t steps = epochs * batches.per_epoch();
  for (int64_t epoch = 0, step = 0; epoch < epochs; ++epoch) {
    batches.shuffle();
    for (int64_t i = 0; i < batches.per_epoch(); ++i, ++step) {
      const training::Samples batch = batches.batch(i);
      loss(model(batch.inputs), batch.labels).backward();
      clip(optimizer.gradients());
      optimizer.step(schedule.factor({step, steps, epoch, epochs, batches.per_epoch()}));
    }
  }

  const training::Score score = training::evaluate(model, &loss, {accuracy}, test, 250);
  std::printf("%lld steps, %lld test samples\n", static_cast<long long>(optimizer.steps()),
              static_cast<long long>(score.count));
  std::printf("loss %s\n", *score.loss < 0.2 ? "below 0.2" : "0.2 or more");
  std::printf("accuracy %s\n", *score.find("accuracy") >= 0.95 ? "95 % or more" : "below 95 %");
}
