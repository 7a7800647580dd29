// Checkpoints of a Trainer: its position, and the tensors that it continues from.
#include <cmath>

#include <tenon/parallel.hpp>
#include <tenon/training/trainer.hpp>

#include "lib/base/format.hpp"

TENON_NAMESPACE_BEGIN

namespace training {

Json Trainer::progress() const {
  JsonArray history;
  for (const Epoch& epoch : history_) {
    JsonObject line;
    line.set("epoch", epoch.number).set("train_loss", epoch.train_loss);
    if (epoch.score) {
      JsonObject metrics;
      for (const MetricResult& metric : epoch.score->metrics) {
        if (metric.number && std::isfinite(*metric.number))
          metrics.set(metric.name, *metric.number);
      }
      line.set("part", epoch.score->part)
          .set("count", epoch.score->count)
          .set("labels", epoch.score->labels)
          .set("metrics", metrics.json());
      if (epoch.score->loss && std::isfinite(*epoch.score->loss))
        line.set("loss", *epoch.score->loss);
    }
    history.add(line.json());
  }
  const Draws state = generator_state();
  JsonObject monitor;
  monitor.set("epoch", monitor_.best_epoch());
  if (monitor_.best()) monitor.set("value", *monitor_.best());
  return JsonObject()
      .set("version", 1)
      .set("training", identity_)
      .set("epoch", epoch_)
      .set("batch", batch_)
      .set("steps", optimizer_.steps())
      .set("total_loss", total_loss_)
      .set("generator",
           JsonArray().add(std::to_string(state.seed)).add(std::to_string(state.offset)).json())
      .set("monitor", monitor.json())
      .set("history", history.json())
      .json();
}

void Trainer::save_checkpoint(const std::string& path) const {
  const Uninterrupted whole;
  Checkpoint checkpoint;
  checkpoint.tensors = module_state(model_, "model.");
  for (const auto& [name, state] : optimizer_.states())
    checkpoint.tensors.emplace_back("optimizer." + name, state);
  checkpoint.tensors.insert(checkpoint.tensors.end(), best_.begin(), best_.end());
  checkpoint.tensors = tensor_parallel_.united(std::move(checkpoint.tensors));
  if (!ranks_.first()) return;
  if (batch_ > 0) checkpoint.tensors.emplace_back("order", batches_.order());
  checkpoint.progress = progress();
  training::save_checkpoint(path, checkpoint);
}

void Trainer::resume(const std::string& path) {
  Checkpoint checkpoint = load_checkpoint(path);
  checkpoint.tensors = tensor_parallel_.divided(std::move(checkpoint.tensors));
  const Json found = checkpoint.progress["training"];
  for (int64_t i = 0; i < identity_.size(); ++i) {
    const std::string key = identity_.key(i);
    if (found[key].dump() != identity_[i].dump())
      throw ValueError(lib::format_text(
          "checkpoint '{}' is of another training: its \"{}\" is {}, the "
          "config's is {}; remove it to start again",
          path, key, found[key].text(found[key].dump()), identity_[i].text(identity_[i].dump())));
  }
  const std::string seed = checkpoint.progress["generator"][0].text();
  if (const std::string own = std::to_string(generator_state().seed); seed != own)
    throw ValueError(lib::format_text(
        "checkpoint '{}' is of a training with seed {}, this one has seed {}", path, seed, own));
  NamedTensors states;
  for (const auto& [name, state] : optimizer_.states())
    states.emplace_back("optimizer." + name, state);
  restore_tensors(path, checkpoint.tensors, module_state(model_, "model."), "model.");
  restore_tensors(path, checkpoint.tensors, states, "optimizer.");
  optimizer_.set_states(states);
  for (const auto& [name, tensor] : checkpoint.tensors) {
    if (name == "order") batches_.set_order(tensor);
    if (name.compare(0, 5, "best.") == 0) best_.emplace_back(name, tensor);
  }
  // Files keep tensors of wide dtypes first, the model has its own order.
  NamedTensors ordered = copied_tensors(module_state(model_, "best."));
  if (!best_.empty()) {
    restore_tensors(path, best_, ordered, "best.");
    best_ = std::move(ordered);
  }
  restore_progress(checkpoint.progress);
}

void Trainer::restore_progress(const Json& progress) {
  epoch_ = progress["epoch"].integer();
  batch_ = progress["batch"].integer();
  optimizer_.set_steps(progress["steps"].integer());
  total_loss_ = progress["total_loss"].number();
  const Json monitor = progress["monitor"];
  monitor_.restore(monitor["epoch"].integer(), monitor["value"].defined()
                                                   ? std::optional(monitor["value"].number())
                                                   : std::nullopt);
  history_.clear();
  for (int64_t i = 0; i < progress["history"].size(); ++i) {
    const Json line = progress["history"][i];
    Epoch epoch;
    epoch.number = line["epoch"].integer();
    epoch.train_loss = line["train_loss"].number();
    if (line["count"].defined()) {
      Score score;
      score.part = line["part"].text();
      score.count = line["count"].integer();
      score.labels = line["labels"].integer();
      if (line["loss"].defined()) score.loss = line["loss"].number();
      for (int64_t k = 0; k < line["metrics"].size(); ++k)
        score.metrics.push_back({line["metrics"].key(k), line["metrics"][k].number(), {}});
      epoch.score = std::move(score);
    }
    history_.push_back(std::move(epoch));
  }
  Draws state;
  state.seed = std::stoull(progress["generator"][0].text());
  state.offset = std::stoull(progress["generator"][1].text());
  set_generator_state(state);
}

}  // namespace training

TENON_NAMESPACE_END
