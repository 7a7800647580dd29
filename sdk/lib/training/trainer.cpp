// The training loop, and the evaluation of a model on samples.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <numeric>
#include <utility>

#include <tenon/autograd.hpp>
#include <tenon/device.hpp>
#include <tenon/listing/listing.hpp>
#include <tenon/ops.hpp>
#include <tenon/parallel.hpp>
#include <tenon/prepare/prepare.hpp>
#include <tenon/runtime.hpp>
#include <tenon/text.hpp>
#include <tenon/training/trainer.hpp>

#include "batch_lengths.hpp"
#include "lib/base/format.hpp"
#include "nan_watch.hpp"
#include "samples_on.hpp"
#include "step_rollback.hpp"

TENON_NAMESPACE_BEGIN

namespace training {

namespace {

// Keys that two trainings share when they differ only in how long they have run, and where.
Json identity_of(const Json& config, int64_t epochs) {
  JsonObject identity, loop;
  for (const char* key : {"data", "split", "model", "loss", "metrics", "optimizer"}) {
    if (config[key].defined()) identity.set(key, config[key].dump());
  }
  const Json training = config["training"];
  for (int64_t i = 0; i < training.size(); ++i) {
    if (training.key(i) != "device") loop.set(training.key(i), training[i]);
  }
  identity.set("training", loop.json().dump());
  return identity.set("epochs", epochs).json();
}

// Contents of the lock file that "frozen" names.
std::string lock_of(const TrainingConfig& config) {
  std::ifstream file(config.lock_file);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The section that a training needs.
const LoopConfig& loop_of(const TrainingConfig& config) {
  if (config.training) return *config.training;
  throw ConfigError(
      lib::format_text("{}: no \"training\" says how long to train", config.document.place()));
}

// A model in eval mode, for a scope.
class EvalScope {
 public:
  explicit EvalScope(Module& model) : model_(model), training_(model.training()) { model.eval(); }
  ~EvalScope() { model_.train(training_); }
  EvalScope(const EvalScope&) = delete;
  EvalScope& operator=(const EvalScope&) = delete;

 private:
  Module& model_;
  bool training_;
};

}  // namespace

namespace {

const Module& moved(const Module& model, const device::Device& device) {
  device::move(model, device);
  return model;
}

}  // namespace

Trainer::Trainer(const TrainingConfig& config, const Module& model, Dataset dataset,
                 std::optional<int64_t> epochs)
    : ranks_(config.distributed),
      device_(at_place(loop_of(config).device_node,
                       [&] { return device::Device(config.training->device); })),
      model_(moved(model, device_)),
      tensor_parallel_(ranks_, model_, config),
      dataset_(std::move(dataset)),
      loss_(config.loss),
      metrics_(load_metrics(config, dataset_)),
      batches_(at_place(loop_of(config).section,
                        [&] {
                          return Batches(dataset_.train, config.training->batch_size,
                                         config.training->drop_last);
                        })),
      optimizer_(config.optimizer, model.named_parameters(), ranks_),
      clip_(config.training->clips),
      gradients_(
          data_ranks(), [this](const Samples& samples) { return batch_loss(samples); },
          loss_.sums(), optimizer_.parameters(), ranks_.shards_optimizer() && clip_.empty()),
      schedule_(config.training->schedules),
      monitor_(config.training->monitor),
      detect_anomaly_(config.training->detect_anomaly),
      epochs_(epochs.value_or(config.training->epochs)),
      identity_(identity_of(config.document, epochs_)),
      lock_(lock_of(config)) {
  if (tensor_parallel_.active() && !optimizer_.is_elementwise()) {
    throw ConfigError(lib::format_text(
        "{}: this optimizer is not elementwise and cannot be used with tensor-parallel modules, "
        "which split parameters; choose an elementwise optimizer",
        config.optimizer.place()));
  }
  loss_.fit(dataset_.train.labels, dataset_.classes);
  if (config.training->sampler.defined()) sampler_.emplace(config.training->sampler);
  for (const Json& transform : config.training->transforms)
    transforms_.emplace_back(transform_role(), transform);
  checkpoint_minutes_ = config.training->checkpoint_minutes;
  checkpoint_epochs_ = config.training->checkpoint_epochs;
  if (monitor_.active() && dataset_.watched().count() == 0)
    throw ConfigError(lib::format_text(
        "{}: the monitor has 0 samples to watch; set /split/validation or /split/test above 0",
        config.training->monitor->section.place()));
  const auto is_watched = [&](const Metric& metric) { return metric.name() == monitor_.metric(); };
  if (monitor_.active() && monitor_.metric() != "loss" &&
      std::none_of(metrics_.begin(), metrics_.end(), is_watched)) {
    std::vector<std::string> names = {"loss"};
    for (const Metric& metric : metrics_) names.push_back(metric.name());
    throw ConfigError(lib::format_text("{}: no metric is named '{}'{}; there are {}",
                                       config.training->monitor->metric.place(), monitor_.metric(),
                                       suggestion(monitor_.metric(), names), join(names, ", ")));
  }
}

void Trainer::order_batches() {
  if (sampler_)
    batches_.set_order(sampler_->order(batches_.labels(), epoch_));
  else
    batches_.shuffle();
}

// Each transform of each batch has its own seed, which the process's seed and the counters make:
// a resumed training draws what an unbroken one does.
Tensor Trainer::transformed(const Tensor& inputs) const {
  const NoGrad no_grad;
  Tensor result = inputs;
  const Draws seeds{generator_state().seed, 0};
  const auto count = static_cast<int64_t>(transforms_.size());
  for (int64_t i = 0; i < count; ++i) {
    const OpChoice& transform = transforms_[static_cast<size_t>(i)];
    const int64_t batch = epoch_ * batches_.per_epoch() + batch_;
    const auto seed = static_cast<int64_t>(seeds.bits(batch * count + i) >> 1);
    result = transform.call_one({result}, {arg("seed") = seed}).tensor();
    if (!result.defined() || result.dim() < 1 || result.size(0) != inputs.size(0))
      throw ValueError(lib::format_text("{}: {} must give a tensor of as many samples",
                                        transform.section().place(), transform.found().name));
  }
  return result;
}

// Ranks that would not train the same model are found before the first step.
void Trainer::agree() {
  if (ranks_.alone()) return;
  const Draws draws = generator_state();
  std::string plugins;
  const Json list = listing::plugins();
  for (int64_t i = 0; i < list.size(); ++i) {
    if (list[i]["state"].text() == "active")
      plugins += lib::format_text("{} {}\n", list[i]["id"].text(), list[i]["version"].text());
  }
  const NamedTensors state = module_state(model_, "");
  std::string tensors;
  for (const auto& [name, tensor] : state) {
    tensors += lib::format_text("{} {}", name, dtype_text(tensor.dtype()));
    for (const int64_t size : tensor.sizes()) tensors += lib::format_text(" {}", size);
  }
  ranks_.require_same("lock file", lock_);
  ranks_.require_same("set of plugins", plugins);
  ranks_.require_same("config", identity_.dump());
  ranks_.require_same("seed", lib::format_text("{} {}", draws.seed, draws.offset));
  ranks_.require_same("model", tensors);
  ranks_.require_same("number of samples",
                      lib::format_text("{} {} {}", dataset_.train.count(),
                                       dataset_.validation.count(), dataset_.test.count()));
  ranks_.share(tensor_parallel_.shared(state));
}

bool Trainer::run() {
  // Several ranks stop together, after a step.
  std::optional<Uninterrupted> whole;
  if (!ranks_.alone()) whole.emplace();
  tensor_parallel_.divide();
  agree();
  bool finished = false;
  const device::Device cpu("cpu");
  try {
    finished = train();
  } catch (...) {
    try {
      device::move(model_, cpu);
    } catch (const Error&) {  // the first error is the one to know
    }
    throw;
  }
  device::move(model_, cpu);
  tensor_parallel_.unite();
  return finished;
}

namespace {

// False where it is interrupted.
template <class Step>
bool is_finished(const Step& step) {
  try {
    return step();
  } catch (const Error& error) {
    if (error.kind() != TENON_ERROR_INTERRUPTED) throw;
    return false;
  }
}
// Then nothing has changed.
template <class Step>
bool is_finished(StepRollback& rollback, const Step& step) {
  rollback.begin();
  bool done = false;
  const bool finished = is_finished([&] {
    const bool result = step();
    done = true;
    return result;
  });
  if (!done) rollback.restore();
  return finished;
}

}  // namespace

bool Trainer::train() {
  last_checkpoint_ = std::chrono::steady_clock::now();
  model_.train();
  StepRollback rollback(model_, optimizer_.parameters());
  BatchGradients::Result result{};
  const auto next_batch = [&] {
    if (batch_ == 0) order_batches();
    result = train_batch();
    ++batch_;
    return true;
  };
  // The step is done, whatever this does.
  const auto tell = [&] {
    if (batch_done) batch_done(result.loss);
    return !result.stopped;
  };
  const auto end_of_epoch = [this] {
    finish_epoch();
    return true;
  };
  while (epoch_ < epochs_ && !(monitor_.active() && monitor_.exhausted(epoch_))) {
    while (batch_ < batches_.per_epoch()) {
      if (!is_finished(rollback, next_batch) || !is_finished(tell)) return false;
      if (batch_ < batches_.per_epoch()) write_due_checkpoint(false);
    }
    if (!is_finished(rollback, end_of_epoch)) return false;
    write_due_checkpoint(true);
  }
  if (!best_.empty()) {
    const NoGrad no_grad;
    const NamedTensors state = module_state(model_, "best.");
    for (size_t i = 0; i < state.size(); ++i) copy_elements(state[i].second, best_[i].second);
  }
  return true;
}

// In anomaly mode an error names the epoch and the batch as well.
Tensor Trainer::batch_loss(const Samples& batch) {
  if (!detect_anomaly_) return loss_(model_(batch.inputs), batch.labels);
  NanWatch watch;
  const ModeScope scope(watch);
  try {
    return loss_(model_(batch.inputs), batch.labels);
  } catch (const Error& error) {
    detail::throw_message(error.kind(),
                          {error.what(), ", in epoch ", epoch_ + 1, ", batch ", batch_ + 1});
  }
}

// An error that only the last batch of an epoch meets is about how many samples that has.
BatchGradients::Result Trainer::gradients_of(const Samples& batch) {
  try {
    return gradients_(batch, epoch_ * batches_.per_epoch() + batch_);
  } catch (const Error& error) {
    if (batch.count() == batches_.batch_size() || error.kind() == TENON_ERROR_INTERRUPTED) throw;
    detail::throw_message(
        error.kind(),
        {error.what(), "\n  in epoch ", epoch_ + 1, ", whose last batch has ", batch.count(),
         " of ", batches_.batch_size(), " samples; /training/drop_last leaves it out"});
  }
}

BatchGradients::Result Trainer::train_batch() {
  std::optional<AnomalyMode> anomaly;
  if (detect_anomaly_) anomaly.emplace();
  Samples batch = batches_.batch(batch_);
  batch.inputs = transformed(batch.inputs);
  batch = samples_on(device_, batch);
  const auto count = static_cast<double>(batch.count());
  BatchGradients::Result result = gradients_of(batch);
  if (tensor_parallel_.active()) {
    const std::vector<double> stops = ranks_.gather(result.stopped ? 1 : 0);
    result.stopped = std::count(stops.begin(), stops.end(), 0.0) < ranks_.size();
  }
  if (loss_.sums()) result.loss /= count;
  const double loss = result.loss;
  if (!std::isfinite(loss)) {
    throw ValueError(lib::format_text(
        "training diverged: the loss is {} in epoch {}, batch {}; lower /optimizer/learning_rate",
        std::isnan(loss) ? "nan"
        : loss > 0       ? "inf"
                         : "-inf",
        epoch_ + 1, batch_ + 1));
  }
  if (!clip_.empty()) clip_gradients();
  const int64_t per_epoch = batches_.per_epoch();
  optimizer_.step(schedule_.factor(
      {epoch_ * per_epoch + batch_, epochs_ * per_epoch, epoch_, epochs_, per_epoch}));
  total_loss_ += loss * count;
  return result;
}

void Trainer::clip_gradients() {
  if (tensor_parallel_.active())
    tensor_parallel_.clip(clip_, optimizer_.parameters());
  else
    clip_(optimizer_.gradients());
}

void Trainer::finish_epoch() {
  Epoch epoch;
  epoch.number = epoch_ + 1;
  epoch.train_loss = total_loss_ / static_cast<double>(batches_.plan().used());
  // State beside the parameters, such as running means, is the first rank's.
  if (!ranks_.alone()) ranks_.share(tensor_parallel_.shared(module_state(model_, "")));
  if (dataset_.watched().count() > 0) {
    epoch.score = evaluate(model_, &loss_, metrics_, dataset_.watched(),
                           std::max<int64_t>(batches_.batch_size(), 256),
                           ranks_.parts() > 0 ? Ranks() : data_ranks());
    epoch.score->part = dataset_.watched_name();
  }
  ++epoch_;
  batch_ = 0;
  total_loss_ = 0;
  watch(epoch);
  history_.push_back(epoch);
  if (epoch_done) epoch_done(history_.back());
}

void Trainer::watch(const Epoch& epoch) {
  if (!monitor_.active()) return;
  const std::optional<double> value = epoch.score->find(monitor_.metric());
  if (!value)
    throw ValueError(lib::format_text("the metric '{}' is not one number, and cannot be watched",
                                      monitor_.metric()));
  if (monitor_.improves(epoch.number, *value) && monitor_.keeps_best())
    best_ = copied_tensors(module_state(model_, "best."));
}

int64_t Trainer::best_epoch() const { return best_.empty() ? epoch_ : monitor_.best_epoch(); }

void Trainer::write_due_checkpoint(bool epoch_ended) {
  if (checkpoint_path_.empty()) return;
  const auto now = std::chrono::steady_clock::now();
  const std::chrono::duration<double, std::ratio<60>> passed = now - last_checkpoint_;
  bool late = checkpoint_minutes_ > 0 && passed.count() >= checkpoint_minutes_;
  // Ranks write together, by the clock of the first.
  if (checkpoint_minutes_ > 0) late = ranks_.gather(late ? 1 : 0).front() != 0;
  const bool due = late ||
                   (epoch_ended && checkpoint_epochs_ > 0 && epoch_ % checkpoint_epochs_ == 0) ||
                   (epoch_ended && epoch_ == epochs_);
  if (!due) return;
  save_checkpoint(checkpoint_path_);
  last_checkpoint_ = now;
}

// ---- evaluation ----

std::optional<double> Score::find(const std::string& name) const {
  if (name == "loss") return loss;
  for (const MetricResult& result : metrics) {
    if (result.name == name) return result.number;
  }
  return std::nullopt;
}

namespace {

// Rows of labels that the loss does not ignore, "ignore_index"; undefined: all of them.
Tensor counted_rows(const Loss* loss, const Tensor& labels) {
  const Json ignored = loss == nullptr ? Json() : loss->choice().section()["ignore_index"];
  if (!ignored.is_number() || labels.dtype() != i64 || labels.dim() != 1) return {};
  const std::vector<int64_t> values = labels.to_vector<int64_t>();
  std::vector<int64_t> rows;
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] != ignored.integer()) rows.push_back(static_cast<int64_t>(i));
  }
  return rows.size() == values.size() ? Tensor() : from_range(rows.begin(), rows.end());
}

