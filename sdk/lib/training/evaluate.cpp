// Evaluation: the loss and the metrics of a model on samples.
#include <algorithm>
#include <numeric>

#include <tenon/autograd.hpp>
#include <tenon/ops.hpp>
#include <tenon/training/trainer.hpp>

TENON_NAMESPACE_BEGIN

namespace training {

namespace {

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

std::optional<double> Score::find(const std::string& name) const {
  if (name == "loss") return loss;
  for (const MetricResult& result : metrics) {
    if (result.name == name) return result.number;
  }
  return std::nullopt;
}

Score evaluate(Module& model, const Loss* loss, const std::vector<Metric>& metrics,
               const Samples& samples, int64_t batch_size, const Ranks& ranks) {
  const NoGrad no_grad;
  const EvalScope eval(model);
  Score score;
  score.count = samples.count();
  score.labels = samples.labels.numel();
  std::vector<Tensor> outputs;
  double total = 0;
  const bool shared = !ranks.alone() && score.count >= ranks.size();
  const int64_t begin = shared ? ranks.rank() * score.count / ranks.size() : 0;
  const int64_t end = shared ? (ranks.rank() + 1) * score.count / ranks.size() : score.count;
  for (int64_t start = begin; start < end; start += batch_size) {
    const int64_t length = std::min(batch_size, end - start);
    const Samples batch = samples.narrow(start, length);
    const Tensor output = model(batch.inputs);
    if (loss != nullptr) {
      total +=
          (*loss)(output, batch.labels).item() * (loss->sums() ? 1 : static_cast<double>(length));
    }
    if (!metrics.empty()) outputs.push_back(output);
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
    for (const Metric& metric : metrics) score.metrics.push_back(metric(all, samples.labels));
  }
  return score;
}

Tensor predict(Module& model, const Tensor& inputs, int64_t batch_size) {
  const NoGrad no_grad;
  const EvalScope eval(model);
  std::vector<Tensor> outputs;
  const int64_t count = inputs.size(0);
  for (int64_t start = 0; start < count; start += batch_size)
    outputs.push_back(model(narrow(inputs, 0, start, std::min(batch_size, count - start))));
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
