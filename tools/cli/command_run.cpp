// tenon run: does what a config says. Trains, evaluates, saves.
#include <chrono>
#include <csignal>
#include <filesystem>

#include <tenon/tenon.hpp>

#include "commands.hpp"
#include "dataset.hpp"
#include "files.hpp"
#include "format.hpp"
#include "json.hpp"
#include "learning_curve.hpp"
#include "progress.hpp"
#include "table.hpp"
#include "terminal.hpp"
#include "text.hpp"
#include "training.hpp"

namespace cli {

namespace {

using tenon::Json;
using Clock = std::chrono::steady_clock;

volatile std::sig_atomic_t interrupt_seen = 0;
void note_interrupt(int) { interrupt_seen = 1; }

// While it lives, the first Ctrl-C is noted; the second ends the program at once.
class InterruptScope {
 public:
  InterruptScope() {
    interrupt_seen = 0;
    struct sigaction action {};
    action.sa_handler = note_interrupt;
    action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
    sigaction(SIGINT, &action, &previous_);
  }
  ~InterruptScope() { sigaction(SIGINT, &previous_, nullptr); }
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;
  static bool seen() { return interrupt_seen != 0; }

 private:
  struct sigaction previous_ {};
};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::string file_name(const std::string& path) { return std::filesystem::path(path).filename(); }

// Where the config names the file, `node` is its place.
void check_writable(const std::string& path, const Json& node) {
  if (path.empty()) return;
  const std::string fault = output_fault(path);
  if (fault.empty()) return;
  throw tenon::IOError(node.text() == path ? format_text("{}: {}", node.place(), fault) : fault);
}

void require_keys(const Json& config, const std::string& path, bool training) {
  if (const std::string missing = missing_keys(config, training); !missing.empty())
    throw tenon::ConfigError(
        format_text("{}: there is nothing to run: the config has no {}", path, missing));
}

struct Result {
  std::string config;
  bool trained = false;
  uint64_t seed = 0;
  int64_t parameters = 0;
  int64_t train_count = 0, test_count = 0;
  std::vector<Epoch> epochs;
  double train_loss = 0;
  Score score;  // of the test part; of everything when there is none
  bool has_score = false;
  bool has_loss = false;
  double seconds = 0, computing_seconds = 0;
  int64_t computed = 0;  // samples in that time
  std::string weights, plot;