// A model for batches of one size: prepared where there are enough of them to make up for its list,
// which takes about as long as one.
class BatchModel {
 public:
  BatchModel(const Module& model, int64_t batches, ModelCalls calls) : model_(model) {
    constexpr int64_t least = 8;
    if (calls == ModelCalls::prepared && batches >= least && device::name_of(model) == "cpu")
      prepared_ = prepare(model);
  }
  Tensor operator()(const Tensor& inputs) const {
    return prepared_.defined() ? prepared_(inputs) : model_(inputs);
  }

 private:
  const Module model_;
  Prepared prepared_;
};

// Loss and metrics of samples from `begin` on, in batches of these lengths; `shared`: other ranks have the others.
template <class Model>
Score score_batches(const Model& model, const device::Device& place,
                    const std::vector<int64_t>& lengths, int64_t begin, const Loss* loss,
                    const std::vector<Metric>& metrics, const Samples& samples, const Ranks& ranks,
                    bool shared) {
  Score score;
  score.count = samples.count();
  score.labels = samples.labels.numel();
  std::vector<Tensor> outputs;
  double total = 0;
  int64_t start = begin;
  for (const int64_t length : lengths) {
    const Samples batch = samples_on(place, samples.narrow(start, length));
    const Tensor output = model(batch.inputs);
    if (loss != nullptr) {
      total +=
          (*loss)(output, batch.labels).item() * (loss->sums() ? 1 : static_cast<double>(length));
    }
    if (!metrics.empty()) outputs.push_back(device::to(output, "cpu"));
    start += length;
  }
  if (loss != nullptr) {
    if (shared) {
      const std::vector<double> totals = ranks.gather(total);
      total = std::accumulate(totals.begin(), totals.end(), 0.0);
    }
    score.loss = total / static_cast<double>(score.count);
  }
  if (!outputs.empty()) {
    const Tensor own = outputs.size() == 1 ? outputs.front() : cat(outputs);
    const Tensor all = shared ? ranks.gather(own) : own;
    const Tensor rows = counted_rows(loss, samples.labels);
    const Tensor scored = rows.defined() ? index_select(all, 0, rows) : all;
    const Tensor labels = rows.defined() ? index_select(samples.labels, 0, rows) : samples.labels;
    score.labels = labels.numel();
    // Metrics may refuse what has no samples.
    for (const Metric& metric : metrics)
      score.metrics.push_back(score.labels == 0 && rows.defined()
                                  ? MetricResult{metric.name(), std::nan(""), {}}
                                  : metric(scored, labels));
  }
  return score;
}

}  // namespace

