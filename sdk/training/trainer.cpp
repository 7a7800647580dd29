// The training loop.
#include <algorithm>
#include <cmath>

#include <tenon/autograd.hpp>
#include <tenon/training/trainer.hpp>

#include "format.hpp"

TENON_NAMESPACE_BEGIN

namespace training {

Trainer::Trainer(const Json& config, const Module& model, Dataset dataset,
                 std::optional<int64_t> epochs)
    : model_(model),
      dataset_(std::move(dataset)),
      loss_(config["loss"]),
      metrics_(load_metrics(config, dataset_)),
      batches_(dataset_.train, config["training"]["batch_size"].integer(64)),
      optimizer_(config["optimizer"], model.named_parameters()),
      schedule_(config["training"]["schedule"]),
      clip_(config["training"]["clip"]),
      epochs_(epochs.value_or(config["training"]["epochs"].integer(1))) {}

bool Trainer::run() {
  model_.train();
  for (; epoch_ < epochs_; ++epoch_) {
    if (batch_ == 0) batches_.shuffle();
    while (batch_ < batches_.per_epoch()) {
      const double loss = train_batch();
      ++batch_;
      if (batch_done) batch_done(loss);
      if (stopped && stopped()) return false;
    }
    finish_epoch();
  }
  return true;
}

double Trainer::train_batch() {
  const Samples batch = batches_.batch(batch_);
  const auto count = static_cast<double>(batch.count());
  const Tensor value = loss_(model_(batch.inputs), batch.labels);
  const double loss = value.item() / (loss_.sums() ? count : 1);
  if (!std::isfinite(loss)) {
    throw ValueError(format_text(
        "training diverged: the loss is {} in epoch {}, batch {}; lower /optimizer/learning_rate",
        std::isnan(loss) ? "nan"
        : loss > 0       ? "inf"
                         : "-inf",
        epoch_ + 1, batch_ + 1));
  }
  value.backward();
  if (!clip_.empty()) clip_(optimizer_.gradients());
  const int64_t per_epoch = batches_.per_epoch();
  optimizer_.step(schedule_.factor(
      {epoch_ * per_epoch + batch_, epochs_ * per_epoch, epoch_, epochs_, per_epoch}));
  total_loss_ += loss * count;
  return loss;
}

void Trainer::finish_epoch() {
  Epoch epoch;
  epoch.number = epoch_ + 1;
  epoch.train_loss = total_loss_ / static_cast<double>(dataset_.train.count());
  if (dataset_.test.count() > 0) {
    epoch.test = evaluate(model_, &loss_, metrics_, dataset_.test,
                          std::max<int64_t>(batches_.batch_size(), 256));
  }
  batch_ = 0;
  total_loss_ = 0;
  history_.push_back(epoch);
  if (epoch_done) epoch_done(history_.back());
}

}  // namespace training

TENON_NAMESPACE_END
