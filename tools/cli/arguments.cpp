// The commands, their options and help.
#include "arguments.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <memory>

#include <CLI/CLI.hpp>

#include <tenon/abi/version.h>
#include <tenon/text.hpp>

#include "check/options.hpp"
#include "commands.hpp"
#include "format.hpp"
#include "terminal.hpp"
#include "text.hpp"

namespace cli {

namespace {

constexpr auto kExitCodes =
    "Exit codes: 0 fine, 1 a fault was found, 2 wrong usage, 130 interrupted.";

// Help in this program's words.
class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() {
    column_width(28);
    label("Positionals", "Arguments");
  }
  std::string make_usage(const CLI::App* app, std::string) const override {
    const bool whole = app->get_parent() == nullptr;
    std::string text =
        whole ? "Usage: tenon [OPTIONS] COMMAND" : format_text("Usage: tenon {}", app->get_name());
    if (whole) return format_text("{}\n", text);
    text += " [OPTIONS]";
    for (const CLI::Option* option : app->get_options()) {
      if (!option->get_positional()) continue;
      const std::string name = make_option_name(option, true);
      text += option->get_required() ? format_text(" {}", name) : format_text(" [{}]", name);
    }
    return format_text("{}\n", text);
  }
  std::string make_option_name(const CLI::Option* option, bool positional) const override {
    if (!positional) return option->get_name(false, true);
    return format_text("{}{}", option->get_type_name(),
                       option->get_expected_max() > 1 ? "..." : "");
  }
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override {
    std::string text = CLI::Formatter::make_help(app, std::move(name), mode);
    // Options that are not listed leave a blank line.
    for (size_t at = text.find("\n\n\n"); at != text.npos; at = text.find("\n\n\n"))
      text.erase(at, 1);
    return text;
  }
  std::string make_option_opts(const CLI::Option* option) const override {
    const bool named = !option->get_positional() && option->get_expected_max() > 0;
    return named ? format_text(" {}", option->get_type_name()) : "";
  }
};

// A whole number from `low` to `high`.
std::function<std::string(std::string)> whole_number(int64_t low, int64_t high) {
  return [low, high](const std::string& text) -> std::string {
    int64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, fault] = std::from_chars(text.data(), end, number);
    if (fault == std::errc() && stop == end && number >= low && number <= high) return "";
    return format_text("'{}' is not a whole number from {} to {}", text, low, high);
  };
}

std::string check_not_empty(const std::string& text) { return text.empty() ? "it is empty" : ""; }

std::string check_folder(const std::string& path) {
  return std::filesystem::is_directory(path) ? ""
                                             : format_text("'{}' is not an existing folder", path);
}

std::string check_file(const std::string& path) {
  return std::filesystem::is_regular_file(path) ? ""
                                                : format_text("'{}' is not an existing file", path);
}

std::string version_text() {
  return format_text("tenon {}.{}.{}", TENON_VERSION_MAJOR, TENON_VERSION_MINOR,
                     TENON_VERSION_PATCH);
}

// One command: its options are kept alive by the command itself.
template <class Options>
struct Definition {
  CLI::App* app;
  std::shared_ptr<Options> options = std::make_shared<Options>();

  Definition(CLI::App& program, Invocation& invocation, int (*function)(const Options&),
             const char* name, const char* summary, const char* examples)
      : app(program.add_subcommand(name, summary)) {
    app->group("Commands");
    app->footer(format_text("Examples:\n{}", examples));
    app->callback([&invocation, function, kept = options] {
      invocation.command = [function, kept] { return function(*kept); };
    });
  }
  void json() { app->add_flag("--json", options->json, "Print JSON"); }
};

void define_frozen(CLI::App* command, bool& frozen) {
  command->add_flag("--frozen", frozen,
                    "Refuse what differs from the lock file beside the config: see tenon lock");
}

