// The training loop.
#include "training.hpp"

#include <algorithm>
#include <cmath>

#include "config_place.hpp"
#include "format.hpp"
#include "text.hpp"

namespace cli {

using tenon::Json;
using tenon::Tensor;

// ---- loss ----

Loss::Loss(const Json& settings) : op_(settings["op"].text()), settings_(settings) {
  const Json options = settings["options"];
  for (int64_t i = 0; i < options.size(); ++i) names_.push_back(options.key(i));
  sums_ = options["reduction"].text() == "sum";
}

Tensor Loss::operator()(const Tensor& output, const Tensor& target) const {
  const tenon_value arguments[] = {tenon::Argument(output).value(),
                                   tenon::Argument(target).value()};
  // The host converts values of a document as the parameters want them.
  std::vector<tenon_string> names;
  std::vector<tenon_value> values;
  for (const std::string& name : names_) {
    names.push_back(tenon::detail::string_of(name));
    tenon_value& value = values.emplace_back();
    value.tag = TENON_VALUE_JSON;
    value.as.json = const_cast<tenon_json*>(settings_["options"][name].handle());
  }
  tenon_value results[tenon::detail::max_results]{};
  at_place(settings_, [&] {
    tenon::detail::check(tenon::host().op_call_keywords, op_.handle(), arguments, int64_t{2},
                         static_cast<const tenon_string*>(names.data()),
                         static_cast<const tenon_value*>(values.data()),
                         static_cast<int64_t>(names.size()), results);
  });
  const Tensor loss = tenon::Value(results[0]).tensor();
  if (!loss.defined() || loss.numel() != 1) {
    throw tenon::ValueError(
        format_text("{}: {} must give one number for a batch, but gives a tensor of {}; choose a "
                    "reduction of 'mean' or 'sum'",
                    settings_.place(), op_.name(), grouped(loss.defined() ? loss.numel() : 0)));
  }
  return loss;
}

// ---- optimizer ----

Optimizer::Optimizer(const Json& settings, std::vector<Tensor> parameters)
    : adam_(settings["type"].text() == "adam"),
      learning_rate_(settings["learning_rate"].number()),
      momentum_(settings["momentum"].number()),
      beta1_(settings["betas"][0].number(0.9)),
      beta2_(settings["betas"][1].number(0.999)),
      epsilon_(settings["epsilon"].number(1e-8)),
      weight_decay_(settings["weight_decay"].number()) {
  const auto zeros = [](const Tensor& like) {
    Tensor result = tenon::empty_tensor(like.shape(), like.dtype());
    tenon::fill_elements(result, 0);
    return result;
  };
  for (Tensor& parameter : parameters) {
    if (!parameter.requires_grad()) continue;
    Slot slot{std::move(parameter), {}, {}};
    if (adam_ || momentum_ != 0) slot.first = zeros(slot.parameter);
    if (adam_) slot.second = zeros(slot.parameter);
    slots_.push_back(std::move(slot));
  }
  if (slots_.empty()) {
    throw tenon::ValueError(
        format_text("{}: the model has no parameters to train", settings.place()));
  }
}

void Optimizer::step(double learning_rate) {
  const tenon::NoGrad no_grad;
  ++steps_;
  for (Slot& slot : slots_) {
    const Tensor gradient = slot.parameter.grad();
    if (!gradient.defined()) continue;
    if (adam_) {
      tenon::optim::adam_step_(slot.parameter, gradient, slot.first, slot.second, steps_,
                               learning_rate, beta1_, beta2_, epsilon_, weight_decay_);
    } else {
      tenon::optim::sgd_step_(slot.parameter, gradient, slot.first, learning_rate, momentum_, 0,
                              weight_decay_);
    }
    slot.parameter.set_grad({});
  }
}

// ---- labels ----

namespace {

bool are_classes(const Tensor& labels, int64_t classes) {
  if (labels.dim() != 1) return false;
  if (!tenon::is_floating(labels.dtype())) return true;
  const std::vector<double> values = labels.to_vector<double>();
  return std::all_of(values.begin(), values.end(), [&](double value) {
    return value == std::floor(value) && value >= 0 && value < static_cast<double>(classes);
  });
}

void check_classes(const Json& data, const Tensor& labels, int64_t classes) {
  for (const int64_t label : labels.to_vector<int64_t>()) {
    if (label >= 0 && label < classes) continue;
    throw tenon::ValueError(
        format_text("{}: there is a label {}, but the model scores {} classes, 0 to {}",
                    data.place(), label, classes, classes - 1));
  }
}

Tensor as_numbers(const Json& model, const Tensor& labels, std::vector<int64_t> shape,
                  int64_t count) {
  shape[0] = count;
  const Tensor numbers = tenon::contiguous_as(labels, tenon::f32);
  int64_t expected = 1;
  for (const int64_t size : shape) expected *= size;
  if (numbers.numel() != expected) {
    throw tenon::ValueError(
        format_text("{}: the model gives {} numbers for a sample, but a label has {}, and the "
                    "labels are not the numbers of classes",
                    model.place(), grouped(count > 0 ? expected / count : 0),
                    grouped(count > 0 ? numbers.numel() / count : 0)));
  }
  return numbers.reshape(shape);
}

Tensor rows_of(const Tensor& tensor, int64_t start, int64_t length) {
  return tenon::narrow(tensor, 0, start, length);
}

}  // namespace

void fit_labels(const Json& config, tenon::Module& model, Dataset& dataset) {
  const tenon::NoGrad no_grad;
  const bool training = model.training();
  model.eval();
  const Tensor output = model(rows_of(dataset.train.inputs, 0, 1));
  model.train(training);
  if (output.dim() < 1 || output.size(0) != 1) {
    throw tenon::ValueError(
        format_text("{}: for one sample the model gives a tensor of shape {}; its first size must "
                    "be the number of samples",
                    config["model"].place(),
                    tenon::Json::parse(format_text("[{}]",
                                                   [&] {
                                                     std::vector<std::string> sizes;
                                                     for (const int64_t size : output.sizes())
                                                       sizes.push_back(std::to_string(size));
                                                     return join(sizes, ",");
                                                   }()))
                        .dump()));
  }
  const int64_t classes = output.dim() == 2 ? output.size(1) : 0;
  const bool fits = classes > 1 && are_classes(dataset.train.labels, classes) &&
                    (dataset.test.count() == 0 || are_classes(dataset.test.labels, classes));
  for (Samples* samples : {&dataset.train, &dataset.test}) {
    if (samples->count() == 0) continue;
    if (fits) {
      samples->labels = tenon::contiguous_as(samples->labels, tenon::i64);
      check_classes(config["data"], samples->labels, classes);
    } else {
      samples->labels =
          as_numbers(config["model"], samples->labels, output.sizes(), samples->count());
    }
  }
}

// ---- evaluation and training ----

Score evaluate(tenon::Module& model, const Loss* loss, const Samples& samples, int64_t batch_size) {
  const tenon::NoGrad no_grad;
  const bool training = model.training();
  model.eval();
  Score score;
  score.count = samples.count();
  const bool classes = samples.labels.dtype() == tenon::i64;
  if (classes) score.correct = 0;
  double total = 0;
  for (int64_t start = 0; start < score.count; start += batch_size) {
    const int64_t length = std::min(batch_size, score.count - start);
    const Tensor labels = rows_of(samples.labels, start, length);
    const Tensor output = model(rows_of(samples.inputs, start, length));
    if (loss != nullptr) {
      total += (*loss)(output, labels).item() * (loss->sums() ? 1 : static_cast<double>(length));
    }
    if (classes) {
      const Tensor guessed = tenon::argmax(output, 1);
      *score.correct += tenon::count_nonzero(tenon::eq(guessed, labels)).item<int64_t>();
    }
  }
  score.loss = loss == nullptr ? std::nan("") : total / static_cast<double>(score.count);
  model.train(training);
  return score;
}

std::vector<Epoch> train(tenon::Module& model, const Loss& loss, Optimizer& optimizer,
                         const Dataset& dataset, const Schedule& schedule, const Watcher& watcher) {
  constexpr double pi = 3.14159265358979323846;
  const int64_t count = dataset.train.count();
  const int64_t batches = (count + schedule.batch_size - 1) / schedule.batch_size;
  const auto steps = static_cast<double>(batches * schedule.epochs);
  const int64_t test_batch = std::max<int64_t>(schedule.batch_size, 256);
  std::vector<Epoch> epochs;
  int64_t step = 0;
  model.train();
  for (int64_t number = 1; number <= schedule.epochs; ++number) {
    const Tensor order = tenon::randperm(count);
    double total = 0;
    for (int64_t batch = 0; batch < batches; ++batch, ++step) {
      const int64_t start = batch * schedule.batch_size;
      const int64_t length = std::min(schedule.batch_size, count - start);
      const Tensor rows = rows_of(order, start, length);
      const Tensor inputs = tenon::index_select(dataset.train.inputs, 0, rows);
      const Tensor labels = tenon::index_select(dataset.train.labels, 0, rows);
      const Tensor value = loss(model(inputs), labels);
      const double batch_loss = value.item() / (loss.sums() ? static_cast<double>(length) : 1);
      if (!std::isfinite(batch_loss)) {
        throw tenon::ValueError(
            format_text("training diverged: the loss is {} in epoch {}, batch {}; lower "
                        "/optimizer/learning_rate",
                        fixed(batch_loss, 1), number, batch + 1));
      }
      value.backward();
      const double rate = optimizer.learning_rate();
      optimizer.step(schedule.cosine
                         ? rate * 0.5 * (1 + std::cos(pi * static_cast<double>(step) / steps))
                         : rate);
      total += batch_loss * static_cast<double>(length);
      watcher.batch_done(batch_loss);
      if (watcher.stopped()) return epochs;
    }
    Epoch epoch;
    epoch.number = number;
    epoch.train_loss = total / static_cast<double>(count);
    if (dataset.test.count() > 0) epoch.test = evaluate(model, &loss, dataset.test, test_batch);
    watcher.epoch_done(epoch);
    epochs.push_back(std::move(epoch));
  }
  return epochs;
}

}  // namespace cli