  double rate() const { return static_cast<double>(computed) / std::max(computing_seconds, 1e-9); }
};

Json epoch_json(const Epoch& epoch) {
  tenon::JsonObject object;
  object.set("epoch", epoch.number).set("train_loss", epoch.train_loss);
  if (epoch.test) {
    object.set("test_loss", epoch.test->loss);
    if (const auto accuracy = epoch.test->accuracy()) object.set("accuracy", *accuracy);
  }
  return object.json();
}

void print_result_json(const Result& result) {
  tenon::JsonObject object;
  object.set("config", result.config)
      .set("mode", result.trained ? "train" : "evaluate")
      .set("seed", static_cast<int64_t>(result.seed))
      .set("samples", tenon::JsonObject()
                          .set("train", result.train_count)
                          .set("test", result.test_count)
                          .json())
      .set("parameters", result.parameters);
  if (result.trained) {
    object.set("epochs", static_cast<int64_t>(result.epochs.size()))
        .set("train_loss", result.train_loss);
  }
  if (result.has_score) {
    if (result.has_loss) object.set("test_loss", result.score.loss);
    if (const auto accuracy = result.score.accuracy()) {
      object.set("accuracy", *accuracy).set("correct", *result.score.correct);
    }
  }
  object.set("seconds", result.seconds).set("samples_per_second", result.rate());
  if (result.trained) {
    tenon::JsonArray history;
    for (const Epoch& epoch : result.epochs) history.add(epoch_json(epoch));
    object.set("history", history.json());
  }
  print_json(
      object.set("weights", text_or_null(result.weights)).set("plot", text_or_null(result.plot)));
}

void print_result(const Result& result) {
  std::string head = format_text("{}: ", paint(stdout, Style::bold, file_name(result.config)));
  const std::string model = format_text("a model of {}", counted(result.parameters, "parameter"));
  if (result.trained) {
    head += format_text("{}, {} on {}", model,
                        counted(static_cast<int64_t>(result.epochs.size()), "epoch"),
                        counted(result.train_count, "sample"));
    if (result.test_count > 0) head += format_text(", tested on {}", grouped(result.test_count));
  } else {
    head += format_text("{}, evaluated on {}", model, counted(result.score.count, "sample"));
  }
  print(format_text("{}\n", head));
  Table table({{"", Align::left, false}, {"", Align::left, false}}, 2);
  if (result.trained) table.add({"train loss", fixed(result.train_loss, 4)});
  if (result.has_score) {
    if (result.has_loss) table.add({"test loss", fixed(result.score.loss, 4)});
    if (const auto accuracy = result.score.accuracy()) {
      table.add({"accuracy",
                 {format_text("{} ({} of {})", percent(*accuracy), grouped(*result.score.correct),
                              grouped(result.score.count)),
                  Style::green}});
    }
  }
  table.add({"time", duration(result.seconds)});
  table.add({"speed", format_text("{} samples/s", grouped(static_cast<int64_t>(result.rate())))});
  if (!result.weights.empty()) {
    table.add({result.trained ? "weights" : "weights of", result.weights});
  }
  if (!result.plot.empty()) table.add({"plot", result.plot});
  print(table.text());
}

int64_t parameter_count(const tenon::Module& model) {
  int64_t count = 0;
  for (const tenon::Tensor& parameter : model.parameters()) count += parameter.numel();
  return count;
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

// What a config describes, made: samples, model and loss.
struct Setup {
  Dataset dataset;
  tenon::Module model;
  std::optional<Loss> loss;
  Schedule schedule;
};

Result start_result(const Json& config, const RunOptions& options) {
  Result result;
  result.config = options.config;
  result.trained = options.evaluate.empty();
  result.seed = options.seed.value_or(static_cast<uint64_t>(config["seed"].integer(0)));
  result.weights = result.trained ? config["output"]["weights"].text() : options.evaluate;
  if (!result.trained) return result;
  result.plot = options.plot.empty() ? config["output"]["plot"].text() : options.plot;
  check_writable(result.weights, config["output"]["weights"]);
  check_writable(result.plot, config["output"]["plot"]);
  return result;
}

Setup set_up(const Json& config, const RunOptions& options, Result& result) {
  if (options.threads == 0 && config["threads"].defined())
    tenon::set_thread_count(static_cast<int32_t>(config["threads"].integer()));
  tenon::apply_config(config);
  // The order of what draws random numbers is a promise: with the same seed a saved model is
  // evaluated on the very samples that its training held back.
  tenon::seed_generator(result.seed);
  Setup setup{
      load_dataset(config["data"], config["split"]), tenon::create_module(config["model"]), {}, {}};
  result.parameters = parameter_count(setup.model);
  result.train_count = setup.dataset.train.count();
  result.test_count = setup.dataset.test.count();
  if (!result.trained) setup.model.load(options.evaluate);
  fit_labels(config, setup.model, setup.dataset);
  if (config["loss"].defined()) setup.loss.emplace(config["loss"]);
  result.has_loss = setup.loss.has_value();
  const Json training = config["training"];
  setup.schedule.epochs = options.epochs.value_or(training["epochs"].integer(1));
  setup.schedule.batch_size = training["batch_size"].integer(64);
  setup.schedule.cosine = training["schedule"].text() == "cosine";
  return setup;
}

// False: interrupted, nothing was saved.
bool train_and_save(const Json& config, Setup& setup, bool quiet, Result& result) {
  const Schedule& schedule = setup.schedule;
  const int64_t batches = (result.train_count + schedule.batch_size - 1) / schedule.batch_size;
  Optimizer optimizer(config["optimizer"], setup.model.parameters());
  const InterruptScope interrupts;
  Progress progress(schedule.epochs, schedule.epochs * batches,
                    schedule.epochs * result.train_count, quiet);
  Stopwatch computing;
  int64_t steps_left = batches;
  Watcher watcher;
  watcher.batch_done = [&](double batch_loss) {
    progress.batch_done(batch_loss);
    if (--steps_left == 0) computing.pause();
  };
  watcher.epoch_done = [&](const Epoch& epoch) {
    progress.epoch_done(epoch);
    steps_left = batches;
    computing.resume();
  };
  watcher.stopped = InterruptScope::seen;
  computing.resume();
  result.epochs = train(setup.model, *setup.loss, optimizer, setup.dataset, schedule, watcher);
  progress.finish();
  if (InterruptScope::seen()) {
    std::fprintf(stderr, "tenon: interrupted after %zu of %lld epochs; nothing was saved\n",
                 result.epochs.size(), static_cast<long long>(schedule.epochs));
    return false;
  }
  result.computing_seconds = computing.seconds();
  result.computed = schedule.epochs * result.train_count;
  result.train_loss = result.epochs.back().train_loss;
  if (result.epochs.back().test) {
    result.score = *result.epochs.back().test;
    result.has_score = true;
  }
  if (!result.weights.empty()) setup.model.save(result.weights);
  if (!result.plot.empty())
    tenon::write_file(result.plot, learning_curve(file_name(result.config), result.epochs));
  return true;
}

void score_model(Setup& setup, Result& result) {
  const Dataset& dataset = setup.dataset;
  const Samples& samples = dataset.test.count() > 0 ? dataset.test : dataset.train;
  const Clock::time_point start = Clock::now();
  result.score = evaluate(setup.model, setup.loss ? &*setup.loss : nullptr, samples,
                          std::max<int64_t>(setup.schedule.batch_size, 256));
  result.computing_seconds = seconds_since(start);
  result.computed = samples.count();
  result.has_score = true;
}

}  // namespace

int run_config(const RunOptions& options) {
  const Clock::time_point start = Clock::now();
  const Json config = tenon::read_config(options.config);
  const bool training = options.evaluate.empty();
  if (!training && (!options.plot.empty() || options.epochs)) {
    throw UsageError("--plot and --epochs are about training; --evaluate does not train");
  }
  require_keys(config, options.config, training);
  Result result = start_result(config, options);
  Setup setup = set_up(config, options, result);
  if (!training)
    score_model(setup, result);
  else if (!train_and_save(config, setup, options.quiet, result))
    return kInterrupted;
  result.seconds = seconds_since(start);
  if (options.json)
    print_result_json(result);
  else
    print_result(result);
  return kFine;
}

}  // namespace cli