Score evaluate(Module& model, const Loss* loss, const std::vector<Metric>& metrics,
               const Samples& samples, int64_t batch_size, const Ranks& ranks, ModelCalls calls) {
  const NoGrad no_grad;
  const EvalScope eval(model);
  const int64_t count = samples.count();
  const bool shared = !ranks.alone() && count >= ranks.size();
  const int64_t begin = shared ? ranks.rank() * count / ranks.size() : 0;
  const int64_t end = shared ? (ranks.rank() + 1) * count / ranks.size() : count;
  return score_batches(
      BatchModel(model, (end - begin) / batch_size, calls), device::Device(device::name_of(model)),
      equal_lengths(end - begin, batch_size), begin, loss, metrics, samples, ranks, shared);
}

Score evaluate(const Prepared& opened, const Loss* loss, const std::vector<Metric>& metrics,
               const Samples& samples) {
  const NoGrad no_grad;
  return score_batches(opened, device::Device("cpu"), listed_lengths(opened, samples.inputs), 0,
                       loss, metrics, samples, Ranks(), false);
}

Tensor predict(Module& model, const Tensor& inputs, int64_t batch_size, ModelCalls calls) {
  const NoGrad no_grad;
  const EvalScope eval(model);
  const device::Device place(device::name_of(model));
  std::vector<Tensor> outputs;
  const int64_t count = inputs.size(0);
  const BatchModel applied(model, count / batch_size, calls);
  int64_t start = 0;
  for (const int64_t length : equal_lengths(count, batch_size)) {
    const Tensor batch = narrow(inputs, 0, std::exchange(start, start + length), length);
    outputs.push_back(device::to(applied(device::to(batch, place)), "cpu"));
  }
  return outputs.size() == 1 ? outputs.front() : cat(outputs);
}

std::vector<Metric> load_metrics(const TrainingConfig& config, const Dataset& dataset) {
  std::vector<Metric> metrics;
  if (config.metrics) {
    for (const Json& metric : *config.metrics) metrics.emplace_back(metric);
  }
  if (config.metrics || dataset.train.labels.dtype() != i64) return metrics;
  const Json accuracy = JsonObject().set("type", "metric.accuracy").json();
  try {
    find_op(metric_role(), "metric.accuracy", accuracy);
  } catch (const ConfigError&) {
    return metrics;  // not installed, and not asked for
  }
  metrics.emplace_back(accuracy);
  return metrics;
}

}  // namespace training

TENON_NAMESPACE_END
