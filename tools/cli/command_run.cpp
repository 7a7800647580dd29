// tenon run: does what a config says. Trains, evaluates, saves.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <optional>

#include <tenon/config/config.hpp>
#include <tenon/parallel.hpp>
#include <tenon/runtime.hpp>
#include <tenon/state/module_file.hpp>
#include <tenon/state/tensor_file.hpp>
#include <tenon/training/training.hpp>

#include "commands.hpp"
#include "format.hpp"
#include "interrupt_scope.hpp"
#include "json.hpp"
#include "learning_curve.hpp"
#include "lock_file.hpp"
#include "plugin_watch.hpp"
#include "progress.hpp"
#include "run_log.hpp"
#include "table.hpp"
#include "terminal.hpp"
#include "text.hpp"

namespace cli {

namespace {

struct RunOptions {
  std::string config;
  std::string evaluate;  // weights to evaluate instead of training
  std::string plot;
  std::string log;
  std::optional<int64_t> epochs;
  std::optional<uint64_t> seed;
  bool resume = false;
  bool frozen = false;  // refuse what differs from the lock file
  bool watch = false;   // reload plugins that are built again
  bool detect_anomaly = false;
  bool quiet = false;
  bool json = false;
};

namespace training = tenon::training;

using tenon::Json;
using Clock = std::chrono::steady_clock;
using training::TrainingConfig;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::string file_name(const std::string& path) { return std::filesystem::path(path).filename(); }

// `node` is the place of the file's name when the config has it.
void check_output(const TrainingConfig& config, const std::string& path, const Json& node) {
  if (path.empty()) return;
  std::string fault = training::output_fault(path);
  if (fault.empty()) fault = training::overwrite_fault(config, path);
  if (fault.empty()) return;
  throw tenon::IOError(node.text() == path ? format_text("{}: {}", node.place(), fault) : fault);
}

void require_keys(const TrainingConfig& config, const std::string& path, bool trains) {
  if (const std::string missing = training::missing_keys(config, trains); !missing.empty())
    throw tenon::ConfigError(format_text("{}: cannot run: the config has no {}", path, missing));
}

struct Result {
  std::string config;
  bool trained = false;
  uint64_t seed = 0;
  int64_t parameters = 0;
  int64_t train_count = 0, validation_count = 0, test_count = 0;
  std::vector<Epoch> epochs;
  double train_loss = 0;
  // Score of the test part; of all samples when there is none.
  std::optional<training::Score> score;
  std::optional<training::Score> validation;
  double seconds = 0, computing_seconds = 0;
  int64_t computed = 0;  // samples in that time
  std::string weights, plot;
  std::optional<int64_t> best_epoch;  // with a monitor
  bool first_rank = true;             // the one of several that prints and writes

