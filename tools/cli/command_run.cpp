// tenon run: does what a config says. Trains, evaluates, saves.
#include <algorithm>
#include <chrono>
#include <exception>
#include <filesystem>
#include <fstream>
#include <optional>

#include <tenon/config/config.hpp>
#include <tenon/device.hpp>
#include <tenon/parallel.hpp>
#include <tenon/runtime.hpp>
#include <tenon/state/module_file.hpp>
#include <tenon/training/training.hpp>

#include "commands.hpp"
#include "device_option.hpp"
#include "format.hpp"
#include "given_inputs.hpp"
#include "interrupt_scope.hpp"
#include "json.hpp"
#include "learning_curve.hpp"
#include "lock_file.hpp"
#include "model_call.hpp"
#include "plugin_watch.hpp"
#include "profile_view.hpp"
#include "progress.hpp"
#include "run_log.hpp"
#include "run_report.hpp"
#include "run_result.hpp"
#include "terminal.hpp"
#include "text.hpp"

namespace cli {

namespace {

namespace training = tenon::training;

using tenon::Json;
using Clock = std::chrono::steady_clock;
using training::TrainingConfig;

struct RunOptions {
  std::string config;               // or the file of a model
  std::vector<std::string> inputs;  // values of --input
  std::string evaluate;             // weights, or a prepared model, to evaluate instead of training
  bool as_is = false;               // evaluates the model without preparing it
  std::string device;               // empty: the config's
  std::string plot;
  std::string log;
  std::optional<int64_t> epochs;
  std::optional<uint64_t> seed;
  bool resume = false;
  bool frozen = false;  // refuse what differs from the lock file
  bool watch = false;   // reload plugins that are built again
  bool detect_anomaly = false;
  bool sample_norms = false;  // measure gradients of single samples
  bool quiet = false;
  bool json = false;
  bool profile = false;
  std::string profile_trace;
  std::string trace;  // file of results
  std::string report;
};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// `node` is the place of the file's name when the config has it.
void check_output(const TrainingConfig& config, const std::string& path, const Json& node) {
  if (path.empty()) return;
  std::string fault = training::output_fault(path);
  if (fault.empty()) fault = training::overwrite_fault(config, path);
  if (fault.empty()) return;
  throw tenon::IOError(node.text() == path ? format_text("{}: {}", node.place(), fault) : fault);
}

// IOError where two outputs, by the names of their options, are one file.
void require_distinct(const std::vector<std::pair<const char*, std::string>>& outputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      const auto& [option, path] = outputs[i];
      const auto& [other, taken] = outputs[j];
      if (!path.empty() && !taken.empty() && training::same_file(path, taken))
        throw tenon::IOError(
            format_text("cannot write '{}': {} and {} name one file", path, option, other));
    }
  }
}

void require_keys(const TrainingConfig& config, const std::string& path, bool trains) {
  if (const std::string missing = training::missing_keys(config, trains); !missing.empty())
    throw tenon::ConfigError(format_text("{}: cannot run: the config has no {}", path, missing));
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
  tenon::device::Device device;  // place of an evaluation
  std::optional<tenon::Prepared> opened =
      {};  // evaluated in place of the model, whose weights it has
};

