// tenon tune: measures the providers of ops on the shapes that a config meets, and writes
// preferences.
#include <algorithm>
#include <chrono>
#include <optional>

#include <tenon/config/config.hpp>
#include <tenon/interrupt.hpp>
#include <tenon/parallel.hpp>
#include <tenon/runtime.hpp>
#include <tenon/state/atomic_file.hpp>
#include <tenon/state/module_file.hpp>
#include <tenon/training/training.hpp>

#include "commands.hpp"
#include "interrupt_scope.hpp"
#include "json.hpp"
#include "table.hpp"
#include "terminal.hpp"
#include "text.hpp"
#include "tune/config_edit.hpp"
#include "tune/measurement.hpp"
#include "tune/preferences.hpp"
#include "tune/recorder.hpp"

namespace cli {

namespace {

struct TuneOptions {
  std::string config;
  int64_t steps = 10;     // training steps that are recorded
  int64_t rounds = 5;     // in which providers take turns
  double least_gain = 5;  // percent of the time that a rule has to save
  std::string clock;      // an op whose result is the time; empty: the process's clock
  bool write = false;     // change the config; else the change is printed
  bool quiet = false;
  bool json = false;
};

namespace training = tenon::training;

using tenon::Json;

// One line on a terminal, which is drawn again; nothing elsewhere.
class StatusLine {
 public:
  explicit StatusLine(bool quiet) : live_(!quiet && can_redraw(stderr)) {}
  ~StatusLine() { show(""); }
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  void show(const std::string& text) {
    if (!live_) return;
    std::fputs("\r\033[K", stderr);
    print(stderr, text);
    std::fflush(stderr);
  }