std::shared_ptr<RunOptions> define_run(CLI::App& program, Invocation& invocation) {
  Definition<RunOptions> run(
      program, invocation, run_config, "run", "Do what a config says: train, evaluate, save",
      "  tenon run digits.json\n"
      "  tenon run digits.json --epochs 5 --seed 7 --plot curve.svg\n"
      "  tenon run digits.json --evaluate digits.safetensors --json\n"
      "  tenon run digits.json --resume\n"
      "The same seed gives the same numbers for any --threads. Ctrl-C stops at once, inside the "
      "batch. If \"output\" names a checkpoint, it is written as of the last complete step; "
      "otherwise nothing is written.");
  run.app->add_option("config", run.options->config, "The config file")
      ->required()
      ->type_name("CONFIG");
  run.app
      ->add_option("--evaluate", run.options->evaluate,
                   "Evaluate these weights instead of training")
      ->type_name("WEIGHTS");
  run.app
      ->add_option("--plot", run.options->plot,
                   "Draw the learning curves into this file, .svg or .png")
      ->type_name("FILE");
  run.app
      ->add_option("--log", run.options->log,
                   "Append what is printed, with times, to this file as well")
      ->type_name("FILE");
  run.app->add_option("--epochs", run.options->epochs, "Epochs, in place of the config's")
      ->check(whole_number(1, 1000000000))
      ->type_name("N");
  run.app->add_option("--seed", run.options->seed, "Seed, in place of the config's")
      ->check(whole_number(0, int64_t{1} << 53))
      ->type_name("N");
  run.app->add_flag("--resume", run.options->resume,
                    "Continue from the checkpoint that the config's output names");
  define_frozen(run.app, run.options->frozen);
  run.app->add_flag("--watch", run.options->watch,
                    "Reload plugins whose files are built again, and continue training");
  run.app->add_flag(
      "--detect-anomaly", run.options->detect_anomaly,
      "Stop at the op that makes the first nan, and name it; two to three times slower");
  run.app->add_flag("-q,--quiet", run.options->quiet, "No progress");
  run.json();
  return run.options;
}

void define_plan(CLI::App& program, Invocation& invocation) {
  Definition<PlanOptions> plan(
      program, invocation, plan_config, "plan",
      "Print what a run would do: plugins, data, and the model's layers with their shapes",
      "  tenon plan digits.json\n"
      "  tenon plan digits.json --json\n"
      "  tenon plan digits.json --providers\n"
      "The model is called with shapes alone: it computes nothing. Ends with 1 when the run would "
      "fail for a reason that can be seen now.");
  plan.app->add_option("config", plan.options->config, "The config file")
      ->required()
      ->type_name("CONFIG");
  define_frozen(plan.app, plan.options->frozen);
  CLI::Option* no_shapes =
      plan.app->add_flag("!--no-shapes", plan.options->shapes,
                         "Run no plugin code: layers as the config names them, without shapes");
  plan.app
      ->add_flag("--providers", plan.options->providers,
                 "List the plugin that each op of the model would get, and who declines it")
      ->excludes(no_shapes);
  plan.json();
}

std::shared_ptr<TuneOptions> define_tune(CLI::App& program, Invocation& invocation) {
  Definition<TuneOptions> tune(
      program, invocation, tune_config, "tune",
      "Measure which plugin runs the ops of a config fastest, and prefer it by shapes",
      "  tenon tune digits.json\n"
      "  tenon tune digits.json --write\n"
      "  tenon tune digits.json --steps 50 --rounds 9 --json\n"
      "Trains a few steps and saves nothing. For ops that several plugins provide, repeats every "
      "such call with each provider, alternating. Prints the times by classes of shapes and, as a "
      "diff, the preferences for \"ops\": {\"prefer\": ...}; --write puts them into the config. A "
      "run never measures. Measure on an idle machine.");
  tune.app->add_option("config", tune.options->config, "The config file")
      ->required()
      ->type_name("CONFIG");
  tune.app->add_flag("--write", tune.options->write, "Change the config");
  tune.app->add_option("--steps", tune.options->steps, "Steps to train; 10 when left out")
      ->check(whole_number(1, 1000000))
      ->type_name("N");
  tune.app
      ->add_option("--rounds", tune.options->rounds, "Rounds, whose median counts; 5 when left out")
      ->check(whole_number(1, 100))
      ->type_name("N");
  tune.app
      ->add_option("--least-gain", tune.options->least_gain,
                   "Percent of the time that a rule has to save; 5 when left out")
      ->check(CLI::Range(0.0, 100.0))
      ->type_name("PERCENT");
  tune.app
      ->add_option("--clock", tune.options->clock,
                   "Op that returns the clock, for example a cycle counter")
      ->type_name("OP");
  tune.app->add_flag("-q,--quiet", tune.options->quiet, "No progress");
  tune.json();
  return tune.options;
}