  double rate() const { return static_cast<double>(computed) / std::max(computing_seconds, 1e-9); }
};

// How many labels an accuracy counts as right.
int64_t correct_of(const training::Score& score, double accuracy) {
  return std::llround(accuracy * static_cast<double>(score.labels));
}

Json epoch_json(const Epoch& epoch) {
  tenon::JsonObject object;
  object.set("epoch", epoch.number).set("train_loss", epoch.train_loss);
  if (epoch.score) {
    if (epoch.score->loss) object.set(epoch.score->part + "_loss", *epoch.score->loss);
    for (const training::MetricResult& metric : epoch.score->metrics) {
      if (metric.number) object.set(metric.name, *metric.number);
    }
  }
  return object.json();
}

Json metric_json(const training::MetricResult& metric) {
  if (metric.number) return tenon::JsonArray().add(*metric.number).json()[0];
  tenon::JsonArray values, shape;
  for (const double value : metric.tensor.to_vector<double>()) values.add(value);
  for (const int64_t size : metric.tensor.sizes()) shape.add(size);
  return tenon::JsonObject().set("shape", shape.json()).set("values", values.json()).json();
}

void set_score(tenon::JsonObject& object, const training::Score& score) {
  if (score.loss) object.set("test_loss", *score.loss);
  if (const auto accuracy = score.find("accuracy"))
    object.set("accuracy", *accuracy).set("correct", correct_of(score, *accuracy));
  tenon::JsonObject metrics;
  for (const training::MetricResult& metric : score.metrics)
    metrics.set(metric.name, metric_json(metric));
  object.set("metrics", metrics.json());
}

Json counts_json(const Result& result) {
  tenon::JsonObject counts;
  counts.set("train", result.train_count);
  if (result.validation_count > 0) counts.set("validation", result.validation_count);
  return counts.set("test", result.test_count).json();
}

void print_result_json(const Result& result) {
  tenon::JsonObject object;
  object.set("config", result.config)
      .set("mode", result.trained ? "train" : "evaluate")
      .set("seed", static_cast<int64_t>(result.seed))
      .set("samples", counts_json(result))
      .set("parameters", result.parameters);
  if (result.trained) {
    object.set("epochs", static_cast<int64_t>(result.epochs.size()))
        .set("train_loss", result.train_loss);
  }
  if (result.score) set_score(object, *result.score);
  if (result.validation) {
    tenon::JsonObject part;
    if (result.validation->loss) part.set("loss", *result.validation->loss);
    for (const training::MetricResult& metric : result.validation->metrics)
      part.set(metric.name, metric_json(metric));
    object.set("validation", part.json());
  }
  object.set("seconds", result.seconds).set("samples_per_second", result.rate());
  if (result.trained) {
    tenon::JsonArray history;
    for (const Epoch& epoch : result.epochs) history.add(epoch_json(epoch));
    object.set("history", history.json());
    if (result.best_epoch) object.set("best_epoch", *result.best_epoch);
  }
  print_json(
      object.set("weights", text_or_null(result.weights)).set("plot", text_or_null(result.plot)));
}

void add_score(Table& table, const training::Score& score) {
  if (score.loss) table.add({"test loss", loss_text(*score.loss)});
  for (const training::MetricResult& metric : score.metrics) {
    if (!metric.number) continue;
    if (metric.name != "accuracy") {
      table.add({metric.name, fixed(*metric.number, 4)});
      continue;
    }
    table.add({"accuracy",
               {format_text("{} ({} of {})", percent(*metric.number),
                            grouped(correct_of(score, *metric.number)), grouped(score.labels)),
                Style::green}});
  }
}

void print_result(const Result& result, RunLog& log) {
  std::string head = format_text("{}: ", paint(stdout, Style::bold, file_name(result.config)));
  const std::string model = format_text("a model of {}", counted(result.parameters, "parameter"));
  if (result.trained) {
    head += format_text("{}, {} on {}", model,
                        counted(static_cast<int64_t>(result.epochs.size()), "epoch"),
                        counted(result.train_count, "sample"));
    if (result.test_count > 0) head += format_text(", tested on {}", grouped(result.test_count));
  } else {
    head += format_text("{}, evaluated on {}", model, counted(result.score->count, "sample"));
  }
  if (result.validation_count > 0)
    head += format_text(", validated on {}", grouped(result.validation_count));
  print(format_text("{}\n", head));
  log.add(plain_text(head));
  Table table({{"", Align::left, false}, {"", Align::left, false}}, 2);
  if (result.trained) table.add({"train loss", loss_text(result.train_loss)});
  if (result.validation) {
    if (result.validation->loss)
      table.add({"validation loss", loss_text(*result.validation->loss)});
    for (const training::MetricResult& metric : result.validation->metrics) {
      if (metric.number)
        table.add({"validation " + metric.name, metric_value(metric.name, *metric.number)});
    }
  }
  if (result.score) add_score(table, *result.score);
  if (result.best_epoch) table.add({"best epoch", grouped(*result.best_epoch)});
  table.add({"time", duration(result.seconds)});
  table.add({"speed", format_text("{} samples/s", grouped(static_cast<int64_t>(result.rate())))});
  if (!result.weights.empty()) {
    table.add({result.trained ? "weights" : "weights of", result.weights});
  }
  if (!result.plot.empty()) table.add({"plot", result.plot});
  print(table.text());
  log.add(plain_text(table.text()));
  if (!result.score) return;
  for (const training::MetricResult& metric : result.score->metrics) {
    if (!metric.number) print(format_text("  {}\n{}\n", metric.name, metric.tensor.text()));
  }
}

// The time that batches took, without what is between them.
class Stopwatch {
 public:
  void resume() { start_ = Clock::now(); }
  void pause() { seconds_ += seconds_since(start_); }
  double seconds() const { return seconds_; }