 private:
  const bool live_;
};

// Trains so many steps and evaluates once, while the recorder listens.
void record_run(const training::TrainingConfig& config, const TuneOptions& options,
                CallRecorder& recorder, StatusLine& status) {
  tenon::config::apply(without_rules(config.document));
  training::require_sound(config);
  tenon::seed_generator(config.seed);
  training::Dataset dataset = training::load_dataset(config.data, config.split);
  tenon::Module model =
      training::at_place(config.model, [&] { return tenon::state::create_module(config.model); });
  training::fit_labels(config, model, dataset);
  training::Trainer trainer(config, model, dataset);
  int64_t steps = 0;
  bool enough = false;
  trainer.batch_done = [&](double) {
    status.show(format_text("recording step {} of {}", ++steps, options.steps));
    if (steps < options.steps) return;
    enough = true;
    tenon::request_interrupt();
  };
  const tenon::ModeScope scope(recorder, tenon::Level::below_autograd);
  recorder.set_training(true);
  if (!trainer.run() && !enough) throw tenon::InterruptedError("interrupted");
  tenon::clear_interrupt();
  recorder.set_training(false);
  const training::Samples& watched =
      dataset.watched().count() > 0 ? dataset.watched() : dataset.train;
  const int64_t batch = std::max<int64_t>(config.training->batch_size, 256);
  const int64_t count = std::min(watched.count(), batch * options.steps);
  training::evaluate(model, &trainer.loss(), trainer.metrics(), watched.narrow(0, count), batch);
}

std::function<double()> clock_of(const TuneOptions& options) {
  if (!options.clock.empty()) {
    return [op = tenon::Op(options.clock)] {
      const auto time = op.call<tenon::Value>();
      if (!time.is_number())
        throw tenon::TypeError(format_text(
            "--clock: {} returns something else than a number; name an op without arguments that "
            "returns the time as a number",
            op.name()));
      return time.scalar().to<double>();
    };
  }
  return [] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  };
}

// A time of the process's clock in a suitable unit; a time of another clock as it is.
std::string time_text(double seconds, bool own_clock) {
  if (!own_clock) return short_number(seconds);
  if (seconds >= 1) return format_text("{} s", fixed(seconds, 2));
  if (seconds >= 1e-3) return format_text("{} ms", fixed(1e3 * seconds, 2));
  return format_text("{} us", fixed(1e6 * seconds, 1));
}

std::string classes_text(const OperandClasses& classes) {
  std::vector<std::string> texts;
  for (const auto& [parameter, text] : classes)
    texts.push_back(format_text("{} {}", parameter, text));
  return join(texts, ", ");
}

void print_classes(const std::vector<CallClass>& classes, bool own_clock) {
  Table table({{"OP"},
               {"SHAPES", Align::left, true},
               {"CALLS", Align::right},
               {"TIME OF A CALL, BY PLUGIN"},
               {"USUAL"},
               {"FASTEST"},
               {"GAIN", Align::right}});
  for (const CallClass& one : classes) {
    std::vector<std::string> times;
    for (const auto& [provider, seconds] : one.seconds)
      times.push_back(format_text("{} {}", provider,
                                  time_text(seconds / static_cast<double>(one.calls), own_clock)));
    for (const auto& [provider, reason] : one.declined)
      times.push_back(format_text("{} declines", provider));
    table.add({one.op,
               classes_text(one.classes),
               grouped(one.calls),
               join(times, ", "),
               one.usual,
               {one.winner, one.has_preference ? Style::green : Style::plain},
               one.gain > 0 ? format_text("{} %", fixed(100 * one.gain, 1)) : "-"});
  }
  print(table.text());
}

Json result_json(const TuneOptions& options, const std::vector<CallClass>& classes,
                 const std::string& diff) {
  tenon::JsonArray list;
  for (const CallClass& one : classes) {
    tenon::JsonObject times, declined;
    for (const auto& [provider, seconds] : one.seconds) times.set(provider, seconds);
    for (const auto& [provider, reason] : one.declined) declined.set(provider, reason);
    list.add(tenon::JsonObject()
                 .set("op", one.op)
                 .set("when", when_of(one.classes))
                 .set("calls", one.calls)
                 .set("times", times.json())
                 .set("declined", declined.json())
                 .set("usual", one.usual)
                 .set("fastest", one.winner)
                 .set("gain", one.gain)
                 .set("rule", one.has_preference)
                 .json());
  }
  return tenon::JsonObject()
      .set("config", options.config)
      .set("classes", list.json())
      .set("diff", diff)
      .set("written", options.write && !diff.empty())
      .json();
}

void print_result(const TuneOptions& options, const std::vector<CallClass>& classes,
                  const std::string& diff) {
  if (classes.empty())
    return print_fitted("nothing to choose: every op that the config runs has one provider\n");
  print_classes(classes, options.clock.empty());
  if (diff.empty())
    print_fitted(format_text(
        "\nno preference that the config does not have saves {} % or more: it stays as it is\n",
        short_number(options.least_gain)));
  else if (options.write)
    print_fitted(format_text("\nwrote the preferences into {}\n", options.config));
  else
    print(format_text(
        "\n{}\n{}", diff,
        fitted(format_text("`tenon tune {} --write` measures again and changes the config\n",
                           options.config),
               output_width())));
}

int tune_config(const TuneOptions& options, const SessionOptions& session) {
  if (options.config == "-")
    throw UsageError("a config from standard input cannot be tuned: name its file");
  const training::TrainingConfig config(training::read_config(options.config));
  const std::string before = training::read_file(options.config);
  if (const std::string missing = training::missing_keys(config, true); !missing.empty())
    throw tenon::ConfigError(
        format_text("{}: cannot train: the config has no {}", options.config, missing));
  CallRecorder recorder;
  std::vector<CallClass> classes;
  {
    const InterruptScope interrupts;
    StatusLine status(options.quiet || options.json);
    // The session's threads take precedence.
    if (session.threads == 0 && config.threads > 0) tenon::set_thread_count(config.threads);
    record_run(config, options, recorder, status);
    MeasureOptions measure;
    measure.rounds = options.rounds;
    measure.now = clock_of(options);
    measure.stop = [] { return tenon::interrupt_requested(); };
    measure.advance = [&](double part) {
      status.show(
          format_text("measuring {} calls: {} %", recorder.calls().size(), fixed(100 * part, 0)));
    };
    const std::vector<MeasuredCall> measured = measure_calls(recorder, measure);
    classes = classify(measured, options.least_gain / 100);
  }
  const std::vector<NewPreference> changes = changed_preferences(config.document, classes);
  const std::string after = with_preferences(before, changes);
  const std::string diff = unified_diff(before, after, options.config);
  if (options.write && !diff.empty()) {
    if (training::read_file(options.config) != before)
      throw tenon::ConfigError(format_text(
          "{} was changed while its calls were measured, and is left as it is now; tune it again",
          options.config));
    tenon::state::write_file(options.config, after);
  }
  if (options.json)
    print_json(result_json(options, classes, diff));
  else
    print_result(options, classes, diff);
  return kFine;
}

}  // namespace

void define_tune(Commands& commands) {
  auto [command, options] = commands.add(
      tune_config, "tune",
      "Measure which plugin runs the ops of a config fastest, and prefer it by shapes",
      "  tenon tune digits.json\n"
      "  tenon tune digits.json --write\n"
      "  tenon tune digits.json --steps 50 --rounds 9 --json\n"
      "Trains a few steps and saves nothing. For ops that several plugins provide, repeats every "
      "such call with each provider, alternating. Prints the times by classes of shapes and, as a "
      "diff, the preferences for \"ops\": {\"prefer\": ...}; --write puts them into the config. A "
      "run never measures. Measure on an idle machine.");
  command.argument(options.config, "CONFIG", "The config file");
  command.flag("--write", options.write, "Change the config");
  command.number("--steps", options.steps, 1, 1000000, "N", "Steps to train; 10 when left out");
  command.number("--rounds", options.rounds, 1, 100, "N",
                 "Rounds, whose median counts; 5 when left out");
  command.number("--least-gain", options.least_gain, 0, 100, "PERCENT",
                 "Percent of the time that a rule has to save; 5 when left out");
  command.option("--clock", options.clock, "OP",
                 "Op that returns the clock, for example a cycle counter");
  command.flag("-q,--quiet", options.quiet, "No progress");
  command.json(options.json);
}

}  // namespace cli