void define_predict(CLI::App& program, Invocation& invocation) {
  Definition<PredictOptions> predict(
      program, invocation, predict_outputs, "predict",
      "Apply the model of a config to samples, and write its outputs",
      "  tenon predict digits.json new.csv --output predictions.csv\n"
      "  tenon predict digits.json new.npy --weights best.safetensors --output scores.npy\n"
      "Samples are read like the config's data; target columns may be missing. For a classifier, "
      "the predicted class precedes the scores.");
  predict.app->add_option("config", predict.options->config, "The config file")
      ->required()
      ->type_name("CONFIG");
  predict.app->add_option("data", predict.options->data, "The file of samples")
      ->required()
      ->type_name("DATA");
  predict.app
      ->add_option("-o,--output", predict.options->output, "The file to write: .csv, .npy or .json")
      ->required()
      ->type_name("FILE");
  predict.app
      ->add_option("--weights", predict.options->weights,
                   "Weights, in place of those that the config's output names")
      ->type_name("WEIGHTS");
  define_frozen(predict.app, predict.options->frozen);
}

void define_schema(CLI::App& program, Invocation& invocation) {
  Definition<SchemaOptions> schema(
      program, invocation, print_schema, "schema",
      "Print the JSON Schema of configs with the ops and modules that are installed, for editors",
      "  tenon schema > config.schema.json\n"
      "  tenon schema digits.json    # with the plugins that this config names\n"
      "A config that begins with \"$schema\": \"config.schema.json\" is completed and checked.");
  schema.app
      ->add_option("config", schema.options->config, "A config whose plugins are installed as well")
      ->type_name("CONFIG");
  schema.app->add_flag("--open", schema.options->open, "Without what is installed");
}

void define_docs(CLI::App& program, Invocation& invocation) {
  Definition<DocsOptions> docs(
      program, invocation, print_docs, "docs",
      "Print the reference of configs: every key, and the ops and modules that are installed",
      "  tenon docs > config.md\n"
      "  tenon docs digits.json    # with the plugins that this config names\n"
      "  tenon docs --json\n"
      "The page is Markdown.");
  docs.app
      ->add_option("config", docs.options->config, "A config whose plugins are installed as well")
      ->type_name("CONFIG");
  docs.json();
}