 private:
  Clock::time_point start_ = Clock::now();
  double seconds_ = 0;
};

// Data, model and trainer made from a config.
struct Setup {
  training::Dataset dataset;
  tenon::Module model;
};

// The key under which a run stores its metadata in the weights.
constexpr const char* kRunKey = "tenon.run";

Json weights_metadata(const TrainingConfig& config, const Result& result, int64_t epoch,
                      const std::string& fitted) {
  return tenon::JsonObject()
      .set(kRunKey, tenon::JsonObject()
                        .set("seed", static_cast<int64_t>(result.seed))
                        .set("split", config.split.section.dump())
                        .set("epoch", epoch)
                        .set("fitted", fitted)
                        .json()
                        .dump())
      .json();
}

// The seed of an evaluation: that of the training, or rows that the weights were trained on would be
// measured.
uint64_t evaluation_seed(const TrainingConfig& config, const RunOptions& options) {
  const uint64_t asked = options.seed.value_or(config.seed);
  const Json noted = tenon::state::metadata(options.evaluate)[kRunKey];
  if (!noted.defined()) return asked;
  const Json run = Json::parse(noted.text());
  const auto seed = static_cast<uint64_t>(run["seed"].integer());
  if (options.seed && *options.seed != seed)
    throw tenon::ValueError(
        format_text("'{}' was trained with seed {}: with seed {} it would be measured on samples "
                    "that it was trained on; omit --seed",
                    options.evaluate, seed, *options.seed));
  if (run["split"].text() != config.split.section.dump())
    throw tenon::ValueError(
        format_text("{}: '{}' was trained with the split {}, the config has {}: it would be "
                    "measured on samples that it was trained on",
                    config.split.section.place(), options.evaluate, run["split"].text(),
                    config.split.section.dump()));
  return seed;
}

Result start_result(const TrainingConfig& config, const RunOptions& options) {
  Result result;
  result.config = options.config;
  result.trained = options.evaluate.empty();
  const training::OutputConfig& output = config.output;
  result.weights = result.trained ? output.weights : options.evaluate;
  if (!result.trained) {
    result.seed = evaluation_seed(config, options);
    return result;
  }
  result.seed = options.seed.value_or(config.seed);
  result.plot = options.plot.empty() ? output.plot : options.plot;
  const std::pair<const char*, std::string> files[] = {{"weights", output.weights},
                                                       {"history", output.history},
                                                       {"checkpoint", output.checkpoint},
                                                       {"log", output.log}};
  for (const auto& [key, path] : files) {
    check_output(config, path, output.section[key]);
    if (!options.plot.empty() && !path.empty() && training::same_file(path, options.plot))
      throw tenon::IOError(
          format_text("cannot write '{}': \"{}\" is the same file", options.plot, key));
  }
  check_output(config, result.plot, output.section["plot"]);
  return result;
}

// Values that a training learned from its data and stored with its weights.
std::string fitted_of(const std::string& weights) {
  const Json noted = tenon::state::metadata(weights)[kRunKey];
  return noted.defined() ? Json::parse(noted.text())["fitted"].text() : "";
}

Setup set_up(const TrainingConfig& config, const RunOptions& options, Result& result) {
  if (options.frozen) freeze(config.document, lock_file_of(options.config));
  tenon::config::apply(config.document);
  training::require_sound(config);
  if (const std::string fault = training::plot_fault(result.plot);
      !result.plot.empty() && !fault.empty())
    throw tenon::IOError(fault);
  // The order of what draws random numbers is a promise: with the same seed a saved model is
  // evaluated on the very samples that its training held back.
  tenon::seed_generator(result.seed);
  Setup setup{
      training::load_dataset(config.data, config.split,
                             result.trained ? "" : fitted_of(options.evaluate)),
      training::at_place(config.model, [&] { return tenon::state::create_module(config.model); })};
  for (const tenon::Tensor& parameter : setup.model.parameters())
    result.parameters += parameter.numel();
  result.train_count = setup.dataset.train.count();
  result.validation_count = setup.dataset.validation.count();
  result.test_count = setup.dataset.test.count();
  if (!result.trained) training::load_weights(setup.model, options.evaluate);
  training::fit_labels(config, setup.model, setup.dataset);
  return setup;
}

// JSON lines, one for each epoch as soon as it is done.
class History {
 public:
  History(const std::string& path, const std::vector<Epoch>& done) : path_(path) {
    if (path.empty()) return;
    file_.open(path, std::ios::trunc);
    for (const Epoch& epoch : done) add(epoch);
  }
  void add(const Epoch& epoch) {
    if (path_.empty()) return;
    file_ << epoch_json(epoch).dump() << std::endl;
    if (!file_) throw tenon::IOError(format_text("cannot write '{}'", path_));
  }