RunResult start_result(const TrainingConfig& config, const RunOptions& options) {
  RunResult result;
  result.config = options.config;
  result.trained = options.evaluate.empty();
  const training::OutputConfig& output = config.output;
  result.weights = result.trained ? output.weights : options.evaluate;
  if (!result.trained) {
    result.seed = training::evaluation_seed(config, options.evaluate, options.seed);
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

// The device that the option names, or the config. A prepared model is refused on others than the CPU.
tenon::device::Device device_of(const TrainingConfig& config, const RunOptions& options) {
  const bool given = !options.device.empty();
  const Json node = given || !config.training ? Json() : config.training->device_node;
  const std::string name = config.training ? config.training->device : "cpu";
  const tenon::device::Device device =
      given ? device_option(options.device)
            : training::at_place(node, [&] { return tenon::device::Device(name); });
  if (is_prepared_file(options.evaluate))
    require_cpu(device, given ? "--device" : node.place(),
                format_text("--evaluate '{}'", options.evaluate),
                given ? "evaluate the weights there, or leave --device out"
                      : "evaluate the weights there, or add --device cpu");
  return device;
}

Setup set_up(const TrainingConfig& config, const RunOptions& options, RunResult& result) {
  if (options.frozen) freeze(config.document, lock_file_of(options.config));
  tenon::config::apply(config.document);
  if (!options.device.empty()) device_option(options.device);  // the config has no place for it
  training::require_sound(config);
  const tenon::device::Device device = device_of(config, options);
  if (const std::string fault = training::plot_fault(result.plot);
      !result.plot.empty() && !fault.empty())
    throw tenon::IOError(fault);
  // The order of what draws random numbers is a promise: with the same seed a saved model is
  // evaluated on the very samples that its training held back.
  tenon::seed_generator(result.seed);
  std::optional<tenon::Prepared> opened;
  if (is_prepared_file(options.evaluate)) opened = open_prepared_file(options.evaluate);
  training::WeightsNote note;
  if (!result.trained)
    note = training::weights_note(options.evaluate).value_or(training::WeightsNote());
  Setup setup{
      training::load_dataset(config.data, config.split, note.fitted),
      training::at_place(config.model, [&] { return tenon::state::create_module(config.model); }),
      device};
  for (const tenon::Tensor& parameter : setup.model.parameters())
    result.parameters += parameter.numel();
  result.train_count = setup.dataset.train.count();
  result.validation_count = setup.dataset.validation.count();
  result.test_count = setup.dataset.test.count();
  if (!result.trained && !opened) training::load_weights(setup.model, options.evaluate);
  setup.opened = std::move(opened);
  training::fit_labels(config, setup.model, setup.dataset);
  if (result.trained) training::require_last_batch(config, setup.dataset.train);
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
                   RunResult& result) {
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
                  const Setup& setup, const RunResult& result) {
  const tenon::Uninterrupted whole;
  if (!result.weights.empty())
    training::save_weights(
        setup.model, result.weights,
        {result.seed, config.split.section.dump(), trainer.best_epoch(), setup.dataset.fitted});
  if (!result.plot.empty())
    training::write_plot(result.plot, learning_curve(result.config_name(), result.epochs));
}

void measure_norms(const Setup& setup, const training::Loss& loss, const training::Samples& samples,
                   const char* part, RunResult& result) {
  result.norms = training::sample_norms(setup.model, loss, samples);
  result.norms_part = part;
}

// False: interrupted.
bool train_and_save(const TrainingConfig& config, const RunOptions& options, Setup& setup,
                    RunResult& result, RunLog& log, RunReport& report) {
  // A refusal comes before the training, and before the model is on its device.
  setup.model.train();
  if (options.sample_norms) training::require_independent_samples(setup.model, setup.dataset.train);
  training::Trainer trainer(config, setup.model, setup.dataset, options.epochs);
  const std::string& checkpoint = config.output.checkpoint;
  trainer.write_checkpoints(checkpoint);
  if (options.detect_anomaly) trainer.detect_anomaly();
  result.first_rank = trainer.ranks().first();
  if (!result.first_rank) log = RunLog("");
  log.add(format_text("train {}, seed {}", options.config, result.seed));
  if (options.resume) resume(trainer, checkpoint);
  result.epochs = trainer.history();
  report.begin(trainer.epochs());
  const auto done = static_cast<int64_t>(trainer.history().size());
  const int64_t epochs = trainer.epochs(), batches = trainer.steps_per_epoch();
  History history(result.first_rank ? config.output.history : "", trainer.history());
  const InterruptScope interrupts;
  Progress progress(epochs, (epochs - done) * batches,
                    (epochs - done) * trainer.samples_per_epoch(),
                    options.quiet || !result.first_rank);
  Stopwatch computing;
  int64_t steps_left = batches;
  trainer.batch_done = [&](double batch_loss) {
    progress.batch_done(batch_loss);
    report.batch_done();
    if (--steps_left == 0) computing.pause();
  };
  trainer.epoch_done = [&](const Epoch& epoch) {
    progress.epoch_done(epoch);
    log.add(epoch_line(epoch, epochs));
    history.add(epoch);
    report.epoch_done(epoch);
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
    if (finished && options.sample_norms && result.first_rank)
      measure_norms(setup, trainer.loss(), setup.dataset.train, "train", result);
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
  result.computed =
      (static_cast<int64_t>(result.epochs.size()) - done) * trainer.samples_per_epoch();
  if (result.first_rank) save_results(config, trainer, setup, result);
  return true;
}

// The part that a model is scored on, and its name.
std::pair<const training::Samples&, const char*> scored_part(const training::Dataset& dataset) {
  if (dataset.test.count() > 0) return {dataset.test, "test"};
  if (dataset.validation.count() > 0) return {dataset.validation, "validation"};
  return {dataset.train, "train"};
}

// None where the config has no loss.
std::optional<training::Loss> fitted_loss(const TrainingConfig& config,
                                          const training::Dataset& dataset) {
  std::optional<training::Loss> loss;
  if (!config.loss.defined()) return loss;
  loss.emplace(config.loss);
  loss->fit(dataset.train.labels, dataset.classes);
  return loss;
}

void score_model(const TrainingConfig& config, const RunOptions& options, Setup& setup,
                 RunResult& result) {
  const training::Dataset& dataset = setup.dataset;
  const auto [samples, part] = scored_part(dataset);
  const std::optional<training::Loss> loss = fitted_loss(config, dataset);
  const std::vector<training::Metric> metrics = training::load_metrics(config, dataset);
  const Clock::time_point start = Clock::now();
  const training::Loss* const measured = loss ? &*loss : nullptr;
  result.score = setup.opened ? training::evaluate(*setup.opened, measured, metrics, samples)
                              : training::evaluate(setup.model, measured, metrics, samples,
                                                   evaluation_batch(config), {},
                                                   options.as_is ? training::ModelCalls::as_is
                                                                 : training::ModelCalls::prepared);
  result.computing_seconds = seconds_since(start);
  result.computed = samples.count();
  if (!options.sample_norms) return;
  if (!loss)
    throw tenon::ConfigError(
        format_text("{}: --per-sample-norms needs a \"loss\", of which gradients are taken; add it",
                    result.config));
  setup.model.eval();
  measure_norms(setup, *loss, samples, part, result);
}

// Refuses options that call modules: the file of a prepared model has none.
void require_module(const RunOptions& options) {
  const std::pair<const char*, bool> asked[] = {{"--as-is", options.as_is},
                                                {"--per-sample-norms", options.sample_norms},
                                                {"--report", !options.report.empty()},
                                                {"--profile", options.profile},
                                                {"--profile-trace", !options.profile_trace.empty()},
                                                {"--trace", !options.trace.empty()}};
  for (const auto& [name, given] : asked) {
    if (given)
      throw UsageError(format_text(
          "{} calls the modules of a model, and '{}' is a prepared one, which has its lists alone: "
          "evaluate the weights",
          name, options.evaluate));
  }
}

// One call of a model's file.
int run_model_file(const RunOptions& options) {
  const bool trains = options.epochs || options.resume || options.detect_anomaly || options.watch ||
                      options.frozen || !options.evaluate.empty() || !options.plot.empty() ||
                      !options.log.empty() || options.sample_norms || !options.report.empty();
  if (trains)
    throw UsageError(format_text(
        "'{}' is the file of a model, which is called once: its options are --input, "
        "--seed, --device, --profile, --profile-trace, --trace and --json; to train it, name it in "
        "a config",
        options.config));
  const ModelCallResult result =
      call_model_file({options.config,
                       options.inputs,
                       {},
                       options.seed.value_or(0),
                       options.device,
                       {options.profile, options.profile_trace, options.trace}});
  print_outputs(result, options.json);
  if (result.fault) std::rethrow_exception(result.fault);
  return kFine;
}

int run_config(const RunOptions& options, const SessionOptions& session) {
  if (is_prepared_file(options.config) || training::is_model_file(options.config))
    return run_model_file(options);
  refuse_inputs(options.inputs, options.config);
  const Clock::time_point start = Clock::now();
  const bool trains = options.evaluate.empty();
  if (!trains &&
      (!options.plot.empty() || options.epochs || options.resume || options.detect_anomaly)) {
    throw UsageError(
        "--plot, --epochs, --resume and --detect-anomaly are about training; --evaluate does not "
        "train");
  }
  if (trains && options.as_is)
    throw UsageError("--as-is is about --evaluate: training calls the model itself");
  if (is_prepared_file(options.evaluate)) require_module(options);
  if (options.watch && options.frozen)
    throw UsageError("--watch runs plugins that change, --frozen those that do not: choose one");
  TrainingConfig config(training::read_config(options.config));
  require_keys(config, options.config, trains);
  if (!options.device.empty() && config.training) {
    config.training->device = options.device;
    config.training->device_node = Json();
  }
  RunResult result = start_result(config, options);
  const std::string logged = options.log.empty() ? config.output.log : options.log;
  check_output(config, options.log, {});
  check_output(config, options.profile_trace, {});
  check_output(config, options.trace, {});
  check_output(config, options.report, {});
  require_replaceable(options.report, "<!doctype html>", "a page of a report");
  if (!options.report.empty() && training::same_file(options.report, options.evaluate))
    throw tenon::IOError(
        format_text("cannot write '{}': it is the file of the weights", options.report));
  require_distinct({{"--report", options.report},
                    {"--plot", result.plot},
                    {"--profile-trace", options.profile_trace},
                    {"--trace", options.trace},
                    {"--log", logged}});
  if (!options.trace.empty() && config.distributed.section.defined())
    throw UsageError("--trace records the calls of one process: leave \"distributed\" out");
  RunReport report(options.report, config, result);
  RunLog log(logged);
  std::exception_ptr fault;  // fault of a trace beside the results
  if (session.threads == 0 && config.threads > 0) tenon::set_thread_count(config.threads);
  try {
    Setup setup = set_up(config, options, result);
    const PluginWatch watch(options.watch);
    report.add_summary();
    ProfileScope profile({options.profile || report.any(), options.profile_trace, options.trace});
    profile.begin(setup.model, result.config_name(), options.config, result.seed);
    bool finished = true;
    if (trains) {
      finished = train_and_save(config, options, setup, result, log, report);
    } else {
      log.add(format_text("evaluate {}, seed {}", options.config, result.seed));
      report.begin(0);
      tenon::device::move(setup.model, setup.device);
      score_model(config, options, setup, result);
    }
    if (result.first_rank) result.profile = profile.end(fault);
    if (!finished) {
      if (options.profile && result.profile && !options.json) print(profile_text(*result.profile));
      report.end("interrupted");
      if (fault) std::rethrow_exception(fault);
      return kInterrupted;
    }
    result.seconds = seconds_since(start);
    if (report.any()) {
      const auto [samples, part] = scored_part(setup.dataset);
      const std::optional<training::Loss> loss = fitted_loss(config, setup.dataset);
      report.add_samples(setup.model, samples, part, evaluation_batch(config),
                         loss ? &*loss : nullptr);
    }
  } catch (const std::exception& error) {  // allocations and file systems throw others
    log.add(error.what());
    report.fail(error.what());
    throw;
  }
  // Results are printed first: a page or a trace that cannot be written takes none away.
  const auto profiled = result.profile;
  if (!options.profile && options.profile_trace.empty()) result.profile.reset();
  if (result.first_rank) {
    if (options.json)
      print_json(result_json(result));
    else
      print_result(result, log);
  }
  result.profile = profiled;
  report.end("finished");
  if (fault) std::rethrow_exception(fault);
  return kFine;
}

}  // namespace

void define_run(Commands& commands) {
  auto [command, options] = commands.add(
      run_config, "run", "Do what a config says: train, evaluate, save",
      "  tenon run digits.json\n"
      "  tenon run digits.json --epochs 5 --seed 7 --plot curve.svg\n"
      "  tenon run digits.json --evaluate digits.safetensors --json\n"
      "  tenon run digits.json --evaluate digits.tenon\n"
      "  tenon run digits.json --resume\n"
      "  tenon run digits.json --profile --profile-trace trace.json\n"
      "  tenon run digits.json --report report.html\n"
      "  tenon run digits.json --trace one.trace && tenon diff one.trace two.trace\n"
      "  tenon run detector.onnx --input x=1x3x320x320\n"
      "The same seed gives the same numbers for any --threads. Ctrl-C stops at once, inside the "
      "batch. If \"output\" names a checkpoint, it is written as of the last complete step; "
      "otherwise nothing is written. The file of a model is called once, with random numbers "
      "where --input gives no file. Under --profile, --report and --trace models are called as "
      "they are, not "
      "prepared.");
  command.argument(options.config, "CONFIG", "The config file, or the file of a model");
  command.inputs(options.inputs);
  command.option("--evaluate", options.evaluate, "WEIGHTS",
                 "Evaluate these weights, or the prepared model FILE.tenon, instead of training");
  command.flag("--as-is", options.as_is,
               "With --evaluate: call the model itself, where many samples would have it prepared");
  command.option(
      "--device", options.device, "NAME",
      "Where the model runs, in place of the config's: a device of a plugin, 'opencl:0'");
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
  command.flag("--per-sample-norms", options.sample_norms,
               "Measure the gradient of each sample alone, and list those with the largest norms");
  command.profile(options.profile);
  command.profile_trace(options.profile_trace);
  command.trace(options.trace);
  command.option(
      "--report", options.report, "FILE",
      "Write a page about the run, .html: curves, confusion matrix, worst samples, times");
  command.flag("-q,--quiet", options.quiet, "No progress");
  command.json(options.json);
}

}  // namespace cli