std::shared_ptr<CheckOptions> define_check(CLI::App& program, Invocation& invocation) {
  Definition<CheckOptions> check(
      program, invocation, check_plugin, "check",
      "Try a plugin out in a child process: declarations, results, gradients",
      "  tenon check math\n"
      "  tenon check build/hello.so\n"
      "  tenon check ./hello.so --op hello.squash --in-process\n"
      "  tenon check math --check '{\"fast_mode\": true, \"atol\": 1e-4}'\n"
      "  tenon check dnnl --against nn,blas\n"
      "Ends with 1 when anything is wrong. A crash, a hang or an exit of the plugin is a finding, "
      "and the next op is checked in a new process.");
  check.app->add_option("plugin", check.options->plugin, "The plugin, by id or by its file")
      ->required()
      ->type_name("PLUGIN");
  check.app->add_option("--op", check.options->item, "Only this op, module, type or override")
      ->type_name("NAME");
  check.app
      ->add_option("--timeout", check.options->timeout,
                   "Seconds that one op may take; 30 if not given")
      ->check(CLI::Range(0.01, 86400.0).description(""))
      ->type_name("S");
  check.app
      ->add_option("--memory", check.options->memory,
                   "Memory that the plugin may use, in MiB; 4096 if not given, 0: no limit")
      ->check(whole_number(0, int64_t{1} << 30))
      ->type_name("MIB");
  check.app->add_option("--seed", check.options->seed, "Other random inputs")
      ->check(whole_number(0, int64_t{1} << 53))
      ->type_name("N");
  check.app
      ->add_option("--check", check.options->options,
                   "Options of the gradient checks, as a sample's \"check\" has them")
      ->type_name("JSON");
  check.app
      ->add_option("--html", check.options->page,
                   "Also write the report as a page: what was checked and found, op by op")
      ->type_name("FILE");
  check.app
      ->add_option("--against", check.options->against,
                   "Compare its ops with those of other providers, by id or file, on the same "
                   "inputs: results and gradients, in ULP")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("PLUGIN,...");
  check.app->add_flag("--in-process", check.options->in_process,
                      "Without a child process and limits, for debuggers");
  check.json();
  return check.options;
}

void define_lock(CLI::App& program, Invocation& invocation) {
  Definition<LockOptions> lock(
      program, invocation, lock_config, "lock",
      "Pin the plugins that a config can use, and their libraries, by hashes of their bytes",
      "  tenon lock digits.json            # writes tenon.lock beside it\n"
      "  tenon lock digits.json --check\n"
      "  tenon run digits.json --frozen\n"
      "The lock file also has the plugin that provides each op, module and type. With --frozen, or "
      "\"frozen\": \"tenon.lock\" in the config, what differs is refused, and plugins are mapped "
      "from private copies of the bytes that were compared.");
  lock.app->add_option("config", lock.options->config, "The config file")
      ->required()
      ->type_name("CONFIG");
  lock.app
      ->add_option("-o,--output", lock.options->output,
                   "The lock file; tenon.lock beside the config when left out")
      ->type_name("FILE");
  lock.app->add_flag("--check", lock.options->check,
                     "Write nothing; end with 1 when something differs from the lock file");
}

void define_compat(CLI::App& program, Invocation& invocation) {
  Definition<CompatOptions> compat(
      program, invocation, compare_plugins, "compat",
      "Print what callers of one build of a plugin would notice of another",
      "  tenon compat old/hello.so build/hello.so\n"
      "  tenon compat hello build/hello.so --json\n"
      "Ends with 1 when something breaks: an op, a parameter, a default or a gradient that is "
      "gone or another one. Declarations are compared; no code of the plugins runs.");
  compat.app->add_option("old", compat.options->before, "The old plugin, by id or by its file")
      ->required()
      ->type_name("OLD");
  compat.app->add_option("new", compat.options->now, "The new one")->required()->type_name("NEW");
  compat.json();
}

void define_new(CLI::App& program, Invocation& invocation) {
  Definition<NewOptions> create(program, invocation, create_project, "new",
                                "Write a plugin project or a config that works without changes",
                                "  tenon new hello\n"
                                "  tenon new hello --c\n"
                                "  tenon new hello --dir work/hello-plugin\n"
                                "  tenon new --config\n"
                                "  tenon new --config iris.jsonc --data iris.csv\n"
                                "No file is overwritten.");
  create.app
      ->add_option("name", create.options->name,
                   "Name of the plugin: letters, digits, _; with --config its file or folder, "
                   "config.jsonc when left out")
      ->type_name("NAME");
  create.app->add_flag("--config", create.options->config,
                       "A commented config, with every key, in place of a plugin");
  create.app
      ->add_option(
          "--data", create.options->data,
          "The samples of the config, which its model is fitted to; a small file of samples "
          "is written when left out")
      ->type_name("DATA");
  create.app->add_flag("--c", create.options->c, "In C instead of C++");
  create.app
      ->add_option("--dir", create.options->folder, "The project's folder; NAME when left out")
      ->type_name("DIR");
}