 private:
  std::string path_;
  std::ofstream file_;
};

// Whether there is a checkpoint to continue from.
bool resume(training::Trainer& trainer, const std::string& path) {
  if (path.empty())
    throw UsageError("--resume continues from output.checkpoint, which the config does not have");
  if (!std::filesystem::exists(path)) {
    print(stderr,
          format_text("tenon: no checkpoint '{}' yet: starting with the first epoch\n", path));
    return false;
  }
  trainer.resume(path);
  return true;
}

void save_interrupted(const training::Trainer& trainer, const std::string& checkpoint) {
  const std::string start = format_text("tenon: interrupted after {} of {} epochs",
                                        trainer.history().size(), trainer.epochs());
  tenon::clear_interrupt();  // the checkpoint is written whole; a second Ctrl-C ends the program
  if (!checkpoint.empty()) trainer.save_checkpoint(checkpoint);
  if (!trainer.ranks().first()) return;
  if (checkpoint.empty())
    print(stderr, start + "; nothing was saved\n");
  else
    print(stderr, format_text("{}; continue from '{}' with --resume\n", start, checkpoint));
}

int64_t evaluation_batch(const TrainingConfig& config) {
  return std::max<int64_t>(config.training ? config.training->batch_size : 0, 256);
}

// The scores of a training that is done; the test part has waited for it.
void score_trained(const TrainingConfig& config, const training::Trainer& trainer, Setup& setup,
                   Result& result) {
  const training::Dataset& dataset = setup.dataset;
  if (config.training->monitor) result.best_epoch = trainer.best_epoch();
  const Epoch& last = result.epochs[static_cast<size_t>(trainer.best_epoch() - 1)];
  result.train_loss = last.train_loss;
  if (!result.first_rank) return;
  (dataset.validation.count() > 0 ? result.validation : result.score) = last.score;
  if (result.validation && dataset.test.count() > 0)
    result.score = training::evaluate(setup.model, &trainer.loss(), trainer.metrics(), dataset.test,
                                      evaluation_batch(config));
}

void save_results(const TrainingConfig& config, const training::Trainer& trainer,
                  const Setup& setup, const Result& result) {
  const tenon::Uninterrupted whole;
  if (!result.weights.empty())
    training::save_weights(
        setup.model, result.weights,
        weights_metadata(config, result, trainer.best_epoch(), setup.dataset.fitted));
  if (!result.plot.empty())
    training::write_plot(result.plot, learning_curve(file_name(result.config), result.epochs));
}

// False: interrupted.
bool train_and_save(const TrainingConfig& config, const RunOptions& options, Setup& setup,
                    Result& result, RunLog& log) {
  training::Trainer trainer(config, setup.model, setup.dataset, options.epochs);
  const std::string& checkpoint = config.output.checkpoint;
  trainer.write_checkpoints(checkpoint);
  if (options.detect_anomaly) trainer.detect_anomaly();
  result.first_rank = trainer.ranks().first();
  if (!result.first_rank) log = RunLog("");
  log.add(format_text("train {}, seed {}", options.config, result.seed));
  if (options.resume) resume(trainer, checkpoint);
  const auto done = static_cast<int64_t>(trainer.history().size());
  const int64_t epochs = trainer.epochs(), batches = trainer.steps_per_epoch();
  History history(result.first_rank ? config.output.history : "", trainer.history());
  const InterruptScope interrupts;
  Progress progress(epochs, (epochs - done) * batches, (epochs - done) * result.train_count,
                    options.quiet || !result.first_rank);
  Stopwatch computing;
  int64_t steps_left = batches;
  trainer.batch_done = [&](double batch_loss) {
    progress.batch_done(batch_loss);
    if (--steps_left == 0) computing.pause();
  };
  trainer.epoch_done = [&](const Epoch& epoch) {
    progress.epoch_done(epoch);
    log.add(epoch_line(epoch, epochs));
    history.add(epoch);
    steps_left = batches;
    computing.resume();
  };
  computing.resume();
  bool finished = trainer.run();
  progress.finish();
  result.epochs = trainer.history();
  try {
    // The first of several ranks scores alone: the others would not take part in what comes then.
    std::optional<tenon::Uninterrupted> whole;
    if (trainer.ranks().size() > 1) whole.emplace();
    if (finished) score_trained(config, trainer, setup, result);
  } catch (const tenon::Error& error) {
    if (error.kind() != TENON_ERROR_INTERRUPTED) throw;
    finished = false;
  }
  if (!finished) {
    log.add("interrupted");
    save_interrupted(trainer, checkpoint);
    return false;
  }
  result.computing_seconds = computing.seconds();
  result.computed = (static_cast<int64_t>(result.epochs.size()) - done) * result.train_count;
  if (result.first_rank) save_results(config, trainer, setup, result);
  return true;
}

void score_model(const TrainingConfig& config, Setup& setup, Result& result) {
  const training::Dataset& dataset = setup.dataset;
  const training::Samples& samples = dataset.test.count() > 0         ? dataset.test
                                     : dataset.validation.count() > 0 ? dataset.validation
                                                                      : dataset.train;
  std::optional<training::Loss> loss;
  if (config.loss.defined()) loss.emplace(config.loss);
  const std::vector<training::Metric> metrics = training::load_metrics(config, dataset);
  const Clock::time_point start = Clock::now();
  result.score = training::evaluate(setup.model, loss ? &*loss : nullptr, metrics, samples,
                                    evaluation_batch(config));
  result.computing_seconds = seconds_since(start);
  result.computed = samples.count();
}

int run_config(const RunOptions& options, const SessionOptions& session) {
  const Clock::time_point start = Clock::now();
  const bool trains = options.evaluate.empty();
  if (!trains &&
      (!options.plot.empty() || options.epochs || options.resume || options.detect_anomaly)) {
    throw UsageError(
        "--plot, --epochs, --resume and --detect-anomaly are about training; --evaluate does not "
        "train");
  }
  if (options.watch && options.frozen)
    throw UsageError("--watch runs plugins that change, --frozen those that do not: choose one");
  const TrainingConfig config(training::read_config(options.config));
  require_keys(config, options.config, trains);
  Result result = start_result(config, options);
  const std::string logged = options.log.empty() ? config.output.log : options.log;
  check_output(config, options.log, {});
  RunLog log(logged);
  if (session.threads == 0 && config.threads > 0) tenon::set_thread_count(config.threads);
  try {
    Setup setup = set_up(config, options, result);
    const PluginWatch watch(options.watch);
    if (!trains) {
      log.add(format_text("evaluate {}, seed {}", options.config, result.seed));
      score_model(config, setup, result);
    } else if (!train_and_save(config, options, setup, result, log)) {
      return kInterrupted;
    }
  } catch (const tenon::Error& error) {
    log.add(error.what());
    throw;
  }
  result.seconds = seconds_since(start);
  if (!result.first_rank) return kFine;
  if (options.json)
    print_result_json(result);
  else
    print_result(result, log);
  return kFine;
}

}  // namespace

void define_run(Commands& commands) {
  auto [command, options] = commands.add(
      run_config, "run", "Do what a config says: train, evaluate, save",
      "  tenon run digits.json\n"
      "  tenon run digits.json --epochs 5 --seed 7 --plot curve.svg\n"
      "  tenon run digits.json --evaluate digits.safetensors --json\n"
      "  tenon run digits.json --resume\n"
      "The same seed gives the same numbers for any --threads. Ctrl-C stops at once, inside the "
      "batch. If \"output\" names a checkpoint, it is written as of the last complete step; "
      "otherwise nothing is written.");
  command.argument(options.config, "CONFIG", "The config file");
  command.option("--evaluate", options.evaluate, "WEIGHTS",
                 "Evaluate these weights instead of training");
  command.option("--plot", options.plot, "FILE",
                 "Draw the learning curves into this file, .svg or .png");
  command.option("--log", options.log, "FILE",
                 "Append what is printed, with times, to this file as well");
  command.number("--epochs", options.epochs, 1, 1000000000, "N",
                 "Epochs, in place of the config's");
  command.number("--seed", options.seed, 0, kLargestSeed, "N", "Seed, in place of the config's");
  command.flag("--resume", options.resume,
               "Continue from the checkpoint that the config's output names");
  command.frozen(options.frozen);
  command.flag("--watch", options.watch,
               "Reload plugins whose files are built again, and continue training");
  command.flag("--detect-anomaly", options.detect_anomaly,
               "Stop at the op that makes the first nan, and name it; two to three times slower");
  command.flag("-q,--quiet", options.quiet, "No progress");
  command.json(options.json);
}

}  // namespace cli