void define_wrappers(CLI::App& program, Invocation& invocation) {
  Definition<WrappersOptions> write(
      program, invocation, write_wrappers, "wrappers",
      "Write typed C++ functions for the ops of a plugin",
      "  tenon wrappers build/hello.so -o hello_ops.hpp\n"
      "  tenon wrappers hello\n"
      "They are made from the plugin's facts; none of its code runs. In CMake,\n"
      "tenon_add_plugin(... WRAPPERS) does the same at every build.");
  write.app->add_option("plugin", write.options->plugin, "Id or path of the plugin")
      ->required()
      ->type_name("PLUGIN");
  write.app
      ->add_option("-o,--output", write.options->output,
                   "The header; standard output when left out")
      ->type_name("FILE");
  // For the SDK's own class Tensor.
  write.app->add_option("--methods", write.options->methods)->group("");
}

// The config whose plugins, preferences and types are meant.
void define_config(CLI::App* command, std::string& config) {
  command->add_option("--config", config, "With the plugins, preferences and types of this config")
      ->check(check_file)
      ->type_name("CONFIG");
}

// A command that lists, or shows what its one argument names.
struct Listing {
  const char* name;
  int (*function)(const ListOptions&);
  const char* summary;
  const char* examples;
  const char* argument = nullptr;  // "NAMESPACE"; null: it takes none
  const char* meaning = nullptr;
  bool required = false;
};

constexpr Listing kListings[] = {
    {"ops", list_ops, "List every op: signature, provider, differentiability",
     "  tenon ops\n"
     "  tenon ops nn.functional\n"
     "  tenon ops --json",
     "NAMESPACE", "Only the ops of this namespace"},
    {"modules", list_modules, "List every module that a model can be built of", "  tenon modules"},
    {"overridable", list_overridable, "List the ops that can be overridden, by namespace",
     "  tenon overridable\n"
     "  tenon overridable nn.functional\n"
     "  tenon overridable nn.functional --first 5",
     "NAMESPACE", "Only this namespace"},
    {"ignored", list_ignored, "List the ops that cannot be overridden, each with its reason",
     "  tenon ignored"},
    {"types", list_types,
     "List the types that stand in for Tensor: parent, handler, fallback, overrides",
     "  tenon types\n"
     "  tenon --plugin-path build types --json"},
    {"signature", print_signature, "Print how an op is called",
     "  tenon signature add\n"
     "  tenon signature nn.functional.linear",
     "OP", "The op, by full name or its last part", true},
    {"show", show_name, "Show an op, plugin, module or tensor type in full",
     "  tenon show linear\n"
     "  tenon show math\n"
     "  tenon show Conv2d --json\n"
     "Shows all that bear the name; JSON is a list, each with its \"kind\".",
     "NAME", "A name in full, or its last part", true},
    {"version", print_version, "Print versions, and how the runtime is set up",
     "  tenon version --json"},
};

void define_listings(CLI::App& program, Invocation& invocation) {
  for (const Listing& listing : kListings) {
    Definition<ListOptions> list(program, invocation, listing.function, listing.name,
                                 listing.summary, listing.examples);
    if (listing.argument != nullptr) {
      list.app->add_option(lower(listing.argument), list.options->name, listing.meaning)
          ->required(listing.required)
          ->type_name(listing.argument);
    }
    if (listing.function == list_ops)
      list.app->add_flag("--names", list.options->names_only)->group("");
    if (listing.function == list_overridable) {
      list.app->add_option("--first", list.options->first, "Only the first N of a namespace")
          ->check(whole_number(1, 1000000000))
          ->type_name("N");
    }
    list.json();
  }
}

void define_plugins(CLI::App& program, Invocation& invocation) {
  Definition<PluginsOptions> plugins(
      program, invocation, list_plugins, "plugins",
      "List every plugin found: state, version, path, reason when refused",
      "  tenon plugins\n"
      "  tenon --plugin-path build plugins --json\n"
      "  tenon plugins --retry hello\n"
      "Ends with 1 when a plugin is refused. Nothing is loaded to be listed.");
  plugins.app
      ->add_option("--retry", plugins.options->retry,
                   "Take this plugin out of quarantine, so that it may be loaded again")
      ->type_name("NAME");
  plugins.json();

  // The trial process that libtenon starts to find out whether a plugin ends the process that loads
  // it.
  Definition<OpenPluginOptions> open(program, invocation, open_plugin, "open-plugin", "", "");
  open.app->group("");
}

void define_coverage(CLI::App& program, Invocation& invocation) {
  Definition<CoverageOptions> coverage(
      program, invocation, print_coverage, "coverage",
      "List which overridable ops a type handles, is asked for, inherits, converts for, misses",
      "  tenon coverage ScalarTensor\n"
      "  tenon coverage ScalarTensor --json > baseline.json\n"
      "  tenon coverage ScalarTensor --baseline baseline.json\n"
      "  tenon coverage ScalarTensor --config digits.json\n"
      "Ends with 1 when something that the baseline covers is missing now.");
  coverage.app->add_option("type", coverage.options->type, "The type")
      ->required()
      ->type_name("TYPE");
  coverage.app->add_option("--baseline", coverage.options->baseline, "JSON of an earlier coverage")
      ->check(check_file)
      ->type_name("FILE");
  define_config(coverage.app, coverage.options->config);
  coverage.json();
}

void define_why(CLI::App& program, Invocation& invocation) {
  Definition<WhyOptions> why(
      program, invocation, explain_call, "why",
      "Print what would run for operands of these types, and why",
      "  tenon why add ScalarTensor Tensor\n"
      "  tenon why add Tensor:f32 Tensor:f64 alpha=Scalar\n"
      "  tenon why cat ScalarTensor,Tensor dim=1 --json\n"
      "  tenon why mul ScalarTensor Scalar --config digits.json\n"
      "If the call would fail, explains why in up to six lines and exits with status 1.");
  why.app->add_option("op", why.options->op, "The op, by full name")->required()->type_name("OP");
  why.app
      ->add_option("type", why.options->operands,
                   "A type for each operand, in order or as NAME=TYPE, with :DTYPE if it matters; "
                   "A,B for a list, Scalar for a number, or a value")
      ->required()
      ->type_name("TYPE");
  define_config(why.app, why.options->config);
  why.json();
}

void define_ambiguities(CLI::App& program, Invocation& invocation) {
  Definition<AmbiguityOptions> ambiguities(
      program, invocation, list_ambiguities, "ambiguities",
      "List overrides between which nothing decides, and what would",
      "  tenon ambiguities\n"
      "  tenon ambiguities --config digits.json --json\n"
      "Ends with 1 when there are some.");
  define_config(ambiguities.app, ambiguities.options->config);
  ambiguities.json();
}

// No argument is an empty text, but for the values of operands of `why`.
void refuse_empty(CLI::App& program) {
  for (CLI::App* command : program.get_subcommands({})) {
    for (CLI::Option* option : command->get_options()) {
      const bool value = command->get_name() == "why" && option->get_expected_max() > 1;
      if (option->get_expected_max() > 0 && !value) option->check(check_not_empty);
    }
  }
}

// The first argument that is neither an option nor an option's value.
std::string command_word(const std::vector<std::string>& arguments) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--plugin-path" || arguments[i] == "--threads" ||
        arguments[i] == "--trust") {
      ++i;
    } else if (!arguments[i].starts_with("-")) {
      return arguments[i];
    }
  }
  return "";
}

// Describes the first word that neither the command nor the program takes.
std::string surplus_text(CLI::App& program) {
  const std::string word = program.remaining(true).front();
  if (!word.starts_with("-")) return format_text("unexpected argument '{}'", word);
  std::vector<std::string> options;
  std::vector<CLI::App*> takers = program.get_subcommands();
  takers.push_back(&program);
  for (CLI::App* taker : takers) {
    for (const CLI::Option* option : taker->get_options()) {
      for (const std::string& name : option->get_lnames())
        options.push_back(format_text("--{}", name));
    }
  }
  return format_text("unknown option '{}'{}", word, tenon::suggestion(word, options));
}

}  // namespace

Invocation parse_arguments(int count, const char* const* arguments) {
  Invocation invocation;
  CLI::App program("The tensor runtime whose ops, Functions and modules come from plugins.",
                   "tenon");
  program.fallthrough();
  program.set_version_flag("--version", version_text(), "Print the version");
  program.formatter(std::make_shared<HelpFormatter>());
  program.set_help_flag("-h,--help", "Print help");
  program
      .add_option("--plugin-path", invocation.session.plugin_paths,
                  "Folder of plugins, searched before all others; may be repeated")
      ->type_name("DIR")
      ->take_all()
      ->allow_extra_args(false)
      ->check(check_folder);
  program
      .add_option("--trust", invocation.session.trusted,
                  "A plugin file, or a folder of them, that is used although other users can "
                  "change it; may be repeated")
      ->type_name("PATH")
      ->take_all()
      ->allow_extra_args(false);
  program.add_flag("--no-autoload", invocation.session.no_autoload,
                   "Of plugins in folders use only those that are named, by a config or a command");
  program.add_option("--threads", invocation.session.threads, "Threads to compute with")
      ->type_name("N")
      ->check(whole_number(1, 1024));
  const std::shared_ptr<RunOptions> run = define_run(program, invocation);
  define_plan(program, invocation);
  const std::shared_ptr<TuneOptions> tune = define_tune(program, invocation);
  define_predict(program, invocation);
  define_schema(program, invocation);
  define_docs(program, invocation);
  const std::shared_ptr<CheckOptions> check = define_check(program, invocation);
  define_plugins(program, invocation);
  define_listings(program, invocation);
  define_coverage(program, invocation);
  define_why(program, invocation);
  define_ambiguities(program, invocation);
  define_lock(program, invocation);
  define_compat(program, invocation);
  define_new(program, invocation);
  define_wrappers(program, invocation);
  program.footer(
      format_text("`tenon COMMAND --help` prints more, with examples. The options above apply to "
                  "every command.\n{}",
                  kExitCodes));

  refuse_empty(program);

  const std::vector<std::string> words(arguments + 1, arguments + count);
  const std::string word = command_word(words);
  std::vector<std::string> commands;
  bool known = word.empty();
  for (const CLI::App* command : program.get_subcommands({})) {
    known = known || command->get_name() == word;
    if (!command->get_group().empty()) commands.push_back(command->get_name());
  }
  if (!known) {
    throw UsageError(format_text("unknown command '{}'{}; expected one of {}", word,
                                 tenon::suggestion(word, commands), join(commands, ", ")));
  }
  const std::string help = word.empty() ? "tenon --help" : format_text("tenon {} --help", word);
  try {
    program.parse(count, arguments);
  } catch (const CLI::CallForHelp&) {
    const std::vector<CLI::App*> chosen = program.get_subcommands();
    print(chosen.empty() ? program.help() : chosen.front()->help());
    return {};
  } catch (const CLI::CallForVersion&) {
    print(format_text("{}\n", version_text()));
    return {};
  } catch (const CLI::ExtrasError&) {
    throw UsageError(format_text("{}; see `{}`", surplus_text(program), help));
  } catch (const CLI::ParseError& error) {
    throw UsageError(format_text("{}; see `{}`", error.what(), help));
  }
  run->threads = invocation.session.threads;
  tune->threads = invocation.session.threads;
  check->session = invocation.session;
  if (!invocation.command) throw UsageError(format_text("no command was given; see `{}`", help));
  return invocation;
}

}  // namespace cli
